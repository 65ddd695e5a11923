"""Messages as their providers send them: what is right stays, what is wrong becomes right."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from judge import messages_form
from llm_normalize.protocols.messages.native import MessagesReader
from llm_normalize.protocols.native import NativeAsked

type Events = list[dict[str, Any]]

ASKED = NativeAsked("exchange", "m", prompt=7, calls=["toolu_old"], stops=["END"])
CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
FIGURES = {"input_tokens": 5, "output_tokens": 1, **CACHE}


def start(index: int, kind: str, **more: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"id": f"toolu_{index}", "name": "f", "input": {}},
    }
    block = {"type": kind, **empty[kind], **more}
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, key: str, text: str) -> dict[str, Any]:
    said = {"type": f"{kind}_delta", key: text}
    return {"type": "content_block_delta", "index": index, "delta": said}


def stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


MESSAGE: dict[str, Any] = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
    "stop_reason": None, "stop_sequence": None, "usage": FIGURES,
}  # fmt: skip
BEGIN: Events = [{"type": "message_start", "message": MESSAGE}, {"type": "ping"}]
END: Events = [
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {**FIGURES, "output_tokens": 9},
    },
    {"type": "message_stop"},
]
THOUGHT: Events = [
    start(0, "thinking"),
    delta(0, "thinking", "thinking", "Hm"),
    delta(0, "signature", "signature", "sig"),
    stop(0),
]
TEXT: Events = [start(1, "text"), delta(1, "text", "text", "Hi"), stop(1)]
CALLS: Events = [
    start(2, "tool_use"),
    delta(2, "input_json", "partial_json", '{"a":'),
    delta(2, "input_json", "partial_json", "1}"),
    stop(2),
    start(3, "tool_use"),
    delta(3, "input_json", "partial_json", "{}"),
    stop(3),
]
RIGHT: Events = [*BEGIN, *THOUGHT, *TEXT, *CALLS, *END]


def repaired(events: Iterable[dict[str, Any]], asked: NativeAsked = ASKED) -> Events:
    reader, out = MessagesReader(asked), list[dict[str, Any]]()
    for each in events:
        out += [value for _, value in reader.event(each.get("type", ""), each).events]
    return [*out, *(value for _, value in reader.end().events)]


def judged(events: Events) -> dict[str, Any]:
    reader = messages_form.read((each["type"], each) for each in events)
    assert reader.faults == []
    return reader.message


def changed(change: Callable[[Events], Any]) -> Events:
    events = copy.deepcopy(RIGHT)
    change(events)
    return events


def at(events: Events, kind: str, number: int = 0) -> dict[str, Any]:
    return [each for each in events if each["type"] == kind][number]


def without(kind: str, *numbers: int) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        found = [each for each in events if each["type"] == kind]
        gone = [found[number] for number in numbers] or found
        events[:] = [each for each in events if not any(each is x for x in gone)]

    return change


def reindexed(events: Events) -> None:
    for each in events:
        if "index" in each:
            each["index"] = 0


def shuffled(events: Events) -> None:
    """The two calls take turns."""
    first, second = CALLS[:4], CALLS[4:]
    order = [first[0], second[0], first[1], second[1], first[2], second[2], first[3]]
    events[:] = [*BEGIN, *THOUGHT, *TEXT, *order, *END]


def in_start(events: Events) -> None:
    at(events, "content_block_start", 2)["content_block"]["input"] = {"a": 1}
    without("content_block_delta", 3, 4)(events)


def test_right_stream_stays() -> None:
    reader = MessagesReader(ASKED)
    for each in RIGHT:
        made = reader.event(each["type"], each)
        assert made.fixes == []
        assert [value for _, value in made.events] == [each]
        assert made.events[0][1] is each
    assert reader.end().events == []
    judged(RIGHT)


WRONG: dict[str, Callable[[Events], Any]] = {
    "no usage in the start": lambda e: at(e, "message_start")["message"].pop("usage"),
    "no usage in the end": lambda e: at(e, "message_delta").pop("usage"),
    "chat's figures": lambda e: at(e, "message_delta").update(
        usage={"prompt_tokens": 5, "completion_tokens": 9, **CACHE}
    ),
    "no fields": lambda e: at(e, "message_start").update(message={"usage": FIGURES}),
    "second start": lambda e: e.insert(4, copy.deepcopy(e[0])),
    "no start": without("message_start"),
    "no block starts": without("content_block_start", 0, 1),
    "no block stops": without("content_block_stop"),
    "indexes": reindexed,
    "calls take turns": shuffled,
    "input in the start": in_start,
    "unsigned": without("content_block_delta", 1),
    "stop word": lambda e: at(e, "message_delta")["delta"].update(stop_reason="stop"),
    "tool_calls": lambda e: at(e, "message_delta")["delta"].update(
        stop_reason="tool_calls"
    ),
    "no stop": without("message_stop"),
    "message id": lambda e: at(e, "message_start")["message"].update(id="chatcmpl-1"),
    "tool id": lambda e: at(e, "content_block_start", 2)["content_block"].update(
        id="functions.f:0"
    ),
    "tool id again": lambda e: at(e, "content_block_start", 2)["content_block"].update(
        id="toolu_old"
    ),
    "text without text": lambda e: at(e, "content_block_start", 1)["content_block"].pop(
        "text"
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_stream_becomes_right(name: str) -> None:
    message = judged(repaired(changed(WRONG[name])))
    right = judged(RIGHT)
    assert [each["type"] for each in message["content"]] == [
        each["type"] for each in right["content"]
    ]
    said = [
        (each.get("text"), each.get("thinking"), each.get("input"))
        for each in message["content"]
    ]
    assert (
        said
        == [
            (each.get("text"), each.get("thinking"), each.get("input"))
            for each in right["content"]
        ]
        or name == "input in the start"
    )
    assert message["stop_reason"] == "tool_use"


@pytest.mark.parametrize("name", WRONG)
def test_repaired_stream_stays(name: str) -> None:
    once = repaired(changed(WRONG[name]))
    assert repaired(once) == once


def test_delta_of_another_kind_begins_a_block() -> None:
    mixed = [
        *BEGIN,
        start(0, "text"),
        delta(0, "text", "text", "A"),
        delta(0, "thinking", "thinking", "Hm"),
        delta(0, "text", "text", "Hi"),
        stop(0),
        start(1, "tool_use"),
        delta(1, "input_json", "partial_json", "{}"),
        stop(1),
        *END,
    ]
    message = judged(repaired(mixed))
    assert [each["type"] for each in message["content"]] == [
        *("text", "thinking", "text", "tool_use")
    ]


def test_broken_stream_gets_no_end() -> None:
    assert repaired(RIGHT[:6])[-1] == RIGHT[5]
