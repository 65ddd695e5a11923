"""Calls that stand as text in the deltas of a stream, or in messages.

In `content` a call counts wherever it stands. In reasoning it counts if the answer ends
behind it: a model that goes on to think, to answer or to call has only spoken of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..chunks.chunk import REASONING, Chunk, calls
from ..chunks.chunk_split import fragments_of
from ..state.asked import Asked
from ..state.stream_state import MAX_TRACKED, Seen
from .text_parts import Part, Place, Texts, Wanted, joined, read

_LONG = 256 * 1024  # characters of calls that may wait for the end of their choice
TEXTS = ("content", *REASONING)
"""The keys of a delta whose text may have calls."""


@dataclass(frozen=True, slots=True)
class _Due:
    """Calls in the reasoning of a choice, behind which nothing has come yet.

    Attributes:
        key: The key of the reasoning; where two say the same, the first.
        text: What they are written as.
        functions: What they call.
    """

    key: str
    text: str = ""
    functions: tuple[Chunk, ...] = field(default=(), compare=False)


class WrittenCalls:
    """The texts of a stream's choices, and the calls in them.

    Args:
        asked: What the request asked; only tools that it declares are called.
        seen: What the stream has sent.
    """

    def __init__(self, asked: Asked, seen: Seen) -> None:
        self.asked, self.seen = asked, seen
        self._wanted = Wanted(asked.declared)
        self._texts = {key: Texts(self._wanted) for key in TEXTS}
        self._due: dict[int, _Due] = {}
        self._before = -1, self._due  # an event's number, and what was due before
        self._made: dict[int, int] = {}  # calls of a choice
        self._holes = 0  # events that were lost when a text was read last
        self._is_cut = set[int]()  # choices of which nothing has come since

    @property
    def waiting(self) -> object:
        """How much of each text is held, to be compared; None for nothing.

        A call in reasoning waits as long as it takes: no client acts on it before the end.
        """
        return [each.waiting for each in self._texts.values() if each.waiting] or None

    @property
    def are_open(self) -> bool:
        """Whether anything is held."""
        return bool(self._due) or any(each.are_open for each in self._texts.values())

    def part(self, index: int, delta: Chunk, n: int) -> bool:
        """Take the calls out of the texts of *delta*; tell whether anything changed.

        Args:
            index: Its choice.
            delta: The delta, changed in place.
            n: The number of the event.
        """
        before, due = dict(delta), dict(self._due)
        words = self._give_up(index)
        for key in REASONING:
            text = delta.get(key)
            if isinstance(text, str) and text:
                parts = self._texts[key].read(index, text, n)
                _put(delta, key, self._thought(index, key, parts))
        content = delta.get("content")
        if isinstance(content, str) and content:
            text, functions = joined(self._texts["content"].read(index, content, n))
            if (text, functions) != (content, []):
                _put(delta, "content", text)
            if functions:
                delta["tool_calls"] = calls(delta) + self._calls(index, functions)
        if calls(delta) or str(delta.get("content") or "").strip():
            self._keep(index, delta)
        if self._due != due and self._before[0] != n:
            self._before = n, due
        for key, text in words.items():
            delta[key] = text + str(delta.get(key) or "")
        return delta != before

    def _give_up(self, index: int) -> dict[str, str]:
        """Return the texts held of choice *index* if an event has been lost since.

        What follows may not go on with them, so no call is made of both.
        """
        if self._holes != self.seen.holes:
            self._holes = self.seen.holes
            self._is_cut = set(self.seen.choices)
        if index not in self._is_cut:
            return {}
        self._is_cut.discard(index)
        held = {key: each.give_up(index) for key, each in self._texts.items()}
        return {key: text for key, text in held.items() if text}

    def _thought(self, index: int, key: str, parts: list[Part]) -> str:
        """Return the reasoning in *parts*; the calls in it are due."""
        said = ""
        for part in parts:
            due = self._due.get(index)
            is_known = due is not None or len(self._due) < MAX_TRACKED
            due = due or _Due(key)
            is_due = part.calls or (due.text and not part.text.strip())
            if is_due and due.key != key:
                continue  # the other key says the same
            if is_due and is_known and len(due.text) < _LONG:
                functions = (*due.functions, *(part.calls or ()))
                text = due.text + part.text
                self._due[index] = replace(due, text=text, functions=functions)
                continue
            if due.text and due.key == key:
                said += self._due.pop(index).text
            said += part.text
        return said

    def _keep(self, index: int, delta: Chunk) -> None:
        """Let the calls that were due be reasoning, for something has come behind them."""
        due = self._due.pop(index, None)
        if due is not None:
            delta[due.key] = due.text + str(delta.get(due.key) or "")

    def _calls(self, index: int, functions: list[Chunk]) -> list[Chunk]:
        found: list[Chunk] = []
        for each in functions:
            at = max(len(self.seen.choice(index).calls), self._made.get(index, 0))
            self._made[index] = at + 1
            frame = {"id": self.asked.make_id("call_", index, at), "type": "function"}
            found += fragments_of({**frame, "function": each}, at)
        return found

    def end(self, indexes: set[int] | None) -> Iterator[tuple[int, Chunk]]:
        """Yield the deltas of what is held of the choices *indexes*, which end.

        None: of all, in a pause. A call that lacks its end is one, other text stays.
        """
        called = {at for at, choice in self.seen.choices.items() if choice.calls}
        called -= self._made.keys()
        for at in sorted(self.seen.choices if indexes is None else indexes):
            yield from _deltas(at, self._give_up(at))
        for key in REASONING:
            for at, parts in self._texts[key].end(indexes, called):
                yield from _deltas(at, {key: self._thought(at, key, parts)})
        for at, parts in self._texts["content"].end(indexes, called):
            text, functions = joined(parts)
            delta: Chunk = {}
            if functions or text.strip():
                self._keep(at, delta)
            yield from _deltas(at, {**delta, "content": text})
            yield from _called(at, self._calls(at, functions))
        for at in sorted(self._due.keys() & (indexes or set())):
            due = self._due.pop(at)
            is_meant = at not in called and at not in self._made
            yield from _deltas(at, {} if is_meant else {due.key: due.text})
            functions = list(due.functions) if is_meant else []
            yield from _called(at, self._calls(at, functions))

    def undo(self, n: int) -> None:
        """Restore the state before event *n*, which is sent as received."""
        for each in self._texts.values():
            each.undo(n)
        if self._before[0] == n:
            self._due = dict(self._before[1])

    def part_message(self, index: int, message: Chunk) -> bool:
        """Take the calls out of the texts of *message*, which has none of its own.

        Args:
            index: The place of its choice.
            message: The message, changed in place; tell whether anything was.
        """
        found: list[Chunk] = []
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        if text:
            parts, _ = read(Place(), text, self._wanted, ended=True)
            said, found = joined(parts)
            if (said, found) == (text, []) and said.strip():
                return False
            if found or said != text:
                message["content"] = said or None
        for key in REASONING if not found and not text.strip() else ():
            thought = message.get(key)
            if isinstance(thought, str) and thought:
                parts, _ = read(Place(), thought, self._wanted, ended=True)
                said, functions = _last_calls(parts)
                if functions:
                    message[key] = said
                    found = found or functions
        if found:
            message["tool_calls"] = [
                {
                    "id": self.asked.make_id("call_", index, at),
                    "type": "function",
                    "function": each,
                }
                for at, each in enumerate(found)
            ]
        return bool(found) or message.get("content") != content


def _last_calls(parts: list[Part]) -> tuple[str, list[Chunk]]:
    """Return the words of *parts*, and the calls behind which there are no others."""
    begin = next((at for at, part in enumerate(parts) if part.calls), len(parts))
    said, behind = parts[:begin], parts[begin:]
    if any(part.text.strip() for part in behind if not part.calls):
        return "", []
    functions = [each for part in behind for each in part.calls or ()]
    return "".join(part.text for part in said), functions


def _deltas(index: int, fields: Chunk) -> Iterator[tuple[int, Chunk]]:
    """Yield a delta for each of the texts in *fields*."""
    yield from ((index, {key: text}) for key, text in fields.items() if text)


def _called(index: int, fragments: list[Chunk]) -> Iterator[tuple[int, Chunk]]:
    """Yield a delta for each of these *fragments* of calls."""
    yield from ((index, {"tool_calls": [each]}) for each in fragments)


def _put(delta: Chunk, key: str, text: str) -> None:
    delta[key] = text
    if not text:
        del delta[key]
