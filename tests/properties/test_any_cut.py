"""Any stream, cut anywhere into reads: nothing is lost, twice is once."""

import random
import re
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.conformance import lost, meaning_of_stream
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import DONE, USAGE, Fix, chunk, head, wire
from llm_normalize.repair.outcome import EventRecord
from streams import feed

TEXT = st.text(max_size=8)


def fragment(index: int, arguments: str | None, **head: Any) -> Chunk:
    """Return a tool call fragment; *head* may hold id, type and name."""
    inner = {"name": head.pop("name")} if "name" in head else {}
    return {"index": index, **head, "function": {**inner, "arguments": arguments}}


# Heads and what may follow them; what nobody could read without guessing is left out.
HEADS = st.builds(
    lambda index, arguments: fragment(
        index, arguments, id=f"call_{index}", type="function", name="f"
    ),
    st.sampled_from([0, 1]),
    st.sampled_from(["", "{"]),
)
REST = st.builds(
    lambda index, arguments, head: fragment(index, arguments, **head),
    st.just(0),
    st.sampled_from(["", "{", "}", None]),
    st.sampled_from(
        [{}, {"id": None, "type": None, "name": None}, {"id": "", "name": ""}]
    ),
)


def chunks(calls: st.SearchStrategy[Chunk]) -> st.SearchStrategy[Chunk]:
    deltas = st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["assistant", "", None]),
            "content": st.one_of(st.none(), TEXT),
            "reasoning_content": st.one_of(st.none(), TEXT),
            "refusal": st.one_of(st.none(), TEXT),
            "tool_calls": st.one_of(st.none(), calls.map(lambda each: [each])),
        },
    )
    return st.builds(
        lambda delta, finish, index, usage: chunk(
            delta, finish=finish, index=index, **usage
        ),
        deltas,
        st.sampled_from([None, None, None, "stop", "length", "tool_calls"]),
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([{}, {}, {"usage": None}, {"usage": USAGE}]),
    )


def events(calls: st.SearchStrategy[Chunk]) -> st.SearchStrategy[bytes]:
    made = chunks(calls)
    return st.one_of(
        made.map(lambda each: wire([each])),
        made.map(lambda each: wire([each]).replace(b"\n", b"\r\n")),
        made.map(lambda each: wire([each]).replace(b"data: ", b"data:")),
        OTHERS,
    )


OTHERS = st.sampled_from(
    [
        wire([chunk(None, usage=USAGE)]),
        b": ping\n\n",
        b"\n",
        b"event: x\nid: 1\n\n",
        b"data: junk\n\n",
        b'data: {"error":{"message":"no"}}\n\n',
    ]
)
# Each choice has opened its call 0 where fragments may go on with it.
OPENED = [wire([chunk({"tool_calls": [head()]}, index=index)]) for index in (0, 1)]
STREAMS = st.builds(
    lambda events, end: b"".join(events) + end,
    st.one_of(
        st.lists(events(HEADS), max_size=12),
        st.lists(events(st.one_of(HEADS, REST)), max_size=12).map(
            lambda each: OPENED + each
        ),
    ),
    st.sampled_from([b"", DONE, DONE + DONE, b"data:[DONE]"]),
)
ASKED = st.builds(Asked, stream=st.just(True), usage=st.booleans(), tools=st.booleans())


def cut(data: bytes, seed: int) -> list[bytes]:
    draw = random.Random(seed)
    reads = []
    while data:
        size = draw.choice([1, 2, 3, 17, 200])
        reads.append(data[:size])
        data = data[size:]
    return reads


@given(STREAMS, ASKED, st.integers(0, 99))
def test_any_cut_gives_the_same_output(data: bytes, asked: Asked, seed: int) -> None:
    whole: list[EventRecord] = []
    parts: list[EventRecord] = []
    assert b"".join(feed(cut(data, seed), asked, steps=parts)) == b"".join(
        feed([data], asked, steps=whole)
    )
    assert parts == whole


# A call that ended without arguments has got `{}`; these streams may go on with it.
DOUBTS = {
    "function-call-unasked",
    "tool-call-arguments-missing",
    "tool-call-arguments-repeated",
}
"""Fixes that change what a stream says to the letter, as it was meant."""
CERTAIN = [fix for fix in FIXES if fix.name not in DOUBTS]


def losses(before: bytes, after: bytes, *, broke: bool = False) -> list[str]:
    """Return what *after* lost; of contradicting finish reasons one is kept.

    A reason for calls is none if it is sent before them: nobody knows that they follow.
    """
    reasons = set(re.findall(rb'"finish_reason":"(\w+)"', before))
    early = before.find(b'"finish_reason":"tool_calls"')
    is_sure = len(reasons) < 2 and not 0 <= early < before.rfind(b'"tool_calls":[')
    found = lost(meaning_of_stream(before), meaning_of_stream(after), broke=broke)
    return [each for each in found if is_sure or "finish reason" not in each]


@given(STREAMS, ASKED)
def test_nothing_is_lost_and_nothing_is_forged(data: bytes, asked: Asked) -> None:
    out = b"".join(feed([data], asked, CERTAIN))
    assert losses(data, out) == []


@given(STREAMS, ASKED, st.sampled_from(FIXES))
def test_without_one_fix_nothing_is_lost(
    data: bytes, asked: Asked, off: type[Fix]
) -> None:
    fixes = [fix for fix in CERTAIN if fix is not off]
    out = b"".join(feed([data], asked, fixes))
    assert losses(data, out) == []


def without_keep_alives(data: bytes) -> bytes:
    """Return *data* without bare newlines: they overtake what waits, once more."""
    return re.sub(rb"\n{3,}", b"\n\n", data).lstrip(b"\n")


@given(STREAMS, ASKED)
def test_repairing_twice_equals_repairing_once(data: bytes, asked: Asked) -> None:
    # Of a choice that was not asked for nobody knows whether it is the last.
    asked = replace(asked, n=2 if b'"index":1,"delta"' in data else 1)
    once = b"".join(feed([data], asked))
    twice = b"".join(feed([once], asked))
    assert without_keep_alives(twice) == without_keep_alives(once)


@given(STREAMS, ASKED)
def test_without_fixes_every_byte_stays(data: bytes, asked: Asked) -> None:
    assert b"".join(feed([data], asked, [])) == data


@given(st.binary(max_size=400), ASKED, st.integers(0, 99))
def test_random_bytes_pass_whole(data: bytes, asked: Asked, seed: int) -> None:
    assert b"".join(feed(cut(data, seed), asked, [])) == data
    feed(cut(data, seed), asked)


@given(STREAMS, ASKED, st.integers(0, 2000))
def test_stream_that_breaks_off_gets_nothing_made_up(
    data: bytes, asked: Asked, at: int
) -> None:
    out = b"".join(feed([data[:at]], asked, ended=False))
    found = lost(meaning_of_stream(data[:at]), meaning_of_stream(out), broke=True)
    assert [each for each in found if "made up" in each or "forged" in each] == []
