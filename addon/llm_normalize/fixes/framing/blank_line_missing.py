"""A stream that ends without the blank line that closes its last event."""

from ...repair.fix import DONE, WORD, Example, Fix, wire
from ...wire.sse import Event


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
        Example("no line end", [WORD, b"data: [DONE]"], [WORD, DONE]),
        Example("no blank line", [WORD, b"data: [DONE]\n"], [WORD, DONE]),
        Example.untouched("closed", [WORD, DONE]),
        Example.untouched("half an event", [wire([WORD])[:40]]),
        Example.untouched("open comment", [WORD, b": bye"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Add what is missing."""
        if event.closed or event.data is None:
            return None
        event.lines[-1].end = event.lines[-1].end or b"\n"
        event.blank = b"\n"
        event.closed = True
        return [event]
