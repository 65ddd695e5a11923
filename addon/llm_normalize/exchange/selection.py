"""Which flows the addon is for."""

from mitmproxy import http

from ..chat.endpoint import is_chat_request
from ..routing.hosts import Hosts
from ..routing.routes import ROUTED, is_native, is_reverse


def is_selected(flow: http.HTTPFlow, hosts: Hosts) -> bool:
    """Tell whether *flow* goes to one of *hosts*; a reverse proxy's upstream is one.

    Not so a flow that is loaded from a file: mitmproxy runs its hooks, too
    (mitmproxy/master.py, `load_flow`), but it has been repaired, or not, long ago.
    """
    request = flow.request
    return bool(flow.live) and (
        ROUTED in flow.metadata
        or is_reverse(flow.client_conn.proxy_mode)
        or hosts.include(request.host, request.port)
        or hosts.include(request.pretty_host, request.port)
    )


def is_ours(flow: http.HTTPFlow, hosts: Hosts) -> bool:
    """Tell whether *flow* asks one of *hosts* for a chat completion."""
    request = flow.request
    asks = is_chat_request(request.method, request.path) or is_native(flow)
    return asks and is_selected(flow, hosts)
