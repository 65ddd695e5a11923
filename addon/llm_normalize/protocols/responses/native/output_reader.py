"""The output of an answer that its provider tells itself, nearly: its items, as they grow.

Each event is taken in three steps. Which item does it mean? What would the translation's own
classes send for the same (`output_items`, `spoken_items`)? Of these events, the last one is
replaced by the provider's own: see `events`.
"""

from collections.abc import Callable
from functools import partial

from ....wire.json_text import as_list, as_object, as_string
from ....wire.limits import MAX_EVENT
from ...protocol import JsonObject
from ..output_items import Call
from ..spoken_items import PARTS, Message, Spoken, part_kind
from .events import CALLS, TEXTS
from .item_reader import TOOL_TYPE, ItemReader
from .items import NativeItem, as_text, item_of, rest_of

_ANSWER, _THOUGHT = ("message", "output_text"), ("reasoning", "reasoning_text")
_ITEM_DONE = "item-done-missing"

type Handler = Callable[[JsonObject], None]


class OutputReader(ItemReader):
    """Reads the events of items. See `ResponsesReader`."""

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

    # -- parts -------------------------------------------------------------------------

    def _is_late(self, kind: str, value: JsonObject) -> bool:
        """Tell whether an event ends what has been ended already."""
        place = value.get("item_id"), value.get("output_index")
        if self._items.find(kind, *place) or not self._items.late(kind, *place):
            return False
        return self._does(_ITEM_DONE)

    def _spoken(self, kind: str, value: JsonObject) -> Spoken:
        return _speaking(self._for(item_of(kind), value))

    def _kind_of(self, value: JsonObject) -> str:
        """The kind of the part that an event means."""
        if value["type"].startswith("response.reasoning"):
            return "summary_text"
        given = as_object(value.get("part")).get("type")
        item = self._items.find_any(value.get("item_id"), value.get("output_index"))
        is_open = (
            item is not None and not item.is_done and isinstance(item.made, Spoken)
        )
        is_thought = given == "reasoning_text"
        if item is not None and is_open:
            is_thought = item.kind == "reasoning"
        of, usual = _THOUGHT if is_thought else _ANSWER
        return part_kind(of, "content", given) or usual

    def _part_added(self, value: JsonObject) -> None:
        self._hold(value)
        kind = self._kind_of(value)
        item = self._for(item_of(kind), value)
        made = _speaking(item)
        is_late = made.is_in(kind) and made.open_part is not item.part
        if is_late and self._does("part-added-missing"):
            item.part = made.open_part
            return
        events = [*made.parts_closed(), *made.begin(kind)]
        item.part = made.open_part
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
        if not logprobs:
            self._goes_on(text, partial(self._say_on, made))

    def _say_on(self, made: Spoken | Call, text: str) -> None:
        """Take a delta like the last one, with another text."""
        self._count(text)
        self._number += 1
        made.keep(text)
        if self._held > MAX_EVENT:
            self.words = ""  # what follows passes

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
            self._put_in(item.more(text), TOOL_TYPE)
            return
        events = [*item.made.write(text)]
        if not self._waits(item):
            empty = (value["type"], {**item.made.place, "delta": ""})
            self._own(value, events or [empty])
            if text == value.get("delta"):
                self._goes_on(text, partial(self._say_on, item.made))

    def _call_done(self, value: JsonObject) -> None:
        self._hold(value)
        kind = CALLS[value["type"].rpartition(".")[0]]
        item = self._for(kind, value)
        assert isinstance(item.made, Call)
        self._heal(item, value)
        self._name(item, value)
        is_empty = not (item.made.text or as_text(value.get(item.text_key)))
        if is_empty and kind == "function_call" and self._does("text-done-empty"):
            return  # its item may have some
        events = [*item.rest(value), *item.made.parts_closed()]
        if item.is_retold:
            self._put_in(events, TOOL_TYPE)
            return
        if not self._waits(item):
            optional = () if "name" in value else ("name",)
            self._own(value, events or [item.made.said()], *optional)


def _speaking(item: NativeItem) -> Spoken:
    assert isinstance(item.made, Spoken)
    return item.made
