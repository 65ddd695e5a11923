"""The output of an answer that its provider tells itself, nearly: its items, as they grow.

Each event is taken in three steps. Which item does it mean? What would the translation's own
classes send for the same (`output_items`, `spoken_items`)? Of these events, the last one is
replaced by the provider's own: see `native_events`.
"""

from collections.abc import Callable
from operator import is_

from ..json_values import as_list, as_object, as_string, objects_in
from ..native import NativeAsked
from ..protocol import JsonObject, make_id
from .native_events import EventReader
from .native_form import fitted, parted
from .native_items import (
    KINDS,
    NativeItem,
    NativeItems,
    as_text,
    item_of,
    rest_of,
)
from .native_names import CALLS, TEXTS
from .native_tools import DeclaredTools
from .output_items import COMPLETED, Atom, Call
from .spoken_items import PARTS, Message, Spoken, part_kind

_SPOKEN = ("message", "reasoning")
_ANSWER, _THOUGHT = ("message", "output_text"), ("reasoning", "reasoning_text")
_LATE_NAME = "call-name-late"
_ITEM_ADDED, _ITEM_DONE = "item-added-missing", "item-done-missing"
_TOOL_NAME, _TOOL_TYPE = "call-name-foreign", "call-type-wrong"
_ITEM = 1000
"""Characters' worth."""

type Handler = Callable[[JsonObject], None]


