"""Messages as their providers send them: what is right stays, what is wrong becomes right."""

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from judge import messages_form
from llm_normalize.protocols.messages.native.message_reader import MessagesReader
from llm_normalize.protocols.native_reader import NativeAsked

type Events = list[dict[str, Any]]

ASKED = NativeAsked("exchange", "m", lambda: 7, calls=["toolu_old"], stops=["END"])
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
        kind = each.get("type", "")
        name = kind if isinstance(kind, str) else ""
        out += [value for _, value in reader.event(name, each).events]
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
    at_first = next(n for n, each in enumerate(events) if each == CALLS[0])
    calls = events[at_first : at_first + len(CALLS)]
    order = [calls[n] for n in (0, 4, 1, 5, 2, 6, 3)]
    events[at_first : at_first + len(CALLS)] = order


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


def said(events: Events, number: int = 0) -> dict[str, Any]:
    """The block of a start."""
    found: dict[str, Any] = at(events, "content_block_start", number)["content_block"]
    return found


def end_of(events: Events) -> dict[str, Any]:
    found: dict[str, Any] = at(events, "message_delta")["delta"]
    return found


def indexed(places: dict[int, Any]) -> Callable[[Events], None]:
    def change(events: Events) -> None:
        for each in events:
            if "index" in each:
                each["index"] = places[each["index"]]

    return change


def moved(events: Events, delta_at: int, before: int) -> None:
    events.insert(before, events.pop(delta_at))


def thought_in_text(events: Events) -> None:
    """The thoughts stand in the block of text, which begins with them."""
    del events[2], events[3:6]
    thought = delta(1, "thinking", "thinking", "Hm")
    events[2:3] = [start(1, "text"), thought]


def in_start_as_text(events: Events) -> None:
    in_start(events)
    said(events, 2)["input"] = '{"a":1}'


def usage_of(key: str, value: Any) -> Callable[[Events], None]:
    return lambda events: (
        at(events, key).setdefault("message", at(events, key)).update(usage=value)
    )


