import pytest

from llm_normalize.text.printable import brief, escaped, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("moonshotai/kimi-k2 ä '\\", "moonshotai/kimi-k2 ä '\\"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\r\nb\tc", r"a\r\nb\tc"),
        ("\x9b31m\u2028\u202e", r"\x9b31m\u2028\u202e"),
        ("\udc80\ud800", r"\udc80\ud800"),
    ],
)
def test_what_is_not_printable_is_escaped(text: str, shown: str) -> None:
    assert escaped(text) == brief(text) == shown
    assert shown.isprintable()


@pytest.mark.parametrize("text", ["m" * 201, "m" * 10_000, "\x1b" * 60, "\n" * 201])
def test_long_name_is_cut_and_that_is_seen(text: str) -> None:
    shown = brief(text)
    assert len(shown) == 200
    assert shown.endswith("…")
    assert escaped(text).startswith(shown[:-1])


def test_name_that_just_fits_stays() -> None:
    assert brief("m" * 200) == "m" * 200


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("müde 😀 日本", "müde 😀 日本"),
        ("a\x00b\x1b[31m", r"a\x00b\x1b[31m"),
        ("a\u202eb\u2066\ufeff", r"a\u202eb\u2066\ufeff"),
        ("\ud83d", r"\ud83d"),
        ("\u3164\u2800\u115f", r"\u3164\u2800\u115f"),
        ("a\U000e0041\U000e0141", r"a\U000e0041\U000e0141"),
        ("one\ntwo\r\u2028", r"one\ntwo\r\u2028"),
    ],
)
def test_what_cannot_be_seen_is_spelled_out(given: str, shown: str) -> None:
    assert visible(given) == shown
