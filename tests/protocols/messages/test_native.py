"""Messages as their providers send them: what is right stays, what is wrong becomes right."""

import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from each_case import each_case
from judge import messages_form
from llm_normalize.native_fixes.message_events import (
    STOP,
    block,
    delta,
    end,
    message,
    start,
    stop,
)
from llm_normalize.protocols.messages.native.message_reader import MessagesReader
from llm_normalize.protocols.native_reader import NativeAsked
from native_faults import Change, Data, made
from native_message_faults import ALL, blocks, both, in_start, numbered, of_each, twice

type Events = list[Data]

ASKED = NativeAsked("exchange", "m", lambda: 7, calls=["toolu_old"], stops=["END"])
CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
FIGURES = {"input_tokens": 5, "output_tokens": 1, **CACHE}
BEGIN: Events = [start(id="msg_7", usage=FIGURES), {"type": "ping"}]
END: Events = [end("tool_use", usage={**FIGURES, "output_tokens": 9}), STOP]
TEXT: Events = [block("text", 1), delta("text_delta", "Hi", 1), stop(1)]
CALLS: Events = [
    block("tool_use", 2),
    delta("input_json_delta", '{"a":', 2),
    delta("input_json_delta", "1}", 2),
    stop(2),
    block("tool_use", 3),
    delta("input_json_delta", '{"b":2}', 3),
    stop(3),
]
RIGHT: Events = [
    *BEGIN,
    block("thinking"),
    delta("thinking_delta", "Hm"),
    delta("signature_delta", "sig"),
    stop(),
    *TEXT,
    *CALLS,
    *END,
]


def repaired(events: Iterable[Data], asked: NativeAsked = ASKED) -> Events:
    reader, out = MessagesReader(asked), list[Data]()
    for each in events:
        kind = each.get("type", "")
        name = kind if isinstance(kind, str) else ""
        out += [value for _, value in reader.event(name, each).events]
    return [*out, *(value for _, value in reader.end().events)]


def judged(events: Events) -> Data:
    reader = messages_form.read((each["type"], each) for each in events)
    assert reader.faults == []
    return reader.message


def test_right_stream_stays() -> None:
    reader = MessagesReader(ASKED)
    for each in RIGHT:
        made = reader.event(each["type"], each)
        assert made.fixes == []
        assert [value for _, value in made.events] == [each]
        assert made.events[0][1] is each
    assert reader.end().events == []
    judged(RIGHT)


def in_block(number: int, **more: Any) -> Change:
    """The start of a block has other values; a key that is None is missing."""

    def changed(events: Events) -> None:
        begun = blocks(events)[number][0]["content_block"]
        begun.update(more)
        for name in [name for name, value in begun.items() if value is None]:
            del begun[name]

    return changed


def at_end(**more: Any) -> Change:
    return of_each("message_delta", lambda event: event["delta"].update(more))


def without_at(*places: int) -> Change:
    """Some events of the right stream are missing."""
    return lambda events: [x for at, x in enumerate(events) if at not in places]


def in_turns(events: Events) -> Events:
    """The two calls take turns."""
    calls = [events[9 + at] for at in (0, 4, 1, 5, 2, 6, 3)]
    return [*events[:9], *calls, *events[16:]]


MORE: dict[str, Change] = {
    "only output in the start": in_start(lambda x: x.update(usage={"output_tokens": 1})),
    "null at the end": of_each("message_delta", lambda x: x.update(usage=None)),
    "figures as texts": of_each("message_delta", lambda x: x.update(usage={key: f"{n}" for key, n in FIGURES.items()})),
    "no fields": of_each("message_start", lambda x: x.update(message={})),
    "another type and role": in_start(lambda x: x.update(type="chat.completion", role="model")),
    "content is null": in_start(lambda x: x.update(content=None)),
    "no model": in_start(lambda x: x.pop("model")),
    "id is a number": in_start(lambda x: x.update(id=7)),
    "second start of another id": lambda x: [x[0], start(id="msg_2"), *x[1:]],
    "no starts of blocks": without_at(2, 6),
    "a start of a block twice": twice("content_block_start"),
    "no stop of the last": without_at(15),
    "no stop of the text": without_at(8),
    "gaps": numbered(lambda index, _: 2 * index),
    "calls in turns": in_turns,
    "text without text": in_block(1, text=None),
    "text without a block": lambda x: x[6].pop("content_block") and None,
    "text in the start": both(in_block(1, text="Hi"), without_at(7)),
    "call without input": in_block(2, input=None),
    "signed in the start": both(in_block(0, signature="sig"), without_at(4)),
    "id of an earlier call": in_block(2, id="toolu_old"),
    "a token's number": at_end(stop_reason=128009),
    "reason is null": at_end(stop_reason=None),
    "no stop sequence": of_each("message_delta", lambda x: x["delta"].pop("stop_sequence")),
    "second stop": twice("message_stop"),
}  # fmt: skip
OTHERS = {"P11: thoughts in a text", "P14: done"}
"""A block that begins as a text is one, and `[DONE]` is the business of the framing."""
FAULTS = {name: change for name, change in (ALL | MORE).items() if name not in OTHERS}


