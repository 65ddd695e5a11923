r"""Line ends between events as a backslash and an `n`: `data: {…}\n\ndata: {…}`."""

from ...repair.fix import DONE, STOP, Example, Fix, chunk, wire
from ...wire.event_boundary import values_in
from ...wire.sse import Event, encode

_HI = chunk({"role": "assistant", "content": r"Hi}\n\n"})
_ESCAPED = wire([_HI, STOP, DONE]).replace(b"\n", rb"\n")


class BlankLineEscaped(Fix):
    """Give each value an event of its own; each leaves as its separator comes."""

    name = "blank-line-escaped"
    changes = r"`data: {…}\n\n` with `\n` as two characters -> a blank line"
    why = "No client sees the end of an event, so none sees any of the answer."
    providers = ("relays that escape a stream as a string",)
    sources = ("https://github.com/nashsu/llm_wiki/pull/628",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("all on one line", [_ESCAPED], [_HI, STOP, DONE]),
        Example.untouched("in a text", [_HI, STOP, DONE]),
        Example.untouched("words", [b"data: \\n\\nhello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Part the values."""
        data = event.data or b""
        if event.foreign or b"\\" not in data or values_in(data):
            return None
        values = values_in(data, has_escapes=True)
        return [Event(encode(value), event.n) for value in values] or None
