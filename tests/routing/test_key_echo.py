import gzip
import logging
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from llm_normalize.records.snapshot import KEY as RECORD
from llm_normalize.records.snapshot import Snapshot
from llm_normalize.routing.key_echo import LogFilter, hide, hide_in_head, without
from llm_normalize.routing.keys import Secret
from proxies import broken, response_of

KEY = b"nvapi/canary+4711="


@pytest.mark.parametrize(
    "spelled",
    [
        KEY,
        b"nvapi%2Fcanary%2B4711%3D",
        b"nvapi%2fcanary%2b4711%3d",
        rb"nvapi\/canary+4711=",
        b"bnZhcGkvY2FuYXJ5KzQ3MTE9",
        b"QmVhcmVyIG52YXBpL2NhbmFyeSs0NzExPQ==",
        KEY.hex().encode(),
    ],
)
def test_key_is_found_however_it_is_spelled(spelled: bytes) -> None:
    assert without(b"a " + spelled + b" b", KEY) == b"a *** b"


@pytest.mark.parametrize(
    "spelled",
    [KEY, rb"nvapi\/canary+4711=", b"bnZhcGkvY2FuYXJ5KzQ3MTE9", KEY.hex().encode()],
)
def test_usual_spellings_are_found_in_long_answers(spelled: bytes) -> None:
    text = b"a " + spelled + b" b"
    assert without(text, KEY, is_thorough=False) == b"a *** b"


def test_models_answer_is_not_searched_deeply(monkeypatch: pytest.MonkeyPatch) -> None:
    rare = b"NVAPI canary 4711"
    for status, body in ((200, rare), (401, b"***"), (302, b"***")):
        made = answered(rare)
        response_of(made).status_code = status
        hide(made, KEY)
        assert response_of(made).raw_content == body
    made = answered(b"x")
    made.metadata[RECORD] = shown(pairs=[[b"fine", rb"nvapi\/canary+4711="]])
    monkeypatch.setattr(
        "llm_normalize.routing.key_echo._hide_in_body", lambda *_, **__: False
    )
    hide(made, KEY)
    assert made.metadata[RECORD]["pairs"] == []


def test_each_place_is_masked() -> None:
    word = b"bnZhcGkvY2FuYXJ5KzQ3MTE9"
    assert without(word + b"." + KEY + b"." + KEY, KEY) == b"***.***.***"


def test_placeholder_for_a_key_garbles_nothing() -> None:
    assert without(b"none, or nonesuch", b"none") == b"none, or nonesuch"


def test_bytes_that_mitmproxy_logs_are_logged_without_keys(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("A_KEY", f"{KEY.decode()}\nnot a key")  # whose line is wrong
    caplog.set_level(logging.DEBUG)
    made = LogFilter(lambda: [Secret("env:NONE_SUCH"), Secret("env:A_KEY")])
    made.logger.addFilter(made)
    try:
        made.logger.debug("SendData(server, %r) 100%%", b"key: " + KEY)
        made.logger.info("client %s", "disconnect")
    finally:
        made.logger.removeFilter(made)
    assert [each.getMessage() for each in caplog.records] == [
        "SendData(server, b'key: ***') 100%",
        "client disconnect",
    ]


def answered(body: bytes = b"", **headers: str) -> http.HTTPFlow:
    made = tflow.tflow(resp=True)
    made.response = http.Response.make(200, b"", headers)
    made.response.data.content = body
    made.response.headers["content-length"] = str(len(body))
    return made


def test_head_is_all_that_is_not_body() -> None:
    response = response_of(answered(location=f"/?key={KEY.decode()}"))
    response.headers.add("set-cookie", KEY.decode())
    response.headers.add("set-cookie", "other")
    response.headers.add("X-Nvapi-Canary", "1")
    response.trailers = http.Headers(x=KEY.decode())
    response.data.reason = b"Bad " + KEY
    hide_in_head(response, KEY)
    assert response.headers["location"] == "/?key=***"
    assert response.headers.get_all("set-cookie") == ["***", "other"]
    assert response.trailers["x"] == "***"
    assert response.reason == "Bad ***"
    hide_in_head(response, b"Nvapi-Canary")  # HTTP/2 has names in lower case
    assert response.headers["x-***"] == "1"


def test_body_is_masked_whatever_is_known_of_the_answer() -> None:
    for length in (True, False):
        made = answered(b"bad key " + KEY)
        response = response_of(made)
        if not length:
            del response.headers["content-length"]
        hide(made, KEY)
        assert response.raw_content == b"bad key ***"
        assert response.headers.get("content-length") == ("11" if length else None)


def test_compressed_body_is_masked_where_it_has_the_key() -> None:
    packed = gzip.compress(b"bad " + KEY)
    made = answered(packed, **{"content-encoding": "gzip"})
    hide(made, KEY)
    response = response_of(made)
    assert response.raw_content == b"bad ***"
    assert "content-encoding" not in response.headers
    assert response.headers["content-length"] == "7"


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        # Its id names no bytes: they hold the time, and every worker must have the same.
        pytest.param("gzip", gzip.compress(b"fine"), id="gzip-fine"),
        ("gzip", b"corrupt"),
        ("zstd", b"x"),
        ("", b"x"),
    ],
)
def test_body_without_the_key_stays(encoding: str, body: bytes) -> None:
    made = answered(body, **{"content-encoding": encoding})
    hide(made, KEY)
    response = response_of(made)
    assert response.raw_content == body
    assert response.headers["content-encoding"] == encoding


def shown(**more: Any) -> dict[str, Any]:
    return {
        "changed": 3,
        "pairs": [],
        "received": [],
        "left_out": 0,
        "left_out_at": 0,
    } | more


def test_what_is_shown_of_an_answer_is_dropped_where_it_has_the_key() -> None:
    snapshot = Snapshot(both=True)
    snapshot.add_received(b"came " + KEY)
    snapshot.add_sent(b"left")
    for more in (
        {"pairs": [[0, 1.0, ["x"], KEY, [b""], 0, []]]},
        {"received": snapshot.received},
    ):
        made = answered(b"left")
        made.metadata[RECORD] = shown(**more)
        hide(made, KEY)
        assert made.metadata[RECORD] == shown(received=None, left_out=3)
    made = answered(b"left " + KEY)
    made.metadata[RECORD] = shown()
    hide(made, KEY)
    assert made.metadata[RECORD]["received"] is None
    made = answered(b"left")
    made.metadata[RECORD] = shown(received=[b"damaged"])
    hide(made, KEY)
    assert made.metadata[RECORD]["received"] is None
    made = answered(b"left")
    made.metadata[RECORD] = shown(pairs=[[0]])
    hide(made, KEY)
    assert made.metadata[RECORD]["pairs"] == [[0]]


def test_error_is_masked_where_no_answer_is() -> None:
    made = tflow.tflow()
    broken(made, f"invalid header name: {KEY.decode()}")
    hide(made, KEY)
    assert made.error is not None
    assert made.error.msg == "invalid header name: ***"
