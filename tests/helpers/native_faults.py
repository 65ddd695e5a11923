"""Streams of Responses that are right, and what providers get wrong in them."""

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from judge.responses import Event
from llm_normalize.protocols.protocol import Circumstances
from llm_normalize.protocols.responses import RESPONSES

type Data = dict[str, Any]
type Change = Callable[[list[Data]], list[Data] | None]

REQUEST: Data = {
    "model": "asked",
    "input": "Hi",
    "stream": True,
    "tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "patch"}],
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def call(index: int, text: str, name: str = "") -> Data:
    function = {"arguments": text, **({"name": name} if name else {})}
    more = {"id": f"call_{index}", "type": "function"} if name else {}
    return {"tool_calls": [{"index": index, **more, "function": function}]}


THOUGHTS: list[Data] = [{"reasoning_content": "Hm"}, {"reasoning_content": "m…"}]
TEXT: list[Data] = [{"content": "Hel"}, {"content": "lo ☃"}]
CALLS = [
    call(0, "", "f"),
    call(0, '{"a":'),
    call(0, "1}"),
    call(1, '{"input":"x', "patch"),
    call(1, 'y"}'),
    call(2, "{}", "f"),
]


def stream(deltas: Iterable[Data], finish: str = "tool_calls") -> list[Data]:
    """A right stream that says what chunks with these deltas say."""
    answer = RESPONSES.translate(REQUEST, Circumstances("right")).answer
    events = list[Event]()
    for delta, reason in [*((each, None) for each in deltas), ({}, finish)]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"created": 1700000000, "model": "tern-2", "choices": [choice]}
        events += answer.chunk({**chunk, "usage": USAGE if reason else None})
    return [data for _, data in (*events, *answer.done())]


RIGHT = stream([*THOUGHTS, *TEXT, *CALLS])
SAID = stream([*TEXT, {"refusal": "No"}], "length")
MANY = stream([*THOUGHTS, *TEXT, *THOUGHTS, *TEXT], "stop")
ONE_CALL = stream(CALLS[:3])
CUT = stream(CALLS[:2], "length")
STREAMS = {"all": RIGHT, "said": SAID, "many": MANY, "call": ONE_CALL, "cut": CUT}


def every(events: Sequence[Data], *kinds: str) -> list[Data]:
    """The events of these kinds; of an end, if a kind begins with a dot."""
    return [
        each
        for each in events
        if any(
            each.get("type", "").endswith(kind)
            if kind[0] in "._"
            else each.get("type") == kind
            for kind in kinds
        )
    ]


def without(*kinds: str, last: bool = False) -> Change:
    def change(events: list[Data]) -> list[Data]:
        gone = every(events, *kinds)[-1 if last else 0 :]
        return [each for each in events if not any(each is x for x in gone)]

    return change


def key(name: str, value: Any, *kinds: str) -> Change:
    """Events that have another value under a key; none at all if that is None."""

    def change(events: list[Data]) -> None:
        for number, each in enumerate(every(events, *kinds) if kinds else events):
            if name in each:
                made = value(each[name], number) if callable(value) else value
                each[name] = made
                if made is None:
                    del each[name]

    return change


def within(place: str, name: str, value: Any, *kinds: str) -> Change:
    """Likewise, of an object in the events."""

    def change(events: list[Data]) -> None:
        found = [each[place] for each in events if place in each]
        if kinds:
            found = [each[place] for each in every(events, *kinds) if place in each]
        key(name, value)(found)

    return change


def items_in(events: Iterable[Data]) -> list[Data]:
    """All items that the events tell."""
    items = [each["item"] for each in events if "item" in each]
    for each in events:
        items += each.get("response", {}).get("output") or []
    return items


def of_items(name: str, value: Any, *types: str) -> Change:
    """Likewise, of all items."""

    def change(events: list[Data]) -> None:
        items = items_in(events)
        key(name, value)([each for each in items if not types or each["type"] in types])

    return change


def of_parts(name: str) -> Change:
    def change(events: list[Data]) -> None:
        items = items_in(events)
        parts = [part for item in items for part in item.get("content") or []]
        key(name, None)([*parts, *(each["part"] for each in events if "part" in each)])

    return change


def renamed(old: str, new: str) -> Change:
    def change(events: list[Data]) -> None:
        for each in events:
            each["type"] = each.get("type", "").replace(old, new)

    return change


def at_end(change: Callable[[Data], Any]) -> Change:
    def changed(events: list[Data]) -> None:
        change(events[-1]["response"])

    return changed


def rotated(name: str, number: int) -> str:
    return f"{name}-{number}"


def in_chat(usage: Data) -> Data:
    return {
        old.replace("input", "prompt").replace("output", "completion"): each
        for old, each in usage.items()
    }