WRONG: dict[str, Callable[[Events], Any]] = {
    # figures
    "no usage in the start": lambda e: at(e, "message_start")["message"].pop(
        "usage", None
    ),
    "usage of the start is null": lambda e: at(e, "message_start")["message"].update(
        usage=None
    ),
    "only output in the start": lambda e: at(e, "message_start")["message"].update(
        usage={"output_tokens": 1}
    ),
    "no usage in the end": lambda e: at(e, "message_delta").pop("usage", None),
    "usage of the end is null": lambda e: at(e, "message_delta").update(usage=None),
    "zeros at the end": lambda e: (
        at(e, "message_start")["message"].update(usage={**FIGURES, "input_tokens": 0}),
        at(e, "message_delta").update(
            usage={**FIGURES, "input_tokens": 0, "output_tokens": 0}
        ),
    ),
    "figures are texts": lambda e: at(e, "message_delta").update(
        usage={key: str(each) for key, each in FIGURES.items()}
    ),
    "chat's figures": lambda e: at(e, "message_delta").update(
        usage={"prompt_tokens": 5, "completion_tokens": 9, **CACHE}
    ),
    # the start of the message
    "no fields": lambda e: at(e, "message_start").update(message={"usage": FIGURES}),
    "no content": lambda e: at(e, "message_start")["message"].pop("content", None),
    "content is null": lambda e: at(e, "message_start")["message"].update(content=None),
    "another type and role": lambda e: at(e, "message_start")["message"].update(
        type="chat.completion", role="model"
    ),
    "no model": lambda e: at(e, "message_start")["message"].pop("model", None),
    "second start": lambda e: e.insert(4, copy.deepcopy(e[0])),
    "second start of another id": lambda e: e.insert(
        1, {"type": "message_start", "message": {**MESSAGE, "id": "msg_2"}}
    ),
    "second start behind the thoughts": lambda e: e.insert(6, copy.deepcopy(e[0])),
    "no start": without("message_start"),
    "message id": lambda e: at(e, "message_start")["message"].update(id="chatcmpl-1"),
    "no message id": lambda e: at(e, "message_start")["message"].pop("id", None),
    "message id is a number": lambda e: at(e, "message_start")["message"].update(id=7),
    # blocks
    "no block starts": without("content_block_start", 0, 1),
    "no start of the text": without("content_block_start", 1),
    "no block stops": without("content_block_stop"),
    "no stop of the last": without("content_block_stop", 3),
    "no stop of the text": without("content_block_stop", 1),
    "block starts twice": lambda e: e.insert(10, copy.deepcopy(e[9])),
    "block stops twice": lambda e: e.insert(6, copy.deepcopy(e[5])),
    "indexes": reindexed,
    "indexes with gaps": indexed({0: 0, 1: 2, 2: 3, 3: 7}),
    "indexes from one": indexed({0: 1, 1: 2, 2: 3, 3: 4}),
    "no indexes": indexed(dict.fromkeys(range(4))),
    "calls take turns": shuffled,
    "text without text": lambda e: said(e, 1).pop("text", None),
    "thoughts without a key": lambda e: said(e).pop("signature", None),
    "call without input": lambda e: said(e, 2).pop("input", None),
    "text without a block": lambda e: at(e, "content_block_start", 1).pop(
        "content_block"
    ),
    "text in the start": lambda e: (said(e, 1).update(text="Hi"), e.pop(7)),
    # what is said
    "input in the start": in_start,
    "input in the start as text": in_start_as_text,
    "input twice": lambda e: said(e, 2).update(input={"a": 1}),
    "unsigned": without("content_block_delta", 1),
    "signed with nothing": lambda e: e[4]["delta"].update(signature=""),
    "signed in the start": lambda e: (said(e).update(signature="sig"), e.pop(4)),
    "tool id": lambda e: said(e, 2).update(id="functions.f:0"),
    "tool id again": lambda e: said(e, 2).update(id="toolu_old"),
    "no tool id": lambda e: said(e, 2).update(id=None),
    "two calls of one id": lambda e: said(e, 3).update(id="toolu_2"),
    # the end
    "stop word": lambda e: end_of(e).update(stop_reason="stop"),
    "a token's number": lambda e: end_of(e).update(stop_reason=128009),
    "in capitals": lambda e: end_of(e).update(stop_reason="TOOL_USE"),
    "tool_calls": lambda e: end_of(e).update(stop_reason="tool_calls"),
    "end_turn with calls": lambda e: end_of(e).update(stop_reason="end_turn"),
    "no stop_sequence": lambda e: end_of(e).pop("stop_sequence", None),
    "no stop": without("message_stop"),
    "no reason": without("message_delta"),
    "reason is null": lambda e: end_of(e).update(stop_reason=None),
    "second stop": lambda e: e.append({"type": "message_stop"}),
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


NEEDS_STOP = {"no reason", "reason is null", "second stop"}
"""Without a stop the provider has not said that it is the end; or it has said so once."""
ALONE = {
    *("no block starts", "no start of the text", "no block stops", "calls take turns"),
    *("second start", "second start of another id", "second start behind the thoughts"),
    *("text in the start", "block starts twice", "text without text"),
    *(
        "text without a block",
        "call without input",
        "input in the start",
        "input in the start as text",
    ),
    *("no reason", "reason is null", "signed in the start", "signed with nothing"),
    *("no start", "indexes with gaps", "indexes from one", "no indexes"),
    "no stop of the last",
}
"""Those that name events by their place, or leave nothing for another to change."""


def test_two_faults_at_once_become_right() -> None:
    pairs = [*itertools.permutations([name for name in WRONG if name not in ALONE], 2)]
    pairs += [pair for one in ALONE for pair in ((one, "no stop"), ("tool_calls", one))]
    pairs = [
        each for each in pairs if {"no stop"} - {*each} or not NEEDS_STOP & {*each}
    ]
    assert len(pairs) > 500
    for pair in pairs:
        events = copy.deepcopy(RIGHT)
        for name in pair:
            WRONG[name](events)
        once = repaired(events)
        assert judged(once)["stop_reason"] == "tool_use", pair
        assert repaired(once) == once, pair


def test_call_goes_on_behind_text_in_it() -> None:
    calls = [start(0, "tool_use"), delta(0, "input_json", "partial_json", '{"a":')]
    text = delta(0, "text", "text", "Hi")
    rest = delta(0, "input_json", "partial_json", "1}")
    message = judged(repaired([*BEGIN, *calls, text, rest, stop(0), *END]))
    assert [each["type"] for each in message["content"]] == ["tool_use", "text"]
    assert message["content"][0]["input"] == '{"a":1}'


def test_second_message_that_cuts_a_call_off_passes_as_it_is() -> None:
    other = {"type": "message_start", "message": {**MESSAGE, "id": "msg_2"}}
    spliced = [*BEGIN, *THOUGHT, *TEXT, *CALLS[:2], other, *TEXT[:2]]
    assert repaired(spliced) == spliced


def test_messages_one_after_the_other_pass_as_they_are() -> None:
    assert repaired([*RIGHT, *RIGHT]) == [*RIGHT, *RIGHT]


def test_what_anthropic_itself_says_in_a_start_stays() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    call = start(0, "tool_use", input={"a": 1}, caller=caller)
    assert repaired([*BEGIN, call, stop(0), *END]) == [*BEGIN, call, stop(0), *END]
    said = {**MESSAGE, "content": [call["content_block"]], "stop_reason": "tool_use"}
    whole = [{"type": "message_start", "message": said}, END[1]]
    assert repaired(whole) == whole


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


def test_bare_text_of_a_body_is_a_block_of_its_stream() -> None:
    made = MessagesReader(ASKED).whole({**MESSAGE, "content": "Hi"})
    said = [each.get("delta", {}).get("text") for _, each in made.events]
    assert [each for each in said if each] == ["Hi"]


def test_broken_stream_gets_no_end() -> None:
    assert repaired(RIGHT[:6])[-1] == RIGHT[5]


def test_reason_in_the_start_of_an_answer_that_breaks_off_is_no_end() -> None:
    """Some send one there before the first word."""
    said = {**MESSAGE, "stop_reason": "end_turn"}
    broken = [{"type": "message_start", "message": said}, *RIGHT[1:6]]
    assert repaired(broken)[-1] == RIGHT[5]


JUNK: list[Any] = [
    None, 0, -1, 1.5, True, "", "x", [], {}, [None], [[]], [{}], {"a": None}, {"type": 1},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in *value*."""
    found: Any = value.items() if isinstance(value, dict) else []
    found = enumerate(value) if isinstance(value, list) else found
    for key, each in found:
        yield (*path, key)
        yield from places(each, (*path, key))


def test_no_shape_of_an_event_makes_the_reader_fail() -> None:
    whole = {**MESSAGE, "content": [said(RIGHT, 1), said(RIGHT, 2)]}
    for path in places(RIGHT):
        for junk in JUNK:
            events: list[Any] = copy.deepcopy(RIGHT)
            parent: Any = events
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = junk
            once = [each for each in events if isinstance(each, dict)]
            assert isinstance(repaired(once), list)
    for path in places(whole):
        for junk in JUNK:
            body = copy.deepcopy(whole)
            parent = body
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = junk
            assert MessagesReader(ASKED).body(body).events
            MessagesReader(ASKED).whole(body)


@pytest.mark.parametrize("ending", [END, END[1:]])
@pytest.mark.parametrize("more", [[], ["{}"]], ids=["alone", "before another"])
def test_call_that_is_cut_has_come_to_the_limit(
    ending: Events, more: list[str]
) -> None:
    """An agent runs half a command otherwise."""
    calls: Events = []
    for at, text in enumerate(['{"a":"b', *more]):
        calls += [
            start(at, "tool_use", id=f"t{at}", name="f", input={}),
            delta(at, "input_json", "partial_json", text),
            stop(at),
        ]
    sent = repaired([*BEGIN, *calls, *ending])
    assert [each["type"] for each in sent[-2:]] == ["message_delta", "message_stop"]
    assert sent[-2]["delta"]["stop_reason"] == "max_tokens"
