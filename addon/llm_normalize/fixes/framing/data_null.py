"""`data: null`, or nothing at all, to keep the connection alive."""

import re

from ...repair.fix import DONE, TEXT, Example, Fix, chunk
from ...wire.sse import Event

_NOTHING = re.compile(
    rb'null|true|\{\}|\[\]|""|\{"(?:type|event)":\s*"(?:ping|heartbeat|keep-?alive)"\}|'
    rb"(?i:ping|pong|heartbeat|keep[-_ ]?alive|undefined|none|nan|nil|\[object \w+\])|"
)
_ALIVE = re.compile(rb"event: ?(?:ping|heartbeat|keep-?_?alive)")

_SAYS = re.compile(rb'"(?:choices|error|usage)"|\[DONE\]')


class DataNull(Fix):
    """Send a bare newline in its place, at the same moment."""

    name = "data-null"
    changes = "`data: null`, `data: {}`, pings, blanks -> a bare newline"
    why = "openai-python yields None for it, and loops fail with an AttributeError."
    providers = ("gateways that keep connections alive",)
    sources = ("https://github.com/NousResearch/hermes-agent/issues/80822",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("null", [TEXT, b"data: null\n\n"], [TEXT, b"\n"], ended=False),
        Example("nothing", [TEXT, b"data: \n\n"], [TEXT, b"\n"], ended=False),
        Example("no key", [TEXT, b"data: {}\n\n"], [TEXT, b"\n"], ended=False),
        Example("blanks", [TEXT, b"  \n"], [TEXT, b"\n"], ended=False),
        Example(
            "ping",
            [TEXT, b'data: {"type": "ping"}\n\n'],
            [TEXT, b"\n"],
            ended=False,
        ),
        Example.untouched("chunk", [TEXT, chunk({}, finish="stop"), DONE]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the data lines."""
        data = event.data
        if not event.raw.strip() and event.raw.strip(b"\r\n"):
            return [event]  # a line of blanks, which the event no longer has
        named = any(_ALIVE.fullmatch(line.text) for line in event.lines)
        alive = named and not _SAYS.search(data or b"")
        if data is None or not (alive or _NOTHING.fullmatch(data.strip())):
            return None
        if not event.closed:
            if not event.lines[-1].end:
                return None
            event.closed = True  # where a line end parts the events
        event.lines[:] = [line for line in event.lines if line.name != b"data"]
        return [event]
