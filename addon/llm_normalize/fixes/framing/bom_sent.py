"""A byte order mark before the first event."""

from ...repair.fix import DONE, TEXT, Example, Fix, wire
from ...wire.sse import BOM, Event


class BomSent(Fix):
    """Drop the byte order mark."""

    name = "bom-sent"
    changes = "byte order mark at the stream's start -> removed"
    why = "Line scanners take it for part of the field name and lose the first event."
    providers = ("servers that write UTF-8 with a signature",)
    sources = ("https://html.spec.whatwg.org/multipage/server-sent-events.html",)
    examples = (
        Example.of_event("mark", BOM + wire([TEXT]), TEXT),
        Example.untouched("none", [TEXT, DONE]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the mark."""
        if not event.lines or not event.bom:
            return None
        event.bom = False
        return [event]
