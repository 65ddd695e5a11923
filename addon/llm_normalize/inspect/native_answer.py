"""What an answer in Responses or Messages says: its stream, or its body, put together."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..wire.event_boundary import EVENT
from ..wire.json_text import Json, as_list, as_object, dumps, objects_in, value_in
from ..wire.sse import Event, EventParser

type _Object = dict[str, Any]

_MOST = 40_000 * EVENT
"""What of an answer is looked at: as many events."""
_TEXTS = ("text", "thinking", "partial_json", "refusal")
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
        told = [as_object(each).get("message") for each in self.errors]
        if error and as_object(error).get("message", 0) not in told:
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
    parser.budget_left = _MOST
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
