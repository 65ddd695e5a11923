"""The clients of a reverse proxy may ask although its provider is down."""

import logging
from collections.abc import Callable

from mitmproxy.proxy import events, layer
from mitmproxy.proxy.layers import modes

from .extended_methods import extend, restore

logger = logging.getLogger(__name__)

_SCHEMES = ("http", "https")
_FINISH_START = "finish_start"
type _FinishStart = Callable[[modes.ReverseProxy], layer.CommandGenerator[str | None]]


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
