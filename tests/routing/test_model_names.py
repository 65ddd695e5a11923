import json
import re

import pytest

from llm_normalize.routing.model_names import Models

MODELS = Models.parse(["gpt-4o*=meta/llama", "exact=other", " same = same "])


@pytest.mark.parametrize("text", ["", "a", "a=", "=b"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected asked=sent"):
        Models.parse([text])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a=b*", "what is sent may have a * only if what is asked for has one"),
        ("a*=b*c*", "only one * on each side"),
        ("a*b*=c*", "only one * on each side"),
    ],
)
def test_star_that_means_nothing_is_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(text))}: {re.escape(why)}"):
        Models.parse([text])


STARS = Models.parse(
    ["gpt-5=other", "gpt-*=acme/gpt-*", "*-free=*:free", "c-*=x-*", "x-*=x-*", "*a*=m"]
)


def test_list_of_models_has_what_stars_on_both_sides_make_of_it() -> None:
    served = ["acme/gpt-4o", "acme/gpt-5", "llama:free", "x-1", "z"]
    listed = STARS.listed(
        json.dumps({"data": [{"id": each} for each in served]}).encode()
    )
    assert listed is not None
    names = {each["id"]: each.get("owned_by") for each in json.loads(listed)["data"]}
    assert list(names) == [*served, "gpt-5", "gpt-4o", "llama-free", "c-1"]
    assert names["gpt-4o"] == "acme/gpt-4o"
    assert names["gpt-5"] == "other"  # an earlier mapping has this name


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


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"data":{}}', b"<html>", b'{"data":[7]']
)
def test_what_is_no_list_stays(body: bytes) -> None:
    assert MODELS.listed(body) is None
