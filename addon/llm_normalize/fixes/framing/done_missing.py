"""No `[DONE]` after a finished stream.

The repair is in `repair/machine/machine.py`.
"""

from ...repair.fix import DONE, STOP, TEXT, Example, Fix


class DoneMissing(Fix):
    """Close a stream whose choices all have the finish reason that the provider sent.

    It has ended, cleanly or not, or is silent for `normalize_keepalive`.
    """

    name = "done-missing"
    changes = "end, break or long silence after every finish reason, without `[DONE]` -> added"
    why = "Clients wait for it until they time out."
    providers = ("chatglm.cpp", "Perplexity", "Cerebras", "Hugging Face")
    sources = (
        "https://github.com/li-plus/chatglm.cpp",
        "https://github.com/oobabooga/textgen/issues/4778",
    )
    examples = (
        Example("finished", [TEXT, STOP], [TEXT, STOP, DONE]),
        Example.untouched("there", [TEXT, STOP, DONE]),
        Example.untouched("broken off", [TEXT]),
        Example.untouched(
            "error", [TEXT, b'data: {"error":{"message":"Overloaded"}}\n\n']
        ),
    )
