"""Refusals of content in parts, in the words of many servers."""

import json
from itertools import product
from pathlib import Path

import pytest

from llm_normalize.request.refusals.refusal_parser import refusal_of

ROWS = [
    line.split("\t")
    for line in Path(__file__)
    .with_name("words_of_parts.tsv")
    .read_text("utf-8")
    .splitlines()
    if not line.startswith("# ")
]
UNNAMED, NAMED, OF_OTHERS = (
    [words for kind, words in ROWS if kind == each]
    for each in ("unnamed", "named", "other")
)


def refuses_parts(message: str) -> bool:
    body = json.dumps({"error": {"message": message}}).encode()
    return any(each.parts for each in refusal_of(body).content)


@pytest.mark.parametrize("message", [*UNNAMED, *NAMED])
def test_parts_that_are_refused(message: str) -> None:
    assert refuses_parts(message)
    assert refuses_parts(f"Internal server error: {message}\n")


@pytest.mark.parametrize("message", OF_OTHERS)
def test_words_about_something_else(message: str) -> None:
    assert not refuses_parts(message)


def test_no_words_hide_others() -> None:
    # "expected str" is a string that something has to be, "expected str instance" is content.
    for words, other in product(UNNAMED, OF_OTHERS):
        assert refuses_parts(f"{other}: {words}"), other
        assert refuses_parts(f"{words}: {other}"), other
