from pathlib import Path

import pytest
from mitmproxy.test import tflow

from llm_normalize.keys import Keys, Secret, is_let_in

KEY = "nvapi-canary-4711"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", f" {KEY}\n")


def test_key_is_read_where_it_is_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "key"
    path.write_text("one\n")
    found = Secret.parse(f"file:{path}")
    path.write_text("two\n")
    assert found.read() == "two"
    assert Secret.parse("env:A_KEY").read() == KEY
    assert "A_KEY" not in repr(found)
    monkeypatch.setenv("A_KEY", "")
    with pytest.raises(ValueError, match="A_KEY is empty"):
        Secret.parse("env:A_KEY")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (KEY, "not the key itself"),
        ("env:", "not the key itself"),
        ("env:NOT_THERE", "NOT_THERE is empty"),
        ("file:/not/there", "cannot be read"),
        ("file:/", "cannot be read"),
    ],
)
def test_what_is_no_place_of_a_key_is_refused_and_not_quoted(
    text: str, why: str
) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        Keys.parse([f"a.test={text}"])
    assert str(caught.value).startswith("a.test: ")
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)


@pytest.mark.parametrize("text", ["a.test", f"{KEY}", f"a b={KEY}", "=env:A_KEY"])
def test_what_names_no_host_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="value 1: give host=") as caught:
        Keys.parse([text])
    assert KEY not in str(caught.value)


def test_key_that_no_header_may_have_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("A_KEY", "two words")
    with pytest.raises(ValueError, match="no header may have"):
        Secret.parse("env:A_KEY")


def test_host_has_its_key_and_no_other() -> None:
    keys = Keys.parse(["a.test=env:A_KEY"])
    found = keys.secret("a.test", 443)
    assert found is not None
    assert found.read() == KEY
    assert keys.secret("b.a.test", 443) is None
    assert Keys().secret("a.test", 443) is None


@pytest.mark.parametrize(
    ("given", "known"),
    [
        ("Bearer token", True),
        ("bearer  token ", True),
        ("Basic token", False),
        ("Bearer toke", False),
        ("Bearer token2", False),
        ("token", False),
        ("Bearer t\udcffken", False),
        ("", False),
    ],
)
def test_client_has_to_present_the_token_which_goes_no_further(
    given: str, known: bool
) -> None:
    request = tflow.tflow().request
    if given:
        request.headers["authorization"] = given
    assert is_let_in(request, "token") is known
    assert "authorization" not in request.headers
