"""The content view `Transcript`: an answer put together, as the client understands it.

It reads the bytes that were sent, so it shows any chat completion: of a live flow, of one
loaded from a file, repaired or not. Of one that was translated it reads what the provider
sent, which is chat whatever the client's protocol is; of one whose provider speaks its
client's protocol, what was sent.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from mitmproxy import contentviews, http

from ..chat.chunks.chunk import Chunk, calls, choices, function, usage_of
from ..chat.endpoint import is_chat_request
from ..chat.state.asked import Asked
from ..fixes import FIXES
from ..protocols import endpoint_at
from ..records.flow_metadata import AnswerMetadata
from ..records.snapshot import MAX_STORED, unpacked
from ..repair.engine.stream_to_body import Contents, contents_of
from ..text.printable import escaped
from ..wire.content_encoding import beginning
from ..wire.event_boundary import EVENT
from ..wire.json_text import Json, as_list, as_object, dumps, objects_in, value_in
from ..wire.sse import Event, EventParser
from .answer_view import BLANK, AnswerView, Line, broken_off

type _Object = dict[str, Any]

_CALLS = ("tool_use", "function_call", "custom_tool_call")


@dataclass(slots=True)
class Part:
    """A block of a message, or an item of a response.

    Attributes:
        title: What it is.
        texts: What it says, in pieces.
    """

    title: str
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it says."""
        return "".join(self.texts)

    def add(self, text: str) -> None:
        """Add a piece."""
        if text:
            self.texts.append(text)


@dataclass(slots=True)
class NativeContents:
    """What an answer says, as far as it goes.

    Attributes:
        head: The message, or the response, without what it says.
        parts: What it says, by its place.
        finish: Why it ended.
        usage: The figures of tokens.
        errors: The errors in it.
    """

    head: _Object = field(default_factory=dict)
    parts: dict[Any, Part] = field(default_factory=dict)
    finish: str = ""
    usage: Json = None
    errors: list[Json] = field(default_factory=list)

    def take(self, value: _Object) -> None:
        """Take an event, or a body."""
        kind, item = str(value.get("type", "")), value.get("item")
        if value.get("error"):
            self.errors.append(value["error"])
        elif kind == "error":
            self.errors.append(value)
        elif kind == "content_block_start":
            self._begin(value.get("index"), as_object(value.get("content_block")))
        elif kind == "message_delta":
            self._end(value | as_object(value.get("delta")))
        elif isinstance(item, dict):
            self._begin(value.get("output_index"), item)
        elif kind.endswith("delta"):
            self._add(value)
        else:
            self._whole(_first(value, "message", "response"))

    def _begin(self, place: Any, block: _Object) -> None:
        kind = str(block.get("type", "text"))
        title = kind
        if kind in _CALLS:
            title = f"call: {block.get('name')}"
            title += f" ({block.get('call_id') or block.get('id')})"
        part = self.parts.setdefault(_place(place), Part(title))
        if not part.texts:
            part.add(_said(block))

    def _add(self, value: _Object) -> None:
        delta = value.get("delta")
        text = delta if isinstance(delta, str) else _said(as_object(delta))
        place = value.get("output_index", value.get("index"))
        self.parts.setdefault(_place(place), Part("text")).add(text)

    def _whole(self, answer: _Object) -> None:
        self.head |= answer
        said = answer.get("content") or answer.get("output")
        for place, block in enumerate(as_list(said)):
            self._begin(place, as_object(block))
        self._end(answer)

    def _end(self, answer: _Object) -> None:
        reason = answer.get("stop_reason") or answer.get("status")
        self.finish = str(reason or self.finish)
        # A message tells its prompt at the start, and the rest at the end.
        self.usage = {**as_object(self.usage), **as_object(answer.get("usage"))} or None
        error = answer.get("error")
        reported = [as_object(each).get("message") for each in self.errors]
        if error and as_object(error).get("message", 0) not in reported:
            self.errors.append(error)


def native_contents(data: bytes) -> NativeContents:
    """The contents of *data*, a stream of events or a body."""
    found = NativeContents()
    for value in _values(data):
        found.take(value)
    return found


def _values(data: bytes) -> Iterator[_Object]:
    whole = as_object(value_in(data))
    if whole:
        yield whole
        return
    parser = EventParser()
    parser.budget_left = _LOOKED_AT
    for item in [*parser.feed(data), *parser.end()]:
        if isinstance(item, Event):
            yield as_object(value_in(item.data or b""))


def _said(block: _Object) -> str:
    """Return the text of a block, of an item or of a delta."""
    for key in _TEXTS:
        if isinstance(block.get(key), str):
            return str(block[key])
    for key in ("arguments", "input"):
        if block.get(key):
            given = block[key]
            return given if isinstance(given, str) else dumps(given).decode()
    inner = block.get("content") or block.get("summary")
    return "".join(map(_said, objects_in(inner)))


def _place(given: Json) -> Json:
    """Return a place that may be a key."""
    return dumps(given) if isinstance(given, dict | list) else given


def _first(value: _Object, *keys: str) -> _Object:
    found = (value[key] for key in keys if isinstance(value.get(key), dict))
    return next(found, value)


_MOST = 2000
"""Lines that are shown of a text: a page has to stay readable."""
_LONG = 10_000
"""Characters that are shown of a line."""
_WIDE = 98
"""Columns that can be read."""
_LOOKED_AT = 40_000 * EVENT
"""What of an answer is looked at: as many events."""
_TEXTS = ("text", "thinking", "partial_json", "refusal")


