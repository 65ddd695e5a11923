"""One event that nobody can read: nothing is made up behind it."""

import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from each_case import each_case
from judge.strict import chunks, taken
from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import DONE, USAGE, Wire, calling, chunk, head, rest, wire
from llm_normalize.repair.outcome import EventRecord
from properties import test_recorded as recorded
from streams import feed, repaired

OF_RECORDED = 2
"""In how many ways and places an event of a recorded stream is made unreadable."""


def half(payload: bytes) -> bytes:
    return payload[: len(payload) * 2 // 3]


def as_repr(payload: bytes) -> bytes:
    return repr(json.loads(payload)).encode()


def number(_: bytes) -> bytes:
    return b"5"


def control(payload: bytes) -> bytes:
    return payload[:1] + b"\x1b" + payload[1:]


def no_utf8(payload: bytes) -> bytes:
    return payload[:-2] + b"\xff" + payload[-2:]


def no_utf8_in_a_string(payload: bytes) -> bytes:
    at = payload.rindex(b'"')
    return payload[:at] + b"\xff" + payload[at:]


WAYS = (no_utf8_in_a_string, half, as_repr, number, control, no_utf8)

NULL = {"role": "assistant", "content": None}
CALLED = chunk({}, finish="tool_calls")
_OPEN = chunk({**NULL, "tool_calls": [head()]})
_OTHER = head(1, id="call_b", function={"name": "g", "arguments": ""})
STREAMS: dict[str, Wire] = {
    "text": [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Do"}),
        chunk({"content": " not"}),
        chunk({"content": " delete it"}),
        chunk({}, finish="stop"),
        chunk(None, usage=USAGE),
        DONE,
    ],
    "call": [
        _OPEN,
        calling(rest(0, '{"path":"a')),
        calling(rest(0, "/b")),
        calling(rest(0, '.py"}')),
        chunk({}, finish="tool_calls"),
        DONE,
    ],
    "calls": [
        chunk({"role": "assistant", "content": "Let me see."}),
        calling(head()),
        calling(rest(0, '{"n":[')),
        calling(rest(0, "1]}")),
        calling(_OTHER),
        calling(rest(1, '{"m":2}')),
        chunk({}, finish="tool_calls"),
        DONE,
    ],
    "whole call": [
        chunk({"role": "assistant", "content": None}),
        calling(head(0, '{"a":"b"}')),
        chunk({}, finish="tool_calls"),
        DONE,
    ],
    "name in parts": [
        chunk({"role": "assistant", "content": None}),
        calling({**head(), "function": {"name": "get_", "arguments": ""}}),
        calling({"index": 0, "function": {"name": "time", "arguments": ""}}),
        calling(rest(0, '{"a":1}')),
        chunk({}, finish="tool_calls"),
        DONE,
    ],
    "late name": [
        chunk({"role": "assistant", "content": None}),
        calling({**head(), "function": {"arguments": '{"m":[1'}}),
        calling(rest(0, ",2")),
        calling({"index": 0, "function": {"name": "f", "arguments": ""}}),
        calling(rest(0, "]}")),
        chunk({}, finish="tool_calls"),
        DONE,
    ],
    "no arguments": [_OPEN, calling(rest(0, "{}")), CALLED, DONE],
    "legacy": [
        chunk({**NULL, "function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"arguments": '{"a":"b'}}),
        chunk({"function_call": {"arguments": 'c"}'}}),
        chunk({}, finish="function_call"),
        DONE,
    ],
}
TOOLS = Tools(frozenset({"f", "g", "get_time"}))


def blocks(data: bytes) -> list[bytes]:
    return [each + b"\n\n" for each in data.split(b"\n\n") if each]


def damaged(data: bytes, most: int | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield *data* with one event that nobody can read, at each place and in each way.

    Of these, *most* are drawn.
    """
    found = blocks(data)
    readable = [at for at, each in enumerate(found) if each.startswith(b"data: {")]
    cases = [*itertools.product(readable, WAYS)]
    if most is not None:
        cases = random.Random(data).sample(cases, min(most, len(cases)))
    for at, way in cases:
        payload = found[at][len(b"data: ") :].strip()
        lost = b"data: " + way(payload) + b"\n\n"
        yield f"{way.__name__} {at}", b"".join([*found[:at], lost, *found[at + 1 :]])


def parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return None


def until_error(out: bytes) -> bytes:
    """Return the part of *out* that a client reads: none does behind an error."""
    found = blocks(out.replace(b"\n\n\n", b"\n\n"))
    failed = [at for at, each in enumerate(found) if b'data: {"error"' in each]
    return b"".join(found[: failed[0]] if failed else found)


def made_up(sound: bytes, cut: bytes, out: bytes) -> list[str]:
    """List what *out*, of a stream with a hole, says that the provider did not.

    Args:
        sound: The stream as it was before an event of it was lost.
        cut: The stream that was read.
        out: What became of that.
    """
    read = until_error(out).decode(errors="replace").encode()
    sent, given = taken(sound), taken(read)
    reasons = cut.count(b'"finish_reason":"') + cut.count(b'"finish_reason": "')
    faults = []
    for index, choice in given.choices.items():
        known = sent.choices.get(index, conformance.Choice())
        legacy = (known.function_call,) if known.function_call else ()
        calls = [
            (each.name, parsed(each.arguments)) for each in (*known.calls, *legacy)
        ]
        legacy = (choice.function_call,) if choice.function_call else ()
        for call in (*choice.calls, *legacy):
            arguments = parsed(call.arguments)
            if arguments is not None and (call.name, arguments) not in calls:
                faults.append(f"choice {index}: a call {call.name} {call.arguments}")
            if arguments is None and choice.finish_reason in (
                "stop",
                "tool_calls",
                "function_call",
            ):
                faults.append(
                    f"choice {index}: a call without its arguments is a success"
                )
        reason = (choice.finish_reason or "").removesuffix("\ufffd")
        if reason not in ("", known.finish_reason):
            faults.append(f"choice {index}: the finish {choice.finish_reason}")
        if choice.finish_reason and not reasons:
            faults.append(f"choice {index}: a finish")
        if choice.finish_reason == "tool_calls" and not choice.calls:
            faults.append(f"choice {index}: a finish without its call")
    ended = [choice.finish_reason for choice in given.choices.values()]
    if DONE in read and not (ended and all(ended)):
        faults.append("[DONE] without a finish")
    return faults


@each_case(STREAMS, ids=str)
def test_nothing_is_made_up_behind_a_lost_event(name: str) -> None:
    sound = wire(STREAMS[name])
    for usage in (True, False):
        asked = Asked(
            stream=True,
            usage=usage,
            tools=True,
            declared=TOOLS,
            legacy=name == "legacy",
        )
        sent = dict[bytes, str]()
        for way, cut in damaged(sound):
            out = repaired(cut, asked)
            assert made_up(sound, cut, out) == [], way
            sent[out] = way
        for out, way in sent.items():
            assert repaired(out, asked) == out, way


@each_case(STREAMS, ids=str)
def test_no_body_is_made_of_the_rest(name: str) -> None:
    asked = Asked(tools=True, declared=TOOLS, legacy=name == "legacy")
    for way, cut in damaged(wire(STREAMS[name])):
        made = repair_body(cut, 200, asked, FIXES)
        assert made.status == 502, way
        assert "Bad gateway" in json.loads(made.after[0])["error"]["message"]


@pytest.mark.skipif(not recorded.ENTRIES, reason="no recorded answers")
@each_case(recorded.select(stream=True), ids=lambda each: each.id)
def test_nothing_is_made_up_behind_a_lost_event_of_a_recorded_answer(
    entry: Any,
) -> None:
    asked = recorded.asked_of(entry)
    # What a provider does otherwise than OpenAI is the subject of other tests.
    sound = b"".join(feed([recorded.data_of(entry)], asked))
    for way, cut in damaged(sound, OF_RECORDED):
        assert made_up(sound, cut, b"".join(feed([cut], asked))) == [], way


def test_the_property_finds_what_is_made_up() -> None:
    sound = wire(STREAMS["call"])
    (_, cut), *_ = damaged(sound)
    forged = wire([_OPEN, calling(rest()), chunk({}, finish="tool_calls"), DONE])
    assert made_up(sound, cut, forged) == ["choice 0: a call f {}"]
    assert made_up(sound, cut, wire([chunk({}, finish="stop"), DONE])) != []
    assert list(chunks(sound))


LOST = b'data: {"choices":[{"delta":{"con\n\n'
BEGUN_CALL = [_OPEN, calling(rest(0, '{"path":"a'))]
GOES_ON = calling(rest(0, '.py"}'))


def test_text_and_usage_that_wait_are_sent_before_the_error() -> None:
    waiting: Wire = [chunk({"content": "see <thi"}), chunk(None, usage=USAGE)]
    data = wire([*BEGUN_CALL, *waiting, LOST, GOES_ON, DONE])
    read = until_error(repaired(data, Asked(stream=True, usage=True, tools=True)))
    assert b'"see <thi"' in read
    assert b'"total_tokens":' in read


def test_rest_behind_a_lost_head_is_no_part_of_the_call_before() -> None:
    more = calling(rest(1, '{"m":2}'))
    assert b"Bad gateway" in repaired(wire([_OPEN, LOST, more, CALLED]))


def test_another_choice_does_not_go_on_behind_the_error() -> None:
    lost: Wire = [chunk({"content": "a"}), chunk({}, finish="tool_calls"), LOST]
    out = repaired(wire([*lost, chunk({"content": "b"}, index=1)]))
    assert (b"Bad gateway" in out, b'"b"' in out) == (True, False)


def test_finish_that_waits_is_recorded_as_dropped() -> None:
    finish = chunk({}, finish="tool_calls")
    records: list[EventRecord] = []
    feed(
        [wire([*BEGUN_CALL, finish, LOST, GOES_ON, DONE])],
        Asked(stream=True, tools=True, declared=TOOLS),
        steps=records,
    )
    (dropped,) = [each for each in records if each.before == wire([finish])]
    assert (dropped.fixes, dropped.after) == (["event-lost"], [])


def custom(text: str, **opening: Any) -> Any:
    given = {"name": "f"} if opening else {}
    return calling({"index": 0, **opening, "custom": {**given, "input": text}})


def arguments_in(data: bytes) -> str:
    """Return what the calls in *data* got as arguments or input, joined."""
    pieces = []
    for each in chunks(data):
        for choice in each.get("choices", []):
            for call in choice["delta"].get("tool_calls", []):
                pieces.append(call.get("function", {}).get("arguments", ""))
                pieces.append(call.get("custom", {}).get("input", ""))
    return "".join(pieces)


CUT_SHORT = chunk({}, finish="length")
CUSTOM = custom("", id="call_0", type="custom")


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        # Any text may be the whole input of a custom call.
        ([CUSTOM], [custom("b"), CALLED]),
        ([CUSTOM, custom("a")], [CALLED]),
        ([CUSTOM], [CALLED]),
        # Of another object, the lost event may have been the opening.
        ([_OPEN, calling(rest(0, '{"a":1}'))], [calling(rest(0, '{"b":2}')), CALLED]),
        # Some providers open each call with an empty object.
        ([_OPEN, calling(rest(0, "{}"))], [CALLED]),
        # What does not begin an object goes on with one.
        ([_OPEN], [calling(rest(0, '"b":2}')), CUT_SHORT]),
        ([_OPEN], [calling(rest(0, "5")), CALLED]),
    ],
)
def test_call_that_may_lack_a_lost_event_fails_at_once(
    before: Wire, behind: Wire
) -> None:
    asked = Asked(stream=True, tools=True, declared=TOOLS)
    out = repaired(wire([*before, LOST, *behind, DONE]), asked)
    read, _, error = out.partition(b'data: {"error":')
    assert b"a tool call may be missing" in error
    assert arguments_in(error) == ""
    # An empty object may wait for what follows it.
    assert arguments_in(read) in {arguments_in(wire(before)), ""}
    assert b'"finish_reason":"' not in out
