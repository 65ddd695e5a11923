"""Data that is neither a chunk nor an error: broken JSON, or another protocol's event."""

from ...chat.chunks.chunk import choices, is_chunk, is_readable
from ...chat.errors.failed_event import holds_answer, may_be_chunk
from ...repair.fix import DONE, TEXT, USAGE, Example, Fix, chunk, wire
from ...wire.json_text import escape_strings, first_value, is_broken, loads
from ...wire.sse import Event, encode

_HALF = wire([TEXT])[:40] + b"\n\n"
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
        Example("half of it", [TEXT, _HALF], [TEXT, b"\n"], ended=False),
        Example.of_event("words behind a chunk", wire([TEXT])[:-2] + b"bye\n\n", TEXT),
        Example("a number", [TEXT, b"data: 5\n\n"], [TEXT, b"\n"], ended=False),
        Example("another protocol", [_PROGRESS, TEXT], [b"\n", TEXT], ended=False),
        Example.untouched("chunks", [TEXT, chunk(None, usage=USAGE), DONE]),
        Example.untouched("an error", [TEXT, {"error": {"message": "Busy"}}]),
        Example.untouched("a ping", [b"event: ping\n\n", TEXT]),
        Example.untouched("broken off", [TEXT, _HALF[:-2]]),
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
            return _rest(data, event.n) if is_broken(data) else None
        if is_chunk(value) and choices(value):  # a client may read some of it
            return None
        text = value.encode(errors="replace") if isinstance(value, str) else data
        return None if holds_answer(text) else [_newline(data, event.n)]


def _newline(lost: bytes, n: int) -> Event:
    return Event(b"\n", n, is_hole=may_be_chunk(lost))


def _rest(data: bytes, n: int) -> list[Event] | None:
    """Return the one chunk that broken *data* begins with, or nothing of it."""
    data = escape_strings(data.lstrip())
    first = first_value(data)
    is_begin = bool(first) and data.startswith(first)  # not where it is no UTF-8
    is_first = is_begin and is_chunk(value := loads(first)) and is_readable(value)
    rest = data[len(first) :] if is_first else data
    if holds_answer(rest):
        return None
    if not is_first:
        return [_newline(data, n)]
    found = Event(encode(first), n)
    found.is_hole = may_be_chunk(rest)  # behind it
    return [found]
