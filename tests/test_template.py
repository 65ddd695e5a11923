import json

import pytest

from llm_normalize.chunk import Chunk
from llm_normalize.fix import calling, chunk, head, rest, wire
from llm_normalize.step import Step
from llm_normalize.template import Lesson, Template, learn, may_fit

NOTHING: set[str] = set()


def text(word: str) -> Chunk:
    return chunk({"content": word})


def lesson(
    before: Chunk | bytes, *after: Chunk | bytes, fixes: tuple[str, ...] = ()
) -> Lesson | None:
    step = Step(3, wire([before]), [wire([each]) for each in after], [*fixes])
    return learn(step, NOTHING)


def template(before: Chunk, after: Chunk) -> Template:
    fixes = () if before == after else ("a-fix",)
    found = lesson(before, after, fixes=fixes)
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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (text("Hi"), [text("Hi"), text("Hi")]),  # two events
        (text("Hi"), []),
        (text("Hi"), [text("Ho")]),  # a text that did not come in
        (chunk({"reasoning": "so", "content": "Hi"}), [text("Hi")]),  # one is lost
        (chunk({"content": "Hi", "reasoning": "so"}), [text("Hiso")]),  # or joined
        (calling(head(0, "{")), [calling(head(0, "{"))]),  # it may open a call
        (chunk({"content": "Hi"}, choice={"message": {"content": "Hi"}}), [text("Hi")]),
        (b"data: [1]\n\n", [b"data: [1]\n\n"]),
        (b'data: {"content":"a"\n\n', [b'data: {"content":"a"\n\n']),
        (b'data: {"content":"a"}\ndata: {}\n\n', [b'data: {"content":"a"}\n\n']),
        (b'data: ["content":"a"]\n\n', [b'data: ["content":"a"]\n\n']),
    ],
)
def test_an_event_whose_words_may_count_teaches_nothing(
    before: Chunk | bytes, after: list[Chunk | bytes]
) -> None:
    assert lesson(before, *after) is None


def test_an_event_that_left_out_of_turn_teaches_nothing() -> None:
    raw = wire([text("Hi")])
    assert learn(Step(0, raw, [raw], [], moved=True), NOTHING) is None


def test_an_event_with_words_that_are_watched_teaches_nothing() -> None:
    raw = wire([text("Hi")])
    assert learn(Step(0, raw, [raw]), {"content"}) is None
    assert learn(Step(0, raw, [raw]), {"reasoning"}) is not None


def test_texts_that_are_alike_but_spelled_apart_teach_nothing() -> None:
    raw = wire([chunk({"reasoning": "A", "reasoning_details": [{"text": "A"}]})])
    other = raw.replace(b'"text":"A"', rb'"text":"\u0041"')
    assert learn(Step(0, raw, [raw]), NOTHING) is not None
    assert learn(Step(0, other, [other]), NOTHING) is None


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


@pytest.mark.parametrize(
    ("raw", "fits"),
    [
        (wire([text("a")]), True),
        (b"event: message\n" + wire([text("a")]), True),
        (wire([text("")]), False),
        (wire([text("a")])[:-1], False),
        (wire([text("a")]).replace(b"\n", b"\r\n"), False),
        (b": ping\n\n", False),
    ],
)
def test_only_an_event_with_a_text_is_worth_a_look(raw: bytes, fits: bool) -> None:
    assert may_fit(raw) is fits
