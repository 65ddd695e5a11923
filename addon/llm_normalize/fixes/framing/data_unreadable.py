"""Data that is neither a chunk nor an error: broken JSON, or another protocol's event."""

from ...chat.chunk import choices, is_chunk
from ...repair.fix import DONE, USAGE, Example, Fix, chunk, wire
from ...wire.json_text import first_value, is_broken, loads
from ...wire.sse import Event, encode

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_HALF = wire([_TEXT])[:40] + b"\n\n"
_PROGRESS = b'event: hermes.tool.progress\ndata: {"tool": "web_search"}\n\n'


class DataUnreadable(Fix):
    """Send a bare newline in its place, at the same moment; the log has the event."""

    name = "data-unreadable"
    changes = "`data: {broken`, `data: 5`, events of other protocols -> a bare newline"
    why = (
        "One such event ends the whole answer in Chatbox and AnythingLLM, and in each "
        "client that decodes every event as a chunk."
    )
    providers = ("Hermes Agent (`hermes.tool.progress`)", "workers behind gateways")
    sources = (
        "https://github.com/janhq/jan/issues/8280",
        "https://github.com/anomalyco/opencode/issues/38106",
    )
    examples = (
        Example("half of it", [_TEXT, _HALF], [_TEXT, b"\n"], ended=False),
        Example(
            "words behind a chunk",
            [wire([_TEXT])[:-2] + b"bye\n\n"],
            [_TEXT],
            ended=False,
        ),
        Example("a number", [_TEXT, b"data: 5\n\n"], [_TEXT, b"\n"], ended=False),
        Example("another protocol", [_PROGRESS, _TEXT], [b"\n", _TEXT], ended=False),
        Example.untouched("chunks", [_TEXT, chunk(None, usage=USAGE), DONE]),
        Example.untouched("an error", [_TEXT, {"error": {"message": "Busy"}}]),
        Example.untouched("a ping", [b"event: ping\n\n", _TEXT]),
        Example.untouched("broken off", [_TEXT, _HALF[:-2]]),
        Example.untouched(
            "what some clients read", [b'data: {"choices":[{"delta":{"x":NaN}}]}\n\n']
        ),
    )

    def unread(self, event: Event) -> list[Event] | None:
        """Leave nothing but the newline of it."""
        if event.foreign or not event.closed:
            return None
        data = event.data or b""
        try:
            value = loads(data)
        except (ValueError, RecursionError):
            return _rest(event, data) if is_broken(data) else None
        if is_chunk(value) and choices(value):  # a client may read some of it
            return None
        return [Event(b"\n", event.n)]


def _rest(event: Event, data: bytes) -> list[Event] | None:
    """Return the one chunk that broken *data* begins with, or nothing of it."""
    first = first_value(data)
    if first and is_chunk(loads(first)):
        # What else may be a chunk there is not given up.
        has_more = b'"choices"' in data[len(first) :]
        return None if has_more else [Event(encode(first), event.n)]
    return [Event(b"\n", event.n)]
