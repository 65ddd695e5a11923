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
_TEXT = 80  # characters of a text that is shown as a whole
_KEPT = 24  # characters of a longer one, at its ends and around what differs
_MOST = 40  # changes of one event that are shown
_COUNTED = 1000  # that are counted

_LINE_END = re.compile("\r\n|\r|\n")
_FIELD = re.compile("data: ?")
_PART = re.compile(r"event \d+: ")
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

    Of two long texts, both have what differs and a little around it.
    """

    place: str
    old: str | None
    new: str | None

    @property
    def is_of_part(self) -> bool:
        """Whether it is in one of several chunks that an event became."""
        return _PART.match(self.place) is not None

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
        value = _value(_payload(before))
        added = [each for each in after if _value(_payload(each)) != value]
        if value is None or len(added) == len(after):  # it is not among them
            yield Change("event", _short(before), _short(after[0]))
            added = [*after[1:]]
        yield from (Change("event", None, _short(block)) for block in added)


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
        sides = _parted(old, new)
        yield Change(prefix + (path or "data"), *map(_spelled, sides))


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


def excerpts(gone: list[str], come: list[str]) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines without what they have in common."""
    if len(gone) == len(come) == 1:
        old, new = aligned(gone[0], come[0])
        return [old], [new]
    lines = [_shortened(each) for each in (*gone, *come)]
    common = min((_common(lines[0], each) for each in lines[1:]), default=0)
    start = _object_start(lines[0][:common]) if common else 0
    shown = [_between_marks(each, start, 0) for each in lines]
    return shown[: len(gone)], shown[len(gone) :]


def aligned(old: str, new: str) -> tuple[str, str]:
    """Return two lines without what both begin and end with, so that they can be compared.

    `…` stands for what is omitted. They are cut at commas and brackets, and the object
    that holds the change stays, with the middle of long texts and what else is long and the
    same left out. JSON is spelled without blanks in both.
    """
    old, new = _compact(old, new)
    start = _common(old, new)
    start = _object_start(old[:start])
    rest = min(len(old), len(new)) - start
    tail = _common(old[: len(old) - rest - 1 : -1], new[: len(new) - rest - 1 : -1])
    tail = _object_end(old[len(old) - tail :])
    return _between_marks(old, start, tail), _between_marks(new, start, tail)


def _compact(old: str, new: str) -> tuple[str, str]:
    """Return two lines with the JSON in them as it is spelled where it is written anew."""
    values = _in_line(old), _in_line(new)
    if values[0] is None or values[1] is None:
        return _shortened(old), _shortened(new)
    sides = _parted(values[0][1], values[1][1])
    return values[0][0] + _written(sides[0]), values[1][0] + _written(sides[1])


def _shortened(line: str) -> str:
    """Return *line*, spelled so, without the middle of long texts in its JSON."""
    found = _in_line(line)
    return line if found is None else found[0] + _written(_cut_within(found[1]))


def _in_line(line: str) -> tuple[str, Json] | None:
    """Return the JSON in *line*, behind what is before it."""
    name, brace, rest = line.partition("{")
    value = _value(brace + rest)
    return None if value is None else (name, value[0])


def _written(value: Json) -> str:
    return dumps(value).decode().replace('"…"', "…")


def _parted(old: Json, new: Json) -> tuple[Json, Json]:
    """Return two values without most of what is long and the same in both."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = {key: _member_parted(old[key], new[key]) for key in old if key in new}
        return (
            {k: both[k][0] if k in both else _cut_within(v) for k, v in old.items()},
            {k: both[k][1] if k in both else _cut_within(v) for k, v in new.items()},
        )
    if isinstance(old, list) and isinstance(new, list):
        pairs = [*map(_member_parted, old, new)]
        return (
            [*(one for one, _ in pairs), *map(_cut_within, old[len(pairs) :])],
            [*(other for _, other in pairs), *map(_cut_within, new[len(pairs) :])],
        )
    if isinstance(old, str) and isinstance(new, str) and old != new:
        return _texts_parted(old, new)
    return _cut_within(old), _cut_within(new)


def _member_parted(old: Json, new: Json) -> tuple[Json, Json]:
    one, other = _parted(old, new)
    spelled = dumps(one)
    is_same = isinstance(one, dict | list) and spelled == dumps(other)
    return ("…", "…") if is_same and len(spelled) > _TEXT else (one, other)


def _texts_parted(old: str, new: str) -> tuple[str, str]:
    """Return what differs in two texts, with a little of what is around it."""
    start = _common(old, new)
    most = min(len(old), len(new)) - start
    end = _common(old[: len(old) - most - 1 : -1], new[: len(new) - most - 1 : -1])
    cut = max(0, start - _KEPT), max(0, end - _KEPT)
    middles = (each[cut[0] : len(each) - cut[1]] for each in (old, new))
    one, other = (
        "…" * bool(cut[0]) + _without_middle(each) + "…" * bool(cut[1])
        for each in middles
    )
    return one, other


def _cut_within(value: Json) -> Json:
    """Return *value* with the middle of long texts in it left out."""
    if isinstance(value, dict):
        return {key: _cut_within(each) for key, each in value.items()}
    if isinstance(value, list):
        return [*map(_cut_within, value)]
    return _without_middle(value) if isinstance(value, str) else value


def _without_middle(text: str) -> str:
    is_long = len(text) > _TEXT + 2 * _KEPT
    return f"{text[: 2 * _KEPT]}…{text[-2 * _KEPT :]}" if is_long else text


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
    if "{" not in prefix[:inner]:  # the whole value: the rest of it says nothing
        return prefix.rfind(",") + 1
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
