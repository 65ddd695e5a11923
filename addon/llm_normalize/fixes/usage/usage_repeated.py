"""Usage again after it was sent."""

from ...chat.chunks.chunk import drop_other_usage
from ...chat.stream_state import Asked
from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, USAGE, Example, Fix, chunk
from ...repair.outcome import Outgoing

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
    end_hooks = (EndHook.USAGE_REPEATED, EndHook.USAGE_ON_FINISH)
    examples = (
        Example(
            "twice",
            [_TEXT, _STOP, _USAGE, _USAGE, DONE],
            [_TEXT, _STOP, _USAGE, DONE],
            asked=_ASKED,
        ),
        Example.untouched("once", [_TEXT, _STOP, _USAGE, DONE], asked=_ASKED),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Drop it, or take it off."""
        if not end.usage_sent:
            return False
        outgoing.fixed(self.name)
        if hook is EndHook.USAGE_REPEATED:
            end.hold_extra_fields(outgoing.chunk, self.name)
        else:
            drop_other_usage(outgoing.chunk, outgoing.chunk.pop("usage"))
        return True
