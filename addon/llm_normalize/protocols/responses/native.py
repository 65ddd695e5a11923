"""Responses as providers of their own send them, nearly."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import override

from ...wire.json_text import Json, whole_number
from ..json_values import as_list, as_object, as_string, objects_in
from ..native import NativeAsked, NativeReader, Repaired
from ..protocol import JsonObject, make_id
from ..token_count import tokens_for
from .response_object import error_of, frame_of

_TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_CALLS = {
    "response.function_call_arguments": ("function_call", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input"),
}
"""Events of calls, the kind of item that they belong to, and the key of their text."""
_PARTS: dict[str, tuple[str, str, str, JsonObject]] = {
    "response.output_text": (
        "message",
        "output_text",
        "text",
        {"annotations": [], "logprobs": []},
    ),
    "response.refusal": ("message", "refusal", "refusal", {}),
    "response.reasoning_text": ("reasoning", "reasoning_text", "text", {}),
    "response.reasoning_summary_text": ("reasoning", "summary_text", "text", {}),
}
"""Events of text: their item, their part, the part's key of text, what else it has."""
_FOREIGN = {
    "response.reasoning.delta": "response.reasoning_text.delta",
    "response.reasoning.done": "response.reasoning_text.done",
    "response.reasoning_summary.delta": "response.reasoning_summary_text.delta",
    "response.reasoning_summary.done": "response.reasoning_summary_text.done",
    "response.done": "response.completed",
}
"""Names that OpenAI does not have, and its own."""
_ITEM_FIELDS: dict[str, JsonObject] = {
    "message": {"role": "assistant", "status": "in_progress", "content": []},
    "reasoning": {"summary": []},
    "function_call": {"status": "in_progress", "arguments": "", "name": ""},
    "custom_tool_call": {"status": "in_progress", "input": "", "name": ""},
}
_FIGURES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_DETAILS: JsonObject = {
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


@dataclass(slots=True)
class _Part:
    """A part of an item that is open.

    Attributes:
        event: What the names of its events begin with.
        index: Its place.
        texts: What it says.
        is_done: Whether its text is complete.
    """

    event: str
    index: int
    texts: list[str] = field(default_factory=list)
    is_done: bool = False


@dataclass(slots=True)
class _Item:
    """An item of the output.

    Attributes:
        id: Its id, the same in all of its events.
        index: Its place.
        kind: What it is.
        value: The item as it was sent last.
        given: The ids that the provider has called it.
        part: Its part that is open.
        parts: How many parts it has had.
        texts: The text of a call.
        is_done: Whether it is complete.
    """

    id: str
    index: int
    kind: str
    value: JsonObject
    given: set[str] = field(default_factory=set)
    part: _Part | None = None
    parts: int = 0
    texts: list[str] = field(default_factory=list)
    is_done: bool = False


class ResponsesReader(NativeReader):
    """Reads a response. See `NativeReader`.

    Args:
        asked: What is known of the request.
        request: The request, which settles fields of the response.
    """

    def __init__(self, asked: NativeAsked, request: JsonObject) -> None:
        super().__init__(asked)
        self._request = request
        self._items: list[_Item] = []
        self._number = 0
        self._written = 0
        self._response_id: Json = None
        self._has_begun = False

    @override
    def _take(self, name: str, value: JsonObject) -> None:
        kind = value.get("type")
        if not isinstance(kind, str):
            kind = "error" if value.get("error") else name
            if not kind.startswith("response.") and kind != "error":
                self._out.append((name, value))
                return
            value = {"type": kind, **value}
            self._fixed("event-type-missing")
        elif name != kind and self.is_on("event-name-missing"):
            self._fixed("event-name-missing")
        due = _FOREIGN.get(kind)
        if due is not None and self.is_on("event-name-foreign"):
            self._fixed("event-name-foreign")
            kind, value = due, {**value, "type": due}
        if self.is_over:
            self._send(value)
            return
        if not self._has_begun and kind != "error":
            self._begin(kind)
        stem, _, what = kind.rpartition(".")
        if kind in _TERMINAL:
            self._terminal(kind, value)
        elif kind in ("response.created", "response.in_progress", "response.queued"):
            self._number_it(self._with_response(value, "in_progress"))
        elif kind == "response.output_item.added":
            self._item_added(value)
        elif kind == "response.output_item.done":
            self._item_done(value)
        elif stem in _CALLS and what in ("delta", "done"):
            self._call_text(stem, what, value)
        elif stem in _PARTS and what in ("delta", "done"):
            self._part_text(stem, what, value)
        elif kind.endswith(("part.added", "part.done")):
            self._part(kind, value)
        elif kind == "error":
            self._error(value)
        elif "item_id" in value or "output_index" in value:
            self._number_it(self._placed(value, self._item_of(value)))
        else:
            self._number_it(value)

    def _begin(self, kind: str) -> None:
        """Put in the first events of a response that begins with another."""
        self._has_begun = True
        if kind.startswith("response.created") or not self.is_on(
            "response-start-missing"
        ):
            return
        response = self._framed({}, "in_progress")
        for name in ("response.created", "response.in_progress"):
            if name != kind:
                self._put_in("response-start-missing", name, response=response)

    def _number_it(self, value: JsonObject) -> None:
        """Send an event with its number."""
        if value.get("sequence_number") != self._number and self.is_on(
            "sequence-number-wrong"
        ):
            self._fixed("sequence-number-wrong")
            value = {**value, "sequence_number": self._number}
        self._number += 1
        self._send(value)

    def _put_in(self, fix: str, kind: str, **fields: Json) -> None:
        """Send an event that is missing."""
        self._fixed(fix)
        self._send({"type": kind, "sequence_number": self._number, **fields})
        self._number += 1

    # -- the response ------------------------------------------------------------------

    def _with_response(self, value: JsonObject, status: str) -> JsonObject:
        given = as_object(value.get("response"))
        made = self._framed(given, status)
        return value if made == given else {**value, "response": made}

    def _framed(self, given: JsonObject, status: str) -> JsonObject:
        """The response with all fields that one has."""
        made = {**given}
        if self.is_on("response-fields-missing"):
            frame: JsonObject = {
                "id": f"resp_{make_id(self.asked.seed)}",
                "object": "response",
                "created_at": 0,
                "model": self.asked.model,
                **frame_of(self._request),
                "status": status,
                "error": None,
                "incomplete_details": None,
                "output": [],
                "usage": None,
            }
            missing = {key: frame[key] for key in frame if key not in given}
            if missing:
                self._fixed("response-fields-missing")
                made |= missing
        if self._response_id is None:
            self._response_id = made.get("id")
        elif made.get("id") != self._response_id and self.is_on("response-id-changing"):
            self._fixed("response-id-changing")
            made["id"] = self._response_id
        return made

    def _terminal(self, kind: str, value: JsonObject) -> None:
        given = as_object(value.get("response"))
        for at, item in enumerate(objects_in(given.get("output"))):
            if at >= len(self._items) and self.is_on("item-events-missing"):
                self._whole_item(item)
        if kind == "response.completed":
            for each in self._items:
                self._close(each, "completed")
        made = self._framed(given, _TERMINAL[kind])
        output = [each.value for each in self._items if each.is_done]
        if output and not made.get("output") and self.is_on("completed-output-empty"):
            self._fixed("completed-output-empty")
            made = {**made, "output": output}
        elif self.is_on("item-id-changing"):
            made = self._with_ids(made)
        if kind != "response.failed":
            made = self._with_usage(made)
        self.is_over = True
        self._number_it(value if made == given else {**value, "response": made})

    def _with_ids(self, made: JsonObject) -> JsonObject:
        listed = as_list(made.get("output"))
        output = [
            {**each, "id": self._items[at].id}
            if isinstance(each, dict) and at < len(self._items)
            else each
            for at, each in enumerate(listed)
        ]
        if output == listed:
            return made
        self._fixed("item-id-changing")
        return {**made, "output": output}

    def _with_usage(self, made: JsonObject) -> JsonObject:
        if not self.is_on("response-usage-missing"):
            return made
        given = made.get("usage")
        usage = {**as_object(given)}
        for foreign, name in _FIGURES.items():
            figure = whole_number(usage.get(foreign))
            if figure is not None and whole_number(usage.get(name)) is None:
                usage[name] = figure
        if not usage.get("input_tokens"):
            usage["input_tokens"] = self.asked.prompt
        if not usage.get("output_tokens"):
            usage["output_tokens"] = tokens_for(self._written)
        for name, none in _DETAILS.items():
            usage[name] = {**as_object(none), **as_object(usage.get(name))}
        total = usage["input_tokens"] + usage["output_tokens"]
        usage["total_tokens"] = whole_number(usage.get("total_tokens")) or total
        if usage == given:
            return made
        self._fixed("response-usage-missing")
        return {**made, "usage": usage}

    def _error(self, value: JsonObject) -> None:
        self.is_over = True
        given = value.get("error")
        if isinstance(value.get("message"), str) or not self.is_on(
            "response-error-foreign"
        ):
            self._number_it(value)
            return
        self._fixed("response-error-foreign")
        error = error_of(as_object(given) or {"message": given})
        param = as_object(given).get("param")
        self._number_it({"type": "error", **error, "param": param})

    @override
    def _conclude(self) -> None:
        """Nothing ends a response but its own word."""

    # -- items -------------------------------------------------------------------------

    def _item_of(self, value: JsonObject) -> _Item | None:
        """The item that an event means: by its index, its id, or as the only open one."""
        index, name = value.get("output_index"), value.get("item_id")
        for each in reversed(self._items):
            if not each.is_done and (each.index == index or name in each.given):
                return each
        still_open = [each for each in self._items if not each.is_done]
        return still_open[0] if len(still_open) == 1 else None

    def _placed(self, value: JsonObject, item: _Item | None) -> JsonObject:
        """An event with its item's own id and place."""
        if item is None:
            return value
        made = {**value}
        if value.get("item_id") != item.id and self.is_on("item-id-changing"):
            made["item_id"] = item.id
        if value.get("output_index") != item.index and self.is_on("output-index-wrong"):
            made["output_index"] = item.index
        if made.get("item_id") != value.get("item_id"):
            self._fixed("item-id-changing")
            item.given.add(as_string(value.get("item_id")))
        if made.get("output_index") != value.get("output_index"):
            self._fixed("output-index-wrong")
        return made if made != value else value

    def _new(self, kind: str, given: JsonObject) -> _Item:
        """A new item, with all fields that one of its kind has."""
        index = len(self._items)
        name = as_string(given.get("id"))
        prefix = _PREFIXES.get(kind, "item")
        is_used = any(name == each.id for each in self._items)
        if (not name or is_used) and self.is_on("item-id-changing"):
            self._fixed("item-id-changing")
            name = f"{prefix}_{make_id(self.asked.seed)}{index:02x}"
        value: JsonObject = {**given, "id": name, "type": kind}
        missing = {
            key: each
            for key, each in _ITEM_FIELDS.get(kind, {}).items()
            if value.get(key) is None
        }
        if kind in ("function_call", "custom_tool_call") and not value.get("call_id"):
            missing["call_id"] = as_string(given.get("id")) or f"call_{make_id(name)}"
        if missing and self.is_on("item-fields-missing"):
            self._fixed("item-fields-missing")
            value |= missing
        item = _Item(name, index, kind, value if value != given else given)
        item.given.add(as_string(given.get("id")))
        self._items.append(item)
        return item

    def _close_spoken(self) -> None:
        """Put in the ends of texts, which another item follows."""
        for each in self._items:
            if each.kind in ("message", "reasoning"):
                self._close(each, "completed")

    def _item_added(self, value: JsonObject) -> None:
        self._close_spoken()
        given = as_object(value.get("item"))
        item = self._new(as_string(given.get("type")), given)
        made = value if item.value is given else {**value, "item": item.value}
        if made.get("output_index") != item.index and self.is_on("output-index-wrong"):
            self._fixed("output-index-wrong")
            made = {**made, "output_index": item.index}
        self._number_it(made)

    def _open(self, kind: str, given: JsonObject) -> _Item | None:
        """Put in the beginning of an item of this *kind*."""
        if not self.is_on("item-events-missing"):
            return None
        self._close_spoken()
        item = self._new(kind, {"status": "in_progress", **given})
        self._put_in(
            "item-events-missing",
            "response.output_item.added",
            output_index=item.index,
            item=item.value,
        )
        return item

    def _item_done(self, value: JsonObject) -> None:
        given = as_object(value.get("item"))
        name = given.get("id")
        item = self._item_of({**value, "item_id": name})
        is_known = any(each.is_done and name in each.given for each in self._items)
        if is_known and name and (item is None or name not in item.given):
            self._fixed("item-events-missing")  # its end has been put in
            return
        if item is None or item.kind != given.get("type"):
            if self.is_on("item-events-missing"):
                self._whole_item(given)
            else:
                self._number_it(value)
            return
        self._rest(item, given)
        item.is_done = True
        made = {**given, "id": item.id}
        missing = {
            key: each
            for key, each in item.value.items()
            if key not in given and key != "status"
        }
        if missing and self.is_on("item-fields-missing"):
            self._fixed("item-fields-missing")
            made |= missing
        if made.get("id") != given.get("id"):
            self._fixed("item-id-changing")
        item.value = made
        event = value if made == given else {**value, "item": made}
        if event.get("output_index") != item.index and self.is_on("output-index-wrong"):
            self._fixed("output-index-wrong")
            event = {**event, "output_index": item.index}
        self._number_it(event)

    def _rest(self, item: _Item, given: JsonObject) -> None:
        """Put in what an item still needs before its end: text that was not sent, ends."""
        for stem, (kind, key) in _CALLS.items():
            text = as_string(given.get(key))
            if kind == item.kind and text and not item.texts:
                self._put_in(
                    "arguments-in-done-only",
                    f"{stem}.delta",
                    item_id=item.id,
                    output_index=item.index,
                    delta=text,
                )
                item.texts.append(text)
        self._close_part(item)

    def _close(self, item: _Item, status: str) -> None:
        """Put in the end of an item that has none."""
        if item.is_done or not self.is_on("item-events-missing"):
            return
        self._close_part(item)
        item.is_done = True
        text = "".join(item.texts)
        value = {**item.value, "status": status}
        for kind, key in _CALLS.values():
            if kind == item.kind:
                value[key] = text
        item.value = value
        self._put_in(
            "item-events-missing",
            "response.output_item.done",
            output_index=item.index,
            item=value,
        )

    def _whole_item(self, given: JsonObject) -> None:
        """Put in all events of an item that comes whole."""
        kind = as_string(given.get("type"))
        begun = {
            key: each
            for key, each in given.items()
            if key not in ("content", "summary", "arguments", "input", "status")
        }
        item = self._open(kind, begun)
        if item is None:
            return
        for stem, (of, part_kind, key, _) in _PARTS.items():
            listed = given.get("summary" if part_kind == "summary_text" else "content")
            for part in objects_in(listed) if of == kind else ():
                if part.get("type") == part_kind:
                    self._open_part(item, stem, part_kind)
                    self._part_delta(item, stem, as_string(part.get(key)))
                    self._close_part(item)
        self._rest(item, given)
        item.is_done = True
        item.value = {**item.value, **given, "id": item.id}
        self._put_in(
            "item-events-missing",
            "response.output_item.done",
            output_index=item.index,
            item=item.value,
        )

    # -- texts -------------------------------------------------------------------------

    def _call_text(self, stem: str, what: str, value: JsonObject) -> None:
        kind, key = _CALLS[stem]
        item = self._item_of(value)
        text = as_string(value.get("delta" if what == "delta" else key))
        if item is None:
            item = self._open(kind, {"id": value.get("item_id"), "type": kind})
        if item is not None and what == "delta":
            item.texts.append(text)
            self._written += len(text.encode(errors="surrogatepass"))
        elif item is not None and text and not item.texts:
            self._rest(item, {key: text})
        value = self._placed(value, item)
        name = as_string(item.value.get("name")) if item is not None else ""
        if what == "done" and "name" in value and value["name"] != name and name:
            self._fixed("call-name-empty")
            value = {**value, "name": name}
        self._number_it(value)

    def _part(self, kind: str, value: JsonObject) -> None:
        item = self._item_of(value)
        part = as_object(value.get("part"))
        if item is None:
            found = [
                of for of, known, *_ in _PARTS.values() if known == part.get("type")
            ]
            item = self._open(found[0], {}) if found else None
        if item is None:
            self._number_it(value)
            return
        stems = [
            stem for stem, (_, known, *_) in _PARTS.items() if known == part.get("type")
        ]
        if kind.endswith("added"):
            self._close_part(item)
            item.part = _Part(stems[0] if stems else "", item.parts)
            item.parts += 1
        else:
            if item.part is not None and item.part.event and not item.part.is_done:
                self._end_text(item, item.part)
            item.part = None
        self._number_it(self._filled(self._placed(value, item), stems))

    def _filled(self, value: JsonObject, stems: Sequence[str]) -> JsonObject:
        """An event of a part with all fields that one of its kind has."""
        part = as_object(value.get("part"))
        more = {**_PARTS[stems[0]][3]} if stems else {}
        missing = {key: each for key, each in more.items() if part.get(key) is None}
        if not missing or not self.is_on("part-fields-missing"):
            return value
        self._fixed("part-fields-missing")
        return {**value, "part": {**part, **missing}}

    def _part_text(self, stem: str, what: str, value: JsonObject) -> None:
        kind, part_kind, key, _ = _PARTS[stem]
        item = self._item_of(value)
        if item is None or item.kind != kind:
            item = self._open(kind, {})
        if item is None:
            self._number_it(value)
            return
        if item.part is None or (item.part.event and item.part.event != stem):
            self._open_part(item, stem, part_kind)
        if item.part is not None:
            text = as_string(value.get("delta" if what == "delta" else key))
            if what == "delta":
                item.part.texts.append(text)
                self._written += len(text.encode(errors="surrogatepass"))
            else:
                item.part.is_done = True
        value = self._placed(value, item)
        self._number_it(self._at_part(value, item, stem))

    def _at_part(self, value: JsonObject, item: _Item, stem: str) -> JsonObject:
        """An event of a part's text with its part's own place."""
        if item.part is None or not self.is_on("output-index-wrong"):
            return value
        key = _index_key(stem)
        if value.get(key) == item.part.index:
            return value
        self._fixed("output-index-wrong")
        return {**value, key: item.part.index}

    def _open_part(self, item: _Item, stem: str, kind: str) -> None:
        """Put in the beginning of a part."""
        if not self.is_on("item-events-missing"):
            return
        self._close_part(item)
        item.part = _Part(stem, item.parts)
        item.parts += 1
        if stem == "response.reasoning_text":
            return  # OpenAI's have no events of a part
        key = _PARTS[stem][2]
        self._put_in(
            "item-events-missing",
            _part_event(stem, "added"),
            **_place(item, item.part),
            part={"type": kind, key: "", **_PARTS[stem][3]},
        )

    def _part_delta(self, item: _Item, stem: str, text: str) -> None:
        assert item.part is not None
        item.part.texts.append(text)
        more: JsonObject = {"logprobs": []} if stem == "response.output_text" else {}
        self._put_in(
            "item-events-missing",
            f"{stem}.delta",
            **_place(item, item.part),
            delta=text,
            **more,
        )

    def _close_part(self, item: _Item) -> None:
        """Put in the end of the part that is open."""
        part, item.part = item.part, None
        if part is None or not part.event or not self.is_on("item-events-missing"):
            return
        _, kind, key, more = _PARTS[part.event]
        text, place = "".join(part.texts), _place(item, part)
        if not part.is_done:
            self._end_text(item, part)
        if kind != "reasoning_text":
            whole = {"type": kind, key: text, **more}
            name = _part_event(part.event, "done")
            self._put_in("item-events-missing", name, **place, part=whole)

    def _end_text(self, item: _Item, part: _Part) -> None:
        """Put in the end of a part's text."""
        key = _PARTS[part.event][2]
        made: JsonObject = {**_place(item, part), key: "".join(part.texts)}
        if part.event == "response.output_text":
            made["logprobs"] = []
        self._put_in("item-events-missing", f"{part.event}.done", **made)

    # -- a whole answer ------------------------------------------------------------------

    @override
    def body(self, body: JsonObject) -> Repaired:
        status = as_string(body.get("status")) or "completed"
        made = self._with_usage(self._framed(body, status))
        self._out.append(("", body if made == body else made))
        return self._taken()


def _place(item: _Item, part: _Part) -> JsonObject:
    """Where a part is."""
    place = {"item_id": item.id, "output_index": item.index}
    return {**place, _index_key(part.event): part.index}


def _index_key(stem: str) -> str:
    return "summary_index" if "summary" in stem else "content_index"


def _part_event(stem: str, what: str) -> str:
    kind = "reasoning_summary_part" if "summary" in stem else "content_part"
    return f"response.{kind}.{what}"
