"""One event of a provider's own protocol that nobody can read: nothing is made up behind it."""

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pytest

from each_case import each_case
from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.native_fixes import message_events as m
from llm_normalize.native_fixes import response_events as r
from llm_normalize.native_fixes.native_fix import wire
from llm_normalize.protocols.native_readers import native_reader
from llm_normalize.repair.outcome import EventRecord
from native_faults import ALL, CALLS, CUT, ONE_CALL, REQUEST, RIGHT, TEXT, made, stream

type Data = dict[str, Any]

LOST = b'data: {"type": "content_blo\n\n'
UNREADABLE = "data-unreadable"
RESPONSES = {"all": RIGHT, "call": ONE_CALL, "cut": CUT}
SEVERAL = stream([TEXT[0], *CALLS[:5]])
"""A response with a text, a call of a function and one of another tool."""
MESSAGE: list[Data] = [
    m.start(),
    m.block("text"),
    m.delta("text_delta", "Let me see."),
    m.stop(),
    m.block("tool_use", 1),
    m.delta("input_json_delta", "", 1),
    m.delta("input_json_delta", '{"path":"a', 1),
    m.delta("input_json_delta", "/b", 1),
    m.delta("input_json_delta", '.py"}', 1),
    m.stop(1),
    m.block("tool_use", 2),
    m.delta("input_json_delta", '{"n":1}', 2),
    m.stop(2),
    m.end("tool_use"),
    m.STOP,
]
INPUTS = [{"path": "a/b.py"}, {"n": 1}]


def stream_of(
    protocol: str,
    skipped: Collection[str] = (),
    records: list[EventRecord] | None = None,
) -> NativeStream:
    reader = native_reader(protocol, REQUEST, "x", skipped)
    record = (lambda _: None) if records is None else records.append
    return NativeStream(reader, record, "stream")


def data_in(out: bytes) -> Iterator[Data]:
    for block in out.split(b"\n\n"):
        data = block.partition(b"data: ")[2]
        if data:
            yield json.loads(data)


def without(
    protocol: str, events: Sequence[Data], at: int, skipped: Collection[str] = ()
) -> list[Data]:
    """What the client can read where an event of these is lost."""
    records = list[EventRecord]()
    stream = stream_of(protocol, skipped, records)
    data = wire([*events[:at], LOST, *events[at + 1 :]])
    out = b"".join([*stream.feed(data), *stream.end()])
    assert LOST not in out
    assert [each.after for each in records if UNREADABLE in each.fixes] == [[b"\n"]]
    return [*data_in(out)]


def spoken(items: Sequence[Data]) -> list[tuple[str, str]]:
    """The calls among these items, and what they say."""
    return [
        (each["name"], str(each.get("arguments", each.get("input"))))
        for each in items
        if each.get("type", "").endswith("_call") and each["status"] == "completed"
    ]


def calls_of(events: Sequence[Data]) -> list[tuple[str, str]]:
    """The calls that a client runs: those that have ended, wherever it reads them."""
    found = []
    for each in events:
        if each["type"] == "response.output_item.done":
            found += spoken([each["item"]])
        elif each["type"] in ("response.completed", "response.incomplete"):
            found += spoken(each["response"]["output"])
    return found


def with_faults(right: list[Data]) -> Iterator[list[Data]]:
    """Yield what becomes of a response by each fault, once."""
    found = list[list[Data]]()
    for change in ALL.values():
        events = made(right, change)
        if events not in found:
            found.append(events)
            yield events


@pytest.mark.parametrize("right", [SEVERAL, ONE_CALL, CUT], ids=len)
def test_no_call_of_a_response_lacks_what_was_lost(right: list[Data]) -> None:
    whole = {*calls_of(right)}
    for events in with_faults(right):
        for at, lost in enumerate(events):
            out = without("responses", events, at)
            assert {*calls_of(out)} <= whole, lost
            last = out[-1]["type"] if out else ""
            if lost is events[-1]:  # the end: nobody makes it up
                assert last not in ("response.completed", "response.incomplete")
            assert (last == "response.failed") == any(x["type"] == "error" for x in out)


@each_case([pytest.param(each, id=name) for name, each in RESPONSES.items()])
def test_right_response_goes_on_behind_what_was_lost(right: list[Data]) -> None:
    for at in range(len(right) - 1):
        out = without("responses", right, at)
        left = [*right[:at], *right[at + 1 :]]
        # Deltas of a call whose start was lost wait for its name, and are one then.
        assert {**out[-1], "sequence_number": right[-1]["sequence_number"]} == right[-1]
        rest = [each for each in out if each not in left]
        put_in = {each["type"].rpartition(".")[2] for each in rest}
        assert put_in <= {
            "created",
            "in_progress",
            "added",
            "done",
            "delta",
            "completed",
        }


