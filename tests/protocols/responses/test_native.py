"""Responses as their providers send them: what is right stays, what is wrong becomes right."""

import copy
import itertools
import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from each_case import each_case
from judge.responses import Event, check_events, meaning_of, meaning_of_deltas
from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.native_fixes.native_fix import wire
from llm_normalize.protocols.native_reader import NativeAsked
from llm_normalize.protocols.responses.native.response_reader import ResponsesReader
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.limits import MAX_EVENT
from native_faults import (
    ALL,
    MANY,
    ONE_CALL,
    REQUEST,
    RIGHT,
    SAID,
    STREAMS,
    Change,
    Data,
    P,
    call,
    every,
    key,
    made,
    stream,
    within,
    without,
)


def reader(skipped: Collection[str] = ()) -> ResponsesReader:
    asked = NativeAsked("exchange", "asked", lambda: 7, skipped=skipped, created=5)
    return ResponsesReader(asked, REQUEST)


def repaired(
    events: Sequence[Data], skipped: Collection[str] = ()
) -> tuple[list[Event], set[str]]:
    """What the client gets, and the fixes that changed something."""
    reads, out, fixes = reader(skipped), list[Event](), set[str]()
    for each in copy.deepcopy([*events]):
        name = each.get("type")
        sent = reads.event(name if isinstance(name, str) else "", each)
        out += sent.events
        fixes |= {*sent.fixes}
    sent = reads.end()
    return [*out, *sent.events], fixes | {*sent.fixes}


def data(events: Sequence[Event]) -> list[Data]:
    return [each for _, each in events]


def assert_right(out: Sequence[Event], right: Sequence[Data]) -> None:
    assert check_events(out) == []
    assert meaning_of(out[-1][1]["response"]) == meaning_of(right[-1]["response"])
    said = meaning_of_deltas([(each["type"], each) for each in right])
    assert meaning_of_deltas(out) == said


@each_case(STREAMS.values(), ids=len)
def test_right_stream_is_the_same_objects(right: list[Data]) -> None:
    reads = reader()
    for each in right:
        sent = reads.event(each["type"], each)
        assert sent.fixes == []
        assert len(sent.events) == 1
        assert sent.events[0][1] is each
    assert reads.end().events == []
    assert reads.is_over
    assert reads.tokens == (3, 4)


@each_case([pytest.param(each, id=name) for name, each in ALL.items()])
def test_fault_is_one(change: Change) -> None:
    assert any(made(right, change) != right for right in STREAMS.values())


@pytest.mark.parametrize("part", range(4))
def test_right_stream_leaves_byte_for_byte_wherever_it_is_cut(part: int) -> None:
    whole = wire(ONE_CALL)
    for at in range(part, len(whole), 12):
        records = list[EventRecord]()
        through = NativeStream(reader(), records.append, "stream")
        out = [*through.feed(whole[:at]), *through.feed(whole[at:]), *through.end()]
        assert b"".join(out) == whole
        assert not any(each.changed for each in records)


CASES = [
    pytest.param(right, change, id=f"{of}, {name}")
    for of, right in STREAMS.items()
    for name, change in ALL.items()
]


@each_case(CASES)
def test_fault_is_repaired_and_what_is_repaired_stays(
    right: list[Data], change: Change
) -> None:
    out, fixes = repaired(made(right, change))
    assert_right(out, right)
    assert data(out) == right or fixes
    again, more = repaired(data(out))
    assert again == out
    assert more == set()


def is_told(*names: str) -> bool:
    """Tell whether a stream with these faults still says all."""
    return "P2: only completed" not in names or not any("P6" in each for each in names)


PAIRS = [each for each in itertools.combinations(ALL, 2) if is_told(*each)]


def test_pairs_of_faults_are_repaired() -> None:
    pairs = dict[str, tuple[str, list[Event]]]()
    for one, other in PAIRS:
        out, _ = repaired(made(RIGHT, ALL[one], ALL[other]))
        pairs.setdefault(json.dumps(out), (f"{one}, {other}", out))
    for names, out in pairs.values():  # six of seven pairs come out as another does
        assert check_events(out) == [], names
        assert repaired(data(out)) == (out, set())


@settings(max_examples=150, deadline=None)
@given(st.sampled_from([*STREAMS]), st.data())
def test_a_fault_of_each_kind_at_once_is_repaired(of: str, draw: st.DataObject) -> None:
    kinds = [each for each in P if each not in ("P6", "P7")]
    names = [f"{p}: {draw.draw(st.sampled_from([*P[p]]))}" for p in kinds]
    for at, name in enumerate(names):
        if name == "P2: only completed":
            names[at] = "P2: no item added"
    out, _ = repaired(made(STREAMS[of], *(ALL[name] for name in names)))
    assert_right(out, STREAMS[of])


