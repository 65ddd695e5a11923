"""What became of an event, told field by field."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.records.difference import Change, aligned, changes, excerpts


def event(payload: str) -> str:
    return f"data: {payload}\n\n"


def chunk(delta: str, finish: str = "null") -> str:
    return event(
        f'{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}'
    )


def reported(before: str | None, *after: str) -> list[str]:
    return [str(change) for change in changes(before, after)]


def test_field_that_went_is_reported_with_its_path() -> None:
    before = chunk('{"role":null,"content":"Hi"}')
    assert reported(before, chunk('{"content":"Hi"}')) == [
        "choices[0].delta.role: null → removed"
    ]


def test_field_that_came_and_one_that_changed() -> None:
    before = event('{"choices":[],"created":0}')
    assert reported(before, event('{"choices":[],"created":7,"id":"x"}')) == [
        "created: 0 → 7",
        'id: added "x"',
    ]


def test_framing_shows_its_line_ends() -> None:
    assert reported('data:{"choices":[]}\r\n\r\n', event('{"choices":[]}')) == [
        r"framing: data:…\r\n\r\n → data: …\n\n"
    ]


def test_several_data_lines_are_one_value() -> None:
    before = 'data: {"choices":\ndata: []}\n\n'
    assert reported(before, event('{"choices":[]}')) == [
        r"framing: data: …\ndata: …\n\n → data: …\n\n"
    ]


def test_event_that_went_and_one_that_was_added() -> None:
    assert reported(event("null")) == ["event: data: null → removed"]
    assert reported(None, event("[DONE]")) == ["event: added data: [DONE]"]


def test_what_is_no_json_is_reported_whole() -> None:
    assert reported(": ping\n\n", "\n") == ["event: : ping → a bare newline"]
    assert reported(event("[done]"), event("[DONE]")) == [
        "event: data: [done] → data: [DONE]"
    ]


def test_each_part_of_a_split_chunk_is_compared() -> None:
    before = chunk('{"content":"Hi"}', '"stop"')
    assert reported(before, chunk('{"content":"Hi"}'), chunk("{}", '"stop"')) == [
        'event 1: choices[0].finish_reason: "stop" → null',
        'event 2: choices[0].delta.content: "Hi" → removed',
    ]


def test_what_is_no_chunk_is_reported_with_what_it_became() -> None:
    glued = 'data: {"a":1}data: {"b":2}\n\n'
    assert reported(glued, event('{"a":1}'), event('{"b":2}')) == [
        'event: data: {"a":1}data: {"b":2} → data: {"a":1}',
        'event: added data: {"b":2}',
    ]
    body = '{"choices":[{"message":{"content":"Hi"}}]}'
    assert reported(body, chunk('{"content":"Hi"}'), event("[DONE]"))[1:] == [
        "event: added data: [DONE]"
    ]


def test_an_event_beside_which_others_were_added_is_said_to_stay() -> None:
    before = 'event: b\ndata: {"type": "b"}\n\n'
    added = 'event: a\ndata: {"type":"a"}\n\n'
    (change,) = changes(before, [added, 'event: b\ndata: {"type":"b"}\n\n'])
    assert (change.old, change.is_of_part) == (None, False)
    assert str(change).startswith("event: added event: a")


@given(
    st.text(alphabet='{},":ab', max_size=40), st.text(alphabet='{},":ab', max_size=40)
)
def test_aligned_lines_differ_where_the_lines_do(one: str, other: str) -> None:
    assert (one == other) is (len(set(aligned(one, other))) == 1)


LONG = st.sampled_from(["", "x" * 50, "x" * 300, "x" * 150 + "y" + "x" * 150])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(0, 1), LONG),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_long_lines_differ_where_their_values_do(one: Any, other: Any) -> None:
    lines = [f"data: {json.dumps({'v': each})}" for each in (one, other)]
    assert (lines[0] == lines[1]) is (len(set(aligned(*lines))) == 1)
    gone, come = excerpts(lines[:1], [lines[1], lines[0]])
    assert gone == come[1:]


@given(st.one_of(st.none(), st.text()), st.lists(st.text(), max_size=3))
def test_any_text_can_be_compared(before: str | None, after: list[str]) -> None:
    assert all(isinstance(each, Change) for each in changes(before, after))


def test_changes_are_counted_as_far_as_it_pays() -> None:
    old = {f"k{at}": at for at in range(5000)}
    (*_, last) = changes(json.dumps(old), ["{}"])
    assert str(last) == "event: at least 960 changes more → …"
