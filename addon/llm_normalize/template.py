"""What a settled stream learned: events of a known shape are patched as bytes, unread.

Most events of a stream differ in one text alone, and what becomes of them does not
depend on it. A template is what such an event looks like around its texts, as it came
and as it left. It holds as long as the stream is settled: the long way of an event has
been seen to leave everything as it was that decides on the next one. An event that fits
would go the same way, so it is not read at all. Whatever fits nothing goes the long way,
and if that changes anything, all templates are forgotten.

An optimisation and no more: without it every byte leaves the same.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .chunk import Chunk, calls, deltas, function, index_of, name_of
from .jsontext import Json, dumps, loads
from .step import Step

_TEXT = rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+'
_IS_TEXT = re.compile(_TEXT).fullmatch
# Texts that fixes only ask for their presence; `holes` tells where they may stand.
_DELTA_KEYS = ("content", "reasoning_content", "reasoning")
_TOP_KEYS = ("obfuscation", "p")
_KEYS = (*_DELTA_KEYS, *_TOP_KEYS, "arguments", "text")
_HOLE = re.compile(rb'"(?:%s)"[ \t]*:[ \t]*"(%s)"' % ("|".join(_KEYS).encode(), _TEXT))


@dataclass(frozen=True, slots=True)
class Template:
    """One shape of event, and what becomes of it.

    Attributes:
        head: The bytes before the first text.
        between: The bytes between the texts.
        tail: The bytes behind the last text, to the event's end.
        same: For each text the number of the first one that is its equal.
        out: What leaves: bytes, and the numbers of texts; nothing if it is what came.
        fixes: Names of the fixes that change it.
        calls: (choice, tool call, number of the text) of arguments.
    """

    head: bytes
    between: tuple[bytes, ...]
    tail: bytes
    same: tuple[int, ...]
    out: tuple[bytes | int, ...]
    fixes: tuple[str, ...]
    calls: tuple[tuple[int, int, int], ...]

    def fit(self, raw: bytes) -> list[bytes] | None:
        """Return the texts of the event *raw*; None if it has another shape."""
        if not (raw.startswith(self.head) and raw.endswith(self.tail)):
            return None
        if self.between:
            texts = self._texts(raw)
        else:  # the common case
            texts = [raw[len(self.head) : -len(self.tail)]]
            if not _IS_TEXT(texts[0]) or len(raw) < len(self.head) + len(self.tail):
                return None
        if not raw.isascii() and not _is_unicode(raw):
            return None
        return texts or None

    def write(self, texts: list[bytes]) -> bytes:
        """Return what leaves for an event with these *texts*, if not what came."""
        texts = [_respelled(text) if b"\\" in text else text for text in texts]
        return b"".join(
            [texts[part] if isinstance(part, int) else part for part in self.out]
        )

    def added(self, texts: list[bytes]) -> Iterator[tuple[int, int, str]]:
        """Yield (choice, call, arguments) of the tool calls that an event continues."""
        return ((choice, call, _read(texts[at])) for choice, call, at in self.calls)

    def _texts(self, raw: bytes) -> list[bytes]:
        """Return the texts of *raw*, none if they do not fit."""
        texts = []
        at = len(self.head)
        for part in self.between:
            end = raw.find(part, at)
            if end < 0:
                return []
            texts.append(raw[at:end])
            at = end + len(part)
        texts.append(raw[at : -len(self.tail)])
        if at > len(raw) - len(self.tail) or not all(map(_IS_TEXT, texts)):
            return []
        return texts if _sameness(texts) == self.same else []


def _is_unicode(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _read(text: bytes) -> str:
    return str(json.loads(b'"%s"' % text))


def _respelled(text: bytes) -> bytes:
    """Return *text* as it is spelled where an event is written anew."""
    return dumps(_read(text))[1:-1]


def _sameness(texts: Sequence[object]) -> tuple[int, ...]:
    return tuple(map(texts.index, texts))


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one event that went the long way teaches: its template, and its texts."""

    template: Template
    texts: list[bytes]


def learn(step: Step, watched: set[str]) -> Lesson | None:
    """Return what an event that went the long way teaches, if anything."""
    raw = step.before or b""
    if len(step.after) != 1 or step.moved or not may_fit(raw):
        return None
    parts, texts = _parted(raw)
    told = [_read(text) for text in texts]
    same = _sameness(texts)
    free = _free_texts(raw)
    if sorted(told) != sorted(text for _, text in free) or same != _sameness(told):
        return None  # one stands where its words may count
    if watched & {key for key, _ in free}:
        return None
    after = step.after[0]
    out = _patches(after, told)
    if out is None:
        return None
    template = Template(
        head=parts[0],
        between=tuple(parts[1:-1]),
        tail=parts[-1],
        same=same,
        out=out if step.fixes or after != raw else (),
        fixes=tuple(step.fixes),
        calls=_continued(after, told),
    )
    return Lesson(template, texts)


def _patches(out: bytes, told: list[str]) -> tuple[bytes | int, ...] | None:
    """Return *out* with the numbers of the texts in the place of what was *told*."""
    parts, texts = _parted(out)
    read = [_read(text) for text in texts]
    if set(told) != set(read):
        return None
    patches: list[bytes | int] = [parts[0]]
    for text, part in zip(read, parts[1:], strict=True):
        patches += [told.index(text), part]
    return tuple(patches)


def _continued(out: bytes, told: list[str]) -> tuple[tuple[int, int, int], ...]:
    """Return (choice, tool call, number of the text) of the arguments in *out*."""
    return tuple(
        (index, index_of(call), told.index(function(call)["arguments"]))
        for index, _, delta in deltas(_chunk_in(out))
        for call in calls(delta)
        if function(call).get("arguments")
    )


def _chunk_in(raw: bytes) -> Chunk:
    """Return the chunk in the one data line of an event; without one, nothing."""
    try:
        (payload,) = [line[5:] for line in raw.splitlines() if line[:5] == b"data:"]
        chunk = loads(payload.strip())
    except ValueError:
        return {}
    return chunk if isinstance(chunk, dict) else {}


def _parted(raw: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return the bytes around the texts of *raw*, and the texts."""
    found = list(_HOLE.finditer(raw))
    edges = [0, *(at for match in found for at in match.span(1)), len(raw)]
    parts = [raw[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2)]
    return parts, [match[1] for match in found]


def may_fit(raw: bytes) -> bool:
    """Tell whether *raw* is framed as one event, and has a text that may vary."""
    return raw.endswith(b"\n\n") and b"\r" not in raw and bool(_HOLE.search(raw))


def _free_texts(raw: bytes) -> list[tuple[str, str]]:
    """Return (key, text) where a text stands that fixes only ask for its presence."""
    chunk = _chunk_in(raw)
    found = _texts_in(chunk, *_TOP_KEYS)
    for _, _, delta in deltas(chunk):
        found += _texts_in(delta, *_DELTA_KEYS)
        for call in calls(delta):
            if call.get("id") or name_of(call):
                return []  # it may open a call, or repeat one: its arguments count
            found += _texts_in(function(call), "arguments")
        details = delta.get("reasoning_details")
        for part in details if isinstance(details, list) else ():
            found += _texts_in(part, "text")
    return found


def _texts_in(part: Json, *keys: str) -> list[tuple[str, str]]:
    found = [(key, part.get(key)) for key in keys if isinstance(part, dict)]
    return [(key, text) for key, text in found if text and isinstance(text, str)]
