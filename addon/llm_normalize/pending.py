"""HTTP 202: the result is fetched, as mitmproxy would, and takes the answer's place."""

import base64
import os
from pathlib import Path
from urllib.parse import quote

from mitmproxy import ctx, http
from mitmproxy.utils import human

from .errors import phrase
from .flows import client_left
from .polling import Ask, result_of
from .upstream import Proxy, Reply, Way, get

PENDING = "answer-pending"
_ID = "nvcf-reqid"
_PATH = "/v2/nvcf/pexec/status/"
_HOME = "nvidia.com"
_STATUS_HOST = "api.nvcf.nvidia.com"
_ACCEPTED = 202
_HOPS = {
    "connection", "content-length", "keep-alive", "proxy-authenticate",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip


def is_pending(response: http.Response) -> bool:
    """Tell whether *response* says that the answer is not ready, and where it will be."""
    return response.status_code == _ACCEPTED and bool(response.headers.get(_ID))


async def fetch(flow: http.HTTPFlow) -> bool:
    """Put the result in the place of the answer of *flow*; False if the client left."""
    response = flow.response
    assert response is not None
    name = response.headers[_ID]
    reply = await result_of(
        _asks(flow, quote(name, safe="", errors="surrogateescape")),
        # The client of a replayed flow is long gone.
        lambda: flow.is_replay is None and client_left(flow),
        name,
    )
    if reply is None:
        return False
    _take(response, reply)
    return True


def _take(response: http.Response, reply: Reply) -> None:
    given = [(name.lower(), value) for name, value in reply.headers]
    named = ",".join(value for name, value in given if name == "connection").lower()
    dropped = _HOPS | {name.strip() for name in named.split(",")}
    response.status_code = reply.status
    response.reason = reply.reason or phrase(reply.status)
    response.headers = http.Headers(
        [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in given
            if name not in dropped
        ]
    )
    response.trailers = None
    response.headers["content-length"] = str(len(reply.body))
    response.data.content = reply.body


def _asks(flow: http.HTTPFlow, name: str) -> list[Ask]:
    """Return how to ask for the result: the host that answered, then NVIDIA's own.

    The client's key goes to the host that it was meant for, and to NVIDIA's status
    address only from a host of NVIDIA's.
    """
    request = flow.request
    port = "" if request.port in (80, 443) else f":{request.port}"
    host = f"[{request.host}]" if ":" in request.host else request.host
    headers = {
        "host": request.host_header or f"{host}{port}",
        "accept": "application/json",
        "accept-encoding": "identity",
    }
    if "authorization" in request.headers:
        key = request.headers["authorization"]
        # Byte for byte: mitmproxy reads headers as UTF-8, tornado writes Latin-1.
        headers["authorization"] = key.encode("utf-8", "surrogateescape").decode(
            "latin-1"
        )
    sni = flow.server_conn.sni or request.host
    url = f"{request.scheme}://{host}:{request.port}{_PATH}{name}"
    asks: list[Ask] = [lambda: get(url, headers, _way(flow, sni), name=sni)]
    known = sni.lower()  # where the host is but an address, too
    if known != _STATUS_HOST and f".{known}".endswith(f".{_HOME}"):
        there = {**headers, "host": _STATUS_HOST}
        home = f"https://{_STATUS_HOST}{_PATH}{name}"
        asks.append(lambda: get(home, there, _way(flow, _STATUS_HOST)))
    return asks


def _way(flow: http.HTTPFlow, name: str) -> Way:
    """Return the way to the server *name*, by mitmproxy's own options."""
    options = ctx.options
    via = flow.server_conn.via
    proxy = None
    if via is not None and via[0] in ("http", "https"):
        auth = options.upstream_auth
        word = base64.b64encode(auth.encode()).decode() if auth else ""
        proxy = Proxy(via[0], *via[1], auth=f"Basic {word}" if word else "")
    limit = options.body_size_limit
    return Way(
        proxy=proxy,
        insecure=options.ssl_insecure,
        ca_file=_path(options.ssl_verify_upstream_trusted_ca),
        ca_path=_path(options.ssl_verify_upstream_trusted_confdir),
        client_cert=_client_cert(options.client_certs, name),
        limit=human.parse_size(limit) if limit else None,
    )


def _path(given: str | None) -> str | None:
    return os.path.expanduser(given) if given else None  # noqa: PTH111


def _client_cert(given: str | None, name: str) -> str | None:
    """Return the certificate to show, as mitmproxy finds it (addons/tlsconfig.py)."""
    text = _path(given)
    path = Path(text) if text else None
    if path is not None and not path.is_file():
        path = path / f"{name}.pem"
    return str(path) if path is not None and path.is_file() else None
