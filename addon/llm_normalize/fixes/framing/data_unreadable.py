"""Data that is neither a chunk nor an error: broken JSON, or another protocol's event."""

import re
from itertools import islice

from ...chat.chunks.chunk import choices, is_chunk, is_readable
from ...chat.errors.chunk_errors import is_error
from ...chat.errors.failed_event import may_be_chunk
from ...repair.fix import DONE, USAGE, Example, Fix, chunk, wire
from ...wire.event_boundary import values_in
from ...wire.json_text import begun_value, first_value, is_broken, loads
from ...wire.sse import Event, encode

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_MORE = chunk({"content": "!"})
_HALF = wire([_TEXT])[:40] + b"\n\n"
_OBJECT = re.compile(rb'\{\s*"')
_DONE = re.compile(
    rb"\[DONE\]|^[^\w\n]*+(?:data:[^\w\n]*+)?done[^\w\n]*+$",
    re.IGNORECASE | re.MULTILINE,
)
_GLUE = re.compile(
    rb"data:[ \t]*+|[\r\n]++|(?=\{[ \t]*+\"(?:id|object|created|model|choices)\")"
)
"""Where, in broken data, a whole chunk may begin."""
_MOST = 32  # places where a chunk may begin
_LONG = 256 * 1024  # bytes of data in which no chunk is sought
_PROGRESS = b'event: hermes.tool.progress\ndata: {"tool": "web_search"}\n\n'


class DataUnreadable(Fix):
    """Send a bare newline in its place, at the same moment; the log has the event."""

    name = "data-unreadable"
    changes = (
        "`data: {broken`, `data: 5`, events of other protocols -> a bare newline, and the "
        "whole chunks on the same line"
    )
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
        Example(
            "a whole one behind a half",
            [_TEXT, _HALF[:-2] + wire([_MORE, DONE])],
            [_TEXT, b"\n", _MORE, DONE],
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
        """Leave nothing but the newline of it, and the whole chunks on its line."""
        if event.foreign or not event.closed:
            return None
        data = event.data or b""
        try:
            value = loads(data)
        except (ValueError, RecursionError):
            return _readable(data, event.n) if is_broken(data) else None
        if is_chunk(value) and choices(value):  # a client may read some of it
            return None
        text = value.encode(errors="replace") if isinstance(value, str) else data
        return None if _holds_answer(text) else [_newline(data, event.n)]


def _newline(lost: bytes, n: int) -> Event:
    return Event(b"\n", n, is_hole=may_be_chunk(lost))


def _readable(data: bytes, n: int) -> list[Event] | None:
    """Return what clients can read of broken *data*: the chunks it begins and ends with."""
    first = first_value(data)
    begin = [first] if first and _is_whole(first) else []
    rest = data[data.index(first) + len(first) :] if begin else data
    end: list[bytes] = []
    for mark in islice(_GLUE.finditer(rest), _MOST if len(rest) < _LONG else 0):
        values = values_in(rest[mark.end() :])
        if values and all(map(_is_whole, values)):
            end, rest = values, rest[: mark.start()]
            break
    if _holds_answer(rest):
        return None
    found = [Event(encode(each), n) for each in begin]
    if begin:
        found[-1].is_hole = may_be_chunk(rest)  # behind it
    else:
        found.append(_newline(rest, n))
    return [*found, *[Event(encode(each), n) for each in end]]


def _is_whole(data: bytes) -> bool:
    """Tell whether *data* is a whole chunk, an error, or the end of a stream."""
    if data == b"[DONE]":
        return True
    try:
        value = loads(data)
    except (ValueError, RecursionError):
        return False
    return is_error(value) or (is_chunk(value) and is_readable(value))


def _holds_answer(data: bytes) -> bool:
    """Tell whether a whole chunk, or the end of the stream, may be somewhere in *data*.

    What is not sure is not given up.
    """
    begins = [each.start() for each in _OBJECT.finditer(data)]
    values = [begun_value(data[at:]) for at in begins[:_MOST]]
    return (
        len(begins) > _MOST
        or bool(_DONE.search(data))
        or any(choices(each) for each in values if isinstance(each, dict))
    )
