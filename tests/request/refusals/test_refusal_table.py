"""The table of refusals: each row knows its words, and none hides another."""

import json
import re
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.request.adaptation import LEARNED
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.request.refusals.refusal_parser import refusal_of
from llm_normalize.request.refusals.refusal_rows import TEXT, Row, rows_of
from llm_normalize.request.refusals.refusal_table import forms_in, rows
from llm_normalize.text.echo import Echo

ROWS = rows()


def lines_of(name: str) -> list[str]:
    """Return the lines of a file of words beside this module, without its comments."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [line for line in text.splitlines() if not line.startswith("# ")]


REPORTED = [
    (words.replace(r"\n", "\n"), form.removeprefix("-"))
    for form, _, words in (
        each.partition("\t") for each in lines_of("reported_words.tsv")
    )
]
FOREIGN = lines_of("foreign_words.txt")
STATUSES = {400, 404, 422, 500}
SAID = [(row, said.words) for row in ROWS for said in row.said]
EVERYTHING = [words for _, words in SAID] + [words for words, _ in REPORTED]
"""All words that are known to ask for a form."""
KINDS = {"image_url", "file", "input_audio"}
"""Values of rows that share their lines."""


def asked_for(words: str, **more: Any) -> set[str]:
    body = json.dumps({"error": {"message": words, **more}}).encode()
    return {each.name for each in refusal_of(body).forms}


@pytest.mark.parametrize(("row", "words"), SAID, ids=EVERYTHING[: len(SAID)])
def test_words_ask_for_the_form_of_their_row_alone(row: Row, words: str) -> None:
    assert asked_for(words) == {row.form.name}
    wrapped = f"litellm.BadRequestError: Error code: 400 - {{'message': '{words}'}}"
    assert asked_for(wrapped) == {row.form.name}
    assert asked_for(json.dumps({"error": {"message": words}})) == {row.form.name}


def test_each_line_of_the_table_is_read() -> None:
    text = re.sub(r"(?m)^#.*\n|\n +", "", TEXT)
    parts = set(re.findall(r"(?m)^([A-Z_]+): ", text))
    assert not re.search(r"unless: .+\n(?:.+\n)*unless: ", text)
    assert parts == set(re.findall(r"\{([A-Z_]+)\}", text))
    rows = re.findall(r"(?m)^(?!(?:match|unless|said): .+$)(.+)$", text)
    assert [each for each in rows if each.split(": ")[0] not in parts] == [
        f"[{row.form.name} {row.value}]".replace(" ]", "]") for row in ROWS
    ]
    for wrong in ("[no-form]\n", "[answer-last]\nmatch: {NO_PART}\n"):
        with pytest.raises(KeyError):
            list(rows_of(wrong))


def test_no_row_hides_another() -> None:
    for row, other in permutations(ROWS, 2):
        words = f"{row.said[0].words} {other.said[0].words}"
        if row.unless and row.unless.search(words):
            continue
        found = {each.name for each in forms_in(words, lambda _: False)}
        assert found >= {row.form.name, other.form.name}, words


def test_every_form_has_a_row_and_every_row_tells_who_said_it() -> None:
    forms = {each.name for each in ADAPTATIONS if not each.hosts} - {LEARNED}
    assert {row.form.name for row in ROWS} == forms
    for row in ROWS:
        assert row.said
        assert {each.status for each in row.said} <= STATUSES
        assert all(each.provider for each in row.said)
        named = ["value" in each.groupindex for each in row.words]
        assert all(named) is (row.form.needs_value and not row.value)
        assert any(named) is all(named)


@pytest.mark.parametrize(("words", "asks"), REPORTED)
def test_words_of_reports_are_understood(words: str, asks: str) -> None:
    body = json.dumps({"error": {"message": words}}).encode()
    if asks.startswith("="):
        assert asks[1:] in {".".join(path) for path in refusal_of(body).paths}
    else:
        assert asked_for(words) == ({asks} if asks else set())


def understands(row: Row, words: str) -> list[int]:
    """Return which patterns of *row* understand *words*."""
    text = " ".join(words.split())
    if row.unless and row.unless.search(text):
        return []
    return [at for at, each in enumerate(row.words) if each.search(text)]


@pytest.mark.parametrize(("row", "words"), SAID, ids=EVERYTHING[: len(SAID)])
def test_one_row_understands_words_and_no_other(row: Row, words: str) -> None:
    assert [each for each in ROWS if understands(each, words)] == [row]


def test_no_pattern_repeats_what_others_understand() -> None:
    """Each is the only one for some words: without it, they would ask for nothing."""

    def named(row: Row, at: int) -> tuple[str, str, int]:
        return row.form.name, "a kind" if row.value in KINDS else row.value, at

    needed = set()
    for words in EVERYTHING:
        found = [(row, at) for row in ROWS for at in understands(row, words)]
        if len(found) == 1:
            needed.add(named(*found[0]))
    assert {named(row, at) for row in ROWS for at in range(len(row.words))} == needed


@pytest.mark.parametrize("words", EVERYTHING[: len(SAID)])
def test_words_of_the_request_ask_for_nothing(words: str) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": words}]}
    body = json.dumps({"error": {"message": f"Refused: {words}"}}).encode()
    assert refusal_of(body, Echo(json.dumps(asked).encode())).forms == ()


@pytest.mark.parametrize("words", FOREIGN)
def test_words_about_something_else_ask_for_nothing(words: str) -> None:
    assert asked_for(words) == set()


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ({"loc": ["body", "max_tokens"], "msg": "Input should be less than or equal to 8192"}, "8192"),
        ({"param": "reasoning_effort", "message": "Supported values are: 'low' and 'high'."}, "low high"),
        ({"param": "temperature", "message": "must be at most 1"}, "1"),
    ],
)  # fmt: skip
def test_value_is_read_beside_the_name_of_its_field(body: Any, value: str) -> None:
    (found,) = refusal_of(json.dumps({"detail": [body]}).encode()).forms
    assert found.value == value
