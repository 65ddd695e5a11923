"""Answers to a request for a stream that are none: their head can wait for their body.

A provider that knows the length of its answer has it already. So it is collected: a
completion becomes a stream, and what says that the request failed gets its own status.
"""

from mitmproxy import http

LARGEST = 8 * 1024 * 1024  # bytes
_KINDS = ("application/json", "application/problem+json", "text/html", "text/plain")


def may_wait(response: http.Response, *, observe: bool) -> bool:
    """Tell whether the head of *response* can wait for its body.

    Not where mitmproxy is to stream it, or nothing is to be changed.

    Args:
        response: The answer, whose head has arrived.
        observe: Whether it is only observed.
    """
    headers = response.headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    length = headers.get("content-length", "").strip()
    is_known = length.isascii() and length.isdecimal() and 0 < int(length) <= LARGEST
    is_kind = kind in _KINDS or kind.endswith("+json")
    return is_known and is_kind and not (response.stream or observe)
