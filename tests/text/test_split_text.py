import unicodedata
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from llm_normalize.text.split_text import split

WORDS = st.sampled_from(
    [" ", "\n", "\r\n", "tea", " leaf", "\u0301", "\u200d", "茶を", "\uff0c", "\u0600", "x" * 40, "👩\u200d🍳"]
)  # fmt: skip
TEXT = st.one_of(st.text(), st.lists(WORDS, max_size=60).map("".join))
# What combines with the character before it, of what the text above may hold.
JOINS = {"Mn", "Me", "Mc", "Cf", "Sk"}


def test_pieces_are_some_words_each_and_begin_at_a_blank() -> None:
    text = "Salt and wind, and a long way to go before the harbour is in sight again."
    assert split(text, 64) == [
        "Salt and wind, and a long way to",
        " go before the harbour is in sight",
        " again.",
    ]


def test_an_accent_stays_with_the_blank_that_carries_it() -> None:
    text = "x" * 32 + " \u0301y" * 20
    assert all(piece[:1] in ("x", " ") for piece in split(text, 64))
    assert "".join(split(text, 64)) == text


def test_a_piece_that_would_repeat_the_one_before_it_and_go_on_is_part_of_it() -> None:
    text = " " + "x" * 40 + " " + "x" * 41 + " y"
    assert split(text, 64) == [" " + "x" * 40 + " " + "x" * 41, " y"]


@given(TEXT, st.integers(1, 70))
@example(" abc" * 999, 64)
@example("".join(f" {'x' * n}" for n in range(40, 90)), 64)
def test_pieces_are_the_text_in_bounded_number(text: str, most: int) -> None:
    found = split(text, most)
    assert "".join(found) == text
    assert 1 <= len(found) <= most
    assert all(found) or found == [""]
    for before, piece in pairwise(found):
        assert not (len(piece) > len(before) and piece.startswith(before))
        assert unicodedata.category(piece[0]) not in JOINS
        assert not (before.endswith("\r") and piece.startswith("\n"))
