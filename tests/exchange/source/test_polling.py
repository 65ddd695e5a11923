import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from llm_normalize.exchange.source import pending_result
from llm_normalize.exchange.source.pending_result import Ask, result_of
from llm_normalize.mitm.second_request import Reply, UpstreamError

NAME = "req-1"
READY = Reply(200, "OK", [("content-type", "text/plain")], b"hi")
WAIT = Reply(202)

BUSY = Reply(503, "", [], b"busy")
BROKE = UpstreamError("https://there: broke off")

type EventRecord = Reply | Exception


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in {
        "_FIRST_WAIT": 0.001,
        "_LONGEST_WAIT": 0.002,
        "_LOOK": 0.02,
        "TIMEOUT": 5,
    }.items():
        monkeypatch.setattr(pending_result, name, seconds)


class Asks:
    """An address, with what it answers, each in turn; the last again and again."""

    def __init__(self, *steps: EventRecord) -> None:
        self.count = 0
        self._steps = steps

    async def __call__(self) -> Reply:
        step = self._steps[min(self.count, len(self._steps) - 1)]
        self.count += 1
        await asyncio.sleep(0)
        if isinstance(step, Exception):
            raise step
        return step


class Endless:
    """An address that never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.cancelled = False

    async def __call__(self) -> Reply:
        self.asked.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        raise AssertionError


def polled(*asks: Ask, is_gone: Callable[[], bool] = lambda: False) -> Reply | None:
    async def scene() -> Reply | None:
        result = await result_of(asks, is_gone, NAME)
        await asyncio.sleep(0.001)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(scene())


def failure(reply: Reply | None) -> tuple[int, Any]:
    assert reply is not None
    assert reply.headers == [("content-type", "application/json")]
    return reply.status, json.loads(reply.body)


def error(message: str) -> Any:
    body = {"message": message, "type": "server_error", "param": None, "code": None}
    return {"error": body}


# -- results -----------------------------------------------------------------------


def test_waits_grow_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    class Asyncio:
        sleep = staticmethod(note)

        def __getattr__(self, name: str) -> Any:
            return getattr(asyncio, name)

    monkeypatch.setattr(pending_result, "_FIRST_WAIT", 1.0)
    monkeypatch.setattr(pending_result, "_LONGEST_WAIT", 2.0)
    monkeypatch.setattr(pending_result, "asyncio", Asyncio())
    assert polled(Asks(*[WAIT] * 4, READY)) is READY
    assert waits == [1.0, 1.5, 2.0, 2.0, 2.0]


# -- failures ----------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_server_is_asked_three_times_and_then_has_the_word(status: int) -> None:
    reply = Reply(status, "", [], b"busy")
    ask = Asks(reply)
    assert polled(ask) is reply
    assert ask.count == 3


def test_last_failure_is_the_one_that_is_reported() -> None:
    assert polled(Asks(BROKE, BROKE, BUSY)) is BUSY
    status, body = failure(polled(Asks(BUSY, BUSY, BROKE)))
    assert (status, body) == (502, error("https://there: broke off (request req-1)"))


def test_bug_in_asking_is_a_failure_whose_text_is_not_told() -> None:
    bug = RuntimeError("Bearer nvapi-canary")
    assert failure(polled(Asks(bug))) == (502, error("RuntimeError (request req-1)"))
    assert polled(Asks(bug, READY)) is READY


# -- time --------------------------------------------------------------------------


def test_result_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_result, "TIMEOUT", 0.1)
    expected = 504, error("No result within 0.1 seconds (request req-1)")
    assert failure(polled(Asks(WAIT))) == expected


@pytest.mark.parametrize("first", [[], [WAIT], [BROKE, BROKE]])
def test_asking_does_not_outlive_the_limit(
    monkeypatch: pytest.MonkeyPatch, first: list[EventRecord]
) -> None:
    monkeypatch.setattr(pending_result, "TIMEOUT", 0.1)
    endless, ask = Endless(), Asks(*first, READY)

    async def asked() -> Reply:
        return await (ask() if ask.count < len(first) else endless())

    begun = time.monotonic()
    assert failure(polled(asked))[0] == 504
    assert time.monotonic() - begun < 30  # and not 60
    assert endless.cancelled


# -- the client --------------------------------------------------------------------


def test_client_that_leaves_waiting_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_result, "_FIRST_WAIT", 60.0)
    looks = iter([False, False, False])
    ask = Asks(READY)
    assert polled(ask, is_gone=lambda: next(looks, True)) is None
    assert ask.count == 0


def test_client_that_leaves_while_it_is_asked_for_is_noticed() -> None:
    endless = Endless()
    assert polled(endless, is_gone=endless.asked.is_set) is None
    assert endless.cancelled
