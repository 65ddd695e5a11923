"""Which 404 is about the path, and which about what the request names."""

from pathlib import Path

import pytest

from llm_normalize.request.refusals.missing_path import is_path_missing

PATH = "/models/acme/v1/responses"


def bodies(kind: str) -> pytest.MarkDecorator:
    """Ask for each body of a *kind* in the file of answers beside this module."""
    text = Path(__file__).with_name("path_answers.tsv").read_text("utf-8")
    named = [line.partition("\t") for line in text.splitlines() if line[0] != "#"]
    found = [
        body.encode().decode("unicode_escape")
        for name, _, body in named
        if name == kind
    ]
    return pytest.mark.parametrize("body", found)


@bodies("path")
def test_answer_about_nothing_in_the_request_is_about_the_path(body: str) -> None:
    assert is_path_missing(404, body.encode(), PATH, "m-70b")


@bodies("named")
def test_answer_that_names_what_was_looked_for_is_the_clients(body: str) -> None:
    assert not is_path_missing(404, body.encode(), PATH, "m-70b")


def test_status_decides_first() -> None:
    assert is_path_missing(405, b'{"error":"model"}', PATH, "m")
    assert not is_path_missing(400, b"", PATH, "m")
    assert not is_path_missing(200, b"", PATH, "m")
    # LM Studio
    body = b'{"error":"Unexpected endpoint or method. (POST /v1/messages)"}'
    assert is_path_missing(200, body, PATH, "m")
    assert is_path_missing(404, b"not here", PATH, "")


@pytest.mark.parametrize("status", [400, 422])
@bodies("form")
def test_type_of_tool_or_item_that_is_refused_is_as_good_as_no_path(
    status: int, body: str
) -> None:
    assert is_path_missing(status, body.encode(), PATH, "m-70b")
    assert not is_path_missing(500, body.encode(), PATH, "m-70b")


def test_refusal_is_searched_at_its_beginning() -> None:
    words = b"Unsupported tool type: custom"
    assert is_path_missing(400, b" " * 8000 + words, PATH, "m")
    assert not is_path_missing(400, b" " * 9000 + words, PATH, "m")


@bodies("other")
def test_other_refusals_are_the_clients(body: str) -> None:
    assert not is_path_missing(400, body.encode(), PATH, "m-70b")
