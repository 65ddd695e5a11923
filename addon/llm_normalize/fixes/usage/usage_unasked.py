"""A usage chunk that was not requested.

The repair is in `repair/machine/usage.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, STOP, TEXT, USAGE, Example, Fix, chunk

_USAGE = chunk(None, usage=USAGE)


class UsageUnasked(Fix):
    """Move the usage to the chunk with the finish reason.

    That chunk is held for one more event.
    """

    name = "usage-unasked"
    changes = (
        "chunk with `choices: []` without a request for usage -> usage with the finish"
    )
    why = "Loops copied from guides fail with an IndexError at `choices[0]`."
    providers = ("NVIDIA NIM", "SGLang", "many gateways")
    sources = (
        "https://platform.openai.com/docs/api-reference/chat/create",
        "https://github.com/openai/openai-cookbook/blob/main/examples/How_to_stream_completions.ipynb",
    )
    examples = (
        Example(
            "unasked",
            [TEXT, STOP, _USAGE, DONE],
            [TEXT, {**STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched(
            "asked for",
            [TEXT, STOP, _USAGE, DONE],
            asked=Asked(stream=True, usage=True),
        ),
        Example.untouched("none", [TEXT, STOP, DONE]),
    )
