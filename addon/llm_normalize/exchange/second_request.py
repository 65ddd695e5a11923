"""A second request for a flow: as mitmproxy would send it, and its answer in place.

mitmproxy cannot send a second request for a flow, nor stream a second answer into it:
so the answer is collected, and put in the place of the first one.
"""

import base64
import logging
import os
import time
from dataclasses import replace
from pathlib import Path

from mitmproxy import ctx, http
from mitmproxy.utils import human

from ..chat.errors import phrase
from .disconnect import client_left
from .own_request import Asking, Proxy, Reply, UpstreamError, Way, ask
from .polling import LIMIT, unless_gone
from .request_facts import quoted

logger = logging.getLogger(__name__)

_BODY = 64 * 1024 * 1024  # bytes of an answer to a request that is asked again
# Headers that another connection, or another body, has of its own.
_OWN = {"accept-encoding", "content-encoding", "expect", "host", "proxy-authorization"}

HOPS = {
    "connection", "content-length", "keep-alive", "proxy-authenticate",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}  # fmt: skip
"""Headers that are the connection's, beside those that `connection` names."""


async def request_again(flow: http.HTTPFlow, body: bytes) -> Reply | str | None:
    """Return the reply to the request of *flow* with another *body*, or why none came.

    None if the client has left.
    """
    reply = await unless_gone(
        _answer(flow, body), lambda: is_gone(flow), time.monotonic() + LIMIT
    )
    if is_gone(flow):
        return None
    if not isinstance(reply, Reply):
        reply = reply or f"no answer within {LIMIT} seconds"
        logger.warning("normalize: cannot ask again: %s", quoted(flow, reply))
    return reply


async def _answer(flow: http.HTTPFlow, body: bytes) -> Reply | str:
    """Return the reply to the request of *flow* with another *body*, or why none came."""
    request = flow.request
    given = [
        (name.lower(), latin(value))
        for name, value in request.headers.items(multi=True)
    ]
    dropped = hops_in(given) | _OWN
    headers = [
        ("host", host_of(request)),
        *(each for each in given if each[0] not in dropped),
        ("accept-encoding", "identity"),
    ]
    name = flow.server_conn.sni or request.host
    way = way_to(flow, name)
    way = replace(way, limit=min(way.limit or _BODY, _BODY))
    url = f"{base_of(request)}{request.path}"
    asking = Asking(request.method, url, headers, body, LIMIT)
    try:
        return await ask(asking, way, name=name)
    except UpstreamError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a bug; its text may hold the key
        return type(error).__name__


def is_gone(flow: http.HTTPFlow) -> bool:
    """Tell whether nobody waits for the answer; a replayed flow's client is long gone."""
    return flow.is_replay is None and client_left(flow)


def base_of(request: http.Request) -> str:
    """Return the URL of the server that *request* went to, without a path."""
    return f"{request.scheme}://{_bracketed(request.host)}:{request.port}"


def host_of(request: http.Request) -> str:
    """Return the host header of *request*."""
    port = "" if request.port in (80, 443) else f":{request.port}"
    return request.host_header or f"{_bracketed(request.host)}{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def latin(text: str) -> str:
    """Return a header byte for byte: mitmproxy reads UTF-8, tornado writes Latin-1."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def replace_response(response: http.Response, reply: Reply) -> None:
    """Put *reply* in the place of *response*."""
    given = [(name.lower(), value) for name, value in reply.headers]
    dropped = hops_in(given)
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


def hops_in(headers: list[tuple[str, str]]) -> set[str]:
    """Return the names of those of *headers*, in lower case, that are a connection's."""
    named = ",".join(value for name, value in headers if name == "connection").lower()
    return HOPS | {name.strip() for name in named.split(",")}


def way_to(flow: http.HTTPFlow, name: str) -> Way:
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
