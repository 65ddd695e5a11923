"""Another answer in the place of the first one, before the headers are sent."""

import asyncio
import gzip
from collections.abc import AsyncIterable, AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from mitmproxy import http

from exchange.source.second_answers import JSON
from llm_normalize.exchange.delivery import answer_streams
from llm_normalize.exchange.source import pending_result
from llm_normalize.mitm.second_request import Reply
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.wire.json_text import dumps
from proxies import GOOD_BODY, Proxy, chat_flow, fail, messages, response_of

TEXT = chunk({"role": "assistant", "content": "Hi"})
STREAM = wire([TEXT, chunk({}, finish="stop"), DONE])
ASKED = {"model": "m", "seed": 7, "stream": True}
EVENTS = [("content-type", "text/event-stream")]
SEED = b'{"error":{"message":"Unknown parameter: \'seed\'"}}'


class Rest:
    """A body that arrives in parts."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            await asyncio.sleep(0)
            yield part

    async def close(self) -> None:
        self.is_closed = True


class FirstAnswer:
    """What stands in for `ClientStream`: has the first body, receives the second."""

    def __init__(self, body: bytes | None) -> None:
        self.first = body
        self.before: Callable[[], object] = dict
        self.is_forgotten = False
        self.received = b""

    def of(self, _: object) -> "FirstAnswer":
        return self

    async def body(self, _: int) -> bytes | None:
        self.before()
        return self.first

    def forget_body(self) -> None:
        self.is_forgotten = True

    async def receive(self, parts: AsyncIterable[bytes]) -> None:
        async for part in parts:
            self.received += part


def first(monkeypatch: pytest.MonkeyPatch, body: bytes | None = SEED) -> FirstAnswer:
    made = FirstAnswer(body)
    monkeypatch.setattr(answer_streams, "ClientStream", made)
    return made


def play(proxy: Proxy, made: http.HTTPFlow) -> Any:
    """Let the hook for headers pass, and what it has begun come to its end."""

    async def act() -> None:
        awaitable = proxy.addon.responseheaders(made)
        if awaitable is not None:
            await awaitable
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            await task

    proxy.context.master.event_loop.run_until_complete(act())
    return response_of(made)


def refused(status: int = 400, **more: Any) -> http.HTTPFlow:
    return chat_flow(request=ASKED, status=status, headers=dict(JSON), **more)


def test_answer_in_an_unknown_encoding_after_a_reload_is_recorded(
    proxy: Proxy, replies: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first(monkeypatch)

    def reply() -> Reply:
        proxy.addon.done()
        headers = [*EVENTS, ("content-encoding", "x-brook")]
        return Reply(200, "OK", headers, live_body=Rest(b"?"))

    replies.append(reply)
    play(proxy, refused())
    log = proxy.addon.logs.current
    assert log is not None
    assert not log._thread.is_alive()  # it would wait for this answer
    (record,) = proxy.records("flow")
    assert (record["status"], record["end"]) == (200, "complete")


def test_bug_leaves_the_first_answer(
    proxy: Proxy,
    replies: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first(monkeypatch)
    replies.append(fail)
    response = play(proxy, refused())
    assert (response.status_code, response.raw_content) == (400, None)
    assert messages(caplog, "ERROR")[0].endswith("the first answer stays")


@pytest.mark.parametrize("name", ["of", "body"])
def test_mitmproxy_that_lacks_a_part_is_reported_once(
    proxy: Proxy,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
) -> None:
    monkeypatch.setattr(first(monkeypatch), name, fail)
    for _ in range(2):
        assert play(proxy, refused()).status_code == 400
    (message,) = messages(caplog)
    assert "does not let an addon send while nothing is received" in message


@pytest.mark.parametrize("then", ["reload", "end"])
@pytest.mark.parametrize("is_stream", [True, False])
def test_addon_that_is_gone_when_the_answer_arrives(
    proxy: Proxy,
    replies: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    then: str,
    *,
    is_stream: bool,
) -> None:
    client_stream = first(monkeypatch)
    body = dumps(GOOD_BODY)

    def reply() -> Reply:
        if then == "end":
            proxy.context.master.should_exit.set()
        proxy.addon.done()
        if is_stream:
            return Reply(200, "OK", EVENTS, live_body=Rest(STREAM))
        return Reply(401, "No", JSON, body)

    replies.append(reply)
    made = refused()
    play(proxy, made)
    if then == "end":
        assert proxy.records("flow")[0]["end"] == "upstream-broke"
        assert not client_stream.is_forgotten
        return
    assert client_stream.is_forgotten
    if is_stream:
        assert proxy.feed(made, STREAM) == STREAM
        proxy.feed(made, b"")
    (record,) = proxy.records("flow")
    assert record["end"] == "complete"


def test_reload_before_the_first_body_keeps_the_record(
    proxy: Proxy, replies: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first(monkeypatch).before = proxy.addon.done
    replies.append(Reply(401, "No", JSON, dumps(GOOD_BODY)))
    play(proxy, refused())
    assert proxy.records("flow")[0]["end"] == "complete"


@pytest.fixture
def impatient(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> Proxy:
    """A proxy that begins a stream in a moment, whatever its provider says."""
    proxy.set(normalize_retry=20)
    answers = proxy.addon._answers
    settings = answers._settings
    monkeypatch.setattr(
        answers,
        "_settings",
        lambda exchange: replace(settings(exchange), keepalive=0.001),
    )
    return proxy


@pytest.mark.parametrize("encoding", ["gzip", "x-brook"])
def test_stream_that_has_begun_has_no_encoding(
    impatient: Proxy,
    replies: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    encoding: str,
) -> None:
    client = first(monkeypatch, b"")
    packed = gzip.compress(STREAM)
    headers = [*EVENTS, ("content-encoding", encoding)]
    replies.append(Reply(200, "OK", headers, live_body=Rest(packed[:20], packed[20:])))
    made = refused(503)
    response_of(made).headers["retry-after-ms"] = "20"
    if encoding == "gzip":
        play(impatient, made)
        assert client.received == STREAM
    else:
        with pytest.raises(ValueError, match="encoding"):
            play(impatient, made)
        assert client.received == b""


def test_stream_begins_while_a_result_is_pending(
    impatient: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = first(monkeypatch, b"")

    async def result_of(*_: object) -> Reply:
        await asyncio.sleep(0.02)
        return Reply(200, "OK", EVENTS, live_body=Rest(STREAM))

    monkeypatch.setattr(pending_result, "result_of", result_of)
    made = refused(202)
    response_of(made).headers["nvcf-reqid"] = "brook"
    assert play(impatient, made).status_code == 200
    assert client.received == STREAM
    assert impatient.feed(made, STREAM) == STREAM
    impatient.feed(made, b"")
    impatient.addon.response(made)
    (record,) = impatient.records("flow")
    assert record["fixes"] == {"answer-pending": 1}


def test_stream_begins_while_the_provider_stays_busy(
    impatient: Proxy, replies: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = b'{"error":{"message":"40 a minute"}}'
    for last, due in (
        (Reply(200, "OK", EVENTS, live_body=Rest(STREAM)), STREAM),
        ("it broke off", busy),
        (None, b""),
    ):
        client_stream = first(monkeypatch, busy)
        replies.append(last)
        made = refused(429)
        response_of(made).headers["retry-after-ms"] = "20"
        response = play(impatient, made)
        assert (response.status_code, response.reason) == (200, "OK")
        assert "retry-after-ms" not in response.headers
        assert callable(response.stream)
        assert client_stream.received == due