@each_case([pytest.param(each, id=name) for name, each in ALL.items()])
def test_nothing_changes_with_every_fix_off(change: Change) -> None:
    class Every(frozenset[str]):
        def __contains__(self, name: object) -> bool:
            return True

    events = made(RIGHT, change)
    assert repaired(events, Every()) == ([(x["type"], x) for x in events], set())


def test_thoughts_end_before_the_text_and_their_late_end_is_dropped() -> None:
    def late(events: list[Data]) -> list[Data]:
        ends = every(events, "response.reasoning_summary_text.done",
                     "response.reasoning_summary_part.done")  # fmt: skip
        ends += every(events, "response.output_item.done")[:1]
        rest = [each for each in events if not any(each is x for x in ends)]
        return [*rest[:-1], *ends, rest[-1]]

    out, fixes = repaired(made(RIGHT, late))
    assert "item-done-missing" in fixes
    (_, told), *_ = [each for each in out if each[0] == "response.output_item.done"]
    assert told["item"]["summary"][0]["text"] == "Hmm…"
    # What only the late end says is in the last event.
    kept = out[-1][1]["response"]["output"][0]["encrypted_content"]
    assert kept == RIGHT[-1]["response"]["output"][0]["encrypted_content"]


# -- the response and its figures ----------------------------------------------------------


def test_tokens_are_the_provider_s_own() -> None:
    events = made(RIGHT)
    del events[-1]["response"]["usage"]
    reads = reader()
    for each in events:
        reads.event(each["type"], each)
    assert reads.tokens == (None, None)


# -- errors --------------------------------------------------------------------------------

BEGIN = RIGHT[:2]
WORDS = {"type": "server_error", "code": "overloaded", "message": "Busy", "param": None}
NESTED = {"type": "error", "sequence_number": 2, "error": WORDS}
FLAT = {"type": "error", "sequence_number": 2, "code": "overloaded", "message": "Busy",
        "param": None}  # fmt: skip


@pytest.mark.parametrize("error", [NESTED, FLAT], ids=["nested", "flat"])
def test_error_stays_and_the_response_fails(error: Data) -> None:
    out, fixes = repaired([*BEGIN, error])
    assert data(out)[:3] == [*BEGIN, error]
    assert fixes == {"response-failed-missing"}
    assert check_events([*out[:2], *_renumbered(out[3:])]) == []
    assert out[-1][1]["response"]["error"] == {"code": "overloaded", "message": "Busy"}


def _renumbered(events: Sequence[Event]) -> list[Event]:
    return [(n, {**x, "sequence_number": 2 + at}) for at, (n, x) in enumerate(events)]


@pytest.mark.parametrize(
    "error",
    [
        {"error": WORDS},
        {"error": "Busy"},
        {"type": "error", "error": "Busy"},
        {"type": "response.error", "error": WORDS},
        {"type": "error", "error": {"msg": 5}},
    ],
    ids=["chat", "words", "typed words", "another name", "no words"],
)
def test_foreign_error_is_openai_s_and_the_response_fails_at_once(error: Data) -> None:
    reads = reader()
    for each in [*BEGIN]:
        reads.event(each["type"], each)
    sent = reads.event(error.get("type", ""), error)
    assert [name for name, _ in sent.events] == ["error", "response.failed"]
    told, failed = (each for _, each in sent.events)
    assert isinstance(told["error"]["message"], str)
    assert failed["response"]["error"]["message"] == told["error"]["message"]
    assert failed["response"]["id"] == BEGIN[0]["response"]["id"]
    assert reads.is_over
    assert reads.end().events == []


def test_response_that_fails_by_its_own_word_stays() -> None:
    failed = {**BEGIN[0]["response"], "status": "failed",
              "error": {"code": "overloaded", "message": "Busy"}}  # fmt: skip
    last = {"type": "response.failed", "sequence_number": 3, "response": failed}
    events = [*BEGIN, NESTED, last]
    assert repaired(events) == ([(x["type"], x) for x in events], set())


