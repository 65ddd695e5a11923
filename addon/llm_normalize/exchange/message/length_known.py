"""Answers to a request for a stream that are none: their head can wait for their body.

A provider that knows the length of its answer has it already. So it is collected: a
completion becomes a stream, and what says that the request failed gets its own status.
"""

from mitmproxy import http

from ...wire.header import header_in

LARGEST = 8 * 1024 * 1024  # bytes
_KINDS = ("application/json", "application/problem+json", "text/html", "text/plain")


def may_wait(response: http.Response, *, observe: bool) -> bool:
    """Tell whether the head of *response* can wait for its body.

    Not where mitmproxy is to stream it, or nothing is to be changed.

    Args:
        response: The answer, whose head has arrived.
        observe: Whether it is only observed.
    """
    fields = response.headers.fields
    length = header_in(fields, b"content-length").strip()
    if not length:
        return False
    kind = header_in(fields, b"content-type").partition(";")[0].strip().lower()
    is_known = length.isascii() and length.isdecimal() and 0 < int(length) <= LARGEST
    is_kind = kind in _KINDS or kind.endswith("+json")
    return is_known and is_kind and not (response.stream or observe)
