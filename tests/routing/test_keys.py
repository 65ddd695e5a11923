from pathlib import Path

import pytest

from llm_normalize.routing.keys import Keys, Secret

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
def test_what_is_no_place_of_a_key_is_not_quoted(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        Keys.parse([f"a.test={text}"])
    assert str(caught.value).startswith("a.test: ")
    assert KEY not in str(caught.value)
    assert KEY not in repr(caught.value)


@pytest.mark.parametrize("text", ["a.test", f"{KEY}", f"a b={KEY}", "=env:A_KEY"])
def test_what_names_no_host_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="value 1: expected host=") as caught:
        Keys.parse([text])
    assert KEY not in str(caught.value)


def test_key_in_the_place_of_a_variable_is_not_quoted() -> None:
    with pytest.raises(ValueError, match="the variable is empty") as caught:
        Secret.parse(f"env:{KEY}")
    assert KEY not in str(caught.value)


def test_key_that_no_header_has_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "two words")
    with pytest.raises(ValueError, match="a header may not have"):
        Secret.parse("env:A_KEY")


def test_host_has_its_key_and_no_other() -> None:
    keys = Keys.parse(["a.test=env:A_KEY"])
    found = keys.secret("a.test", 443)
    assert found is not None
    assert found.read() == KEY
    assert keys.secret("b.a.test", 443) is None
    assert Keys().secret("a.test", 443) is None