def nested(name: str) -> Change:
    """What belongs into an event is in its item or part."""

    def change(events: list[Data]) -> None:
        for each in events:
            inner = each.get("item", each.get("part"))
            if inner is not None and name in each:
                inner[name] = each.pop(name)

    return change


def one_late_text(events: list[Data]) -> None:
    """The text is in its last event alone."""
    events[:] = without("response.output_text.delta")(events) or []


def objects(events: list[Data]) -> None:
    """Arguments that are no text."""
    items = [each["item"] for each in events if "item" in each]
    items += events[-1]["response"].get("output") or []
    for each in [*items, *every(events, "response.function_call_arguments.done")]:
        if each.get("arguments") in ('{"a":1}', "{}"):
            each["arguments"] = {"a": 1} if "1" in each["arguments"] else {}


def nameless(events: list[Data]) -> None:
    """The name of a call comes at its end."""
    for each in every(events, "response.output_item.added"):
        if "name" in each["item"]:
            each["item"]["name"] = ""
    key("name", None)(every(events, "response.function_call_arguments.done"))


def id_as_call_id(events: list[Data]) -> None:
    """Events of a call name its call id."""
    ids = {
        each["item"].get("id"): each["item"]["call_id"]
        for each in every(events, "response.output_item.added")
        if "call_id" in each["item"]
    }
    key("item_id", lambda name, _: ids.get(name, name))(events)


def _function(item: Data) -> Data:
    """A call of another tool as one of a function."""
    keys = {"custom_tool_call": "input", "tool_search_call": "arguments"}
    if item.get("type") not in keys:
        return item
    given = item.get(keys[item["type"]])
    text = json.dumps({"input": given} if isinstance(given, str) else given)
    named = {
        "name": item.get("name", "tool_search"),
        "arguments": text if given else "",
    }
    made: Data = {"type": "function_call", **named}
    return made | {x: item[x] for x in ("id", "status", "call_id") if x in item}


def as_functions(events: list[Data]) -> list[Data]:
    """Calls of all tools are of functions."""
    out, begun = list[Data](), set[Any]()
    for each in events:
        if "item" in each:
            each["item"] = _function(each["item"])
        if each.get("response", {}).get("output"):
            each["response"]["output"] = [*map(_function, each["response"]["output"])]
        stem, _, what = each.get("type", "").rpartition(".")
        if stem == "response.custom_tool_call_input":
            place = each.get("item_id"), each.get("output_index")
            head = "" if place in begun else '{"input": "'
            begun.add(place)
            each["type"] = f"response.function_call_arguments.{what}"
            if what == "delta":
                each["delta"] = head + json.dumps(each["delta"])[1:-1]
            else:
                out.append({**each, "type": "response.function_call_arguments.delta"})
                text = json.dumps(out[-1].pop("input"))[1:-1]
                out[-1]["delta"] = f'{head}{text if head else ""}"}}'
                each["arguments"] = json.dumps({"input": each.pop("input")})
        out.append(each)
    if all("sequence_number" in each for each in out):
        key("sequence_number", lambda _, number: number)(out)
    return out


def parts_of_thoughts(events: list[Data]) -> list[Data]:
    """The thoughts' text alone."""
    return (
        without(
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_part.done",
            "response.reasoning_summary_text.done",
        )(events)
        or []
    )


def complete_within_a_call(events: list[Data]) -> None:
    """A call that is cut has ended, and so has the response."""
    response = events[-1]["response"]
    items = [each["item"] for each in every(events, "response.output_item.done")]
    items += response.get("output") or []
    for each in items:
        if each.get("status") == "incomplete" and "arguments" in each:
            each["status"] = response["status"] = "completed"
            response["incomplete_details"] = None
            events[-1]["type"] = "response.completed"


def late_parts(events: list[Data]) -> list[Data]:
    """The beginning of each part behind its first text."""
    now, waiting = list[Data](), list[Data]()
    for each in events:
        if each["type"].endswith("_part.added"):
            waiting.append(each)
            continue
        now += [each, *waiting]
        waiting = []
    return now


def only_completed(events: list[Data]) -> list[Data]:
    return events[-1:]


