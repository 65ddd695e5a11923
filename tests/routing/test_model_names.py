import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.routing.model_names import Models

MODELS = Models.parse(["gpt-4o*=meta/llama", "exact=other", " same = same "])


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("gpt-4o", "meta/llama"),
        ("gpt-4o-mini", "meta/llama"),
        ("my-gpt-4o", None),
        ("exact", "other"),
        ("exact2", None),
        ("same", None),
        ("gpt.4o", None),
    ],
)
def test_first_name_that_fits_counts(asked: str, sent: str | None) -> None:
    assert MODELS.sent(asked) == sent


@pytest.mark.parametrize("text", ["", "a", "a=", "=b", "a=b*"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"give asked=sent|only what is asked"):
        Models.parse([text])


def test_only_the_name_changes_in_a_request() -> None:
    body = b'{ "n": 1.50, "model" : "gpt\\u002d4o", "x": {"model": "gpt-4o"} }'
    assert MODELS.rename(body) == (
        b'{ "n": 1.50, "model" : "meta/llama", "x": {"model": "gpt-4o"} }',
        "gpt-4o",
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"model":7}',
        b'{"model":"x"}',
        b'{"model":"\\x"}',
        b'{"model":"exact\\ud800"}',
        b'{"a":"b"}',
    ],
)
def test_what_names_no_such_model_stays(body: bytes) -> None:
    assert MODELS.rename(body) is None
    assert Models().rename(body) is None


@given(st.text(), st.text(min_size=1))
def test_any_name_is_spelled_as_json(asked: str, sent: str) -> None:
    body = json.dumps({"model": asked}).encode()
    renamed = Models([("*", sent)]).rename(body)
    if asked and asked != sent and sent.isprintable():
        assert renamed is not None
        assert json.loads(renamed[0])["model"] == sent


def test_list_of_models_has_the_names_that_may_be_asked_for() -> None:
    body = b'{"object":"list","data":[{"id":"same","x":1.50}]}'
    listed = MODELS.listed(body)
    assert listed is not None
    assert b'{"id":"same","x":1.50}' in listed
    strange = MODELS.listed(b'{"data":[{"id":{}},7]}')
    assert strange is not None
    names = [each["id"] for each in json.loads(listed)["data"]]
    assert names == ["same", "exact"]
    assert MODELS.listed(listed) is None


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"data":{}}', b"<html>", b'{"data":[7]']
)
def test_what_is_no_list_stays(body: bytes) -> None:
    assert MODELS.listed(body) is None
