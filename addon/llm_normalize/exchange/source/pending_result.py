"""An answer that is not ready: polled until it is.

NVIDIA's functions answer 202 with an id after a while, and the result is at a status
address (https://docs.nvidia.com/cloud-functions/, "Polling"): 202 until it is
there.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import quote

from mitmproxy import http

from ...chat.errors.errors import wrapped
from ...mitm.second_request import (
    Reply,
    UpstreamError,
    drop,
    is_gone,
    request_with,
    send,
)
from ...repair.outcome import EventRecord
from ...routing.key_on_request import name_server
from ...wire.json_text import dumps
from ..delivery.stream_or_buffer import PENDING, RESULT_ID
from ..state.running_answer import RunningAnswer

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

_PATH = "/v2/nvcf/pexec/status/"
_HOME = "nvidia.com"
_STATUS_HOST = "api.nvcf.nvidia.com"
_SILENCE = 120
"""Seconds; NVIDIA answers a request for a result after a minute at the latest."""
_SENT = (b"host", b"authorization", b"proxy-authorization", b"accept-encoding")
"""Headers of the request that the request for its result has, too."""


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
        answer = await unless_gone(reply_or_reason(remaining[0]), is_gone, deadline)
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


async def reply_or_reason(ask: Ask) -> Reply | str:
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


async def fetch(flow: http.HTTPFlow, running: RunningAnswer) -> bool:
    """Put the result in the place of the answer of *flow*; False if the client left.

    Args:
        flow: The flow.
        running: Its answer, which may be sent as it arrives, and records the change.
    """
    response = running.received
    name, before = response.headers[RESULT_ID], response.raw_content or b""
    reply = await result_of(
        _asks(
            flow,
            quote(name, safe="", errors="surrogateescape"),
            live=running.is_live,
        ),
        lambda: is_gone(flow),
        name,
    )
    if reply is None:
        return False
    running.take(reply)
    if not running.is_over:  # else it has its record
        after = [response.raw_content] if response.raw_content else []
        record = EventRecord(0, before, after, [PENDING])
        record.moved = True  # although both bodies may be empty
        running.record.add_event(record)
    return True


def _asks(flow: http.HTTPFlow, name: str, *, live: bool) -> list[Ask]:
    """Return how to ask for the result: the host that answered, then NVIDIA's own.

    The client's key goes to the host that it was meant for, and to NVIDIA's status
    address only from a host of NVIDIA's.
    """
    request = request_with(flow, b"")
    request.method, request.path = "GET", f"{_PATH}{name}"
    request.headers = http.Headers(
        [each for each in request.headers.fields if each[0].lower() in _SENT]
    )
    request.headers["accept"] = "application/json"
    asks: list[Ask] = [lambda: send(flow, request, _SILENCE, live=live)]
    known = (flow.server_conn.sni or request.host).lower()  # also behind an address
    if known != _STATUS_HOST and f".{known}".endswith(f".{_HOME}"):
        home = request.copy()
        home.scheme, home.host, home.port = "https", _STATUS_HOST, 443
        name_server(home, is_absolute=False)
        home.headers.pop("proxy-authorization", None)
        asks.append(lambda: send(flow, home, _SILENCE, live=live))
    return asks