P: dict[str, dict[str, Change]] = {
    "P1": {
        "another id in each event": key("item_id", rotated),
        "another id in added": within("item", "id", rotated, "_item.added"),
        "another id in done": within("item", "id", rotated, "_item.done"),
        "another id at the end": at_end(
            lambda x: key("id", rotated)(x.get("output") or [])
        ),
        "no id": key("item_id", None),
        "null in items": of_items("id", None),
        "another response": within(
            "response", "id", lambda name, number: f"{name}{number}"
        ),
    },
    "P2": {
        "no item added": without("response.output_item.added"),
        "no part added": without("_part.added"),
        "no part done": without("_part.done"),
        "no parts": without("_part.added", "_part.done"),
        "late parts": late_parts,
        "the last item not done": without("response.output_item.done", last=True),
        "no text done": without("_text.done", ".refusal.done"),
        "only completed": only_completed,
        "no beginning": without("response.created", "response.in_progress"),
    },
    "P3": {
        "no annotations": of_parts("annotations"),
        "no logprobs": of_parts("logprobs"),
        "no logprobs of text": key("logprobs", None),
        "no content": within("item", "content", None, "_item.added"),
        "no summary": within("item", "summary", None, "_item.added"),
        "no status": of_items("status", None, "message", "function_call"),
        "no role": of_items("role", None),
        "no tools": within("response", "tools", None),
        "no model": within("response", "model", None, "response.in_progress"),
        "a model at the end": within(
            "response", "model", None, "response.created", "response.in_progress"
        ),
        "no output": within("response", "output", None, "response.created"),
        "hardly a response": lambda events: [
            {**each, "response": {k: v for k, v in each["response"].items()
                                  if k in ("id", "status", "output", "usage", "model",
                                           "created_at", "incomplete_details")}}
            if "response" in each else each
            for each in events
        ],
    },
    "P4": {
        "no output_index": key("output_index", None),
        "no content_index": key("content_index", None),
        "no summary_index": key("summary_index", None),
        "no sequence_number": key("sequence_number", None),
        "one output_index": key("output_index", 0),
        "content_index counts events": key("content_index", lambda _, n: n),
        "numbers from one": key("sequence_number", lambda _, n: n + 1),
        "numbers are texts": key("sequence_number", lambda n, _: str(n)),
        "nested": nested("output_index"),
    },
    "P5": {
        "chat's names": at_end(lambda x: x.update(usage=in_chat(x["usage"]))),
        "no details": at_end(
            lambda x: [x["usage"].pop(f"{each}_tokens_details", None)
                       for each in ("input", "output", "prompt", "completion")]
        ),
        "no figure of the cache": at_end(
            lambda x: x["usage"]
            .get("output_tokens_details", {})
            .update(reasoning_tokens=None)
        ),
        "no total": at_end(lambda x: x["usage"].pop("total_tokens", None)),
        "texts": at_end(
            lambda x: x["usage"].update(
                {k: str(n) for k, n in x["usage"].items() if isinstance(n, int)}
            )
        ),
    },
    "P6": {
        "empty": at_end(lambda x: x.update(output=[])),
        "null": at_end(lambda x: x.update(output=None)),
        "missing": at_end(lambda x: x.pop("output", None)),
        "one is missing": at_end(
            lambda x: x.get("output") and x.update(output=x["output"][:-1])
        ),
    },
    "P7": {
        "arguments in done": without("_arguments.delta", "_input.delta"),
        "arguments in the item": without(
            "_arguments.delta", "_input.delta", "_arguments.done", "_input.done"
        ),
        "empty in done": key("arguments", "", "_arguments.done"),
        "missing in done": key("arguments", None, "_arguments.done"),
        "no name in done": key("name", "", "_arguments.done"),
        "objects": objects,
        "a call's id": id_as_call_id,
        "another call id in done": within("item", "call_id", rotated, "_item.done"),
        "another call id at the end": at_end(
            lambda x: key("call_id", rotated)(x.get("output") or [])
        ),
        "a late name": nameless,
        "text in done": one_late_text,
        "a custom tool as a function": as_functions,
    },
    "P8": {
        "other names": renamed("reasoning_summary_text", "reasoning_summary"),
        "other names of a text": renamed("response.output_text", "response.text"),
        "text alone": parts_of_thoughts,
        "no end": without(
            "response.reasoning_summary_part.done", "response.reasoning_summary_text.done"
        ),
    },
    "P9": {
        "response.done": lambda events: [
            *events[:-1], {**events[-1], "type": "response.done"}
        ],
        "completed by name": renamed("response.incomplete", "response.completed"),
        "complete within a call": complete_within_a_call,
        "completed in any case": lambda events: [
            *events[:-1], {**events[-1], "type": "response.completed"}
        ],
        "completed from the beginning": within(
            "response", "status", "completed", "response.created"
        ),
        "in progress at the end": at_end(
            lambda x: x["status"] == "completed" and x.update(status="in_progress")
        ),
    },
}  # fmt: skip
"""What providers do, by the number of the report: see `addon/llm_normalize/native_fixes`."""
ALL = {f"{p}: {name}": change for p, made in P.items() for name, change in made.items()}


def made(events: Sequence[Data], *changes: Change) -> list[Data]:
    """A stream with some faults."""
    now = copy.deepcopy([*events])
    for change in changes:
        now = change(now) or now
    return now
