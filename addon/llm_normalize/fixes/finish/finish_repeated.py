"""A second finish reason for one choice.

The repair is in `repair/machine/finish.py`.
"""

from ...repair.fix import DONE, Example, Fix, chunk

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")


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
            [_TEXT, chunk({}, finish="length"), _STOP, DONE],
            [_TEXT, chunk({}, finish="length"), DONE],
        ),
        Example(
            "stop, then more",
            [_TEXT, _STOP, chunk({}, finish="length"), DONE],
            [_TEXT, chunk({}, finish="length"), DONE],
        ),
        Example.untouched(
            "one for each choice",
            [
                _TEXT,
                chunk({"role": "assistant", "content": "Ho"}, index=1),
                _STOP,
                chunk({}, finish="stop", index=1),
                DONE,
            ],
        ),
    )
