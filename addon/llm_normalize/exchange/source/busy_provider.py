"""A provider that is busy (429, 503): the request is retried after a while."""

import asyncio
import secrets
import time
from email.utils import mktime_tz, parsedate_tz

from mitmproxy import http

from ...mitm.second_request import Reply, is_gone, replace_response
from ...wire.json_text import Json, loads
from ..message.message_body import content_of, request_body
from ..state.running_answer import RunningAnswer
from .polling import unless_gone
from .retry import Retry, send_retry

STATUSES = (429, 503)
_FIRST_WAIT = 0.5  # seconds
_LONGEST_WAIT = 30.0
_SPREAD = 0.25  # of a wait, so that many clients do not return at once
_FOR_GOOD = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of refusals that no waiting helps."""


def retry_when_busy(flow: http.HTTPFlow, running: RunningAnswer) -> Retry | None:
    """The retry of the request, if its provider is busy.

    Args:
        flow: The flow, whose first answer is complete.
        running: The answer.
    """
    response, body = flow.response, request_body(flow.request)
    assert response is not None
    if (
        body is None
        or not running.settings.retry
        or running.settings.observe
        or response.status_code not in STATUSES
        or not flow.server_conn.timestamp_start
        or _code(response) in _FOR_GOOD
    ):
        return None

    async def retry(flow: http.HTTPFlow) -> bool:
        deadline = time.monotonic() + running.settings.retry
        backoff = _FIRST_WAIT
        while response.status_code in STATUSES:
            wait = _wait(response, backoff)
            if time.monotonic() + wait > deadline:
                break
            await unless_gone(
                asyncio.sleep(wait), lambda: is_gone(flow), deadline + _LONGEST_WAIT
            )
            backoff = min(2 * backoff, _LONGEST_WAIT)
            if is_gone(flow):
                return False
            reply = await send_retry(flow, body, live=running.is_live)
            if reply is None:
                return False
            if not isinstance(reply, Reply):
                break
            replace_response(response, reply)
            running.live_body = reply.live_body
        return True

    return retry


def _wait(response: http.Response, backoff: float) -> float:
    """Return how many seconds to wait: what *response* says, or *backoff* and some more."""
    asked = _retry_after(response.headers)
    more = backoff * _SPREAD * secrets.randbelow(256) / 256
    return (backoff if asked is None else asked) + more


def _retry_after(headers: http.Headers) -> float | None:
    """Return the seconds that the provider asks for, in either form; None without any.

    https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
    """
    exact, text = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    try:
        seconds = float(exact) / 1000 if exact else float(text)
    except ValueError:
        pass
    else:
        return max(seconds, 0.0) if seconds < float("inf") else None
    try:
        date = parsedate_tz(text)
        return max(mktime_tz(date) - time.time(), 0.0) if date is not None else None
    except (ValueError, OverflowError):  # a year that no calendar has
        return None


def _code(response: http.Response) -> Json:
    """Return the code of an error in OpenAI's form."""
    try:
        body = loads(content_of(response))
    except (ValueError, RecursionError):
        return None
    error = body.get("error") if isinstance(body, dict) else None
    return error.get("code") if isinstance(error, dict) else None
