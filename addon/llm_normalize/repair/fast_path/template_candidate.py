"""What one event teaches of the others: what of it may vary, and what becomes of it."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    deltas,
    function,
    index_of,
    is_chunk,
    name_of,
    usage_of,
)
from ...wire.json_text import Json, loads
from ..outcome import EventRecord
from .template import COUNT, TEXT, Template, first_equal_index, is_unicode, read

# Words that fixes only ask for their presence; `free_values` says where they may stand.
_DELTA_KEYS = ("content", "reasoning_content", "reasoning")
_TOP_KEYS = ("obfuscation", "p")
_KEYS = (*_DELTA_KEYS, *_TOP_KEYS, "arguments", "text")
HOLE = re.compile(
    rb'"(?P<key>%s)"[ \t]*:[ \t]*"(?P<text>%s)"|"\w*_tokens"[ \t]*:[ \t]*(?P<count>%s)(?![\w.+-])'
    % ("|".join(_KEYS).encode(), TEXT, COUNT)
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one event processed on the slow path teaches: its template, and its texts."""

    template: Template
    texts: list[bytes]
    keys: frozenset[str]
    """Where its texts stand: these words must not decide."""

    def is_proved_by(self, record: EventRecord, watched: set[str]) -> bool:
        """Tell whether the template knows what became of another event, with other words.

        It would teach the same then, but on the slow path.
        """
        template, raw = self.template, record.before or b""
        if record.moved or template.fixes != tuple(record.fixes):
            return False
        texts = template.fit(raw)
        if texts is None or texts == self.texts or watched & self.keys:
            return False
        sent = template.after(texts) if template.out else [raw]
        return record.after == [b"".join(sent)]


def learn(record: EventRecord) -> Candidate | None:
    """Return what an event processed on the slow path teaches, if anything.

    Its words may have decided: that is seen when another event proves it.
    """
    raw = record.before or b""
    if (
        len(record.after) != 1
        or record.moved
        or not _is_framed(raw)
        or not is_unicode(raw)
    ):
        return None
    parts, texts, values = _parted(raw)
    if not texts:
        return None
    same = first_equal_index(texts)
    free = free_values(chunk_in(raw))
    if not are_same(values, [value for _, value in free]) or same != first_equal_index(
        values
    ):
        return None  # one stands where its words may count
    after = record.after[0]
    is_changed = record.fixes or after != raw
    out = _patches(after, values) if is_changed else ()
    if out is None:
        return None
    template = Template(
        head=parts[0],
        between=tuple(parts[1:-1]),
        tail=parts[-1],
        same=same,
        out=out,
        fixes=tuple(record.fixes),
        calls=_continued(after, values) if b'"arguments"' in after else (),
        counts=tuple(at for at, value in enumerate(values) if isinstance(value, int)),
    )
    return Candidate(template, texts, frozenset(key for key, _ in free))


def are_same(some: list[str | int], others: list[str | int]) -> bool:
    """Tell whether both are the same values, in whichever order."""
    return some == others or Counter(some) == Counter(others)


def _patches(out: bytes, values: list[str | int]) -> tuple[bytes | int, ...] | None:
    """Return *out* with the numbers of the texts in the place of the *values*.

    None if one of them is lost, or there is a new one. Counts are sent elsewhere.
    """
    parts, _, read = _parted(out)
    lost = {value for value in values if isinstance(value, str)} - set(read)
    if lost or set(read) - set(values):
        return None
    patches: list[bytes | int] = [parts[0]]
    for value, part in zip(read, parts[1:], strict=True):
        patches += [values.index(value), part]
    return tuple(patches)


def _continued(out: bytes, values: list[str | int]) -> tuple[tuple[int, int, int], ...]:
    """Return (choice, tool call, number of the text) of the arguments in *out*."""
    return tuple(
        (index, index_of(call), values.index(function(call)["arguments"]))
        for index, _, delta in deltas(chunk_in(out))
        for call in calls(delta)
        if function(call).get("arguments")
    )


def chunk_in(raw: bytes) -> Chunk:
    """Return the chunk in the one data line of an event; without one, nothing."""
    try:
        (payload,) = [line[5:] for line in raw.split(b"\n") if line[:5] == b"data:"]
        chunk = loads(payload.strip())
    except (ValueError, RecursionError):
        return {}
    return chunk if is_chunk(chunk) else {}


def _parted(raw: bytes) -> tuple[list[bytes], list[bytes], list[str | int]]:
    """Return the bytes around the texts of *raw*, the texts, and what they say."""
    parts, texts = [], []
    values: list[str | int] = []
    at = 0
    for match in HOLE.finditer(raw):
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        parts.append(raw[at:start])
        texts.append(raw[start:end])
        values.append(int(texts[-1]) if kind == "count" else read(texts[-1]))
        at = end
    return [*parts, raw[at:]], texts, values


def may_fit(raw: bytes) -> bool:
    """Tell whether *raw* is framed as one event, and has a text that may vary."""
    return _is_framed(raw) and bool(HOLE.search(raw))


def _is_framed(raw: bytes) -> bool:
    return raw.endswith(b"\n\n") and raw.find(b"\r") < 0


def free_values(chunk: Chunk) -> list[tuple[str, str | int]]:
    """Return (key, value) where it means no more to any fix than that there is one."""
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
