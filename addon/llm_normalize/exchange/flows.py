"""Small questions to mitmproxy's flows, and what only mitmproxy can do with them."""

import contextlib
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from mitmproxy import ctx, hooks, http
from mitmproxy.flow import Error
from mitmproxy.utils import human

from ..chat.endpoint import is_chat_request, is_event_stream
from ..chat.stream_state import Asked
from ..routing.hosts import Hosts
from ..routing.routes import ROUTED, is_native, is_reverse
from ..text.echo import Echo
from ..text.printable import brief
from ..wire.content_encoding import LARGEST, LargeBodyError, decode
from ..wire.json_text import is_crowded
from .sending import Outlet, handler_of

logger = logging.getLogger(__name__)

ASKED = "llm_normalize_asked"
"""Where a flow's metadata holds the model asked for, where another one was sent."""

CONTAINERS = 24_000
"""Objects and arrays of what is read where all streams wait; a long talk has thousands."""

_LOOKED_AT: WeakKeyDictionary[http.Message, tuple[bytes, tuple[object, ...], str]] = (
    WeakKeyDictionary()
)
"""Messages whose body was looked at, with what was wrong with it, maybe nothing."""

_SECRET = 6
"""Characters; shorter values are placeholders ("x", "none") and would garble lines."""

_TELLING = re.compile(r"auth|key|token|secret|cookie|sig", re.IGNORECASE)
"""Names of headers and query fields that carry a key."""


_SILENT = ("(CANCEL)", "(HTTP_1_1_REQUIRED)", Error.KILLED_MESSAGE)
"""Errors that mitmproxy has no answer to: it resets the stream, or hangs up."""

_INVALID = (
    *(" from client, refusing ", "Invalid request scheme"),
    "received an HTTP CONNECT request",
)
"""How mitmproxy reports a request that it refuses (`validate_request`)."""


_PORTS = {"http": 80, "https": 443}

_BODIES = 3
"""`flow_detail` with which mitmdump prints bodies (mitmproxy/addons/dumper.py)."""


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


def place_of(request: http.Request, host: str = "") -> str:
    """Return the host of *request*, with its port unless that is its scheme's own.

    Args:
        request: The request.
        host: Another name of that host than the one in its `Host`.
    """
    host = (host or request.pretty_host).strip("[]")
    host = f"[{host}]" if ":" in host else host
    is_usual = request.port == _PORTS.get(request.scheme)
    return host if is_usual else f"{host}:{request.port}"


def path_of(flow: http.HTTPFlow) -> str:
    """Return the path that the client of *flow* asked for, without its query."""
    route = flow.metadata.get(ROUTED)
    if isinstance(route, list) and route:
        return urlsplit(str(route[0])).path
    return flow.request.path.partition("?")[0]


def is_shown() -> bool:
    """Tell whether anybody can look at the metadata of a flow that is over.

    In mitmdump, only a file of flows, its own printing of bodies (with the content view)
    or another script can.
    """
    options = ctx.options
    return (
        ctx.master.addons.get("dumper") is None
        or bool(options.save_stream_file)
        or options.flow_detail >= _BODIES
        or len(options.scripts) > 1
    )


_NOTE = "normalize: "


def note(flow: http.HTTPFlow, text: str, mark: str, marks: Sequence[str]) -> None:
    """Say something of *flow* in the list of flows, where the user has said nothing.

    Args:
        flow: The flow; a replayed one may have a note of ours.
        text: What to say, maybe nothing.
        mark: The sign, maybe none.
        marks: Signs that are ours.
    """
    if not flow.comment or flow.comment.startswith(_NOTE):
        flow.comment = text and brief(_NOTE + text)
    if not flow.marked or flow.marked in marks:
        flow.marked = mark


def show_anew(flow: http.HTTPFlow) -> None:
    """Let mitmweb and the console ask for *flow* again: there is more of it."""
    if ctx.master.addons.get("view") is not None:
        ctx.master.addons.trigger(hooks.UpdateHook([flow]))


def answers_events(response: http.Response) -> bool:
    """Tell whether *response* says that it is an event stream."""
    return is_event_stream(response.headers.get("content-type", ""))


def largest() -> int:
    """Return how many bytes a body may inflate to: what `body_size_limit` says."""
    options = getattr(ctx, "options", None)  # there are none outside of mitmproxy
    limit = human.parse_size(getattr(options, "body_size_limit", None))
    return LARGEST if limit is None else limit


def content_of(message: http.Message, containers: int = CONTAINERS) -> bytes:
    """Return the decoded body of *message*, empty where none is there.

    mitmproxy's `content` and `text` inflate without a bound, so they are not used.

    Args:
        message: A request or an answer.
        containers: How many objects and arrays of JSON are too many.

    Raises:
        ValueError: It cannot be decoded, or is too large, or has too many values.
    """
    raw = message.raw_content or b""
    most = largest()
    if isinstance(message, http.Request):
        # A long prompt is no bomb; but it is read where all streams wait.
        most = max(min(most, LARGEST), len(raw))
    encoding = message.headers.get("content-encoding", "")
    bounds = encoding, most, containers
    before, known, wrong = _LOOKED_AT.get(message, (b"", (), ""))
    is_known = before is raw and known == bounds
    if is_known and wrong:
        raise LargeBodyError(wrong)
    wrong = ""
    found = b""
    try:
        found = decode(raw, encoding, most)
        if not is_known and is_crowded(found, containers):
            wrong = "it has too many values"
    except LargeBodyError as error:
        wrong = str(error)
    _LOOKED_AT[message] = raw, bounds, wrong
    if wrong:
        raise LargeBodyError(wrong)
    return found


