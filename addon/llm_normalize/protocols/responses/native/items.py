"""The items of an answer that its provider tells itself, nearly: which one an event means."""

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import override

from ....wire.json_text import Json, as_string, dumps, objects_in
from ...calls import Tool
from ...object_end import is_closed, is_cut
from ...protocol import JsonObject, ServerEvent
from ..output_items import Atom, Call, ClientCall, CustomCall, FunctionCall, OutputItem
from ..spoken_items import PARTS, Message, Spoken, Thoughts, part_kind
from .form import Does, fitted

_SPOKEN: dict[str, type[Spoken]] = {"message": Message, "reasoning": Thoughts}
_CALLS: dict[str, type[Call]] = {
    "function_call": FunctionCall,
    "custom_tool_call": CustomCall,
}
_KINDS_OF_TOOLS = {"function_call": "function", "custom_tool_call": "custom"}
KINDS = (*_SPOKEN, *_CALLS)
"""The kinds of items whose ends can be put in before all of them has arrived."""
_NAMING = ("name", "namespace", "arguments")
"""What a call of a function has, and one of another tool by other names, or not."""
_GROWING = ("content", "summary", "arguments", "input", "status")
"""What the beginning of an item does not have yet."""


class _Other(Atom):
    """An item of a kind that has no text: it is what its provider says."""

    prefix = "item"

    @override
    def value(self) -> JsonObject:
        return {"id": self._place["item_id"]}


@dataclass(slots=True, eq=False)
class NativeItem:
    """An item, as far as it has been told.

    Attributes:
        made: The item as the translation makes one.
        kind: Its type.
        given: What its provider has said of it last.
        number: How many have begun before.
        early: The item as its beginning was sent, if that says more than OpenAI's.
        part: Its last part whose beginning the provider has sent.
        raw: The arguments of a call that is retold.
        is_announced: Whether the provider has sent its beginning.
        is_sent: Whether the client has got its beginning.
        is_done: Whether it has ended.
        is_retold: Whether it is a call of another kind than its provider says.
        ends_early: Whether its end has been put in.
        is_hit: Whether a part of its text may have been lost.
    """

    made: OutputItem
    kind: str
    given: JsonObject
    number: int
    early: JsonObject = field(default_factory=dict)
    part: JsonObject | None = None
    raw: list[str] = field(default_factory=list)
    is_announced: bool = False
    is_sent: bool = False
    is_done: bool = False
    is_retold: bool = False
    ends_early: bool = False
    is_hit: bool = False

    def value(self) -> JsonObject:
        """The item as it is now, with all that its provider says of it."""
        made = self.made.value()
        return self.given if self.is_done else {**made, **self.given, **made}

    def due(self) -> JsonObject:
        """What the provider's own item has to say."""
        due = self.made.value()
        if self.kind == "reasoning":
            del due["status"]  # OpenAI's has none
        return due

    def opened(self) -> ServerEvent:
        """The event of its beginning."""
        return self._event("added", self.value())

    def ended(self, value: JsonObject) -> ServerEvent:
        """The event of its end, with its *value* then."""
        return self._event("done", value)

    def _event(self, what: str, value: JsonObject) -> ServerEvent:
        fields: JsonObject = {"output_index": self.made.index, "item": value}
        return f"response.output_item.{what}", fields

    @property
    def is_unknown(self) -> bool:
        """Whether it is a call, of nobody knows what, or which one."""
        if not isinstance(self.made, Call):
            return False
        has_id = self.is_announced or bool(self.given.get("call_id"))
        return not (self.made.tool.name and has_id)

    @property
    def text_key(self) -> str:
        """Where its provider has the text of a call."""
        assert isinstance(self.made, Call)
        return "arguments" if self.is_retold else self.made.text_key

    @property
    def is_whole(self) -> bool:
        """Whether the text of a call has come to its end."""
        assert isinstance(self.made, Call)
        is_function = isinstance(self.made, FunctionCall)
        return self.made.is_said or (is_function and is_closed(self.made.text))

    def is_cut(self, given: JsonObject) -> bool:
        """Tell whether it is a call that has ended within its arguments.

        Args:
            given: The whole item, as far as its provider says it.
        """
        if not isinstance(self.made, FunctionCall):
            return False
        return is_cut(as_text(given.get("arguments")) or self.made.text)

    def identify(self, given: JsonObject) -> None:
        """Take what a call calls, and its id, as far as it is there."""
        if not isinstance(self.made, Call):
            return
        name, call_id = as_string(given.get("name")), as_string(given.get("call_id"))
        tool = self.made.tool
        space = as_string(given.get("namespace")) or tool.namespace
        self.made.tool = Tool(tool.name or name, space, tool.kind)
        if call_id and not self.given.get("call_id"):
            self.made.call_id = call_id
            self.given = {**self.given, "call_id": call_id}

    def become(self, tool: Tool) -> None:
        """Be a call of a *tool* of another kind: its arguments come as a function's."""
        old = self.made
        assert isinstance(old, Call)
        kind = CustomCall if tool.kind == "custom" else ClientCall
        self.made = kind("", old.index, old.call_id, tool, old.place["item_id"])
        self.is_retold = True
        self.given = _without_naming(self.given)
        for _ in self.more(old.text):
            """Its beginning has not been sent."""

    def more(self, arguments: str) -> Iterator[ServerEvent]:
        """Yield the events of more arguments of a call that is retold."""
        assert isinstance(self.made, Call)
        self.raw.append(arguments)
        yield from self.made.add(arguments)

    def retold(self, given: JsonObject) -> JsonObject:
        """What its provider says of a call that is retold, in its own form."""
        return {**_without_naming(given), **self.made.value()}

    def whole(self, given: JsonObject, does: Does) -> JsonObject:
        """The item that its provider says whole, with what it lacks."""
        return self.retold(given) if self.is_retold else fitted(given, self.due(), does)

    def rest(self, given: JsonObject) -> Iterator[ServerEvent]:
        """Yield the events of what the whole item says, and has not been told yet."""
        given = {**self.early, **{key: each for key, each in given.items() if each}}
        if isinstance(self.made, Call):
            yield from self._more(as_text(given.get(self.text_key)))
        elif isinstance(self.made, Spoken):
            for place in ("summary", "content"):
                yield from self._parts(self.made, place, objects_in(given.get(place)))

    def _more(self, text: str) -> Iterator[ServerEvent]:
        assert isinstance(self.made, Call)
        if self.made.is_said:
            return
        if self.is_retold:
            yield from self.more(addition("".join(self.raw), text))
        else:
            yield from self.made.write(addition(self.made.text, text))

    def _parts(
        self, made: Spoken, place: str, given: Sequence[JsonObject]
    ) -> Iterator[ServerEvent]:
        told = made.parts[place]
        has_open = bool(told) and told[-1] is made.open_part
        for part in given[len(told) - has_open :]:
            kind = part_kind(self.kind, place, part.get("type"))
            if kind is None:
                return  # it has no events
            text = as_string(part.get(PARTS[kind].key))
            if not has_open:
                yield from made.parts_closed()
                if self.kind == "reasoning" and text in made.ended:
                    return  # in the other list
                yield from made.begin(kind)
            has_open = False
            more = addition(made.text, text)
            if more and not made.is_said:
                yield made.write(more)