def test_number_of_what_was_lost_is_counted_as_its_provider_does() -> None:
    for at in range(2, 8):  # 4: the text
        out = without("responses", r.WHOLE, at)
        assert [*out[:at], *out[-8 + at :]] == [*r.WHOLE[:at], *r.WHOLE[at + 1 :]]
    ping = [*r.WHOLE[:4], {"type": "ping"}, *r.WHOLE[4:]]  # has none
    assert without("responses", ping, 4) == r.WHOLE


def test_call_whose_end_says_all_of_it_is_whole() -> None:
    def names(*events: Data) -> list[str]:
        begun = [*r.begin(), r.added(2, r.call()), r.of_call("delta", 3, delta='{"a":')]
        found = without("responses", [*begun, {}, *events], 4)
        return [each["type"] for each in found[4:]]

    whole = '{"a":1}'
    said = r.of_call("done", 5, arguments=whole)
    done = r.done(6, r.call(whole))
    more = r.of_call("delta", 5, delta="}")
    rest = r.of_call("delta", 4, delta="1}")
    assert names(said, done) == [rest["type"], said["type"], done["type"]]
    silent = r.done(6, r.without(r.call(whole), "arguments"))
    assert names(more, said, done) == [more["type"], said["type"], done["type"]]
    failed = ["error", "response.failed"]
    assert names(more, silent, r.end(7)) == [more["type"], *failed]
    assert names(r.of_call("done", 5, arguments="")) == failed
    assert names(more, r.end(6)) == [more["type"], *failed]


@pytest.mark.parametrize("at", range(len(MESSAGE)))
def test_no_call_of_a_message_lacks_what_was_lost(at: int) -> None:
    out = without("messages", MESSAGE, at)
    inputs, failed = dict[int, str](), out[-1]["type"] == "error"
    for each in out:
        if each.get("delta", {}).get("type") == "input_json_delta":
            text = each["delta"]["partial_json"]
            inputs[each["index"]] = inputs.get(each["index"], "") + text
        elif each["type"] == "content_block_stop" and each["index"] in inputs:
            assert json.loads(inputs[each["index"]]) in INPUTS
    reasons = [x["delta"]["stop_reason"] for x in out if x["type"] == "message_delta"]
    assert reasons == ([] if failed or at == 13 else ["tool_use"])
    ended = [x["type"] for x in out].count("message_stop")
    assert ended == (not failed and at != 13) or at == 13
    assert failed == (at in (4, 6, 7, 8, 10, 11))


def test_input_that_begins_and_ends_behind_what_was_lost_is_whole() -> None:
    events = [m.start(), m.block("tool_use"), {}, m.delta("input_json_delta", "{}")]
    events += [m.stop(), m.end("tool_use"), m.STOP]
    out = without("messages", events, 2)
    assert out == [*events[:2], *events[3:]]


def test_call_that_was_lost_is_no_end_of_the_turn() -> None:
    events = [m.start(), {}, m.end("tool_calls"), m.STOP]
    failed = without("messages", events, 1)
    assert [each["type"] for each in failed] == ["message_start", "error"]
    off = without("messages", events, 1, ["event-lost"])
    assert off == [events[0], *events[2:]]


@pytest.mark.parametrize(
    ("data", "is_read_by_some", "sent"),
    [
        (b'data: {"type":"x","n":NaN}\n\n', True, None),
        (b'data: {"type":"x","n":"\xff"}\n\n', True, None),
        (b'{"type":"x"}\n\n', False, None),
        (b"data: {'type': 'x'}\n\n", False, b"\n"),
        (b'data: lta": "x"}}\n\n', False, b"\n"),
        (b"data: 5\n\n", False, None),
        (b"data: Busy\n\n", False, None),
    ],
)
def test_behind_what_some_clients_read_all_passes(
    data: bytes, is_read_by_some: bool, sent: bytes | None
) -> None:
    bad = wire([m.block("text"), m.delta("text_delta", "Hi"), m.end("stop")])
    stream = stream_of("messages")
    begin = wire([m.start()])
    out = b"".join(stream.feed(begin + data + bad))
    assert (out == begin + data + bad) is is_read_by_some
    assert out.startswith(begin + (sent or data))
