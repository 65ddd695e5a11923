"""What arrives in parts, and is wanted as one: parts of a content, fragments of a call.

Source of the parts: https://docs.mistral.ai/capabilities/reasoning/ and the shapes of
Databricks and of OpenAI's Responses API, which gateways pass on.
"""

from collections import Counter

from ..wire.json_text import Json, dumps, frozen
from .chunk import (
    Chunk,
    calls,
    choices,
    deltas,
    envelope_of,
    function,
    given_index,
    index_of,
    is_hollow,
    name_of,
)
from .declared_tools import NONE, Tools
from .stream_state import MANY, brief

_THINKING = ("thinking", "reasoning", "summary_text")
_LIMIT = 64 * 1024  # bytes that wait for a name
_SAID = ("name", "arguments")
_KEYS = ("thinking", "reasoning", "summary", "text")


def join_parts(parts: list[Json]) -> tuple[str, str, list[Json]]:
    """Return the text, the reasoning, and the parts that have neither."""
    text = thought = ""
    others = []
    for part in parts:
        if isinstance(part, str):
            text += part
        elif isinstance(part, dict) and part.get("type") in _THINKING:
            thought += _words(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            text += part["text"]
        else:
            others.append(part)
    return text, thought, others


def _words(value: Json) -> str:
    if isinstance(value, dict):
        return "".join(_words(value[key]) for key in _KEYS if key in value)
    if isinstance(value, list):
        return "".join(map(_words, value))
    return value if isinstance(value, str) else ""


class Unnamed:
    """Fragments of tool calls whose name is missing, or only begins one of *tools*."""

    def __init__(self, tools: Tools = NONE) -> None:
        self._tools = tools
        self._held: dict[tuple[int, int], Chunk] = {}  # (choice, call) to all so far
        self._at: dict[tuple[int, int], int] = {}  # the event that brought the last
        self._where: dict[tuple[int, int | str], tuple[int, int]] = {}
        """Where an id, or what has come under another index, waits."""
        self._known: set[tuple[int, int | str]] = set()  # calls that wait no more
        self._size = 0
        self._before = (-1, self._held)  # an event's number, and what waited before it

    @property
    def state(self) -> object:
        """What decides on the next fragment, to be compared later."""
        waits = tuple(self._at.items()), tuple(self._where.items()), frozen(self._held)
        return frozenset(self._known), waits

    @property
    def waiting(self) -> object:
        """Which calls wait, and since which event; None if none does."""
        return tuple(self._at.items()) or None

    @property
    def choices(self) -> frozenset[int]:
        """The choices of which something waits."""
        return frozenset(choice for choice, _ in self._held)

    def take(
        self, index: int, call: Chunk, n: int, *, opened: bool = False
    ) -> Chunk | None:
        """Return what is sent of choice *index* for the fragment *call*, if anything.

        That is all of a call that has its name by now; without one it waits, and one
        that says nothing is dropped. *n* is the number of the event at hand; *opened*
        says that the call with this id has left.
        """
        own = index, index_of(call)
        custom = "custom" in call and not name_of(call) and own not in self._held
        if call.get("type") not in (None, "", "function") or custom:
            self._know(index, call)
            return call  # of a kind that has no function, nor a name
        known = own in self._known
        if known and not name_of(call):
            self._know(index, call)  # its id may have come now
            return call
        place = self._place(index, call, n)
        held = self._held.get(place)
        aliased = place in self._known and not name_of(call)
        if call.get("id") and not opened and self._tools.may_grow(str(name_of(call))):
            known = False  # another call under a taken index, whose name begins
        if held is None and (known or aliased):
            return call if known else {**call, "index": place[1]}
        call = self._with_name(held, call)
        if opened or self._is_named(call):
            self._know(index, call)
            if held is None:
                return call
            self._begin(n)
            self._pop([place])
            frame = {"index": index_of(call)} | ({"id": call["id"]} if opened else {})
            joined = {**join_fragments(held, call), **frame}
            self._know(index, joined)
            return joined
        waits = held or call.get("id") or any(map(function(call).get, _SAID))
        if waits:
            self._begin(n)
            joined = join_fragments(held or {"index": place[1]}, call)
            self._size += _size(joined) - _size(held)
            self._held[place], self._at[place] = joined, n
            if call.get("id"):
                self._note((index, _id_of(joined)), place)
        # What says something in another shape passes as it is.
        passes = not waits and "function" not in call and not is_hollow(call)
        return call if passes else None

    def _is_named(self, call: Chunk) -> bool:
        name = name_of(call)
        return isinstance(name, str) and not self._tools.may_grow(name)

    def _with_name(self, held: Chunk | None, call: Chunk) -> Chunk:
        """Return *call* with the name that it and what is *held* of it have together."""
        before, given = name_of(held or {}), function(call).get("name")
        if not (before and given) or given.startswith(before):
            return call
        return {**call, "function": {**function(call), "name": before + given}}

    def _place(self, index: int, call: Chunk, n: int) -> tuple[int, int]:
        """Return where *call* waits: one id is one call, whatever its index."""
        own = index, index_of(call)
        place = own if own in self._held else self._where.get(own, own)
        same = self._where.get((index, _id_of(call)), place)
        held = self._held.get(place)
        other = held is not None and bool(held.get("id"))
        if same == place or same not in self._held or (other and name_of(call)):
            return place
        if not other:
            self._note(own, same)
        if held and not other:
            self._begin(n)
            (_, more), *_ = self._pop([place])
            first = self._held[same]
            self._held[same] = joined = join_fragments(first, more)
            self._size += _size(joined) - _size(first)
        return same

    def _note(self, key: tuple[int, int | str], place: tuple[int, int]) -> None:
        if len(self._where) < MANY:
            self._where[key] = place

    def overflow(self, n: int) -> list[tuple[int, Chunk]]:
        """Return all that waits where it is too much, at event *n*."""
        if self._size <= _LIMIT:
            return []
        self._begin(n)
        return self._give_up([*self._held])

    def settle(self) -> None:
        """Note that the stream ends, and no finish is to be repeated."""
        self._at = dict.fromkeys(self._held, -1)

    def release(self, ended: set[int] | None, n: int) -> list[tuple[int, Chunk]]:
        """Return what waits of the choices that *ended* before event *n*; all if None.

        A finish beside a fragment is not the last: there are servers that repeat it.
        """
        due = [
            place
            for place in self._held
            if ended is None or (place[0] in ended and self._at[place] < n)
        ]
        for place in due:  # it is sent, whatever becomes of the event at hand
            self._before[1].pop(place, None)
        return self._give_up(due)

    def _give_up(self, due: list[tuple[int, int]]) -> list[tuple[int, Chunk]]:
        # What continues a call that was sent would not wait, so it is first.
        known = self._known
        due.sort(
            key=lambda at: (
                (at[0], _id_of(self._held[at])) not in known,
                at not in known,
            )
        )
        popped = self._pop(due)
        for index, call in popped:
            self._know(index, call)
        return popped

    def _know(self, index: int, call: Chunk) -> None:
        if len(self._known) < MANY:
            self._known.add((index, index_of(call)))
        if call.get("id") and len(self._known) < MANY:
            self._known.add((index, _id_of(call)))

    def _pop(self, due: list[tuple[int, int]]) -> list[tuple[int, Chunk]]:
        popped = [(place[0], self._held.pop(place)) for place in due]
        for place, (_, call) in zip(due, popped, strict=True):
            del self._at[place]
            self._size -= _size(call)
        if not self._held:
            self._where.clear()
        return popped

    def undo(self, n: int) -> None:
        """Hold again what was held before event *n*, which passes unchanged."""
        if self._before[0] == n:
            self._held = dict(self._before[1])
            self._at = dict.fromkeys(self._held, n)
            self._where = {
                (place[0], _id_of(call)): place
                for place, call in self._held.items()
                if call.get("id")
            }
            self._size = sum(map(_size, self._held.values()))

    def _begin(self, n: int) -> None:
        if self._before[0] != n:
            self._before = n, dict(self._held)


def _id_of(fragment: Chunk) -> str:
    """Return the id in a form that can be looked up, whatever it is; empty for none."""
    identity = brief(fragment.get("id") or "")
    return identity if isinstance(identity, str) else dumps(identity).decode()


def _size(fragment: Chunk | None) -> int:
    """Return how much *fragment* says: that of two is the sum, however they are joined."""
    if not fragment:
        return 0
    named = function(fragment)
    rest = {**fragment, "function": {**named, "arguments": ""}}
    return len(dumps(rest)) + len(named.get("arguments") or "")


def part_choices(chunk: Chunk) -> list[Chunk] | None:
    """Return *chunk* in parts, no two choices of one index in any; None if it is one."""
    rounds: list[list[Chunk]] = []
    times: Counter[int] = Counter()
    for choice in choices(chunk):
        index = given_index(choice)
        at = 0 if index is None else times[index]
        times.update([] if index is None else [index])
        rounds += [[]] if at == len(rounds) else []
        rounds[at].append(choice)
    if len(rounds) < 2:  # noqa: PLR2004
        return None
    chunk["choices"] = rounds.pop()
    return [*({**envelope_of(chunk), "choices": each} for each in rounds), chunk]


def bare_of(choice: Chunk) -> Chunk:
    """Return *choice* for a chunk that is split off it, without what is said once."""
    bare = {key: each for key, each in choice.items() if key != "text"}
    bare |= {"logprobs": None} if "logprobs" in choice else {}
    return {**bare, "finish_reason": None}


def part_text(chunk: Chunk) -> list[Chunk] | None:
    """Return *chunk* in two, text before the calls it stands beside; None if it is one."""
    texts: list[Chunk] = []
    for _, choice, delta in deltas(chunk):
        if delta.get("content") and delta.get("tool_calls"):
            # The role opens the choice, so it goes with what comes first.
            text_delta = {
                key: delta.pop(key) for key in ("role", "content") if key in delta
            }
            texts.append({**choice, "delta": text_delta, "finish_reason": None})
            choice.pop("text", None)
            if "logprobs" in choice:
                choice["logprobs"] = None
    return [{**envelope_of(chunk), "choices": texts}, chunk] if texts else None


def part_calls(chunk: Chunk) -> list[Chunk] | None:
    """Return *chunk* in parts, one fragment each, where two are of one call."""
    parts: list[Chunk] = []
    for _, choice, delta in deltas(chunk):
        found = calls(delta)
        if not _share_a_call(found):
            continue
        delta["tool_calls"] = found[:1]
        bare = bare_of(choice)
        first = envelope_of(chunk)
        for call in found[1:]:
            alone = {**bare, "delta": {"tool_calls": [call]}}
            parts.append({**first, "choices": [alone]})
    return [chunk, *parts] if parts else None


def fragments_of(call: Chunk, index: int) -> list[Chunk]:
    """Return a whole *call* as the fragments in which OpenAI sends it."""
    inner = function(call)
    rest = {"arguments": inner["arguments"]}
    place = {} if "index" in call else {"index": index}
    opening = {**place, **call, "function": {**inner, "arguments": ""}}
    return [opening, {"index": index, "function": rest}]


def _share_a_call(found: list[Chunk]) -> bool:
    """Tell whether two of *found* may be of one call: by index, by id, or without any."""
    given = [given_index(call) for call in found]
    indexes = {at for at in given if at is not None and at >= 0}
    ids = [repr(identity) for call in found if (identity := call.get("id"))]
    same = len(indexes) < len(found) or len(set(ids)) < len(ids)
    return same and len(found) > 1


def join_fragments(first: Chunk, more: Chunk) -> Chunk:
    """Return a tool call's fragment with the arguments of both, and the rest once."""
    texts = [function(each).get("arguments") or "" for each in (first, more)]
    inner = {**_filled(function(more)), **_filled(function(first))}
    inner |= {"name": name} if (name := function(more).get("name")) else {}
    inner["arguments"] = "".join(texts)
    return {**_filled(more), **_filled(first), "function": inner}


def _filled(part: Chunk) -> Chunk:
    return {
        key: value
        for key, value in part.items()
        if value not in (None, "")
        and (not isinstance(value, dict) or any(value.values()))
    }
