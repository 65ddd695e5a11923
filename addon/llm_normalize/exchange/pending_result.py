"""HTTP 202: the result is fetched, as mitmproxy would, and takes the answer's place."""

from urllib.parse import quote

from mitmproxy import http

from .own_request import get
from .polling import Ask, result_of
from .second_request import base_of, host_of, is_gone, latin, replace_response, way_to

PENDING = "answer-pending"
_ID = "nvcf-reqid"
_PATH = "/v2/nvcf/pexec/status/"
_HOME = "nvidia.com"
_STATUS_HOST = "api.nvcf.nvidia.com"
_ACCEPTED = 202


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
        lambda: is_gone(flow),
        name,
    )
    if reply is None:
        return False
    replace_response(response, reply)
    return True


def _asks(flow: http.HTTPFlow, name: str) -> list[Ask]:
    """Return how to ask for the result: the host that answered, then NVIDIA's own.

    The client's key goes to the host that it was meant for, and to NVIDIA's status
    address only from a host of NVIDIA's.
    """
    request = flow.request
    headers = {
        "host": host_of(request),
        "accept": "application/json",
        "accept-encoding": "identity",
    }
    if "authorization" in request.headers:
        headers["authorization"] = latin(request.headers["authorization"])
    sni = flow.server_conn.sni or request.host
    url = f"{base_of(request)}{_PATH}{name}"
    # The options count that did when the key was put on: who need not prove a name now,
    # gets none.
    way = way_to(flow, sni)
    asks: list[Ask] = [lambda: get(url, headers, way, name=sni)]
    known = sni.lower()  # where the host is but an address, too
    if known != _STATUS_HOST and f".{known}".endswith(f".{_HOME}"):
        there = {**headers, "host": _STATUS_HOST}
        home = f"https://{_STATUS_HOST}{_PATH}{name}"
        way_home = way_to(flow, _STATUS_HOST)
        asks.append(lambda: get(home, there, way_home))
    return asks
