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
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .chunk import Chunk, calls, deltas, function, index_of, name_of, usage_of
from .jsontext import Json, dumps, loads
from .step import Step

_TEXT = rb'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))+'
_COUNT = rb"[1-9][0-9]{0,15}"  # zeros may mean that nothing has been counted
_IS_TEXT = re.compile(_TEXT).fullmatch
_IS_COUNT = re.compile(_COUNT).fullmatch
# What most texts are made of; JSON has no more to say of these.
_PLAIN = bytes(sorted({*range(0x20, 0x7F)} - {*b'"\\'}))
# Words that fixes only ask for their presence; `_free_values` tells where they may stand.
_DELTA_KEYS = ("content", "reasoning_content", "reasoning")
_TOP_KEYS = ("obfuscation", "p")
_KEYS = (*_DELTA_KEYS, *_TOP_KEYS, "arguments", "text")
_HOLE = re.compile(
    rb'"(?:%s)"[ \t]*:[ \t]*"(?P<text>%s)"|"\w*_tokens"[ \t]*:[ \t]*(?P<count>%s)(?![\w.+-])'
    % ("|".join(_KEYS).encode(), _TEXT, _COUNT)
)


@dataclass(frozen=True, slots=True)
class Template:
    """One shape of event, and what becomes of it.

    What varies in it are texts without their quotes, and counts.

    Attributes:
        head: The bytes before the first text.
        between: The bytes between the texts.
        tail: The bytes behind the last text, to the event's end.
        same: For each text the number of the first one that is its equal.
        out: What leaves: bytes, and the numbers of texts; nothing if it is what came.
        fixes: Names of the fixes that change it.
        calls: (choice, tool call, number of the text) of arguments.
        counts: The numbers of the texts that are counts.
    """

    head: bytes
    between: tuple[bytes, ...]
    tail: bytes
    same: tuple[int, ...]
    out: tuple[bytes | int, ...]
    fixes: tuple[str, ...]
    calls: tuple[tuple[int, int, int], ...]
    counts: tuple[int, ...]
    edges: tuple[int, int, int, int] | None = field(init=False, compare=False)
    """Bytes around the one text of an event that is changed: before, behind; after, too."""
    _edges: tuple[int, int] | None = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Note where the text is, if there is but one, and all else is ASCII."""
        ascii_only = self.head.isascii() and self.tail.isascii()
        simple = ascii_only and not (self.between or self.counts)
        edges = (len(self.head), -len(self.tail)) if simple else None
        object.__setattr__(self, "_edges", edges)  # the dataclass is frozen
        sizes = None
        if edges and len(self.out) == 3:  # noqa: PLR2004 - text between bytes
            sides = (self.head, self.tail, self.out[0], self.out[2])
            sizes = tuple(len(each) for each in sides if isinstance(each, bytes))
        object.__setattr__(self, "edges", sizes)

    def fit(self, raw: bytes) -> list[bytes] | None:
        """Return the texts of the event *raw*; None if it has another shape."""
        if not (raw.startswith(self.head) and raw.endswith(self.tail)):
            return None
        if self._edges is not None:  # the common case
            start, stop = self._edges
            text = raw[start:stop]
            if text and not text.translate(None, _PLAIN):
                return [text]
        texts = self._texts(raw)
        if not raw.isascii() and not _is_unicode(raw):
            return None
        return texts or None

    def after(self, texts: list[bytes]) -> list[bytes]:
        """Return the pieces of what leaves for it, if that is not what came."""
        texts = [_respelled(text) if b"\\" in text else text for text in texts]
        return [texts[part] if isinstance(part, int) else part for part in self.out]

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
        if at > len(raw) - len(self.tail) or _sameness(texts) != self.same:
            return []
        for number, text in enumerate(texts):
            if not (_IS_COUNT if number in self.counts else _IS_TEXT)(text):
                return []
        return texts


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
    parts, texts, told = _parted(raw)
    same = _sameness(texts)
    free = _free_values(raw)
    if Counter(told) != Counter(value for _, value in free) or same != _sameness(told):
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
        counts=tuple(at for at, value in enumerate(told) if isinstance(value, int)),
    )
    return Lesson(template, texts)


def _patches(out: bytes, told: list[str | int]) -> tuple[bytes | int, ...] | None:
    """Return *out* with the numbers of the texts in the place of what was *told*.

    None if one of them is lost, or another has come. Counts are kept elsewhere.
    """
    parts, _, read = _parted(out)
    lost = {value for value in told if isinstance(value, str)} - set(read)
    if lost or set(read) - set(told):
        return None
    patches: list[bytes | int] = [parts[0]]
    for value, part in zip(read, parts[1:], strict=True):
        patches += [told.index(value), part]
    return tuple(patches)


def _continued(out: bytes, told: list[str | int]) -> tuple[tuple[int, int, int], ...]:
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


def _parted(raw: bytes) -> tuple[list[bytes], list[bytes], list[str | int]]:
    """Return the bytes around the texts of *raw*, the texts, and what they say."""
    parts, texts = [], []
    told: list[str | int] = []
    at = 0
    for match in _HOLE.finditer(raw):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        parts.append(raw[at:start])
        texts.append(raw[start:end])
        told.append(int(texts[-1]) if kind == "count" else _read(texts[-1]))
        at = end
    return [*parts, raw[at:]], texts, told


def may_fit(raw: bytes) -> bool:
    """Tell whether *raw* is framed as one event, and has a text that may vary."""
    return raw.endswith(b"\n\n") and b"\r" not in raw and bool(_HOLE.search(raw))


def _free_values(raw: bytes) -> list[tuple[str, str | int]]:
    """Return (key, value) where it means no more to any fix than that there is one."""
    chunk = _chunk_in(raw)
    found = [*_texts_in(chunk, *_TOP_KEYS), *_counts_in(chunk.get("usage"))]
    if usage_of(chunk) and "completion_tokens" not in dict(found):
        return []  # figures that have not counted the answer replace no others
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


def _counts_in(usage: Json) -> Iterator[tuple[str, int]]:
    """Yield (key, count) of what has been counted."""
    for key, value in usage.items() if isinstance(usage, dict) else ():
        if type(value) is int and value > 0 and key.endswith("_tokens"):
            yield key, value
        yield from _counts_in(value)


def _texts_in(part: Json, *keys: str) -> list[tuple[str, str | int]]:
    found = [(key, part.get(key)) for key in keys if isinstance(part, dict)]
    return [(key, text) for key, text in found if text and isinstance(text, str)]
