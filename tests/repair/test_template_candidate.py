import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.repair.fast_path.template_candidate import Candidate, learn, may_fit
from llm_normalize.repair.fix import calling, chunk, head, wire
from llm_normalize.repair.outcome import EventRecord


def text(word: str) -> Chunk:
    return chunk({"content": word})


def candidate(
    before: Chunk | bytes, *after: Chunk | bytes, fixes: tuple[str, ...] = ()
) -> Candidate | None:
    step = EventRecord(3, wire([before]), [wire([each]) for each in after], [*fixes])
    return learn(step)


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
    assert candidate(before, *after) is None


def test_an_event_that_left_out_of_turn_teaches_nothing() -> None:
    raw = wire([text("Hi")])
    assert learn(EventRecord(0, raw, [raw], [], moved=True)) is None


def test_an_event_with_words_that_are_watched_proves_nothing() -> None:
    raw, other = wire([text("Hi")]), wire([text("Ho")])
    found = learn(EventRecord(0, raw, [raw]))
    assert found is not None
    assert not found.is_proved_by(EventRecord(1, other, [other]), {"content"})
    assert found.is_proved_by(EventRecord(1, other, [other]), {"reasoning"})


def test_texts_that_are_alike_but_spelled_apart_teach_nothing() -> None:
    raw = wire([chunk({"reasoning": "A", "reasoning_details": [{"text": "A"}]})])
    other = raw.replace(b'"text":"A"', rb'"text":"\u0041"')
    assert learn(EventRecord(0, raw, [raw])) is not None
    assert learn(EventRecord(0, other, [other])) is None


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
