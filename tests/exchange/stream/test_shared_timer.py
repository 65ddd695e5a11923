import asyncio

import pytest

from llm_normalize.exchange.stream.shared_timer import ScheduledCall, SharedTimer
from proxies import fail, messages


def test_calls_are_made_in_order_with_one_timer() -> None:
    made = list[str]()

    async def play() -> None:
        timer, loop = SharedTimer(0.01), asyncio.get_running_loop()
        begun = loop.time()
        for name in "abc":
            timer.after(lambda name=name: made.append(f"{name}"))  # type: ignore[misc]
        timer.after(lambda: made.append("d")).cancel()
        assert len(loop._scheduled) == 1  # type: ignore[attr-defined]
        await asyncio.sleep(0.02)
        assert loop.time() - begun >= 0.01
        timer.after(lambda: made.append("e"))
        await asyncio.sleep(0.02)

    asyncio.run(play())
    assert made == ["a", "b", "c", "e"]


def test_cancelled_call_holds_nothing() -> None:
    call = ScheduledCall(0.0, fail)
    call.cancel()
    assert call.act is None


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_call_that_fails_costs_no_other(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    made = list[str]()

    def failing() -> None:
        raise error

    async def play(timer: SharedTimer) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        timer.after(failing)
        timer.after(lambda: made.append("other"))
        await asyncio.sleep(0.05)

    async def resume(timer: SharedTimer) -> None:
        timer.after(lambda: made.append("later"))
        await asyncio.sleep(0.05)

    timer = SharedTimer(0.01)
    loop = asyncio.new_event_loop()
    task = loop.create_task(play(timer))
    try:
        loop.run_until_complete(task)
    except KeyboardInterrupt:  # the loop goes on
        loop.run_until_complete(task)
    loop.run_until_complete(resume(timer))
    loop.close()
    assert made == ["other", "later"]
    known = ["normalize: a call on a timer failed"]
    assert messages(caplog, "ERROR") == (known if error is RuntimeError else [])
