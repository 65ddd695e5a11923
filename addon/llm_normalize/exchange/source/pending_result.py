"""HTTP 202: the result is fetched, as mitmproxy would, and takes the answer's place."""

from urllib.parse import quote

from mitmproxy import http

from ...mitm.second_request import is_gone, request_with, send
from ...repair.outcome import EventRecord
from ...routing.key_headers import name_server
from ..delivery.stream_or_buffer import PENDING, RESULT_ID
from ..state.running_answer import RunningAnswer
from .polling import Ask, result_of

_PATH = "/v2/nvcf/pexec/status/"
_HOME = "nvidia.com"
_STATUS_HOST = "api.nvcf.nvidia.com"
_SILENCE = (
    120  # seconds; NVIDIA answers a request for a result after a minute at the latest
)
_SENT = (b"host", b"authorization", b"proxy-authorization", b"accept-encoding")
"""Headers of the request that the request for its result has, too."""


async def fetch(flow: http.HTTPFlow, running: RunningAnswer) -> bool:
    """Put the result in the place of the answer of *flow*; False if the client left.

    Args:
        flow: The flow.
        running: Its answer, which may be sent as it arrives, and records the change.
    """
    response = running.received
    name, before = response.headers[RESULT_ID], response.raw_content or b""
    reply = await result_of(
        _asks(
            flow,
            quote(name, safe="", errors="surrogateescape"),
            live=running.is_live,
        ),
        lambda: is_gone(flow),
        name,
    )
    if reply is None:
        return False
    running.take(reply)
    if not running.is_over:  # else it has its record
        after = [response.raw_content] if response.raw_content else []
        record = EventRecord(0, before, after, [PENDING])
        record.moved = True  # although both bodies may be empty
        running.record.add_event(record)
    return True


def _asks(flow: http.HTTPFlow, name: str, *, live: bool) -> list[Ask]:
    """Return how to ask for the result: the host that answered, then NVIDIA's own.

    The client's key goes to the host that it was meant for, and to NVIDIA's status
    address only from a host of NVIDIA's.
    """
    request = request_with(flow, b"")
    request.method, request.path = "GET", f"{_PATH}{name}"
    request.headers = http.Headers(
        [each for each in request.headers.fields if each[0].lower() in _SENT]
    )
    request.headers["accept"] = "application/json"
    asks: list[Ask] = [lambda: send(flow, request, _SILENCE, live=live)]
    known = (flow.server_conn.sni or request.host).lower()  # also behind an address
    if known != _STATUS_HOST and f".{known}".endswith(f".{_HOME}"):
        home = request.copy()
        home.scheme, home.host, home.port = "https", _STATUS_HOST, 443
        name_server(home, is_absolute=False)
        home.headers.pop("proxy-authorization", None)
        asks.append(lambda: send(flow, home, _SILENCE, live=live))
    return asks
