"""The form that OpenAI gives an answer of its Responses protocol, and what one says.

What an event or an object holds is what the types of OpenAI's SDK say (`responses.json`); which
keys are always there, and what follows what, is written from its API reference, without a
look at the code that makes such answers. `check_events` and `check_response` list what breaks
the form.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from judge import typed
from judge.meaning import Call, Choice, Error, Meaning

type Event = tuple[str, dict[str, Any]]

TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_TYPES = typed.written("responses.json")
_EVENTS: dict[str, Any] = {
    name: kind
    for kind in _TYPES.values()
    for name in typed.tags(kind)
    if "sequence_number" in typed.fields(kind)
}


# What is sent although the type has no such keys.
_SENT = {"store": bool, "presence_penalty": float, "frequency_penalty": float}
# Keys that may be absent by the type, and are always there; the first are never null.
_FILLED = (
    "status", "service_tier", "truncation", "top_logprobs", "temperature", "top_p",
    "background", "text",
)  # fmt: skip
_THERE = (
    "error", "incomplete_details", "reasoning", "usage", "metadata", "completed_at",
    "max_output_tokens", "max_tool_calls", "previous_response_id", "instructions",
    "safety_identifier", "prompt_cache_key",
)  # fmt: skip
_TEXT_OF = {"output_text": "text", "refusal": "refusal", "summary_text": "text"}


def check_response(response: Any) -> list[str]:
    """List what breaks the form of a `response` object."""
    faults = [*typed.faults(response, _TYPES["Response"], "response")]
    if isinstance(response, dict):
        for key, kind in _SENT.items():
            faults += typed.faults(response.get(key), kind, f"response.{key}")
        faults += [f"{key} is null" for key in _FILLED if response.get(key) is None]
        faults += [f"{key} is missing" for key in _THERE if key not in response]
    return faults or [*_whole_faults(response), *_output_faults(response)]


def _whole_faults(response: dict[str, Any]) -> Iterator[str]:
    status, usage = response["status"], response["usage"]
    if status not in ("in_progress", *TERMINAL.values()):
        yield f"status is {status!r}"
    for key, needed in {"error": "failed", "incomplete_details": "incomplete"}.items():
        if (response[key] is not None) is not (status == needed):
            yield f"{key} is {response[key]!r} with status {status}"
    if not response["text"].get("format"):
        yield "text has no format"
    if usage and usage.keys() - typed.fields(_TYPES["ResponseUsage"]).keys():
        yield f"usage has {sorted(usage)}"


def _output_faults(response: dict[str, Any]) -> Iterator[str]:
    for at, item in enumerate(response["output"]):
        found = [*_item_faults(item)]
        yield from (f"output[{at}]: {fault}" for fault in found)
        is_whole = found or item["status"] == "completed"
        if response["status"] == "completed" and not is_whole:
            yield f"output[{at}] is {item['status']}"
    ids = [item.get("id") for item in response["output"]]
    if len(set(ids)) != len(ids):
        yield "an item's id is there twice"


def _item_faults(item: dict[str, Any]) -> Iterator[str]:
    """Yield what an item lacks that its type does not require."""
    for key in ("id", "call_id", "name"):
        if not item.get(key, key != "id"):
            yield f"{key} is {item.get(key)!r}"
    if "namespace" in item and item["namespace"] is None:
        yield "namespace is null"
    if item.get("status") not in ("in_progress", "completed", "incomplete"):
        yield f"status is {item.get('status')!r}"
    if item["type"] == "message":
        for part in item["content"]:
            yield from _part_faults(part)


def _part_faults(part: dict[str, Any]) -> Iterator[str]:
    if part["type"] == "output_text" and part.get("logprobs") is None:
        yield "a part has no logprobs"


@dataclass
class _Item:
    """An item while it is open."""

    added: dict[str, Any]
    index: int
    parts: list[dict[str, Any]] = field(default_factory=list)
    open_part: dict[str, Any] | None = None
    texts: list[str] = field(default_factory=list)
    text: str | None = None  # once it is done
    annotations: list[Any] = field(default_factory=list)
    logprobs: list[Any] = field(default_factory=list)


class _Checker:
    """Follows the events of one answer."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.open: dict[str, _Item] = {}
        self.done: dict[int, dict[str, Any]] = {}
        self.count = 0
        self.envelope: tuple[Any, ...] | None = None
        self.handlers: dict[str, Callable[[dict[str, Any]], None]] = {
            "response.output_item.added": self.item_added,
            "response.output_item.done": self.item_done,
            "response.content_part.added": self.part_added,
            "response.content_part.done": self.part_done,
            "response.output_text.delta": self.delta,
            "response.output_text.done": self.text_done,
            "response.output_text.annotation.added": self.annotation_added,
            "response.refusal.delta": self.delta,
            "response.refusal.done": self.text_done,
            "response.reasoning_summary_part.added": self.part_added,
            "response.reasoning_summary_part.done": self.part_done,
            "response.reasoning_summary_text.delta": self.delta,
            "response.reasoning_summary_text.done": self.text_done,
            "response.function_call_arguments.delta": self.delta,
            "response.function_call_arguments.done": self.text_done,
            "response.custom_tool_call_input.delta": self.delta,
            "response.custom_tool_call_input.done": self.text_done,
        }

    def say(self, fault: str) -> None:
        self.faults.append(fault)

    def must(self, holds: object, fault: str) -> None:
        if not holds:
            self.say(fault)

    # whole responses

    def snapshot(self, data: dict[str, Any]) -> None:
        name, response = data["type"], data["response"]
        for fault in check_response(response):
            self.say(f"{name}: {fault}")
        status = TERMINAL.get(name, "in_progress")
        self.must(response.get("status") == status, f"{name}: wrong status")
        envelope = tuple(response.get(key) for key in ("id", "model", "created_at"))
        self.must(self.envelope in (None, envelope), f"{name}: the envelope changes")
        self.envelope = envelope
        if name not in TERMINAL:
            return
        if name != "response.failed":
            self.must(not self.open, f"{name}: {len(self.open)} items are open")
        whole = [self.done[at] for at in sorted(self.done)]
        self.must(response.get("output") == whole, f"{name}: other items than sent")

    # items

    def item_added(self, data: dict[str, Any]) -> None:
        item = data["item"]
        faults = [f"item added: {fault}" for fault in _item_faults(item)]
        self.must(data["output_index"] == self.count, "output_index is not the next")
        self.count += 1
        self.faults += faults
        if faults:
            return
        self.must(item["status"] == "in_progress", "an item is added that is done")
        texts = (item.get(x) for x in ("content", "summary", "arguments", "input"))
        self.must(not any(texts), "an item is added that has content")
        if item["type"] in ("message", "reasoning"):
            others = [x for x in self.open.values() if "call_id" not in x.added]
            self.must(not others, "text begins in an item while another is open")
        known = {x["id"] for x in self.done.values()} | self.open.keys()
        self.must(item["id"] not in known, f"{item['id']} is there already")
        self.open[item["id"]] = _Item(item, self.count - 1)

    def item_done(self, data: dict[str, Any]) -> None:
        item = data["item"]
        found = [f"item done: {fault}" for fault in _item_faults(item)]
        self.faults += found
        if found:
            return
        opened = self.open.pop(item["id"], None)
        if opened is None:
            self.say(f"{item['id']} is done, but not open")
            return
        self.must(data["output_index"] == opened.index, "output_index changes")
        self.must(item["status"] in ("completed", "incomplete"), "an item done goes on")
        self.must(opened.open_part is None, f"{item['id']} has an open part")
        for key in ("type", "call_id", "name", "namespace", "role"):
            self.must(
                item.get(key) == opened.added.get(key), f"an item's {key} changes"
            )
        if item["type"] in ("message", "reasoning"):
            key = "content" if item["type"] == "message" else "summary"
            self.must(item[key] == opened.parts, f"{key} is not its parts")
        else:
            key = "arguments" if item["type"] == "function_call" else "input"
            self.must(item[key] == opened.text, f"{key} is not what was done")
        self.done[opened.index] = item

    def item_of(self, data: dict[str, Any]) -> _Item | None:
        name = data["type"]
        item = self.open.get(data["item_id"])
        if item is None:
            self.say(f"{name} for no open item")
            return None
        self.must(data["output_index"] == item.index, f"{name}: wrong output_index")
        return item

    # parts

    def place_of(self, data: dict[str, Any]) -> object:
        key = "summary_index" if "summary" in data["type"] else "content_index"
        return data.get(key)

    def part_added(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is None:
            return
        part = data["part"]
        self.faults += _part_faults(part)
        self.must(item.open_part is None, "a part begins while another is open")
        self.must(
            self.place_of(data) == len(item.parts), "a part's index is not the next"
        )
        self.must(not part[_TEXT_OF[part["type"]]], "a part is added that has text")
        item.open_part, item.texts, item.text = part, [], None
        item.annotations, item.logprobs = [], []

    def part_done(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is None:
            return
        if item.open_part is None or item.text is None:
            self.say("a part is done whose text is not")
            return
        kind = item.open_part["type"]
        expected = {"type": kind, _TEXT_OF[kind]: item.text}
        if kind == "output_text":
            expected |= {"annotations": item.annotations, "logprobs": item.logprobs}
        self.must(data["part"] == expected, "a part is not what its events say")
        self.must(self.place_of(data) == len(item.parts), "a part's index changes")
        item.parts.append(expected)
        item.open_part = None

    def annotation_added(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is not None and self.in_part(item, data, "output_text"):
            at = data["annotation_index"]
            self.must(at == len(item.annotations), "annotation_index is not the next")
            item.annotations.append(data.get("annotation"))

    # texts

    def in_part(self, item: _Item, data: dict[str, Any], kind: str) -> bool:
        if item.open_part is None or item.open_part["type"] != kind:
            self.say(f"{data['type']} in no open part of its kind")
            return False
        self.must(self.place_of(data) == len(item.parts), f"{data['type']}: wrong part")
        return True

    def fits(self, item: _Item, data: dict[str, Any]) -> bool:
        name, kind = data["type"].split(".")[1], item.added["type"]
        kinds = {
            "output_text": "output_text",
            "refusal": "refusal",
            "reasoning_summary_text": "summary_text",
        }
        if name in kinds:
            return self.in_part(item, data, kinds[name])
        expected = {
            "function_call_arguments": "function_call",
            "custom_tool_call_input": "custom_tool_call",
        }
        self.must(kind == expected[name], f"{data['type']} for a {kind}")
        return bool(kind == expected[name])

    def delta(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is None or not self.fits(item, data):
            return
        self.must(item.text is None, f"{data['type']} after its end")
        item.texts.append(data["delta"])
        item.logprobs += data.get("logprobs", [])

    def text_done(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is None or not self.fits(item, data):
            return
        self.must(item.text is None, f"{data['type']} twice")
        key = {
            "response.refusal.done": "refusal",
            "response.function_call_arguments.done": "arguments",
            "response.custom_tool_call_input.done": "input",
        }.get(data["type"], "text")
        text = data[key]
        self.must(text == "".join(item.texts), f"{data['type']} is not its deltas")
        if key == "arguments":
            name = data.get("name")
            self.must(name == item.added["name"], f"{data['type']} names {name!r}")
        if data["type"] == "response.output_text.done":
            self.must(
                data.get("logprobs") == item.logprobs, "other logprobs at the end"
            )
        item.text = text


def check_events(events: Sequence[Event], *, complete: bool = True) -> list[str]:
    """List what breaks the form of a stream.

    Args:
        events: Name and data of each event.
        complete: Whether the stream has come to its end.
    """
    checker = _Checker()
    names = [name for name, _ in events]
    for number, (name, data) in enumerate(events):
        found = data.get("sequence_number")
        checker.must(found == number, f"sequence_number {found!r} in place of {number}")
        if name not in _EVENTS:
            checker.say(f"unknown event {name}")
            continue
        faults = [*typed.faults(data, _EVENTS[name], name)]
        checker.faults += faults
        if not faults:
            checker.handlers.get(name, checker.snapshot)(data)
    begins = ["response.created", "response.in_progress"]
    checker.must(names[:2] == begins[: len(names)], f"it begins with {names[:2]}")
    checker.must(names.count("response.created") <= 1, "it is created twice")
    ends = [at for at, name in enumerate(names) if name in TERMINAL]
    if complete or ends:
        checker.must(ends == [len(names) - 1], f"it ends at {ends} of {len(names)}")
    return checker.faults


def meaning_of(response: dict[str, Any]) -> Meaning:
    """Return what a whole `response` says, in chat's words."""
    choice = Choice()
    for item in response["output"]:
        if item["type"] == "message":
            for part in item["content"]:
                choice.refusal += part.get("refusal", "")
                choice.text += part.get("text", "")
                choice.logprobs += part.get("logprobs", [])
        elif item["type"] == "reasoning":
            choice.reasoning += "".join(part["text"] for part in item["summary"])
        else:
            arguments = item.get("arguments", item.get("input"))
            choice.calls.append(Call(item["call_id"], item["name"], arguments))
    reasons = {"max_output_tokens": "length"}
    details, error = response["incomplete_details"], response["error"]
    meaning = Meaning({0: choice}, done=error is None)
    if error is not None:
        meaning.errors.append(Error((error["message"],), error["code"]))
    elif details is not None:
        choice.finish_reason = reasons.get(details["reason"], details["reason"])
    else:
        choice.finish_reason = "tool_calls" if choice.calls else "stop"
    usage = response["usage"]
    if usage is not None:
        meaning.usage = {
            "prompt_tokens": usage["input_tokens"],
            "completion_tokens": usage["output_tokens"],
            "total_tokens": usage["total_tokens"],
            "prompt_tokens_details": usage["input_tokens_details"],
            "completion_tokens_details": usage["output_tokens_details"],
        }
    return meaning


def meaning_of_deltas(events: Sequence[Event]) -> Meaning:
    """Return what a stream says to whoever reads its deltas, and of its end the rest."""
    items: list[dict[str, Any]] = []
    for name, data in events:
        if name == "response.output_item.added":
            items.append(copy.deepcopy(data["item"]))
        elif name == "response.content_part.added":
            items[data["output_index"]]["content"].append(copy.deepcopy(data["part"]))
        elif name == "response.reasoning_summary_part.added":
            items[data["output_index"]]["summary"].append(copy.deepcopy(data["part"]))
        elif name.endswith(".delta"):
            item = items[data["output_index"]]
            key = {"function_call": "arguments", "custom_tool_call": "input"}
            if item["type"] in key:
                item[key[item["type"]]] += data["delta"]
            else:
                part = (item.get("content") or item["summary"])[-1]
                part[_TEXT_OF[part["type"]]] += data["delta"]
                part["logprobs"] = part.get("logprobs", []) + data.get("logprobs", [])
    return meaning_of({**events[-1][1]["response"], "output": items})
