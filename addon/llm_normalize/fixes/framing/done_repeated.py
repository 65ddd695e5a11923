"""`[DONE]` twice."""

from ...repair.ending.end_hook import EndHook
from ...repair.ending.end_state import EndState
from ...repair.fix import DONE, Example, Fix, chunk
from ...repair.outcome import Outgoing

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")


class DoneRepeated(Fix):
    """Send one `[DONE]`."""

    name = "done-repeated"
    changes = "second `[DONE]` -> dropped"
    why = "Clients that reuse the connection take it for the next answer's."
    providers = ("gateways that add a `[DONE]` of their own",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    end_hooks = (EndHook.REPEATED_DONE,)
    examples = (
        Example("twice", [_TEXT, _STOP, DONE, DONE], [_TEXT, _STOP, DONE]),
        Example.untouched("once", [_TEXT, _STOP, DONE]),
    )

    def at_end(self, hook: EndHook, end: EndState, outgoing: Outgoing) -> bool:
        """Drop it."""
        outgoing.fixed(self.name)
        return True
