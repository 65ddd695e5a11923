"""Who may use the proxy, and what is told to whoever may not."""

import logging
import re
from collections.abc import Sequence

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from .errors import wrapped
from .flows import is_reverse
from .itself import is_loopback
from .jsontext import dumps
from .keys import Secret, is_let_in
from .legible import brief
from .selection import is_chat_request

logger = logging.getLogger(__name__)

# What a server may take for another path than it says.
_ODD = re.compile(r"#|\\|(?:^|/)(?:\.|%2e){1,2}(?:[/;?]|%2f|$)", re.IGNORECASE)


def refused(request: http.Request, gate: Secret) -> http.Response | None:
    """Return what a client gets that is not let in, or wants what is not served."""
    try:
        known = is_let_in(request, gate.read())
    except ValueError as error:
        logger.warning("normalize: normalize_gate: %s; nobody is let in", error)
        known = False
    if not known:
        message = "Incorrect API key provided. This proxy wants a token of its own."
        return refusal(401, message, "invalid_api_key")
    return None if is_asked(request) or is_list(request) else not_found(request)


def not_found(request: http.Request) -> http.Response:
    """Return the answer to what is not served."""
    message = f"Unknown request URL: {request.method} {brief(_path(request))}."
    return refusal(404, message, "unknown_url")


def refusal(status: int, message: str, code: str | None) -> http.Response:
    """Return an error in OpenAI's form."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004
    body = dumps(wrapped(message, kind, None, code))
    return http.Response.make(status, body, {"content-type": "application/json"})


def _path(request: http.Request) -> str:
    return request.path.partition("?")[0]


def is_plain(path: str) -> bool:
    """Tell whether *path* is what it says, to any server."""
    return path.startswith("/") and not _ODD.search(path.partition("?")[0])


def is_list(request: http.Request) -> bool:
    """Tell whether *request* asks for the list of models."""
    return request.method == "GET" and _path(request).rstrip("/").endswith("/models")


def is_asked(request: http.Request) -> bool:
    """Tell whether *request* asks for a chat completion."""
    return is_chat_request(request.method, request.path)


def warn(
    modes: Sequence[mode_specs.ProxyMode], host: str, *, guarded: bool, has_keys: bool
) -> None:
    """Warn of a proxy that other machines can use, and anybody on them."""
    if guarded:
        return
    for mode in modes:
        listens = mode.listen_host(host or None)
        if (
            not isinstance(mode, _OPEN)
            or listens == "localhost"
            or is_loopback(listens)
        ):
            continue
        logger.warning(
            "normalize: anybody who reaches %s can use this %sproxy%s. Set "
            "--listen-host 127.0.0.1, or %s.",
            listens or "any address of this machine",
            "reverse " if is_reverse(mode) else "",
            " and its key" if has_keys else "",
            "normalize_gate" if is_reverse(mode) else "--proxyauth NAME:PASSWORD",
        )


# Modes in which whoever connects is served.
_OPEN = (
    mode_specs.ReverseMode,
    mode_specs.RegularMode,
    mode_specs.UpstreamMode,
    mode_specs.Socks5Mode,
)