class OutputReader(EventReader):
    """Reads the events of items. See `ResponsesReader`."""

    def __init__(self, asked: NativeAsked, request: JsonObject) -> None:
        super().__init__(asked)
        self._tools = DeclaredTools(request)
        self._items = NativeItems(make_id(asked.seed))
        self._held = 0
        """About how many characters of the answer are kept."""
        self._written = 0
        """Bytes of text."""
        self._has_logprobs = False

    def _item_handlers(self) -> dict[str, Handler]:
        return {
            "response.output_item.added": self._item_added,
            "response.output_item.done": self._item_done,
            "response.content_part.added": self._part_added,
            "response.content_part.done": self._part_done,
            "response.reasoning_summary_part.added": self._part_added,
            "response.reasoning_summary_part.done": self._part_done,
            "response.output_text.annotation.added": self._annotation,
            **{f"{stem}.delta": self._text_delta for stem in TEXTS},
            **{f"{stem}.done": self._text_done for stem in TEXTS},
            **{f"{stem}.delta": self._call_delta for stem in CALLS},
            **{f"{stem}.done": self._call_done for stem in CALLS},
        }

    # -- items -------------------------------------------------------------------------

    def _other(self, value: JsonObject) -> None:
        """Send an event of another kind, as one of its item."""
        item = self._items.find_any(value.get("item_id"), value.get("output_index"))
        due = {} if item is None else item.made.place
        due = {key: each for key, each in due.items() if key in value}
        made = fitted(value, due, self._does)
        if "sequence_number" in made or made["type"].startswith("response."):
            self._numbered(made)
        else:
            self._send(made)

    def _new(
        self, kind: str, given: JsonObject, value: JsonObject | None = None
    ) -> NativeItem:
        """A new item, behind those that it ends."""
        if self.is_on(_ITEM_DONE):
            for each in self._items.open_items(*_SPOKEN):
                self._ends(each, {})
        self._hold(given)
        item = self._items.add(kind, given, (value or {}).get("output_index"))
        self._resolve(item)
        return item

    def _for(self, kind: str, value: JsonObject) -> NativeItem:
        """The open item that an event of a text means, if need be a new one."""
        name, index = value.get("item_id"), value.get("output_index")
        item = self._items.find(kind, name, index)
        if item is None:
            item = self._new(kind, {"id": name, "type": kind}, value)
            if not self._waits(item):
                self._open(item)
        return item

    def _resolve(self, item: NativeItem) -> None:
        """Let a call be of the tool that its client has declared."""
        if not isinstance(item.made, Call) or item.is_sent:
            return
        said = item.made.tool
        tool = self._tools.meant(said)
        if tool is None or tool == said:
            return
        if tool.kind == said.kind:
            if self.is_on(_TOOL_NAME):
                item.made.tool = tool
        elif said.kind == "function" and self._does(_TOOL_TYPE):
            item.become(tool)

    def _open(self, item: NativeItem, fix: str = _ITEM_ADDED) -> None:
        """Put in the beginning of an item, and what it has said."""
        self._items.open(item)
        self._put_in([item.opened()], fix)
        made = item.made
        if isinstance(made, Call) and made.text and not isinstance(made, Atom):
            self._put_in([made.told()], fix)
            if made.is_said:
                self._put_in([made.said()], fix)

    def _waits(self, item: NativeItem) -> bool:
        """Tell whether nothing of an item can be sent: it is a call, of nobody knows what."""
        fix = _LATE_NAME if item.is_announced else _ITEM_ADDED
        return not item.is_sent and item.is_unknown and self._does(fix)

    def _name(self, item: NativeItem, value: JsonObject) -> None:
        """Take the name of a call, if this is the first to say it."""
        if not item.is_sent:
            item.identify(value)
            self._resolve(item)
        if not item.is_sent and not item.is_unknown:
            self._open(item, _LATE_NAME if item.is_announced else _ITEM_ADDED)

    def _item_added(self, value: JsonObject) -> None:
        given = parted(as_object(value.get("item")), self._does)
        kind = as_string(given.get("type"))
        item = self._items.find(kind, given.get("id"), value.get("output_index"))
        if item is not None and not item.is_announced and item.kind in KINDS:
            item.is_announced = True  # it comes late
            item.given = {**item.given, **given, "id": item.made.place["item_id"]}
            self._name(item, given)
            if item.is_sent and self._does(_ITEM_ADDED):
                return
        else:
            item = self._new(kind, given, value)
            item.is_announced = True
        if self._waits(item):
            return
        if item.is_retold:
            item.early = {"arguments": given.get("arguments")}
            self._open(item, _TOOL_TYPE)
            return
        self._items.open(item)
        if given is not value.get("item"):
            value = {**value, "item": given}
        kind, fields = item.opened()
        self._own(
            self._without_rest(item, value), [(kind, {**fields, "item": item.due()})]
        )

    def _without_rest(self, item: NativeItem, value: JsonObject) -> JsonObject:
        """An event of a beginning without what comes later."""
        given, due = as_object(value.get("item")), item.due()
        keys = [key for key in ("content", "summary", "arguments", "input")
                if key in due and given.get(key) and isinstance(due[key], str | list)]  # fmt: skip
        if not keys or not self._does("item-added-whole"):
            return value
        item.early = {key: given[key] for key in keys}
        return {**value, "item": {**given, **{key: due[key] for key in keys}}}

    def _item_done(self, value: JsonObject) -> None:
        self._hold(value)
        given = parted(as_object(value.get("item")), self._does)
        if given is not value.get("item"):
            value = {**value, "item": given}
        kind, index = as_string(given.get("type")), value.get("output_index")
        item = self._items.ending(kind, given, index)
        if item is not None and item.ends_early and self._does(_ITEM_DONE):
            item.given = {**given, "id": item.made.place["item_id"]}
        elif item is None:
            self._whole_item(given, value)
        else:
            self._ends(item, given, own=value)

    def _ends(
        self,
        item: NativeItem,
        given: JsonObject,
        status: str = COMPLETED,
        own: JsonObject | None = None,
    ) -> None:
        """End an item, behind what has not been told of it yet.

        Args:
            item: The item.
            given: The whole item, as far as the provider says it.
            status: How it ends.
            own: The provider's own event.
        """
        self._name(item, given)
        if not item.is_sent:
            self._open(item, _LATE_NAME)
        fix = _TOOL_TYPE if item.is_retold else ""
        self._put_in(item.rest(given), fix)
        *missing, (kind, fields) = item.made.closed(status)
        self._put_in(missing, fix)
        if item.is_retold and own is not None:
            item.given = item.retold(given)
            self._put_in([item.ended(item.given)], fix)
        elif own is not None:
            event = (kind, {**fields, "item": item.due()})
            item.given = as_object(self._own(own, [event]).get("item"))
        else:
            told = {key: each for key, each in given.items() if each}
            told = {**item.value(), **told}
            item.given = (
                item.retold(told)
                if item.is_retold
                else fitted(told, item.made.value(), lambda _: True)
            )
            item.ends_early = self._does(_ITEM_DONE)
            if item.ends_early:
                self._put_in([item.ended(item.given)])
        self._items.end(item)

    def _whole_item(
        self, given: JsonObject, own: JsonObject | None = None
    ) -> NativeItem:
        """Put in what is missing of an item that comes whole."""
        item = self._new(as_string(given.get("type")), given, own)
        self._open(item)
        self._ends(item, given, own=own)
        return item

    def _whole_output(self, response: JsonObject, status: str) -> JsonObject:
        """A response that ends, with all of its output."""
        output = as_list(response.get("output"))
        entries = [parted(each, self._does) for each in objects_in(output)]
        found = self._items.matched(entries)
        items = [
            item or self._whole_item(entry)
            for entry, item in zip(entries, found, strict=True)
        ]
        for entry, item in zip(entries, items, strict=True):
            if not item.is_done:
                self._ends(item, entry)
        for item in self._items.open_items(*KINDS):
            self._ends(item, {}, status)
        if len(entries) < len(output):
            return response  # there is something else in it
        made = {
            item.made.index: item.whole(entry, self._does)
            for entry, item in zip(entries, items, strict=True)
        }
        for item in self._items.all if len(made) < len(self._items.all) else ():
            is_told = item.is_done and (item.kind in KINDS or not entries)
            if (
                item.made.index not in made
                and is_told
                and self._does("completed-output-empty")
            ):
                made[item.made.index] = item.value()
        order = sorted(made) if None in found or len(made) > len(entries) else made
        whole = [made[index] for index in order]
        if len(whole) == len(output) and all(map(is_, whole, output)):
            return response
        return {**response, "output": whole}

    # -- parts -------------------------------------------------------------------------

    def _is_late(self, kind: str, value: JsonObject) -> bool:
        """Tell whether an event ends what has been ended already."""
        place = value.get("item_id"), value.get("output_index")
        if self._items.find(kind, *place) or not self._items.late(kind, *place):
            return False
        return self._does(_ITEM_DONE)

    def _spoken(self, kind: str, value: JsonObject) -> Spoken:
        made = self._for(item_of(kind), value).made
        assert isinstance(made, Spoken)
        return made

    def _kind_of(self, value: JsonObject) -> str:
        """The kind of the part that an event means."""
        if value["type"].startswith("response.reasoning"):
            return "summary_text"
        given = as_object(value.get("part")).get("type")
        item = self._items.find_any(value.get("item_id"), value.get("output_index"))
        is_open = item is not None and not item.is_done and item.kind in _SPOKEN
        is_thought = given == "reasoning_text"
        if item is not None and is_open:
            is_thought = item.kind == "reasoning"
        of, usual = _THOUGHT if is_thought else _ANSWER
        return part_kind(of, "content", given) or usual

    def _part_added(self, value: JsonObject) -> None:
        self._hold(value)
        kind = self._kind_of(value)
        made = self._spoken(kind, value)
        events = [*made.parts_closed(), *made.begin(kind)]
        text = as_string(as_object(value.get("part")).get(PARTS[kind].key))
        if text:
            made.write(text)
        self._own(value, events)

    def _part_done(self, value: JsonObject) -> None:
        self._hold(value)
        kind = self._kind_of(value)
        if self._is_late(item_of(kind), value):
            return
        made = self._spoken(kind, value)
        is_open = made.open_part is not None and made.open_part["type"] == kind
        if not is_open:
            self._put_in(made.begin(kind))
        text = as_string(as_object(value.get("part")).get(PARTS[kind].key))
        self._put_in(rest_of(made, text))
        self._own(value, made.parts_closed())

    def _text_delta(self, value: JsonObject) -> None:
        kind = TEXTS[value["type"].rpartition(".")[0]]
        made = self._spoken(kind, value)
        text = as_string(value.get("delta"))
        self._count(text)
        logprobs = as_list(value.get("logprobs"))
        self._held += len(repr(logprobs)) if logprobs else 0
        self._has_logprobs = self._has_logprobs or "logprobs" in value
        self._put_in(made.begin(kind))
        self._own(value, [made.write(text, logprobs)])

    def _text_done(self, value: JsonObject) -> None:
        self._hold(value)
        kind = TEXTS[value["type"].rpartition(".")[0]]
        if self._is_late(item_of(kind), value):
            return
        made = self._spoken(kind, value)
        part = made.open_part
        if part is not None and part["type"] == kind and made.is_said:
            self._own(value, [(value["type"], made.part_place())])  # twice
            return
        self._put_in(made.begin(kind))
        text = as_string(value.get(PARTS[kind].key))
        self._put_in(rest_of(made, text))
        # xAI's has none, although its deltas have; nobody reads it there.
        optional = () if made.has_logprobs or not self._has_logprobs else ("logprobs",)
        self._own(value, made.say(text or None), *optional)

    def _annotation(self, value: JsonObject) -> None:
        made = self._for("message", value).made
        assert isinstance(made, Message)
        self._hold(value)
        self._own(value, made.annotate(value.get("annotation")))

    # -- calls -------------------------------------------------------------------------

    def _call_delta(self, value: JsonObject) -> None:
        item = self._for(CALLS[value["type"].rpartition(".")[0]], value)
        assert isinstance(item.made, Call)
        text = as_text(value.get("delta"))
        self._count(text)
        if item.is_retold:
            self._put_in(item.more(text), _TOOL_TYPE)
            return
        events = [*item.made.write(text)]
        if not self._waits(item):
            empty = (value["type"], {**item.made.place, "delta": ""})
            self._own(value, events or [empty])

    def _call_done(self, value: JsonObject) -> None:
        self._hold(value)
        kind = CALLS[value["type"].rpartition(".")[0]]
        item = self._for(kind, value)
        assert isinstance(item.made, Call)
        self._name(item, value)
        key = "arguments" if item.is_retold else item.made.text_key
        is_empty = not (item.made.text or as_text(value.get(key)))
        if is_empty and kind == "function_call" and self._does("text-done-empty"):
            return  # its item may have some
        events = [*item.rest(value), *item.made.parts_closed()]
        if item.is_retold:
            self._put_in(events, _TOOL_TYPE)
            return
        if not self._waits(item):
            optional = () if "name" in value else ("name",)
            self._own(value, events or [item.made.said()], *optional)

    def _hold(self, value: JsonObject) -> None:
        """Count what is kept of an event that is more than a piece of text."""
        self._held += _ITEM + len(repr(value))

    def _count(self, text: str) -> None:
        self._held += len(text)
        self._written += (
            len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        )
