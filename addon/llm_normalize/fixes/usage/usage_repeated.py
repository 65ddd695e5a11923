"""Usage again after it was sent.

The repair is in `repair/machine/usage.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, USAGE, Example, Fix, chunk

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
_USAGE = chunk(None, usage=USAGE)
_ASKED = Asked(stream=True, usage=True)


class UsageRepeated(Fix):
    """Send usage once."""

    name = "usage-repeated"
    changes = "second usage chunk -> dropped"
    why = "LangChain, pydantic-ai and smolagents add it up."
    providers = ("gateways that add usage of their own",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/create",)
    examples = (
        Example(
            "twice",
            [_TEXT, _STOP, _USAGE, _USAGE, DONE],
            [_TEXT, _STOP, _USAGE, DONE],
            asked=_ASKED,
        ),
        Example.untouched("once", [_TEXT, _STOP, _USAGE, DONE], asked=_ASKED),
    )
