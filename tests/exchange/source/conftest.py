import asyncio
from typing import Any

import pytest
from mitmproxy import http

from exchange.source.second_answers import SecondAnswers
from llm_normalize.exchange.source import pending_result, refused_request
from llm_normalize.wire.json_text import loads


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> SecondAnswers:
    """A provider that is asked again, and answers at once."""
    made = SecondAnswers()
    monkeypatch.setattr(refused_request, "send", made.send)
    monkeypatch.setattr(pending_result, "_LOOK", 0.001)
    return made


@pytest.fixture
def replies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What further requests are answered: replies, or what makes them."""
    made: list[Any] = []

    async def send_retry(
        _: http.HTTPFlow, body: bytes, *, live: bool, **_more: object
    ) -> Any:
        assert live is loads(body)["stream"]
        await asyncio.sleep(0)
        reply = made.pop(0)
        return reply() if callable(reply) else reply

    monkeypatch.setattr(refused_request, "send_retry", send_retry)
    return made
