import pytest

from growth import MOST, growth
from llm_normalize.text.html_text import is_page, shown


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<p>a</p>b", "a b"),
        ("a<script src='x'>if (1 < 2) {}</SCRIPT >b", "a b"),
        ("<style>b{}</style><!-- <p>c</p> -->d", "d"),
        ("<style>a<b></script></style>c", "c"),
        ("<scripts>a</scripts>", "a"),
        ("a<script>b<script>c", "a b c"),
        ("a<!-- b --><!-- c", "a <!-- c"),
        ("a<!-- b> c<!-- d> e", "a c e"),
        ("<!--a<p>b", "<!--a b"),
        ("<script>a<!--b-->c", "a c"),
        ("1 < 2 &amp;&lt;", "1 < 2 &<"),
        ("a&#" + "1" * 5_000 + ";b", "a\ufffdb"),
    ],
)
def test_markup_is_left_out_of_what_a_page_shows(page: str, words: str) -> None:
    assert " ".join(shown(page).split()) == words


@pytest.mark.parametrize(
    "part",
    ["<script>", "<style", "<!--", "<", "</script ", "<!---->", "&#", "<script "],
)
def test_work_on_a_page_grows_with_its_size_alone(part: str) -> None:
    assert growth(lambda n: "-->" + part * n, shown, 2_000) < MOST


@pytest.mark.parametrize(
    "text",
    ["<!DOCTYPE html>", "\n <HTML lang=en>", "<?xml version='1.0'?>", "<h1>Not Found"],
)
def test_page_is_known_by_its_first_tag(text: str) -> None:
    assert is_page(text)


@pytest.mark.parametrize("text", ["", "a <html>", "<think>", "<htmls>", '{"a":"<p>"}'])
def test_other_texts_are_no_pages(text: str) -> None:
    assert not is_page(text)