class NativeItems:
    """All items of one answer.

    Args:
        seed: What the ids that are made have in common.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.all: list[NativeItem] = []
        self._named: dict[str, NativeItem] = {}
        """By their ids: a call's own, too, which some events name."""
        self._indexed: dict[int, NativeItem] = {}
        """By the places that the provider gives them."""
        self._open: dict[str, dict[int, NativeItem]] = {}
        """Those that have not ended, by kind and number."""
        self._count = 0
        """How many the client has got."""

    def add(self, kind: str, given: JsonObject, index: Json = None) -> NativeItem:
        """A new item.

        Args:
            kind: Its type.
            given: The item as the provider says it.
            index: Its place, likewise.
        """
        name, at = as_string(given.get("id")), len(self.all)
        made = self._made(kind, at, "" if name in self._named else name, given)
        begun = {key: each for key, each in given.items() if key not in _GROWING}
        item = NativeItem(made, kind, begun, at)
        self.all.append(item)
        self._open.setdefault(kind, {})[at] = item
        before = self._named.get(name)
        if before is None or before.is_done:
            self._named[name] = item
        for each in (made.place["item_id"], given.get("call_id")):
            if isinstance(each, str) and each:
                self._named[each] = item
        if type(index) is int:
            self._indexed[index] = item
        return item

    def _made(self, kind: str, at: int, name: str, given: JsonObject) -> OutputItem:
        if kind in _SPOKEN:
            return _SPOKEN[kind](self._seed, at, name)
        if kind not in _CALLS:
            return _Other(self._seed, at, name)
        called, space = as_string(given.get("name")), as_string(given.get("namespace"))
        call_id = as_string(given.get("call_id"))
        if not call_id:
            is_its = name.startswith("call_")
            call_id = name if is_its else f"call_{self._seed}{at:02x}"
        tool = Tool(called, space or None, _KINDS_OF_TOOLS[kind])
        return _CALLS[kind](self._seed, at, call_id, tool, name)

    def open(self, item: NativeItem) -> None:
        """Give an item its place: the client gets its beginning now."""
        if not item.is_sent:
            item.is_sent = True
            item.made.put_at(self._count)
            self._count += 1

    def find(self, kind: str, name: Json, index: Json) -> NativeItem | None:
        """The open item that an event means: by its id, its place, or as the last one.

        Some providers send another id in each event, others one place for all.
        """
        named, placed = self._by(name, index)
        for each in (named, placed):
            if each is not None and each.kind == kind and not each.is_done:
                return each
        if name and named is None and type(index) is int and placed is None:
            return None  # of an item that has not begun
        still_open = self._open.get(kind)
        return next(reversed(still_open.values())) if still_open else None

    def find_any(self, name: Json, index: Json) -> NativeItem | None:
        """The item that an event of any kind means."""
        named, placed = self._by(name, index)
        return named or placed

    def late(self, kind: str, name: Json, index: Json) -> NativeItem | None:
        """The item whose end has been put in, and comes now."""
        for each in self._by(name, index):
            if each is not None and each.kind == kind and each.ends_early:
                return each
        return None

    def ending(self, kind: str, given: JsonObject, index: Json) -> NativeItem | None:
        """The item that a whole one ends, or has ended."""
        name, call_id = given.get("id"), given.get("call_id")
        if kind not in KINDS:
            item = self.find_any(name, index)
            is_its = item is not None and item.kind == kind
            return item if is_its else self.find(kind, name, index)
        if call_id and self.find_any(call_id, None):
            name = call_id
        return self.find(kind, name, index) or self.late(kind, name, index)

    def _by(self, name: Json, index: Json) -> tuple[NativeItem | None, ...]:
        return (
            self._named.get(name) if isinstance(name, str) else None,
            self._indexed.get(index) if type(index) is int else None,
        )

    def open_items(self, *kinds: str) -> list[NativeItem]:
        """The items of these kinds that have not ended, in their order."""
        found = [each for kind in kinds for each in self._open.get(kind, {}).values()]
        return sorted(found, key=lambda each: each.number)

    def end(self, item: NativeItem) -> None:
        """Note the end of an item."""
        item.is_done = True
        self._open.get(item.kind, {}).pop(item.number, None)

    def matched(self, output: Sequence[JsonObject]) -> list[NativeItem | None]:
        """For each item of a whole output the one that has been told before."""
        taken = set[int]()
        queues: dict[str, deque[NativeItem]] = {}
        for each in self.all:
            queues.setdefault(each.kind, deque()).append(each)

        def take(item: NativeItem | None, kind: str) -> NativeItem | None:
            if item is None or item.kind != kind or item.number in taken:
                return None
            taken.add(item.number)
            return item

        found: list[NativeItem | None] = []
        times = Counter(as_string(entry.get("id")) for entry in output)
        for entry in output:  # by id first, so that no other one takes it
            kind, name = as_string(entry.get("type")), as_string(entry.get("id"))
            named = self._by(name, None)[0] if times[name] == 1 else None
            found.append(take(named, kind))
        for at, entry in enumerate(output):
            if found[at] is None:
                kind = as_string(entry.get("type"))
                item = take(self._by(entry.get("call_id"), None)[0], kind)
                queue = queues.get(kind, deque())
                while item is None and queue:
                    item = take(queue.popleft(), kind)
                found[at] = item
        return found


def _without_naming(given: JsonObject) -> JsonObject:
    return {key: each for key, each in given.items() if key not in _NAMING}


def as_text(given: Json) -> str:
    """The text of a call: some providers send an object instead."""
    if isinstance(given, dict | list):
        return dumps(given).decode()
    return as_string(given)


def addition(told: str, whole: str) -> str:
    """What *whole* says beyond what has been told."""
    return whole[len(told) :] if whole.startswith(told) else ""


def item_of(part: str) -> str:
    """The kind of the item that has a part of this kind."""
    return "message" if part in ("output_text", "refusal") else "reasoning"


def rest_of(made: Spoken, text: str) -> list[ServerEvent]:
    """The event of what a part's text says beyond what has been sent of it."""
    more = "" if made.is_said else addition(made.text, text)
    return [made.write(more)] if more else []
