"""A call, or an end, of which an unreadable event was lost.

The repair is in `repair/machine/sending.py`.
"""

from ...chat.errors.errors import lost
from ...repair.fix import (
    DONE,
    STOP,
    TEXT,
    Example,
    Fix,
    Wire,
    calling,
    chunk,
    head,
    rest,
    wire,
)

_HALF = wire([TEXT])[:60] + b"\n\n"
_OPEN = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})
_WHOLE = calling(rest(0, '{"a":"b"}'))
_END = chunk({}, finish="tool_calls")
_LOST_CALL, _LOST_END = lost("a tool call"), lost("the end")
_MIDDLE: Wire = [_OPEN, calling(rest(0, '{"a":"b')), _HALF, calling(rest(0, '"}'))]


class EventLost(Fix):
    """Send an error in place of what goes on with such a call, or ends it.

    A call is whole whose arguments were, before the event, or after it. Text goes on, and
    the finish that the provider sends after it.
    """

    name = "event-lost"
    changes = "call, or the end of an answer, that lacks a lost event -> an error event"
    why = (
        "What is left of the arguments may be JSON, and an agent runs it; an answer without "
        "its end is taken for a whole one."
    )
    providers = ("Z.AI (GLM-5)", "gateways that cut events")
    sources = (
        "https://github.com/zai-org/GLM-5/issues/66",
        "https://github.com/earendil-works/pi/issues/6762",
    )
    # Of the lost event itself.
    also_covered_by = ("data-unreadable",)
    examples = (
        Example(
            "arguments", [_OPEN, _HALF, _END, DONE], [_OPEN, _HALF, _LOST_CALL, DONE]
        ),
        Example("middle", [*_MIDDLE, _END], [*_MIDDLE[:3], _LOST_CALL]),
        Example("end", [TEXT, _HALF, DONE], [TEXT, _HALF, _LOST_END, DONE]),
        Example.untouched("text", [TEXT, _HALF, STOP, DONE]),
        Example.untouched("a whole call", [_OPEN, _WHOLE, _HALF, _END, DONE]),
        Example.untouched("broken off", [TEXT, _HALF]),
    )
