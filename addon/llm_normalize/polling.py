"""An answer that is not ready: asked for again until it is.

NVIDIA's functions answer 202 with an id after a while, and the result is had at a status
address (https://docs.nvidia.com/cloud-functions/, "Polling"): 202 as long as it is not
there.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from .errors import wrapped
from .jsontext import dumps
from .upstream import Reply, UpstreamError

LIMIT = 600
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
        asks: Ask for the result, each at another address: the next one where an address
            does not know of it.
        is_gone: Tells whether the client has left.
        name: Names the request in errors.
    """
    deadline = time.monotonic() + LIMIT
    wait, failures, left = _FIRST_WAIT, 0, list(asks)
    while time.monotonic() < deadline:
        await _unless_gone(asyncio.sleep(wait), is_gone)
        wait = min(wait * _GROWTH, _LONGEST_WAIT)
        if is_gone():
            return None
        reason = ""
        try:
            reply = await _unless_gone(left[0](), is_gone)
        except UpstreamError as error:
            reply, reason = None, str(error)
        if is_gone():
            return None
        if reply and reply.status == _NOT_READY:
            failures = 0
        elif reply and reply.status == _NOT_FOUND and len(left) > 1:
            del left[0]
        elif reply and reply.status not in _BUSY:
            return reply
        else:
            failures += 1
            if failures >= _FAILURES:
                return reply or _failed(502, f"{reason} (request {name})")
    return _failed(504, f"No result within {LIMIT} seconds (request {name})")


async def _unless_gone[T](
    awaitable: Awaitable[T], is_gone: Callable[[], bool]
) -> T | None:
    """Return what *awaitable* gives; None, and cancel it, if the client leaves."""
    task = asyncio.ensure_future(awaitable)
    try:
        while not task.done() and not is_gone():
            await asyncio.wait({task}, timeout=_LOOK)
        return task.result() if task.done() else None
    finally:
        task.cancel()


def _failed(status: int, message: str) -> Reply:
    body = dumps(wrapped(message, "server_error", None, None))
    return Reply(status, "", [("content-type", "application/json")], body)
