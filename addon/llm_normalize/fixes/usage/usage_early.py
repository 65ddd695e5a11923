"""A usage chunk before every choice has finished.

The repair is in `repair/machine/usage.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, STOP, TEXT, USAGE, Example, Fix, chunk

_B = chunk({"role": "assistant", "content": "Ho"}, index=1)
_STOP_B = chunk({}, finish="stop", index=1)
_USAGE = chunk(None, usage=USAGE)
_SOME = chunk(None, usage={**USAGE, "total_tokens": 4})
_TWO = Asked(stream=True, usage=True, n=2)


class UsageEarly(Fix):
    """Send the last usage chunk only, after every finish reason."""

    name = "usage-early"
    changes = "usage chunk before the last finish reason -> dropped or after it"
    why = "Clients that add usage up count a request with two choices twice."
    providers = ("llama.cpp with `n` > 1",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/create",)
    examples = (
        Example(
            "one for each choice",
            [TEXT, _B, STOP, _SOME, _STOP_B, _USAGE, DONE],
            [TEXT, _B, STOP, _STOP_B, _USAGE, DONE],
            asked=_TWO,
        ),
        Example.untouched(
            "last", [TEXT, _B, STOP, _STOP_B, _USAGE], asked=_TWO, ended=False
        ),
    )
