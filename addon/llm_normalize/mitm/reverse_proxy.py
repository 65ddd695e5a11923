"""What mitmproxy's reverse proxies lack.

Each request holds the `Host` that its client sent, where mitmproxy puts the upstream's; and
clients may ask although the provider is down.
"""

import logging
from collections.abc import Callable

from mitmproxy import http
from mitmproxy.proxy import events, layer
from mitmproxy.proxy.layer import CommandGenerator
from mitmproxy.proxy.layers import modes
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._events import RequestHeaders

from ..wire.header import header_in
from .extended_methods import extend, is_extended, restore
from .helpers import parse_authority

logger = logging.getLogger(__name__)

_HOST = "llm_normalize_host"
"""Where a request holds the `Host` that its client sent."""
_WAIT = "state_wait_for_request_headers"
type _Wait = Callable[[HttpStream, RequestHeaders], CommandGenerator[None]]

_SCHEMES = ("http", "https")
_FINISH_START = "finish_start"

type _FinishStart = Callable[[modes.ReverseProxy], layer.CommandGenerator[str | None]]


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
    """The host that a request has: a client's name for it, or an upstream's; maybe empty.

    It is `host_header`, which takes long.
    """
    authority = request.authority if request.is_http2 or request.is_http3 else ""
    return authority or header_in(request.data.headers.fields, b"host")


def let_clients_ask(is_due: Callable[[], bool]) -> None:
    """Let the clients of a reverse proxy ask, also if its provider is down.

    mitmproxy connects to it first, and hangs up if that fails (`connection_strategy`).

    Args:
        is_due: Tells whether they are to be let, asked when that has failed.
    """

    def extended(finish_start: _FinishStart) -> _FinishStart:
        def go_on(top: modes.ReverseProxy) -> layer.CommandGenerator[str | None]:
            """Go on after an error: the connection keeps it, and it answers requests."""
            error = yield from finish_start(top)
            scheme = getattr(top.context.client.proxy_mode, "scheme", "")
            if not error or scheme not in _SCHEMES or not is_due():
                return error
            top._handle_event = top.child_layer.handle_event  # noqa: SLF001
            yield from top.child_layer.handle_event(events.Start())
            return None

        return go_on

    if hasattr(modes.ReverseProxy, _FINISH_START):
        extend(modes.ReverseProxy, _FINISH_START, extended)
    else:
        logger.warning(
            "normalize: this mitmproxy hangs up on the clients of a reverse proxy whose "
            "provider is down, instead of sending them an error"
        )


def stop_letting_clients_ask() -> None:
    """Let mitmproxy hang up again."""
    restore(modes.ReverseProxy, _FINISH_START)
