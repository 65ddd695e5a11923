"""Texts that grow, and what is remembered of them."""

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from judge.strict import taken
from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.chunks.text_growth import Growth, ProvedGrowth
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.fixes.cumulative import ContentCumulative
from llm_normalize.repair.fix import DONE, chunk, wire
from streams import feed

GROWING = (
    "Tea",
    "Tea comes",
    "Tea comes from",
    "Tea comes from Asia",
    "Tea comes from Asia.",
)
ROLE = chunk({"role": "assistant", "content": ""})
END: list[Chunk | bytes] = [chunk({}, finish="stop"), DONE]
KEYS = ("content", "reasoning_content", "reasoning")


def stream(texts: Sequence[str], key: str = "content", index: int = 0) -> bytes:
    return wire([ROLE, *(chunk({key: text}, index=index) for text in texts), *END])


def text_of(out: bytes, key: str = "content") -> str:
    choice = taken(out).choices[0]
    return choice.text if key == "content" else choice.reasoning


def sent(data: bytes, proved: ProvedGrowth, place: str = "here", at: int = 0) -> bytes:
    """Return what leaves of *data*, cut into reads of *at* bytes, from *place*."""
    asked = Asked(stream=True, growth=Growth(proved, place))
    size = at or len(data)
    reads = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(feed(reads, asked))


def proof(key: str = "content") -> ProvedGrowth:
    made = ProvedGrowth()
    sent(stream(GROWING, key), made)
    return made


def test_stream_that_says_the_contrary_loses_nothing_and_is_forgotten() -> None:
    made = proof()
    assert text_of(sent(stream(["1", "10", "100", "!"]), made)) == "110100!"
    assert text_of(sent(stream(["ha", "haha"]), made)) == "hahaha"
    made = proof()
    assert text_of(sent(stream([*GROWING, " More."]), made)) == GROWING[-1] + " More."
    assert text_of(sent(stream(["a", "ab"]), made)) == "aab"


def test_places_that_are_remembered_are_bounded() -> None:
    made = ProvedGrowth()
    for place in range(256):
        made.add((place, "content"))
    assert made.kinds(0) == {"content"}
    made.add((256, "content"))
    assert made.kinds(0) == {"content"}  # it was asked for
    assert made.kinds(1) == set()
    made.forget((1, "content"))


SHORT = st.lists(
    st.one_of(
        st.sampled_from(["1", "10", "100", "ha", "haha", " ", "  ", "a", "b", "\n"]),
        st.text(min_size=1, max_size=3),
    ),
    max_size=8,
)


@given(SHORT, st.sampled_from(KEYS))
def test_ordinary_text_is_never_changed(texts: list[str], key: str) -> None:
    data = wire([ROLE, *(chunk({"content": text}) for text in texts), *END])
    assert sent(data, ProvedGrowth()) == data
    data = wire([ROLE, *(chunk({key: text}) for text in texts), *END])
    made = ProvedGrowth()
    assert text_of(sent(data, made), key) == "".join(texts)
    assert sent(data, ProvedGrowth()) == sent(data, made)  # it has taught nothing


@given(SHORT, st.sampled_from(KEYS), st.integers(0, 9))
def test_contrary_stream_loses_nothing(texts: list[str], key: str, size: int) -> None:
    made = proof(key)
    grows = all(text.startswith(before) for before, text in itertools.pairwise(texts))
    out = text_of(sent(stream(texts, key), made, at=size), key)
    whole = "".join(texts)
    assert out == (texts[-1] if grows and texts else whole)
    assert text_of(sent(stream(["a", "ab"], key), made), key) == (
        "ab" if grows else "aab"
    )


def repeated(*texts: str) -> ContentCumulative:
    """Return the fix after events with these texts, where others are cumulative."""
    asked = Asked(stream=True, growth=Growth(proof(), "here"))
    fix = ContentCumulative(asked, Seen())
    for n, text in enumerate(texts):
        fix.seen.n = n
        fix.edit(chunk({"content": text}, id="chatcmpl-7"))
    assert fix.waiting
    return fix


def test_what_waited_leaves_in_a_chunk_of_its_stream() -> None:
    choice = {"index": 0, "delta": {"content": "-"}, "finish_reason": None}
    (released,) = repeated("-", "--").end(None)
    assert released == chunk(None, id="chatcmpl-7", choices=[choice])
