import asyncio

import pytest
from mitmproxy import http

from llm_normalize.exchange.source import replacements
from llm_normalize.exchange.source.replacements import Replacements
from llm_normalize.exchange.state.exchange import Exchange
from llm_normalize.exchange.state.running_answer import RunningAnswer
from llm_normalize.exchange.state.settings import Settings
from llm_normalize.fixes import FIXES
from proxies import chat_flow


@pytest.mark.parametrize("observe", [False, True])
def test_result_that_a_busy_provider_promises_at_last_is_fetched(
    monkeypatch: pytest.MonkeyPatch, observe: bool
) -> None:
    made = chat_flow(status=202, headers={"nvcf-reqid": "a"})
    settings = Settings(FIXES, observe=observe, strict=False, log=None)
    running, fetched = RunningAnswer.of(made, settings), list[http.HTTPFlow]()

    async def fetch(flow: http.HTTPFlow, _: RunningAnswer) -> bool:
        fetched.append(flow)
        return True

    async def is_free(_: http.HTTPFlow) -> bool:
        return True

    monkeypatch.setattr(replacements, "fetch", fetch)
    retry = Replacements()._retry_when_free(Exchange(made), running, is_free, made)
    assert asyncio.run(retry)
    assert fetched == ([] if observe else [made])
