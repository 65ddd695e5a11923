import asyncio
from typing import Any

import pytest
from mitmproxy import http

from llm_normalize.exchange.delivery.stream_or_buffer import is_workers_ai_answer
from llm_normalize.exchange.source import refused_request as retries
from llm_normalize.exchange.source.workers_ai_run import retry_without_stream, translate
from llm_normalize.exchange.state.exchange import Exchange
from llm_normalize.exchange.state.running_answer import RunningAnswer
from llm_normalize.exchange.state.settings import Settings
from llm_normalize.fixes import FIXES
from llm_normalize.mitm.second_request import Reply
from llm_normalize.wire.json_text import dumps, loads
from proxies import chat_flow, response_of

EMPTY = {"result": {}, "success": True, "errors": []}
REQUEST = {
    "model": "@cf/acme/brook",
    "messages": [{"role": "user", "content": "Hi"}],
    "stream": True,
    "verbosity": "low",
}


def running(
    answer: Any, *, observe: bool = False, status: int = 200, **request: Any
) -> tuple[http.HTTPFlow, RunningAnswer]:
    made = chat_flow(request=REQUEST | request, status=status)
    response_of(made).content = dumps(answer)
    made.server_conn.timestamp_start = 1.0
    settings = Settings(FIXES, observe=observe, strict=False, log=None)
    return made, RunningAnswer.of(made, settings)


@pytest.mark.parametrize("reply", [Reply(200, "OK", [], b'{"result":1}'), "why", None])
def test_answer_is_asked_for_in_one_piece_where_there_is_no_stream(
    reply: Reply | str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    async def send_retry(
        _: http.HTTPFlow, body: bytes, *, live: bool, **_more: object
    ) -> Reply | str | None:
        assert not live
        asked.append(body)
        return reply

    monkeypatch.setattr(retries, "send_retry", send_retry)
    made, answer = running(EMPTY)
    later = retry_without_stream(made, answer)
    assert later is not None

    async def run() -> bool:
        return await later(made)

    assert asyncio.run(run()) is (reply is not None)
    assert "stream" not in loads(asked[0])
    assert answer.record.request[-1] == ("request-not-native", "dropped", "stream")
    taken = response_of(made).content == b'{"result":1}'
    assert taken is isinstance(reply, Reply)


def test_answer_is_not_asked_for_again_where_that_is_of_no_use() -> None:
    for made, answer in (
        running({"result": {"response": "Hi"}, "success": True}),
        running(EMPTY, stream=False),
        running(EMPTY, observe=True),
    ):
        assert retry_without_stream(made, answer) is None
    made, answer = running(EMPTY)
    made.server_conn.timestamp_start = None  # a replay
    assert retry_without_stream(made, answer) is None
    made, answer = running(EMPTY)
    made.request.content = dumps({"messages": []})  # it has been done
    assert retry_without_stream(made, answer) is None
    made.request.content = b"?"
    assert retry_without_stream(made, answer) is None


@pytest.mark.parametrize(
    ("status", "body", "good"),
    [
        (200, b'{"result":{}}', True),
        (200, b'{"success":false}', False),
        (200, b"[]", False),
        (200, b"<html>", False),
        (400, b'{"result":{}}', False),
    ],
)
def test_answer_is_distinguished_from_an_error(
    status: int, body: bytes, good: bool
) -> None:
    assert is_workers_ai_answer(http.Response.make(status, body)) is good


def test_answer_that_is_not_read_is_none() -> None:
    made, answer = running(EMPTY, stream=True)
    response_of(made).headers["content-encoding"] = "gzip"
    assert not is_workers_ai_answer(response_of(made))
    assert retry_without_stream(made, answer) is None


def test_request_that_is_not_read_is_not_translated() -> None:
    made = chat_flow(request=REQUEST)
    made.request.headers["content-encoding"] = "br"
    with pytest.raises(ValueError, match="cannot be decoded"):
        translate(Exchange(made), "/base")
