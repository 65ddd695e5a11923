import itertools
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.repair.fast_path.template import Template, is_as_written, is_text
from llm_normalize.repair.fast_path.template_candidate import learn
from llm_normalize.repair.fix import calling, chunk, rest, wire
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import dumps


def text(word: str) -> Chunk:
    return chunk({"content": word})


def template(before: Chunk, after: Chunk) -> Template:
    fixes = [] if before == after else ["a-fix"]
    found = learn(EventRecord(3, wire([before]), [wire([after])], fixes))
    assert found is not None
    return found.template


def test_an_unchanged_event_leaves_as_it_came() -> None:
    known = template(text("Hi"), text("Hi"))
    assert known.out == ()
    assert known.fit(wire([text("Ho")])) == [b"Ho"]


def test_a_changed_event_is_patched() -> None:
    known = template(chunk({"role": None, "content": "Hi"}), text("Hi"))
    raw = wire([chunk({"role": None, "content": 'a "b"'})])
    texts = known.fit(raw)
    assert texts == [b'a \\"b\\"']
    assert b"".join(known.after(texts)) == wire([text('a "b"')])
    assert known.fixes == ("a-fix",)


def test_a_text_may_be_copied_and_two_may_trade_places() -> None:
    both = {"reasoning": "so", "content": "Hi"}
    known = template(
        chunk(both),
        chunk({"content": "Hi", "reasoning": "so", "reasoning_content": "so"}),
    )
    texts = known.fit(wire([chunk({"reasoning": "1", "content": "2"})]))
    assert texts == [b"1", b"2"]
    assert b"".join(known.after(texts)) == wire(
        [chunk({"content": "2", "reasoning": "1", "reasoning_content": "1"})]
    )


def test_arguments_are_told_by_choice_and_call() -> None:
    known = template(
        calling(rest(0, "a"), rest(2, "b")), calling(rest(0, "a"), rest(2, "b"))
    )
    texts = known.fit(wire([calling(rest(0, "x\n"), rest(2, "y"))]))
    assert texts is not None
    assert [*known.added(texts)] == [(0, 0, "x\n"), (0, 2, "y")]


@pytest.mark.parametrize(
    "said",
    [
        ["a", "b", "c"],
        ["a"],
        [json.dumps("a")[1:-1], "b\\"],
    ],
)
def test_texts_between_are_found_or_the_event_does_not_fit(said: list[str]) -> None:
    known = template(
        calling(rest(0, "a"), rest(1, "b")), calling(rest(0, "a"), rest(1, "b"))
    )
    raw = wire([calling(*[rest(at, each) for at, each in enumerate(said)])])
    found = known.fit(raw)
    assert (found is not None) is (len(said) == 2)


def test_a_part_between_that_overlaps_the_tail_does_not_fit() -> None:
    known = Template(b"a", (b"bc",), b"cd", (0, 1), (), (), (), ())
    assert known.fit(b"axbcd") is None
    assert known.fit(b"axbcycd") == [b"x", b"y"]
    assert known.fit(b"axbcxcd") is None  # they were not alike


def test_head_and_tail_may_not_overlap() -> None:
    known = template(text("Hi"), text("Hi"))
    assert known.head.endswith(known.tail[:1])
    assert known.fit(known.head + known.tail[1:]) is None
    assert known.fit(known.head + known.tail) is None
    assert known.fit(known.head + b"x" + known.tail) == [b"x"]


SOLE = [
    template(text("Hi"), text("Hi")),
    template(chunk({"role": None, "content": "Hi"}), text("Hi")),
]
SPELLINGS = st.one_of(
    st.text(max_size=8).map(lambda said: json.dumps(said)[1:-1]),
    st.text(max_size=8).map(lambda said: json.dumps(said, ensure_ascii=False)[1:-1]),
    st.text('ab"\\\\/u00e9\n', max_size=8),
).map(lambda said: said.encode(errors="surrogatepass"))


@pytest.mark.parametrize("known", SOLE, ids=["unchanged", "changed"])
@given(said=st.one_of(SPELLINGS, st.binary(max_size=6)))
@example(said=b"")
@example(said=rb"\u00e9\/\ud83d")
@example(said=b"\xc3")
def test_a_sole_text_is_patched_as_the_slow_path_would(
    known: Template, said: bytes
) -> None:
    assert known.is_sole
    raw = known.head + said + known.tail
    texts = known.fit(raw)
    if texts is None:
        assert known.patch(raw) is None
    else:
        assert known.patch(raw) == (b"".join(known.after(texts)) if known.out else raw)


FRAGMENTS = [
    b"a", b"n", b"u", b"'", b"\\", b'"', b"\\/", b'\\"', b"\\\\", rb"\n", rb"\x", rb"\u0041",
    rb"\u000a", rb"\ud83d", b"\x00", b"\x1f", b"\x7f", b"\xc3", b"\xed\xa0\x80",
    "\u00e9\u2028\U0001f600".encode(),
]  # fmt: skip


@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map(b"".join))
@example("na\u00efve\u2028".encode())
@example(rb"one\n\"two\"")
def test_text_that_is_spelled_as_written_stays_and_any_other_is_respelled(
    drawn: bytes,
) -> None:
    known = SOLE[1]
    sent = known.patch(known.head + drawn + known.tail)
    try:
        wanted = dumps(json.loads(f'"{drawn.decode()}"'))[1:-1]
    except ValueError:
        assert not is_as_written(drawn)
        return
    assert sent == known.sides[0] + wanted + known.sides[1]
    assert wanted == drawn or not is_as_written(drawn)


# Before and behind each border of table 3-7 of the Unicode standard.
_FIRST = b"\x7f\x80\xc1\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xff"
_NEXT = b"\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0"


def test_text_is_one_where_it_is_utf_8() -> None:
    rests: list[tuple[int, ...]] = [(), *((each,) for each in _NEXT)]
    rests += itertools.product(_NEXT, repeat=2)
    rests += itertools.product(_NEXT, b"\x7f\x80\xbf", b"\x80\xc0")
    for first, behind in itertools.product(_FIRST, rests):
        text = bytes((first, *behind))
        for each in (text, text + text, b"a" + text + b"z"):
            try:
                is_one = bool(each.decode())
            except UnicodeDecodeError:
                is_one = False
            assert is_text(each) is is_one, each
            assert (is_as_written(each) is not None) is is_one, each


@pytest.mark.parametrize("known", SOLE, ids=["unchanged", "changed"])
def test_a_patch_wants_the_whole_event(known: Template) -> None:
    assert known.patch(known.head + b"x" + known.tail) is not None
    for raw in (b"", known.head, known.tail, known.head + known.tail[1:]):
        assert known.patch(raw) is None
    assert known.fit(known.head + b"\xc3" + known.tail) is None
    assert known.patch(b"x" + known.head + b"x" + known.tail) is None
    assert known.patch(known.head + b"x" + known.tail + b"x") is None


def test_only_one_text_that_nothing_is_told_of_is_sole() -> None:
    call = calling(rest(0, "a"))
    two = chunk({"reasoning": "so", "content": "Hi"})
    copied = chunk({"reasoning": "so", "reasoning_content": "so"})
    assert not template(call, call).is_sole
    assert not template(two, two).is_sole
    assert not template(chunk({"reasoning": "so"}), copied).is_sole
    assert not template(text("Hi") | {"id": "é"}, text("Hi")).is_sole
    assert all(known.is_sole and known.has_one_text for known in SOLE)
    assert template(call, call).has_one_text
