import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from llm_normalize.routing.gate import is_let_in


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
    monkeypatch.setattr("llm_normalize.routing.gate.places_of", pytest.fail)
    request = tflow.tflow().request
    request.path = "/x?a=b&key=token-0815"
    request.headers["authorization"] = "Bearer other"
    request.headers["api-key"] = "token-0815"
    request.headers["x-other"] = "%" * 65536
    assert not is_let_in(request, ["token-0815"])
    assert request.path == "/x"
    assert "api-key" not in request.headers
    assert "x-other" in request.headers
