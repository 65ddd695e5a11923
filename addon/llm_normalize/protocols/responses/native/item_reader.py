"""The items of an answer that its provider tells itself, nearly: their beginnings and ends."""

from operator import is_
from typing import override

from ....wire.json_text import as_list, as_object, as_string, objects_in
from ...native_reader import NativeAsked
from ...protocol import JsonObject, make_id
from ..output_items import COMPLETED, INCOMPLETE, Atom, Call
from ..tools import DeclaredTools
from .events import CALLS, EventReader
from .form import fitted, parted
from .items import KINDS, NativeItem, NativeItems, as_text

_SPOKEN = ("message", "reasoning")
_LATE_NAME = "call-name-late"
_ITEM_ADDED, _ITEM_DONE = "item-added-missing", "item-done-missing"
TOOL_TYPE = "call-type-wrong"
"""The fix that makes a call of a function one of the tool that was declared."""
_TOOL_NAME = "call-name-foreign"
_EMPTY, _CUT = "completed-output-empty", "completed-call-cut"
_ITEM = 1000
"""Characters' worth."""


class ItemReader(EventReader):
    """Reads the events of whole items. See `OutputReader`."""

    def __init__(self, asked: NativeAsked, request: JsonObject) -> None:
        super().__init__(asked)
        self._tools = DeclaredTools(request)
        self._items = NativeItems(make_id(asked.seed))
        self._held = 0
        """About how many characters of the answer are stored."""
        self._written = 0
        """Bytes of text."""
        self._has_logprobs = False

    @override
    def lose(self) -> None:
        super().lose()
        for item in self._items.open_items(*CALLS.values()):
            item.is_hit = item.is_hit or not item.is_whole

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
            item.is_hit = self.has_hole and kind in CALLS.values()
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
        elif said.kind == "function" and self._does(TOOL_TYPE):
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
            self._open(item, TOOL_TYPE)
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
        """End an item, behind what has not been sent of it yet.

        Args:
            item: The item.
            given: The whole item, as far as the provider says it.
            status: How it ends.
            own: The provider's own event.
        """
        self._heal(item, given)
        whole = self._with_status(item, given)
        if whole is not given:
            given, status = whole, INCOMPLETE
            own = own and {**own, "item": whole}
        self._name(item, given)
        if not item.is_sent:
            self._open(item, _LATE_NAME)
        fix = TOOL_TYPE if item.is_retold else ""
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

    def _heal(self, item: NativeItem, value: JsonObject) -> None:
        """Have the end of a call say all of its text, if a part may have been lost."""
        if item.is_hit and isinstance(item.made, Call):
            whole = as_text(value.get(item.text_key))
            text = "".join(item.raw) if item.is_retold else item.made.text
            is_told = whole.startswith(text)
            item.is_hit = not whole or (item.is_retold and not is_told)
            if item.is_hit:
                self._miss()
            elif not is_told:
                item.made.correct(whole)

    def _with_status(self, item: NativeItem, given: JsonObject) -> JsonObject:
        """A whole item, incomplete if it is a call that has ended within its arguments."""
        is_good = given.get("status", COMPLETED) == COMPLETED
        if is_good and item.is_cut(given) and self._does(_CUT):
            return {**given, "status": INCOMPLETE}
        return given

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
            item.made.index: item.whole(self._with_status(item, entry), self._does)
            for entry, item in zip(entries, items, strict=True)
        }
        for item in self._items.all if len(made) < len(self._items.all) else ():
            is_told = item.is_done and (item.kind in KINDS or not entries)
            is_told = is_told and not self.has_hole
            if item.made.index not in made and is_told and self._does(_EMPTY):
                made[item.made.index] = item.value()
        order = sorted(made) if None in found or len(made) > len(entries) else made
        whole = [made[index] for index in order]
        if len(whole) == len(output) and all(map(is_, whole, output)):
            return response
        return {**response, "output": whole}

    def _as_it_ends(self, response: JsonObject, status: str) -> tuple[JsonObject, str]:
        """A response that ends, and its status: out of tokens, if within a call."""
        is_cut = status == COMPLETED and any(
            each.is_cut(each.given) for each in self._items.all
        )
        if not (is_cut and self._does(_CUT)):
            return response, status
        details = {"reason": "max_output_tokens"}  # nothing else ends it there
        more = {"status": INCOMPLETE, "incomplete_details": details}
        return {**response, **more}, INCOMPLETE

    def _hold(self, value: JsonObject) -> None:
        """Count what is stored of an event that is more than a piece of text."""
        self._held += _ITEM + len(repr(value))

    def _count(self, text: str) -> None:
        self._held += len(text)
        self._written += len(text.encode(errors="surrogatepass"))