@pytest.mark.parametrize("error", ["Busy", {"message": "Busy"}, WORDS])
def test_error_of_a_failed_response_has_a_code_and_words(error: Any) -> None:
    failed = {**BEGIN[0]["response"], "status": "failed", "error": error}
    last = {"type": "response.failed", "sequence_number": 2, "response": failed}
    out, _ = repaired([*BEGIN, last])
    assert check_events(out[:2], complete=False) == []
    found = out[-1][1]["response"]["error"]
    assert found["message"] == "Busy"
    assert found["code"]


@pytest.mark.parametrize("at", range(len(RIGHT)))
def test_nothing_is_forged_where_a_stream_breaks_off(at: int) -> None:
    out, fixes = repaired(RIGHT[:at])
    assert data(out) == RIGHT[:at]
    assert fixes == set()


def test_done_is_no_success_of_what_was_cancelled() -> None:
    last = copy.deepcopy(SAID[-1])
    last["type"] = "response.done"
    last["response"]["status"] = "cancelled"
    out, _ = repaired([*SAID[:2], {**last, "sequence_number": 2}])
    assert out[-1][0] == "response.done"


def test_name_says_the_type_before_the_error_does() -> None:
    failed = {**BEGIN[0]["response"], "status": "failed", "error": None}
    reads = reader()
    sent = reads.event("response.failed", {"response": failed, "error": WORDS})
    name, last = sent.events[-1]
    assert name == last["type"] == "response.failed"
    assert last["response"]["error"]["message"] == "Busy"


# -- other events ---------------------------------------------------------------------------


def test_events_and_items_of_other_kinds_pass() -> None:
    item = {"id": "ws_1", "type": "web_search_call", "status": "in_progress"}
    place = {"item_id": "ws_1", "output_index": 0}
    done = {**item, "status": "completed", "action": {"type": "search"}}
    events = [
        *BEGIN,
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.web_search_call.searching", **place},
        {"type": "response.shell_call_command.delta", "output_index": 0, "delta": "l"},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
    ]
    for number, each in enumerate(events):
        each["sequence_number"] = number
    other = {"type": "codex.rate_limits", "limits": {}}
    end = made(RIGHT)[-1]
    end["response"]["output"] = [done]
    end["sequence_number"] = len(events)
    events = [events[0], other, *events[1:], {"type": "keepalive"}, end]
    assert repaired(events) == ([(x["type"], x) for x in events], set())


@pytest.mark.parametrize("given", [{}, {"output": [1]}, {"choices": []}])
def test_what_has_no_name_passes(given: Data) -> None:
    assert reader().event("", given) == ([("", given)], [])


def test_text_that_its_end_says_otherwise_is_the_provider_s() -> None:
    events = made(SAID, key("text", "Something else", "response.output_text.done"))
    out, fixes = repaired(events)
    assert data(out) == events
    assert fixes == set()


def test_thoughts_by_other_names_are_openai_s() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    part = {"type": "reasoning_text", "text": "Hm"}
    place = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.reasoning_part.added", **place,
         "part": {"type": "reasoning_text", "text": ""}},
        {"type": "response.reasoning.delta", **place, "delta": {"text": "Hm"}},
        {"type": "response.reasoning.done", **place, "text": "Hm"},
        {"type": "response.reasoning_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0,
         "item": {**item, "content": [part]}},
    ]  # fmt: skip
    out, fixes = repaired([*BEGIN, *events])
    assert fixes == {"event-name-foreign", "sequence-number-wrong"}
    assert [name for name, _ in out[3:7]] == [
        "response.content_part.added",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
        "response.content_part.done",
    ]
    assert out[4][1]["delta"] == "Hm"


@pytest.mark.parametrize("kind", ["text", None])
def test_parts_by_other_names_are_text(kind: str | None) -> None:
    def change(events: list[Data]) -> None:
        for each in events:
            key("type", kind)([each["part"]] if "part" in each else [])
            for item in [
                each.get("item", {}),
                *each.get("response", {}).get("output", []),
            ]:
                key("type", kind)(item.get("content", []))

    out, fixes = repaired(made(MANY, change))
    assert "part-type-wrong" in fixes
    assert data(out) == MANY


def test_arguments_of_a_tool_search_are_an_object() -> None:
    item = {"type": "tool_search_call", "id": "tsc_1", "arguments": '{"goal":"x"}'}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    out, fixes = repaired([*BEGIN, {**added, "sequence_number": 2}])
    assert fixes == {"call-arguments-spelled"}
    assert out[2][1]["item"]["arguments"] == {"goal": "x"}


