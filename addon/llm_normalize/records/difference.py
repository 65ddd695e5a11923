"""What became of an event, field by field, for people to read.

Blocks are texts here, as the pairs log has them. Nothing is escaped: who shows a change
has to do that.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ..wire.json_text import Json, dumps, loads

REMOVED = "removed"

_LONG = 160  # characters of a value that are shown
_MOST = 40  # changes of one event that are shown
_COUNTED = 1000  # that are counted

_LINE_END = re.compile("\r\n|\r|\n")
_FIELD = re.compile("data: ?")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is not as it was.

    Attributes:
        place: The path of a JSON value (`choices[0].delta.role`), `framing` for what is
            around it, `data` for what is no JSON, `event` for a whole one. Where one
            event became several, `event 2: ` and the like is before it.
        old: What was there, in JSON's spelling, cut if long; None if nothing was.
        new: What is there now; None if nothing is.
    """

    place: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        """Return it as one line: `choices[0].delta.role: null → removed`."""
        new = REMOVED if self.new is None else self.new
        if self.old is None:
            return f"{self.place}: added {new}"
        return f"{self.place}: {self.old} → {new}"


def changes(before: str | None, after: Sequence[str]) -> list[Change]:
    """The differences between an event and the blocks sent in its place.

    Args:
        before: The block as received; None for one that was added.
        after: The blocks that were sent, none where it was dropped.

    Returns:
        At most 40 changes, and one that says how many more there are.
    """
    found = list(islice(_changes(before, after), _COUNTED))
    if len(found) > _MOST:
        more = f"{'at least ' * (len(found) == _COUNTED)}{len(found) - _MOST}"
        found[_MOST:] = [Change("event", f"{more} changes more", "…")]
    return found


def _changes(before: str | None, after: Sequence[str]) -> Iterator[Change]:
    if before is None:
        yield from (Change("event", None, _short(block)) for block in after)
    elif not after:
        yield Change("event", _short(before), None)
    elif len(after) == 1:
        yield from _between(before, after[0], "")
    elif _is_chunk(_payload(before)):
        for number, block in enumerate(after, 1):
            yield from _between(before, block, f"event {number}: ")
    else:
        yield Change("event", _short(before), _short(after[0]))
        yield from (Change("event", None, _short(block)) for block in after[1:])


def _between(before: str, after: str, prefix: str) -> Iterator[Change]:
    old, new = _payload(before), _payload(after)
    frames = _frame(before), _frame(after)
    old_value, new_value = _value(old), _value(new)
    if old_value is None or new_value is None:
        if before != after:
            yield Change(f"{prefix}event", _short(before), _short(after))
        return
    if frames[0] != frames[1]:
        yield Change(f"{prefix}framing", *frames)
    yield from _differences(old_value[0], new_value[0], "", prefix)


def _differences(old: Json, new: Json, path: str, prefix: str) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            inner = _member(path, key)
            yield from _member_changes(old, new, key, inner, prefix)
    elif isinstance(old, list) and isinstance(new, list):
        pair = dict(enumerate(old)), dict(enumerate(new))
        for at in range(max(len(old), len(new))):
            yield from _member_changes(*pair, at, f"{path}[{at}]", prefix)
    elif type(old) is not type(new) or old != new:
        yield Change(prefix + (path or "data"), _spelled(old), _spelled(new))


def _member_changes(
    old: dict[Json, Json], new: dict[Json, Json], key: object, path: str, prefix: str
) -> Iterator[Change]:
    if key not in new:
        yield Change(prefix + path, _spelled(old[key]), None)
    elif key not in old:
        yield Change(prefix + path, None, _spelled(new[key]))
    else:
        yield from _differences(old[key], new[key], path, prefix)


def _member(path: str, key: str) -> str:
    name = key if _NAME.fullmatch(key) else _spelled(key)
    return f"{path}.{name}" if path else name


def _payload(block: str) -> str:
    """Return the data of an event; a body, or an event without the name, as it is."""
    lines = _LINE_END.split(block)
    data = [line for line in lines if line.startswith("data:")]
    if not data:
        return block.strip()
    return "\n".join(_FIELD.sub("", line, count=1) for line in data)


def _frame(block: str) -> str:
    """The text around the payload of *block*, its line ends spelled out."""
    parts = re.split("(\r\n|\r|\n)", block)
    if any(line.startswith("data:") for line in parts):
        parts[::2] = map(_name_of, parts[::2])
    else:
        parts = block.split(block.strip() or None, maxsplit=1)
        parts.insert(1, "…")
    return _cut("".join(parts).replace("\r", "\\r").replace("\n", "\\n"))


def _name_of(line: str) -> str:
    """Return a line of data without the data; any other as it is."""
    found = _FIELD.match(line)
    return line if found is None else found.group() + "…"[: len(line) - found.end()]


def _value(payload: str) -> tuple[Json] | None:
    try:
        return (loads(payload.encode()),)
    except (ValueError, RecursionError):
        return None


def _is_chunk(payload: str) -> bool:
    value = _value(payload)
    found = value[0].get("choices") if value and isinstance(value[0], dict) else None
    return isinstance(found, list) and not any(
        isinstance(choice, dict) and "message" in choice for choice in found
    )


def _short(block: str) -> str:
    return _cut(_LINE_END.sub(" ", block).strip() or "a bare newline")


def _spelled(value: Json) -> str:
    return _cut(dumps(value).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


def aligned(old: str, new: str) -> tuple[str, str]:
    """Return two lines without what both begin and end with, so that they can be compared.

    `…` stands for what is omitted. They are cut at commas and brackets, and the object
    that holds the change stays whole. JSON is spelled without blanks in both.
    """
    old, new = _compact(old), _compact(new)
    start = _common(old, new)
    start = _object_start(old[:start])
    rest = min(len(old), len(new)) - start
    tail = _common(old[: len(old) - rest - 1 : -1], new[: len(new) - rest - 1 : -1])
    tail = _object_end(old[len(old) - tail :])
    return _between_marks(old, start, tail), _between_marks(new, start, tail)


def _compact(line: str) -> str:
    """Return *line* with the JSON in it as it is spelled where it is written anew."""
    name, brace, rest = line.partition("{")
    value = _value(brace + rest)
    return line if value is None else name + dumps(value[0]).decode()


def _common(one: str, other: str) -> int:
    """Return how many characters *one* and *other* begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # slices are compared at the speed of C
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _object_start(prefix: str) -> int:
    inner = prefix.rfind("{")
    return max(prefix.rfind(",", 0, inner), prefix.rfind("{", 0, max(inner, 0))) + 1


def _object_end(suffix: str) -> int:
    at = suffix.find("}")
    return len(suffix) - at - 1 if at >= 0 else 0


def _between_marks(line: str, start: int, tail: int) -> str:
    head = "data: …" if line.startswith("data: ") else "…"
    if start <= len(head):
        head, start = "", 0
    end = len(line) - tail
    return f"{head}{line[start:end]}{'…' if tail > 1 else line[end:]}"
