"""A provider that is busy (429, 503): the request is retried after a while."""

import asyncio
import secrets
import time
from http import HTTPStatus

from mitmproxy import http

from ...mitm.second_request import is_gone
from ...routing.pace import delay_in_body, retry_after
from ...wire.json_text import Json, as_object, value_in
from ..message.message_body import content_of, request_body
from ..state.running_answer import RunningAnswer
from .pending_result import unless_gone
from .refused_request import Retry, ask_again

STATUSES = (429, 503)
_FIRST_WAIT = 0.5  # seconds
_LONGEST_WAIT = 30.0
_SPREAD = 0.25  # of a wait, so that many clients do not return at once
_EXHAUSTED = b"ResourceExhausted"
"""NIM's word for a worker all of whose places are taken, `(33/32)`, whatever the status."""
_BEGINNING = 4096
"""Bytes of an error in which that stands."""
_FOR_GOOD = ("insufficient_quota", "billing_hard_limit_reached")
"""Codes of refusals that no waiting helps."""


def retry_when_busy(flow: http.HTTPFlow, running: RunningAnswer) -> Retry | None:
    """The retry of the request, if its provider is busy.

    Args:
        flow: The flow, whose first answer is complete.
        running: The answer.
    """
    response, body = running.received, request_body(flow.request)
    if (
        body is None
        or not running.settings.retry
        or not is_busy(response)
        or not flow.server_conn.timestamp_start
        or _code(response) in _FOR_GOOD
    ):
        return None

    async def retry(flow: http.HTTPFlow) -> bool:
        deadline = time.monotonic() + running.settings.retry
        backoff = _FIRST_WAIT
        while is_busy(response):
            wait = _wait(response, backoff)
            if time.monotonic() + wait > deadline:
                break
            await unless_gone(
                asyncio.sleep(wait), lambda: is_gone(flow), deadline + _LONGEST_WAIT
            )
            backoff = min(2 * backoff, _LONGEST_WAIT)
            if is_gone(flow):
                return False
            left = max(0.0, deadline - time.monotonic())
            has_reply = await ask_again(running, body, left)
            if has_reply is None:
                return False
            if not has_reply:
                break
        return True

    return retry


def is_busy(response: http.Response) -> bool:
    """Tell whether the provider takes the same request after a while."""
    if response.status_code in STATUSES:
        return True
    is_error = response.status_code >= HTTPStatus.BAD_REQUEST
    return is_error and _EXHAUSTED in (response.raw_content or b"")[:_BEGINNING]


def _wait(response: http.Response, backoff: float) -> float:
    """Return how many seconds to wait: what *response* says, or *backoff* and some more."""
    in_body = delay_in_body(response)
    asked = retry_after(response.headers) if in_body is None else in_body
    more = backoff * _SPREAD * secrets.randbelow(256) / 256
    return (backoff if asked is None else asked) + more


def _code(response: http.Response) -> Json:
    """Return the code of an error in OpenAI's form."""
    try:
        body = value_in(content_of(response))
    except ValueError:
        return None
    return as_object(as_object(body).get("error")).get("code")
