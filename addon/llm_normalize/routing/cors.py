"""Web pages that call the reverse proxy: which origins may, and which headers they get.

https://fetch.spec.whatwg.org/#http-cors-protocol
"""

import re
from collections.abc import Iterable

from mitmproxy import http

_ORIGIN = re.compile(r"(?:https?|[a-z][a-z0-9+.-]*)://[a-z0-9.\[\]:-]+")
_DAY = "86400"  # seconds


def origins(texts: Iterable[str]) -> frozenset[str]:
    """Return the origins that *texts* name.

    Raises:
        ValueError: One of them is invalid; the message names it.
    """
    found = {text.strip().lower().rstrip("/") for text in texts}
    for each in sorted(found):
        if each == "*":
            raise ValueError(
                "'*' lets every page of the web use the key; name the origins"
            )
        if not _ORIGIN.fullmatch(each):
            raise ValueError(
                f"invalid origin {each!r}: expected https://host or http://host:port"
            )
    return frozenset(found)


def origin_of(request: http.Request, known: frozenset[str]) -> str | None:
    """Return the origin of the page that sent *request*, if it is a known one."""
    given = request.headers.get("origin", "")
    return given if given.lower() in known else None


def is_preflight(request: http.Request) -> bool:
    """Tell whether a browser asks whether a page may send a request."""
    return (
        request.method == "OPTIONS"
        and "access-control-request-method" in request.headers
    )


def preflight(request: http.Request, origin: str) -> http.Response:
    """Return the answer to a preflight of a page of *origin*."""
    asked = request.headers.get("access-control-request-headers", "")
    response = http.Response.make(204, b"", {"access-control-max-age": _DAY})
    response.headers["access-control-allow-methods"] = "GET, POST, OPTIONS"
    if re.fullmatch(r"[\w\s,-]+", asked, re.ASCII):
        response.headers["access-control-allow-headers"] = asked
    grant(response, origin)
    return response


def grant(response: http.Response, origin: str) -> None:
    """Let a page of *origin* read *response*."""
    headers = response.headers
    headers["access-control-allow-origin"] = origin
    headers["access-control-expose-headers"] = "*"
    varies = {each.strip().lower() for each in headers.get("vary", "").split(",")}
    if "origin" not in varies:
        headers["vary"] = ", ".join(filter(None, [headers.get("vary", ""), "Origin"]))
    if headers.get("content-type", "").startswith("text/event-stream"):
        headers["cache-control"] = "no-cache"
