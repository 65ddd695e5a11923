"""Several events on one line: `data: {…}data: {…}`."""

from ...repair.fix import DONE, Example, Fix, chunk, wire
from ...wire.event_boundary import values_in
from ...wire.sse import Event, encode

_HI = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")


def _glued(*events: bytes) -> bytes:
    return b"".join(each.rstrip(b"\n") for each in events) + b"\n\n"


class DataGlued(Fix):
    """Give each value an event of its own, if all of the line are whole values."""

    name = "data-glued"
    changes = "`data: {…}data: {…}` -> an event each"
    why = "Every client fails to parse the line, or skips it."
    providers = ("relays before Z.AI and OpenRouter",)
    sources = (
        "https://github.com/anomalyco/opencode/issues/23442",
        "https://github.com/1jehuang/jcode/issues/609",
    )
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("two", [_glued(wire([_HI]), wire([_STOP])), DONE], [_HI, _STOP, DONE]),
        Example("done", [_HI, _glued(wire([_STOP]), DONE)], [_HI, _STOP, DONE]),
        Example.untouched("one each", [_HI, _STOP, DONE]),
        Example.untouched("half a value", [_glued(wire([_HI])[:40], wire([_HI]))]),
        Example.untouched("words behind", [_glued(wire([_HI]), b"bye")]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Part the values."""
        values = values_in(event.data or b"")
        if len(values) < 2 or event.foreign:  # noqa: PLR2004
            return None
        return [Event(encode(value), event.n) for value in values]