class Transcript(AnswerView):
    """Text, reasoning, tool calls, finish reason and usage, choice by choice."""

    name = "Transcript"

    def prettify(self, data: bytes, metadata: contentviews.Metadata) -> str:
        """Return the view's text.

        Raises:
            ValueError: The message is not an answer of a model.
        """
        record = self.record(metadata)
        if not _is_answer(metadata, record):
            raise ValueError("not an answer to a chat completion")
        is_running = record is not None and record["end"] == "running"
        if record is not None and _is_translated(record):
            data = unpacked(record["received"])
        elif is_running:
            assert isinstance(metadata.http_message, http.Response)
            data = _so_far(metadata.http_message)
        if _is_native(metadata.flow, record):
            lines = list(_native_lines(native_contents(data)))
        else:
            found = contents_of(data, Asked(stream=True), FIXES, "transcript")
            lines = list(_lines(found))
        if record is not None and record["is_cut"] and len(data) <= MAX_STORED:
            lines += [BLANK, "the answer was too long to keep: this is its beginning"]
        if record is not None and broken_off(record):
            lines += [BLANK, f"broken off here: {broken_off(record)}"]
        if is_running:
            lines += [BLANK, "still running: there is more to come"]
        return self.shown(Line(each, rest="  ", most=_WIDE) for each in lines)

    def render_priority(self, data: bytes, metadata: contentviews.Metadata) -> float:
        """Come before raw events, and behind what was repaired."""
        return 0.5 if data and _is_answer(metadata, self.record(metadata)) else -1


def _so_far(response: http.Response) -> bytes:
    """The part of an answer sent by now, decoded as far as it goes."""
    data = response.raw_content or b""
    return (
        beginning(data, response.headers.get("content-encoding", ""), MAX_STORED)
        or data
    )


def _is_answer(metadata: contentviews.Metadata, record: AnswerMetadata | None) -> bool:
    flow = metadata.flow
    return (
        isinstance(flow, http.HTTPFlow)
        and isinstance(metadata.http_message, http.Response)
        and (
            is_chat_request(flow.request.method, flow.request.path)
            or (record is not None and _is_translated(record))
            or _is_native(flow, record)
        )
    )


def _is_native(flow: object, record: AnswerMetadata | None) -> bool:
    """Tell whether an answer is in its client's own protocol, and was not translated."""
    if not isinstance(flow, http.HTTPFlow) or flow.request.method != "POST":
        return False
    found = endpoint_at(flow.request.path)
    is_asked = found is not None and found.end == found.protocol.path
    return is_asked and not (record is not None and record.get("protocol"))


def _is_translated(record: AnswerMetadata) -> bool:
    """Tell whether what was received is stored of an answer that was translated."""
    return bool(record.get("protocol") and record["received"])


def _lines(found: Contents) -> Iterator[str]:
    body = found.body
    yield from _head(body)
    for choice in choices(body):
        yield BLANK
        yield from _choice(choice, alone=len(choices(body)) == 1)
    if usage_of(body):
        yield BLANK
        yield f"usage: {_plain(body['usage'])}"
    for error in found.errors:
        yield BLANK
        yield from _block("error", _plain(error))
    if found.unread:
        yield BLANK
        yield f"{found.unread} events that are not chunks"


def _head(body: Chunk) -> Iterator[str]:
    named = {key: body.get(key) for key in ("model", "id", "service_tier")}
    yield ", ".join(
        f"{key} {escaped(str(value))}" for key, value in named.items() if value
    )


def _native_lines(found: NativeContents) -> Iterator[str]:
    yield from _head(found.head)
    yield BLANK
    for part in found.parts.values():
        if part.text or part.title.startswith("call"):
            yield from _block(escaped(part.title), part.text)
    yield f"finish: {escaped(found.finish or 'none yet')}"
    if found.usage:
        yield BLANK
        yield f"usage: {_plain(found.usage)}"
    for error in found.errors:
        yield BLANK
        yield from _block("error", _plain(error))


def _choice(choice: Chunk, *, alone: bool) -> Iterator[str]:
    if not alone:
        yield f"== choice {choice['index']}"
    message = choice["message"]
    # As they are said: a model thinks before it speaks.
    for key in sorted(message, key=lambda key: not key.startswith("reasoning")):
        value = message[key]
        if key in ("role", "tool_calls", "function_call") or not value:
            continue
        yield from _block("text" if key == "content" else key, _plain(value))
    call = message.get("function_call")
    legacy = [{"function": call}] if call else []
    for number, call in enumerate([*calls(message), *legacy]):
        called = function(call)
        name = f"call {number}: {called.get('name')}"
        name += f" ({call['id']})" if call.get("id") else ""
        yield from _block(escaped(name), _plain(called.get("arguments")))
    yield f"finish: {escaped(str(choice['finish_reason'] or 'none yet'))}"


def _plain(value: Json) -> str:
    return value if isinstance(value, str) else dumps(value).decode()


def _block(title: str, text: str) -> Iterator[str]:
    """Yield a text under its title, escaped and bounded."""
    yield f"{escaped(title)}:"
    lines = text.splitlines() or [""]
    for line in lines[:_MOST]:
        yield f"  {escaped(line[:_LONG])}"
        if len(line) > _LONG:
            yield f"  … and {len(line) - _LONG:,} characters more"
    if len(lines) > _MOST:
        yield f"  … and {len(lines) - _MOST:,} lines more"
