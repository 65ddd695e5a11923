"""Requests to the proxy's own pages."""

from typing import Any

from mitmproxy import http
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import tflow

PLACE = "127.0.0.1:8080"


def asked(
    path: str = "/",
    place: str = PLACE,
    *,
    method: str = "GET",
    mode: str = "regular",
    here: str = "127.0.0.1",
    there: tuple[Any, ...] = ("127.0.0.1", 50000),
    headers: dict[str, str] | None = None,
) -> http.HTTPFlow:
    made = tflow.tflow()
    made.request = http.Request.make(method, f"http://{place}{path}")
    made.request.headers["host"] = place
    for name, value in (headers or {}).items():
        made.request.headers[name] = value
    made.client_conn.proxy_mode = ProxyMode.parse(mode)
    made.client_conn.timestamp_tls_setup = None
    made.client_conn.sockname = (here, 8080)
    made.client_conn.peername = there
    return made
