"""Flows that are saved and copied without the key on their request: there is no hook for it."""

from collections.abc import Callable
from typing import Any

from mitmproxy import http

from .extended_methods import extend, is_extended, restore


def saved_headers(headers: http.Headers) -> http.Headers:
    """Return *headers* as they are saved.

    Asked by name, not by type: they may be of the package as it was before a reload.
    """
    saved: Callable[[], http.Headers] | None = getattr(
        headers, "llm_normalize_saved", None
    )
    return headers if saved is None else saved()


def guard_flows() -> None:
    """Have mitmproxy's flows save and copy their request without its key.

    mitmproxy has no hook for it, and its headers cannot tell who reads them: to send a
    request of HTTP/2 by HTTP/1, mitmproxy sends a copy of the request alone, which needs
    the key (proxy/layers/http/_http1.py, `Http1Client.send`). So the two methods of
    `HTTPFlow` (mitmproxy/http.py, the same in 12.0 and 12.2) are wrapped, when a key is
    put on for the first time: flows without a key notice nothing of it.
    """
    if is_extended(http.HTTPFlow, "copy"):
        return

    def guarded_state(state: Callable[[http.HTTPFlow], Any]) -> Any:
        def state_without_key(flow: http.HTTPFlow) -> Any:
            flow_state = state(flow)
            flow_state["request"]["headers"] = saved_headers(
                flow.request.headers
            ).fields
            return flow_state

        return state_without_key

    def guarded_copy(copied: Callable[[http.HTTPFlow], http.HTTPFlow]) -> Any:
        def copy_without_key(flow: http.HTTPFlow) -> http.HTTPFlow:
            made = copied(flow)
            made.request.headers = saved_headers(flow.request.headers)
            return made

        return copy_without_key

    extend(http.HTTPFlow, "get_state", guarded_state)
    extend(http.HTTPFlow, "copy", guarded_copy)


def unguard_flows() -> None:
    """Let mitmproxy's flows be as they were, when no request has a key any more."""
    restore(http.HTTPFlow, "get_state")
    restore(http.HTTPFlow, "copy")
