"""An answer that is not ready: polled until it is.

NVIDIA's functions answer 202 with an id after a while, and the result is at a status
address (https://docs.nvidia.com/cloud-functions/, "Polling"): 202 until it is
there.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from ...chat.errors.errors import wrapped
from ...mitm.second_request import Reply, UpstreamError, drop
from ...wire.json_text import dumps

TIMEOUT = 600
"""Seconds until a result is given up."""

_FIRST_WAIT = 0.3  # seconds
_LONGEST_WAIT = 5.0
_GROWTH = 1.5
_LOOK = 0.25  # seconds between looks whether the client is still there
_FAILURES = 3  # in a row
_NOT_READY = 202
_NOT_FOUND = 404
_BUSY = (429, 500, 502, 503, 504)

type Ask = Callable[[], Awaitable[Reply]]


async def result_of(
    asks: Sequence[Ask], is_gone: Callable[[], bool], name: str
) -> Reply | None:
    """Return the result when it is there, or an error; None if the client has gone.

    Args:
        asks: Request the result, each at another address: the next one where an address
            does not know of it.
        is_gone: Tells whether the client has left.
        name: Names the request in errors.
    """
    deadline = time.monotonic() + TIMEOUT
    wait, failures, remaining = _FIRST_WAIT, 0, list(asks)
    while time.monotonic() < deadline:
        await unless_gone(asyncio.sleep(wait), is_gone, deadline)
        wait = min(wait * _GROWTH, _LONGEST_WAIT)
        if is_gone():
            return None
        answer = await unless_gone(_answer(remaining[0]), is_gone, deadline)
        if is_gone():
            await drop(answer)
            return None
        status = answer.status if isinstance(answer, Reply) else None
        if status == _NOT_READY:
            failures = 0
        elif status == _NOT_FOUND and len(remaining) > 1:
            del remaining[0]
            failures = 0
        elif isinstance(answer, Reply) and status not in _BUSY:
            return answer
        elif answer is not None:  # it was not too late
            failures += 1
            if failures >= _FAILURES:
                if isinstance(answer, Reply):
                    return answer
                return _failed(502, f"{answer} (request {name})")
    return _failed(504, f"No result within {TIMEOUT} seconds (request {name})")


async def _answer(ask: Ask) -> Reply | str:
    """Return the reply, or why there is none."""
    try:
        return await ask()
    except UpstreamError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a bug; its text may hold the key
        return type(error).__name__


async def unless_gone[T](
    awaitable: Awaitable[T], is_gone: Callable[[], bool], deadline: float
) -> T | None:
    """The result of *awaitable*; None, and cancel it, if client or time is gone."""
    task = asyncio.ensure_future(awaitable)
    try:
        while not task.done() and not is_gone():
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            await asyncio.wait({task}, timeout=min(remaining, _LOOK))
        return task.result() if task.done() else None
    finally:
        task.cancel()


def _failed(status: int, message: str) -> Reply:
    body = dumps(wrapped(message, "server_error", None, None))
    return Reply(status, "", [("content-type", "application/json")], body)
