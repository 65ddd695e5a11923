"""The form that OpenAI gives an answer of its Responses protocol, and what one says.

Written from OpenAI's API reference and the types of its SDK, without a look at the code
that makes such answers. `check_events` and `check_response` list what breaks the form.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from llm_normalize.conformance import Call, Choice, Error, Meaning

type Event = tuple[str, dict[str, Any]]

TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_TEXT = (str,)
_NUMBER = (int, float)
_REQUIRED: dict[str, tuple[type, ...]] = {
    "id": _TEXT,
    "object": _TEXT,
    "status": _TEXT,
    "model": _TEXT,
    "service_tier": _TEXT,
    "truncation": _TEXT,
    "created_at": (int,),
    "top_logprobs": (int,),
    "temperature": _NUMBER,
    "top_p": _NUMBER,
    "presence_penalty": _NUMBER,
    "frequency_penalty": _NUMBER,
    "parallel_tool_calls": (bool,),
    "store": (bool,),
    "background": (bool,),
    "tools": (list,),
    "output": (list,),
    "text": (dict,),
    "tool_choice": (str, dict),
}
_NULLABLE: dict[str, tuple[type, ...]] = {
    "error": (dict,),
    "incomplete_details": (dict,),
    "reasoning": (dict,),
    "usage": (dict,),
    "metadata": (dict,),
    "completed_at": (int,),
    "max_output_tokens": (int,),
    "max_tool_calls": (int,),
    "previous_response_id": _TEXT,
    "instructions": (str, list),
    "safety_identifier": _TEXT,
    "prompt_cache_key": _TEXT,
}
_USAGE = {
    "input_tokens_details": ("cached_tokens", "cache_write_tokens"),
    "output_tokens_details": ("reasoning_tokens",),
}
_ITEMS: dict[str, dict[str, type]] = {
    "message": {"id": str, "status": str, "role": str, "content": list},
    "reasoning": {"id": str, "status": str, "summary": list},
    "function_call": dict.fromkeys(
        ("id", "status", "call_id", "name", "arguments"), str
    ),
    "custom_tool_call": dict.fromkeys(
        ("id", "status", "call_id", "name", "input"), str
    ),
}
_TEXT_OF = {"output_text": "text", "refusal": "refusal", "summary_text": "text"}


def _is(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def check_response(response: Any) -> list[str]:
    """List what breaks the form of a `response` object."""
    if not isinstance(response, dict):
        return ["response is no object"]
    faults = [
        f"{key} is {response.get(key)!r}"
        for key, kinds in _REQUIRED.items()
        if not _is(response.get(key), kinds)
    ]
    faults += [
        f"{key} is {response.get(key, 'missing')!r}"
        for key, kinds in _NULLABLE.items()
        if key not in response
        or not (response[key] is None or _is(response[key], kinds))
    ]
    return faults or [*_whole_faults(response), *_output_faults(response)]


def _whole_faults(response: dict[str, Any]) -> Iterator[str]:
    status, error = response["status"], response["error"]
    details = response["incomplete_details"]
    if response["object"] != "response":
        yield "object is not `response`"
    if status not in ("in_progress", *TERMINAL.values()):
        yield f"status is {status!r}"
    if (error is not None) is not (status == "failed"):
        yield f"error is {error!r} with status {status}"
    if error and not all(isinstance(error.get(x), str) for x in ("code", "message")):
        yield f"error is {error!r}"
    if (details is not None) is not (status == "incomplete"):
        yield f"incomplete_details is {details!r} with status {status}"
    if details and details.get("reason") not in ("max_output_tokens", "content_filter"):
        yield f"incomplete_details is {details!r}"
    if not isinstance(response["text"].get("format"), dict):
        yield "text.format is no object"
    if response["usage"] is not None:
        yield from _usage_faults(response["usage"])


def _output_faults(response: dict[str, Any]) -> Iterator[str]:
    for at, item in enumerate(response["output"]):
        found = [*_item_faults(item)]
        yield from (f"output[{at}]: {fault}" for fault in found)
        is_whole = found or item["status"] == "completed"
        if response["status"] == "completed" and not is_whole:
            yield f"output[{at}] is {item['status']}"
    ids = [item.get("id") for item in response["output"] if isinstance(item, dict)]
    if len(set(ids)) != len(ids):
        yield "an item's id is there twice"


def _usage_faults(usage: dict[str, Any]) -> Iterator[str]:
    values = {
        key: usage.get(key) for key in ("input_tokens", "output_tokens", "total_tokens")
    }
    for name, keys in _USAGE.items():
        part = usage.get(name)
        for key in keys:
            values[f"{name}.{key}"] = part.get(key) if isinstance(part, dict) else None
    for name, value in values.items():
        if not _is(value, (int,)):
            yield f"usage.{name} is {value!r}"
    if usage.keys() - {*_USAGE, "input_tokens", "output_tokens", "total_tokens"}:
        yield f"usage has {sorted(usage)}"


def _item_faults(item: Any) -> Iterator[str]:
    kind = item.get("type") if isinstance(item, dict) else None
    if kind not in _ITEMS:
        yield f"type is {kind!r}"
        return
    for key, expected in _ITEMS[kind].items():
        value, never_empty = item.get(key), key in ("id", "call_id", "name")
        if not isinstance(value, expected) or (never_empty and not value):
            yield f"{key} is {value!r}"
    if "namespace" in item and not isinstance(item["namespace"], str):
        yield f"namespace is {item['namespace']!r}"
    if item.get("status") not in ("in_progress", "completed", "incomplete"):
        yield f"status is {item.get('status')!r}"
    key = {"message": "content", "reasoning": "summary"}.get(str(kind), "")
    parts = item.get(key)
    for part in parts if isinstance(parts, list) else ():
        yield from _part_faults(part, str(kind))


def _part_faults(part: Any, kind: str) -> Iterator[str]:
    allowed = ("summary_text",) if kind == "reasoning" else ("output_text", "refusal")
    found = str(part.get("type")) if isinstance(part, dict) else ""
    if found not in allowed:
        yield f"a part's type is {found!r}"
    elif not isinstance(part.get(_TEXT_OF[found]), str):
        yield f"a part's text is {part.get(_TEXT_OF[found])!r}"
    elif found == "output_text":
        for key in ("annotations", "logprobs"):
            if not isinstance(part.get(key), list):
                yield f"a part's {key} is {part.get(key)!r}"


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

    def snapshot(self, name: str, data: dict[str, Any]) -> None:
        response = data.get("response")
        for fault in check_response(response):
            self.say(f"{name}: {fault}")
        if not isinstance(response, dict):
            return
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
        item = data.get("item")
        faults = list(_item_faults(item))
        self.must(
            data.get("output_index") == self.count, "output_index is not the next"
        )
        self.count += 1
        if faults or not isinstance(item, dict):
            self.faults += [f"item added: {fault}" for fault in faults]
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
        item = data.get("item")
        found = [f"item done: {fault}" for fault in _item_faults(item)]
        self.faults += found
        if found or not isinstance(item, dict):
            return
        opened = self.open.pop(item["id"], None)
        if opened is None:
            self.say(f"{item['id']} is done, but not open")
            return
        self.must(data.get("output_index") == opened.index, "output_index changes")
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
        item = self.open.get(str(data.get("item_id")))
        if item is None:
            self.say(f"{name} for no open item")
            return None
        self.must(data.get("output_index") == item.index, f"{name}: wrong output_index")
        return item

    # parts

    def place_of(self, data: dict[str, Any]) -> object:
        key = "summary_index" if "summary" in data["type"] else "content_index"
        return data.get(key)

    def part_added(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is None:
            return
        part = data.get("part")
        faults = list(_part_faults(part, item.added["type"]))
        self.faults += faults
        self.must(item.open_part is None, "a part begins while another is open")
        self.must(
            self.place_of(data) == len(item.parts), "a part's index is not the next"
        )
        if not faults and isinstance(part, dict):
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
        self.must(data.get("part") == expected, "a part is not what its events say")
        self.must(self.place_of(data) == len(item.parts), "a part's index changes")
        item.parts.append(expected)
        item.open_part = None

    def annotation_added(self, data: dict[str, Any]) -> None:
        item = self.item_of(data)
        if item is not None and self.in_part(item, data, "output_text"):
            at = data.get("annotation_index")
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
        text = data.get("delta")
        self.must(isinstance(text, str), f"delta is {text!r}")
        item.texts.append(str(text))
        if data["type"] == "response.output_text.delta":
            logprobs = data.get("logprobs")
            self.must(isinstance(logprobs, list), f"logprobs are {logprobs!r}")
            item.logprobs += logprobs if isinstance(logprobs, list) else []

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
        text = data.get(key)
        self.must(text == "".join(item.texts), f"{data['type']} is not its deltas")
        if key == "arguments":
            name = data.get("name")
            self.must(name == item.added["name"], f"{data['type']} names {name!r}")
        if data["type"] == "response.output_text.done":
            self.must(
                data.get("logprobs") == item.logprobs, "other logprobs at the end"
            )
        item.text = str(text)


def check_events(events: Sequence[Event], *, complete: bool = True) -> list[str]:
    """List what breaks the form of a stream.

    Args:
        events: Name and data of each event.
        complete: Whether the stream has come to its end.
    """
    checker = _Checker()
    names = [name for name, _ in events]
    for number, (name, data) in enumerate(events):
        checker.must(data.get("type") == name, f"{name} has type {data.get('type')!r}")
        found = data.get("sequence_number")
        checker.must(found == number, f"sequence_number {found!r} in place of {number}")
        if name in TERMINAL or name in ("response.created", "response.in_progress"):
            checker.snapshot(name, data)
        elif name in checker.handlers:
            checker.handlers[name]({**data, "type": name})
        else:
            checker.say(f"unknown event {name}")
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