def test_whole_call_at_its_beginning_comes_once() -> None:
    def early(events: list[Data]) -> list[Data]:
        (item,) = events[-1]["response"]["output"]
        every(events, "response.output_item.added")[0]["item"] = {**item}
        return without(".delta", ".arguments.done")(events) or []

    out, fixes = repaired(made(ONE_CALL, early))
    assert "item-added-whole" in fixes
    assert data(out)[2]["item"]["arguments"] == ""
    assert [each["delta"] for each in data(out) if "delta" in each] == ['{"a":1}']


CASES_OF_ONE: list[tuple[str, Any]] = [
    ("summary", "Hm"),
    ("content", [{"type": "reasoning_text", "text": "Hm"}]),
]


@pytest.mark.parametrize(("place", "given"), CASES_OF_ONE)
def test_thoughts_come_in_one_of_two_lists(place: str, given: Any) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], place: given}
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    out, _ = repaired([*BEGIN, done])
    deltas = [each["delta"] for _, each in out if "delta" in each]
    assert deltas == ["Hm"]


def test_thoughts_that_are_in_both_lists_are_told_once() -> None:
    part = {"type": "reasoning_text", "text": "Hm"}
    item = {"type": "reasoning", "id": "rs_1", "content": [part],
            "summary": [{"type": "summary_text", "text": "Hm"}]}  # fmt: skip
    done = {"type": "response.output_item.done", "output_index": 0, "item": item}
    out, _ = repaired([*BEGIN, done])
    assert [name for name, _ in out].count("response.reasoning_summary_text.delta") == 1
    assert "response.reasoning_text.delta" not in [name for name, _ in out]
    assert out[-1][1]["item"]["content"] == [part]


def test_late_beginning_of_an_item_is_dropped() -> None:
    def late(events: list[Data]) -> list[Data]:
        first, second = events[2:4]
        return [*events[:2], second, first, *events[4:]]

    out, fixes = repaired(made(SAID, late))
    assert fixes == {"item-added-missing"}
    assert data(out) == SAID


def test_call_without_a_name_is_told_at_the_end() -> None:
    events = made(ONE_CALL)
    for each in events:
        for item in [each.get("item", {}), *each.get("response", {}).get("output", [])]:
            item.pop("name", None)
        each.pop("name", None)
    out, _ = repaired(events)
    assert [each["delta"] for _, each in out if "delta" in each] == ['{"a":1}']
    assert out[-1][1]["response"]["output"][0]["arguments"] == '{"a":1}'


def test_open_item_that_the_end_does_not_have_ends_and_is_in_it() -> None:
    events = [*made(ONE_CALL)[:4], made(MANY)[-1]]
    events[-1]["response"]["output"] = []
    out, fixes = repaired(events)
    assert {"item-done-missing", "completed-output-empty"} <= fixes
    (item,) = out[-1][1]["response"]["output"]
    assert item["arguments"] == '{"a":'


def test_what_follows_the_end_passes() -> None:
    later = {"type": "response.output_text.delta", "delta": "x"}
    out, _ = repaired([*RIGHT, later])
    assert data(out) == [*RIGHT, later]


def test_bodies_that_failed_have_no_figures() -> None:
    body = made(RIGHT)[-1]["response"]
    body |= {"status": "failed", "usage": None}
    assert reader().body(body).fixes == []


def test_call_without_arguments_has_an_empty_object() -> None:
    right = stream([call(0, "", "f"), call(0, "{}")])
    bare = made(right, key("arguments", "", "_arguments.done"), without(".delta"))
    for item in [every(bare, "_item.done")[0]["item"],
                 bare[-1]["response"]["output"][0]]:  # fmt: skip
        item["arguments"] = ""
    out, _ = repaired(bare)
    assert_right(out, right)


def test_part_that_goes_on_behind_its_end_is_another() -> None:
    kind = "response.output_text"
    (said,) = every(SAID, f"{kind}.done")
    more = {**every(SAID, f"{kind}.delta")[0], "delta": "!"}
    out, _ = repaired([*SAID[:6], said, {**said}, more])
    assert [name for name, _ in out[-4:]] == [
        f"{kind}.done",
        "response.content_part.done",
        "response.content_part.added",
        f"{kind}.delta",
    ]
    assert out[-1][1]["content_index"] == 1


