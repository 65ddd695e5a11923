import asyncio

from llm_normalize.exchange.stream.shared_timer import ScheduledCall, SharedTimer
from proxies import fail


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