def spoken(read: Data) -> list[tuple[Any, ...]]:
    """What each block says."""
    keys = ("type", "text", "thinking", "input")
    return [tuple(map(each.get, keys)) for each in read["content"]]


@each_case([pytest.param(change, id=name) for name, change in FAULTS.items()])
def test_fault_is_repaired_and_what_is_repaired_stays(change: Change) -> None:
    wrong = made(RIGHT, change)
    assert wrong != RIGHT
    once = repaired(wrong)
    read = judged(once)
    assert spoken(read) == spoken(judged(RIGHT))
    assert read["stop_reason"] == "tool_use"
    assert repaired(once) == once


PAIRS = [
    (one, other)
    for one, other in itertools.combinations(ALL, 2)
    if not OTHERS & {one, other} and one.partition(":")[0] != other.partition(":")[0]
]
"""Of which each is wrong in something else."""


def test_two_faults_at_once_become_right() -> None:
    for one, other in PAIRS:
        once = repaired(made(RIGHT, ALL[one], ALL[other]))
        assert judged(once)["stop_reason"] == "tool_use", (one, other)
        assert repaired(once) == once, (one, other)


def test_call_goes_on_behind_text_in_it() -> None:
    calls = [block("tool_use"), delta("input_json_delta", '{"a":')]
    text, rest = delta("text_delta", "Hi"), delta("input_json_delta", "1}")
    read = judged(repaired([*BEGIN, *calls, text, rest, stop(), *END]))
    assert [each["type"] for each in read["content"]] == ["tool_use", "text"]
    assert read["content"][0]["input"] == '{"a":1}'


def test_second_message_that_cuts_a_call_off_passes_as_it_is() -> None:
    spliced = [*RIGHT[:11], start(id="msg_2"), *TEXT[:2]]
    assert repaired(spliced) == spliced


def test_messages_one_after_the_other_pass_as_they_are() -> None:
    assert repaired([*RIGHT, *RIGHT]) == [*RIGHT, *RIGHT]


def test_what_anthropic_itself_says_in_a_start_stays() -> None:
    caller = {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}
    call = block("tool_use", input={"a": 1}, caller=caller)
    assert repaired([*BEGIN, call, stop(), *END]) == [*BEGIN, call, stop(), *END]
    whole = [start(content=[call["content_block"]], stop_reason="tool_use"), STOP]
    assert repaired(whole) == whole


def test_bare_text_of_a_body_is_a_block_of_its_stream() -> None:
    made = MessagesReader(ASKED).whole(message(content="Hi"))
    said = [each.get("delta", {}).get("text") for _, each in made.events]
    assert [each for each in said if each] == ["Hi"]


@pytest.mark.parametrize("reason", [None, "end_turn"])
def test_stream_that_breaks_off_gets_no_end(reason: str | None) -> None:
    """Some send a reason in the start, before the first word."""
    broken = [start(stop_reason=reason), *RIGHT[1:6]]
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


def with_junk(value: Any) -> Iterator[Any]:
    """Yield *value* with each of its values replaced by each of `JUNK`."""
    for path in places(value):
        for junk in JUNK:
            parent = changed = copy.deepcopy(value)
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = junk
            yield changed


def test_no_shape_of_an_event_makes_the_reader_fail() -> None:
    for events in with_junk(RIGHT):
        once = [each for each in events if isinstance(each, dict)]
        assert isinstance(repaired(once), list)
    content = [each["content_block"] for each in (RIGHT[6], RIGHT[9])]
    for body in with_junk(message(*content)):
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
        calls += [block("tool_use", at), delta("input_json_delta", text, at), stop(at)]
    sent = repaired([*BEGIN, *calls, *ending])
    assert [each["type"] for each in sent[-2:]] == ["message_delta", "message_stop"]
    assert sent[-2]["delta"]["stop_reason"] == "max_tokens"
