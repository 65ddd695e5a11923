"""`event`, `id` and `retry` fields, which OpenAI never sends."""

from ...repair.fix import DONE, TEXT, Example, Fix, wire
from ...wire.sse import Event

_FIELDS = b"event: message\nid: 7\nretry: 3000\n"


class FieldNotData(Fix):
    """Drop `event`, `id` and `retry` lines; a block of nothing else is a newline."""

    name = "field-not-data"
    changes = "`event:`, `id:` and `retry:` lines -> removed"
    why = (
        "The stream helpers of openai-python 1 and openai-node 4 take an event with a "
        "name for one of the Assistants API."
    )
    providers = ("Groq (`event: error`)", "Spring WebFlux and sse-starlette servers")
    sources = (
        "https://github.com/openai/openai-python/blob/v1.59.9/src/openai/_streaming.py",
    )
    examples = (
        Example.of_event("fields", _FIELDS + wire([TEXT]), TEXT),
        Example("nothing else", [b"event: ping\n\n"], [b"\n"]),
        Example.untouched("only data", [TEXT, DONE]),
        Example.untouched("not a chunk", [b"event: a\ndata: hello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the lines."""
        remaining = [
            line for line in event.lines if line.name not in (b"event", b"id", b"retry")
        ]
        if len(remaining) == len(event.lines):
            return None
        event.lines[:] = remaining
        return [event]
