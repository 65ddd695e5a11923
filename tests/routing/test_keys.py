from pathlib import Path

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from llm_normalize.routing.keys import Keys, Secret, is_let_in

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
def test_client_has_to_present_the_token_for_us(given: str, known: bool) -> None:
    request = tflow.tflow().request
    if given:
        request.headers["authorization"] = given
    assert is_let_in(request, ["token"]) is known
    assert "authorization" not in request.headers


QUOTED = "t%6fken%2D0815"


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("/x?key=token-0815", "/x"),
        ("/x?a=b&token-0815&c", "/x?a=b&c"),
        (f"/x?a={QUOTED}&b", "/x?b"),
        (f"/x?a={QUOTED.replace('%', '%25')}", "/x"),
        (f"/x?{QUOTED}=1", "/x"),
        ("/x?a=TOKEN-0815", "/x"),
        ("/x/token-0815/y?a=b", "***?a=b"),
        (f"/{QUOTED}/y", "***"),
        ("/x?a=b&c", "/x?a=b&c"),
        ("/x?", "/x?"),
    ],
)
def test_token_in_a_url_goes_no_further(path: str, left: str) -> None:
    request = tflow.tflow().request
    request.path = path
    request.headers["authorization"] = "Bearer token-0815"
    assert is_let_in(request, ["token-0815"])
    assert request.path == left


@pytest.mark.parametrize(
    "spelled",
    [
        "to+k/0815==",
        "to+k%2F0815%3D=",
        "%74o%2Bk/0815",
        "%25252525252574o%252bk/0815",
        r"\u0074o+k/0815",
        "dG8ray8wODE1PT0",
    ],
)
def test_token_goes_no_further_however_it_is_spelled(spelled: str) -> None:
    request = tflow.tflow().request
    request.path = f"/x?a=b&key={spelled}"
    request.headers["authorization"] = "Bearer to+k/0815=="
    request.headers["x-other"] = f'{{"key": "{spelled}"}}'
    assert is_let_in(request, ["to+k/0815=="])
    assert request.path == "/x?a=b"
    assert "x-other" not in request.headers


def test_token_across_fields_goes_no_further() -> None:
    request = tflow.tflow().request
    request.path = "/x?a=first&b=two"
    assert not is_let_in(request, ["first&b="])
    assert request.path == "/x"
    request.path = "/x?a=first&b=two"
    request.headers["authorization"] = "Bearer first&b="
    assert is_let_in(request, ["first&b="])
    assert request.path == "/x"


def test_token_in_any_header_goes_no_further() -> None:
    request = tflow.tflow().request
    request.headers = http.Headers(
        [
            (b"Authorization", b"Bearer token-0815"),
            (b"authorization", b"Bearer token-0815"),
            (b"Proxy-Authorization", b"Basic eDp5"),
            (b"proxy-authorization", b"Bearer token-0815"),
            (b"Cookie", b"a=b; c=t%6fken-0815"),
            (b"Cookie", b"d=e"),
            (b"X-token-0815", b"1"),
            (b"X-Other", b"1"),
        ]
    )
    request.authority = "user:token-0815@a.test"
    assert not is_let_in(request, ["token-0815"])  # which of the two is meant
    assert request.headers.fields == ((b"X-Other", b"1"),)
    assert request.authority == ""


def test_short_token_is_no_part_of_other_words() -> None:
    request = tflow.tflow().request
    request.path = "/v1/chat/completions?a=chats&b=ch%61t&chat"
    request.headers = http.Headers(
        [
            (b"Authorization", b"Bearer chat"),
            (b"User-Agent", b"Chatbox/1 chat"),
            (b"Cookie", b"a=b; c=chat"),
            (b"X-Api-Key", b"chat"),
        ]
    )
    request.authority = "chat.test"
    assert is_let_in(request, ["chat"])
    assert request.path == "/v1/chat/completions?a=chats"
    assert request.headers.fields == ((b"User-Agent", b"Chatbox/1 chat"),)
    assert request.authority == "chat.test"


def test_refused_request_is_not_searched_for_rare_spellings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm_normalize.routing.keys.places_of", pytest.fail)
    request = tflow.tflow().request
    request.path = "/x?a=b&key=token-0815"
    request.headers["authorization"] = "Bearer other"
    request.headers["api-key"] = "token-0815"
    request.headers["x-other"] = "%" * 65536
    assert not is_let_in(request, ["token-0815"])
    assert request.path == "/x"
    assert "api-key" not in request.headers
    assert "x-other" in request.headers
