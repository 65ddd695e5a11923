"""Which `Host` a client named in its request: a reverse proxy's requests have another one."""

import logging
from collections.abc import Callable

from mitmproxy import http
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders

from ..wire.header import host_in
from .extended_methods import extend, is_extended, restore
from .helpers import parse_authority

logger = logging.getLogger(__name__)

_HOST = "llm_normalize_host"
"""Where a request holds the `Host` that its client sent."""
_WAIT = "state_wait_for_request_headers"
type _Wait = Callable[[HttpStream, RequestHeaders], CommandGenerator[None]]


def remember_hosts() -> None:
    """Let each request hold the `Host` that its client sent, for `asked_host`.

    A reverse proxy's requests have it no more when the first hook runs: mitmproxy puts
    the upstream's there (proxy/layers/http/__init__.py, `state_wait_for_request_headers`).
    """

    def extended(wait: _Wait) -> _Wait:
        def remember(
            stream: HttpStream, event: RequestHeaders
        ) -> CommandGenerator[None]:
            setattr(event.request, _HOST, sent_host(event.request))
            return wait(stream, event)

        return remember

    if hasattr(HttpStream, _WAIT):
        extend(HttpStream, _WAIT, extended)
    else:
        logger.warning(
            "normalize: this mitmproxy does not show the Host that a client of a reverse "
            "proxy asked for: requests that need a key are refused there, since a web "
            "page may have pointed a name of its own at the proxy"
        )


def forget_hosts() -> None:
    """Let mitmproxy's streams be as they were."""
    restore(HttpStream, _WAIT)


def knows_hosts() -> bool:
    """Tell whether requests hold the `Host` that their client sent."""
    return is_extended(HttpStream, _WAIT)


def asked_host(request: http.Request) -> str:
    """Return the host that the client of *request* named in its `Host`; maybe none."""
    return asked_place(request)[0]


def asked_place(request: http.Request) -> tuple[str, int | None]:
    """Return that host, and the port if it was named."""
    given = getattr(request, _HOST, None)
    named = sent_host(request) if given is None else given
    return parse_authority(named, check=False)


def sent_host(request: http.Request) -> str:
    """The host that a request has: a client's name for it, or an upstream's; maybe empty."""
    data = request.data
    return host_in(data.http_version, data.authority, data.headers.fields)