def test_citations_are_in_the_part_that_is_put_in() -> None:
    cited = {"type": "url_citation", "url": "https://heron.example", "title": "Heron",
             "start_index": 0, "end_index": 5}  # fmt: skip
    place = {**every(SAID, "response.output_text.delta")[0], "annotation": cited}
    place |= {"type": "response.output_text.annotation.added", "annotation_index": 0}
    del place["delta"], place["logprobs"]
    out, _ = repaired([*SAID[:6], place])
    assert out[-1][1]["annotation"] == cited
    text = made(SAID)
    (done,) = every(text, "response.output_text.done")
    out, _ = repaired([*SAID[:6], place, done, text[-1]])
    part, *_ = [
        each["part"] for name, each in out if name == "response.content_part.done"
    ]
    assert part["annotations"] == [cited]


def test_what_is_too_long_passes() -> None:
    reads = reader()
    kind = "response.output_text.delta"
    long = {"type": kind, "delta": "x" * (MAX_EVENT + 1)}
    reads.event(kind, long)
    after = {"type": kind, "delta": "y"}
    assert reads.event(kind, after) == ([(kind, after)], [])


# -- a whole answer --------------------------------------------------------------------------


def test_right_body_is_the_same_object() -> None:
    body = RIGHT[-1]["response"]
    sent = reader().body(body)
    assert sent.events[0][1] is body
    assert sent.fixes == []


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        (lambda x: x.pop("tools"), "response-fields-missing"),
        (lambda x: x.pop("usage"), "response-usage-missing"),
        (lambda x: x["output"][1].pop("id"), "item-id-changing"),
        (lambda x: x["output"][1].pop("status"), "item-fields-missing"),
        (lambda x: x["output"][0].pop("summary"), "item-fields-missing"),
        (lambda x: x["output"][1]["content"][0].pop("annotations"),
         "part-fields-missing"),
        (lambda x: x["output"][1].update(content="Hello ☃"), "item-text-bare"),
        (lambda x: x["output"][2].update(arguments={"a": 1}), "call-arguments-object"),
        (lambda x: x["output"][2].pop("call_id"), "call-id-missing"),
    ],
)  # fmt: skip
def test_body_is_repaired(change: Callable[[Data], Any], fix: str) -> None:
    body = made(RIGHT)[-1]["response"]
    change(body)
    sent = reader().body(body)
    assert sent.fixes == [fix]
    again = reader().body(sent.events[0][1])
    assert again.fixes == []


@pytest.mark.parametrize("status", [None, "completed", "incomplete", "failed"])
def test_body_for_a_stream_is_its_events(status: str | None) -> None:
    body = made(MANY)[-1]["response"]
    body["status"] = status
    sent = reader().whole(body)
    assert sent.events[0][0] == "response.created"
    assert sent.events[-1][0] == f"response.{status or 'completed'}"
    assert sent.fixes == []


def test_error_for_a_stream_fails_the_response() -> None:
    sent = reader().whole({"error": WORDS})
    assert [name for name, _ in sent.events] == [
        "response.created",
        "response.in_progress",
        "error",
        "response.failed",
    ]
    assert reader().whole({"heron": 1}).events == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"error": {"message": "no"}},
        {"object": "list", "data": []},
        {"object": "response.compaction", "output": [{"type": "message"}]},
    ],
)
def test_body_that_is_no_response_passes(body: Data) -> None:
    assert reader().body(body).events[0][1] is body


# -- hostile answers ---------------------------------------------------------------------------

VALUES: list[Any] = [None, True, -1, 10**400, 1.5, "", "x", [], [[]], [None], {},
                     {"type": 5}, [{"type": []}], {"id": {}}]  # fmt: skip
KEYS = sorted({name for each in RIGHT for name in each} | {"error", "annotation"})


@pytest.mark.parametrize("right", [RIGHT, SAID], ids=["right", "said"])
def test_wrong_types_never_raise(right: list[Data]) -> None:
    for place in KEYS:
        for value in VALUES:
            repaired([{**each, place: value} for each in right])
    inner = {name for each in right for name in each.get("item", {})}
    inner |= {name for each in right for name in each.get("part", {})}
    inner |= {*right[-1]["response"]}
    for place in inner:
        for value in VALUES:
            change = [within(x, place, lambda *_, v=value: v or False)
                      for x in ("item", "part", "response")]  # fmt: skip
            repaired(made(right, *change))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_events_in_any_order_never_raise(draw: st.DataObject) -> None:
    known = [*RIGHT, *SAID, NESTED, FLAT]
    events = draw.draw(st.lists(st.sampled_from(known), max_size=40))
    out, _ = repaired(events)
    texts = [[each["delta"] for each in every(x, "response.output_text.delta")]
             for x in (events, data(out))]  # fmt: skip
    assert [each for each in texts[1] if each in texts[0]] >= texts[0]
