import gzip
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http

from exchange.source.second_answers import JSON, play
from llm_normalize.exchange.source import busy_provider
from llm_normalize.exchange.source.busy_provider import _wait
from llm_normalize.mitm.second_request import Reply
from llm_normalize.routing.pace import retry_after
from llm_normalize.wire.json_text import dumps
from proxies import GOOD_BODY, Proxy, chat_flow, response_of

BUSY = dumps({"error": {"message": "40 a minute", "code": "rate_limit_exceeded"}})
QUOTA = dumps({"error": {"message": "Pay", "code": "insufficient_quota"}})


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with Proxy(tmp_path) as made:
        made.set(normalize_retry=20)
        yield made


def busy(body: bytes = BUSY, status: int = 429, **headers: str) -> http.HTTPFlow:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    asked = {"model": "m", "stream": False}
    made = chat_flow(request=asked, status=status, headers={**dict(JSON), **given})
    response_of(made).raw_content = body
    return made


@pytest.mark.parametrize(
    ("made", "status"),
    [
        (busy(retry_after="21"), 429),
        (busy(QUOTA, retry_after_ms="1"), 429),
        (busy(status=500, retry_after_ms="1"), 500),
    ],
    ids=["later than that", "quota", "not busy"],
)
def test_what_does_not_help_is_not_tried(
    proxy: Proxy, replies: list[Any], made: http.HTTPFlow, status: int
) -> None:
    replies.append(Reply(200, "OK", JSON, dumps(GOOD_BODY)))
    assert play(proxy, made).status_code == status
    assert len(replies) == 1


def test_client_that_leaves_meanwhile_is_recorded(
    proxy: Proxy, replies: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    replies.append(None)
    play(proxy, busy(retry_after_ms="1"))
    monkeypatch.setattr(busy_provider, "is_gone", lambda _: True)
    play(proxy, busy(retry_after_ms="1"))
    ends = [each["end"] for each in proxy.records("flow")]
    assert ends == ["client-left", "client-left"]


def test_it_waits_as_long_as_the_provider_says() -> None:
    def after(**headers: str) -> float | None:
        return retry_after(response_of(busy(BUSY, 429, **headers)).headers)

    assert after(retry_after="7") == 7
    assert after(retry_after="7", retry_after_ms="1500") == 1.5
    assert after(retry_after="7", retry_after_ms="soon") == 7
    assert after(retry_after="7", retry_after_ms="inf") == 7
    assert after(retry_after="-7") == 0
    assert after(retry_after="inf") is None
    assert after(retry_after="soon") is None
    assert after(retry_after="Thu, 31 Dec 99999 23:59:59 GMT") is None
    assert after() is None
    assert 50 < (after(retry_after=formatdate(time.time() + 60)) or 0) < 61
    assert after(retry_after=formatdate(time.time() - 60)) == 0


def test_what_google_says_in_the_body_alone_is_in_the_header(proxy: Proxy) -> None:
    google = dumps({"error": {"code": 429, "details": [{"retryDelay": "34.4s"}]}})
    assert play(proxy, busy(google)).headers["retry-after"] == "35"
    assert 35 > _wait(response_of(busy(google)), 2) >= 34.4
    packed = busy(gzip.compress(google), content_encoding="gzip")
    assert play(proxy, packed).headers["retry-after"] == "35"
    assert play(proxy, busy(google, retry_after="21")).headers["retry-after"] == "21"
    assert "retry-after" not in play(proxy, busy(google, status=400)).headers
    proxy.set(normalize_skip=["error-fields"])
    assert "retry-after" not in play(proxy, busy(google)).headers


def test_it_waits_a_while_and_some_more_where_no_time_is_given() -> None:
    assert 2 <= _wait(response_of(busy()), 2) < 2.5
