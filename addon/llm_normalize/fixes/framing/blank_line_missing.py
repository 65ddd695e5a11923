"""A stream that ends without the blank line that closes its last event."""

from ...repair.fix import DONE, Example, Fix, chunk, wire
from ...wire.sse import Event

_TEXT = chunk({"content": "Hi"})


class BlankLineMissing(Fix):
    """Close a last event that is whole but for its blank line.

    One that is cut off in mid-word is not JSON, so the pipeline passes it as it is.
    """

    name = "blank-line-missing"
    changes = "last event without its blank line -> closed"
    why = "The standard discards an event that no blank line closes: `[DONE]` is lost."
    providers = ("Mistral", "chatglm.cpp")
    sources = (
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "https://github.com/oobabooga/textgen/issues/4778",
    )
    examples = (
        Example("no line end", [_TEXT, b"data: [DONE]"], [_TEXT, DONE]),
        Example("no blank line", [_TEXT, b"data: [DONE]\n"], [_TEXT, DONE]),
        Example.untouched("closed", [_TEXT, DONE]),
        Example.untouched("half an event", [wire([_TEXT])[:40]]),
        Example.untouched("open comment", [_TEXT, b": bye"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Add what is missing."""
        if event.closed or event.data is None:
            return None
        event.lines[-1].end = event.lines[-1].end or b"\n"
        event.blank = b"\n"
        event.closed = True
        return [event]