def request_body(request: http.Request) -> bytes | None:
    """Return the decoded body of *request*; None if it was sent on unread."""
    with contextlib.suppress(ValueError):
        return None if request.raw_content is None else content_of(request)
    return None


def asked_of(flow: http.HTTPFlow, *, strict: bool, body: bytes | None = None) -> Asked:
    """Return what the request of *flow* asked; with *body*, before that was changed."""
    request, response = flow.request, flow.response
    body = request_body(request) if body is None else body
    if body is None and response is not None:
        # Sent on unread (stream_large_bodies, say): the answer tells what was asked.
        asked = Asked(stream=answers_events(response))
    else:
        asked = Asked.from_body(body)
    begun = response.timestamp_start if response else request.timestamp_start
    name = flow.metadata.get(ASKED)
    if isinstance(name, str):
        asked = replace(asked, model=name, is_mapped=True)
    return replace(asked, id=flow.id, time=int(begun), strict=strict)


def secrets_of(request: http.Request) -> tuple[str, ...]:
    """Return what in the request's headers and query must not reach a log."""
    fields = [*request.headers.items(multi=True), *request.query.items(multi=True)]
    values = [value for name, value in fields if _TELLING.search(name)]
    values += [value.partition(" ")[2].strip() for value in values]  # after its scheme
    values += [value for _, value in request.cookies.items(multi=True)]
    secrets = {value for value in values if len(value) >= _SECRET}
    return tuple(sorted(secrets, key=len, reverse=True))


def quoted(flow: http.HTTPFlow, text: str) -> str:
    """Return words of the provider of *flow* for a log line: they may repeat the request."""
    echo = Echo(request_body(flow.request), secrets_of(flow.request))
    return brief(echo.hidden(text))


def prepare_headers(
    request: http.Request, response: http.Response, *, rename: bool = True
) -> None:
    """Make the headers fit a body whose length and encoding change as it passes.

    Args:
        request: The request, which tells what its client understands.
        response: The response, whose headers change.
        rename: Whether to call it an event stream where it says something else.
    """
    headers = response.headers
    headers.pop("content-encoding", None)
    if rename and not answers_events(response):
        headers["content-type"] = "text/event-stream"
    sized = headers.pop("content-length", None) is not None
    if "HTTP/1.0" in (request.http_version, response.http_version):
        headers.pop("transfer-encoding", None)  # it ends when the connection does
    elif request.is_http11 and (sized or response.is_http2 or response.is_http3):
        headers["transfer-encoding"] = "chunked"


def client_left(flow: http.HTTPFlow) -> bool:
    """Tell whether it was the client that ended *flow*.

    mitmproxy says "stream reset by client" of either side's HTTP/2 reset
    (mitmproxy/proxy/layers/http/_http2.py); where both sides speak it, and its layers
    cannot be asked, only a client has a reason to cancel.
    """
    message = flow.error.msg.lower() if flow.error else ""
    if not flow.client_conn.connected or "client disconnected" in message:
        return True
    if message == Error.KILLED_MESSAGE.lower():
        return False
    try:
        outlet = Outlet.of(flow)
        if outlet is not None:
            return outlet.has_left
    except Exception:  # mitmproxy's inner parts: one may be gone
        logger.debug("normalize: nobody knows who left", exc_info=True)
    return _says_client(flow, message)


def _says_client(flow: http.HTTPFlow, message: str) -> bool:
    """Tell whether *message* means a client that has reset its stream."""
    if " by client (" not in message or flow.request.is_http11:
        return False
    upstream = flow.server_conn.alpn == b"h2" or (
        flow.response is not None and not flow.response.is_http11
    )
    return not upstream or "(cancel)" in message


def break_off(flow: http.HTTPFlow) -> None:
    """Break off an answer in mid-stream.

    A kill alone is seen at the stream's end only (mitmproxy #4711), so the stream is
    reset, too. If that is impossible, the provider's connection is closed as if it had
    broken.
    """
    if flow.killable:
        flow.kill()
    handler = handler_of(flow.client_conn)
    if handler is None:
        return
    try:
        outlet = Outlet.of(flow, handler)
        if outlet is not None:
            outlet.reset()
            return
    except Exception:  # it is made of mitmproxy's inner parts: one may be gone
        logger.exception("normalize: one stream cannot be reset alone")
    if flow.server_conn.connected:
        handler.close_connection(flow.server_conn)


def gateway_status(flow: http.HTTPFlow) -> int | None:
    """Return the status that mitmproxy gives in the provider's place, if any.

    By its message: the code (mitmproxy/proxy/layers/http/_events.py) is not told.
    """
    message = flow.error.msg if flow.error else ""
    if message.startswith("Request body exceeds"):
        return int(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if any(each in message for each in _INVALID):
        return int(HTTPStatus.BAD_REQUEST)
    silent = any(each in message for each in _SILENT)
    return None if silent or client_left(flow) else int(HTTPStatus.BAD_GATEWAY)
