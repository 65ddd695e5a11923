"""What comes in pieces, and is wanted whole: parts of a content, fragments of a call.

Source of the parts: https://docs.mistral.ai/capabilities/reasoning/ and the shapes of
Databricks and of OpenAI's Responses API, which gateways pass on.
"""

from .chunk import Chunk, function, index_of, name_of
from .jsontext import Json, dumps

_THINKING = ("thinking", "reasoning", "summary_text")
_LIMIT = 64 * 1024  # bytes that wait for a name
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
    """Fragments of tool calls whose name has not come yet."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], Chunk] = {}  # (choice, call) to all so far
        self._size = 0
        self._before = (-1, self._held)  # an event's number, and what waited before it

    def take(self, index: int, call: Chunk, n: int) -> Chunk | None:
        """Return what leaves of choice *index* for the fragment *call*, if any does.

        That is all of a call that has its name by now; without one it waits, and one
        that says nothing is dropped. *n* is the number of the event at hand.
        """
        if call.get("type") not in (None, "", "function"):
            return call  # of a kind that has no function, nor a name
        place = (index, index_of(call))
        held = self._held.get(place)
        if name_of(call):
            if held is None:
                return call
            self._begin(n)
            return join_fragments(self._held.pop(place), call)
        if held or call.get("id") or function(call).get("arguments"):
            self._begin(n)
            self._held[place] = join_fragments(held or {"index": place[1]}, call)
            self._size += len(dumps(call))
        return None

    def release(self, ended: set[int] | None, n: int) -> list[tuple[int, Chunk]]:
        """Return what waits of the choices that *ended*; all if None, or too much."""
        if ended is None or self._size > _LIMIT:
            ended = {index for index, _ in self._held}
        due = [place for place in self._held if place[0] in ended]
        if due:
            self._begin(n)
            self._size = 0
        return [(place[0], self._held.pop(place)) for place in due]

    def undo(self, n: int) -> None:
        """Let wait what waited before event *n*, which passes as it came."""
        if self._before[0] == n:
            self._held = dict(self._before[1])

    def _begin(self, n: int) -> None:
        if self._before[0] != n:
            self._before = n, dict(self._held)


def join_fragments(first: Chunk, more: Chunk) -> Chunk:
    """Return a tool call's fragment with the arguments of both, and the rest once."""
    texts = [function(each).get("arguments") or "" for each in (first, more)]
    inner = {**_filled(function(more)), **_filled(function(first))}
    inner["arguments"] = "".join(texts)
    return {**_filled(more), **_filled(first), "function": inner}


def _filled(part: Chunk) -> Chunk:
    return {key: value for key, value in part.items() if value not in (None, "")}
