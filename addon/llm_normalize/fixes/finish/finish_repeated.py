"""A second finish reason for one choice.

The repair is in `repair/machine/finish.py`.
"""

from ...repair.fix import DONE, STOP, TEXT, Example, Fix, chunk


class FinishRepeated(Fix):
    """Send one finish reason for each choice, the first that is more than `stop`.

    Where the first has been sent already, it stands.
    """

    name = "finish-repeated"
    changes = "second `finish_reason` of a choice -> dropped"
    why = "Clients close the message twice, or take a `stop` that follows a `length`."
    providers = ("Workers AI", "Mistral gateways")
    sources = (
        "https://github.com/cloudflare/ai",
        "https://github.com/BerriAI/litellm/blob/main/litellm/litellm_core_utils/streaming_handler.py",
    )
    examples = (
        Example(
            "twice",
            [TEXT, chunk({}, finish="length"), STOP, DONE],
            [TEXT, chunk({}, finish="length"), DONE],
        ),
        Example(
            "stop, then more",
            [TEXT, STOP, chunk({}, finish="length"), DONE],
            [TEXT, chunk({}, finish="length"), DONE],
        ),
        Example.untouched(
            "one for each choice",
            [
                TEXT,
                chunk({"role": "assistant", "content": "Ho"}, index=1),
                STOP,
                chunk({}, finish="stop", index=1),
                DONE,
            ],
        ),
    )
