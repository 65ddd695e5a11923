"""Who may use the proxy, and what everybody else is answered."""

import hmac
import logging
import re
from collections.abc import Sequence
from urllib.parse import unquote

from mitmproxy import ctx, http
from mitmproxy.proxy import mode_specs

from ..chat.endpoint import is_chat_request
from ..chat.errors.errors import wrapped
from ..mitm.certificate_proof import is_proven
from ..text.echo import MASK
from ..text.folded_text import places_of, spellings
from ..text.network_address import is_loopback
from ..text.printable import brief
from ..wire.json_text import dumps
from . import cors
from .hosts import BASE, OTHER_BASES, HostPattern
from .keys import HEADER, OTHER_HEADER, Secret
from .own_address import is_cross_site, is_here
from .routes import is_reverse

logger = logging.getLogger(__name__)

# What a server may take for another path than it says: what is quoted for no reason, or
# means something else once it is not, names of folders, what may begin with a host, and
# parameters, which some servers drop.
_ODD = re.compile(
    r"^//|[\\#;]|%(?![2-7][0-9a-f])|%(?:2[35f]|3f|5c|7f)"
    r"|(?:^|/)(?:\.|%2e){1,2}(?:[/?]|$)",
    re.IGNORECASE,
)
_END = re.compile(
    r"/(?:chat/completions|models|responses(?:/compact|/input_tokens)?"
    r"|messages(?:/count_tokens)?)/*\Z"
)
"""What is served, behind the base path of an API."""
_BASES = tuple(
    (host and HostPattern.parse(host), re.compile(base, re.ASCII | re.IGNORECASE))
    for host, base in (("", BASE), *OTHER_BASES)
)
"""Base paths of APIs, by host; the first are any host's."""
# Modes that serve every client.
_OPEN = (
    mode_specs.ReverseMode,
    mode_specs.RegularMode,
    mode_specs.UpstreamMode,
    mode_specs.Socks5Mode,
)
_LEAST = 8  # characters of a token that no other words have by chance
_MOST = 4096  # characters of a value that are searched for other spellings


def refused(
    request: http.Request, gate: Secret, *, is_translated: bool = False
) -> http.Response | None:
    """The refusal of a request without the token, or for a path that is not served.

    Args:
        request: The request.
        gate: Where the tokens are.
        is_translated: Whether its protocol is one that may be translated to chat.
    """
    try:
        known = is_let_in(request, gate.read_each())
    except ValueError as error:
        logger.warning("normalize: normalize_gate: %s; all are refused", error)
        for name in (HEADER, OTHER_HEADER):  # neither is a token saved
            request.headers.pop(name, None)
        known = False
    if not known:
        message = "Incorrect API key provided. This proxy wants a token of its own."
        return refusal(401, message, "invalid_api_key")
    is_chat = is_asked(request) or is_translated
    is_served = is_chat or is_list(request) or is_upgrade(request)
    return None if is_served else not_found(request)


def not_found(request: http.Request) -> http.Response:
    """Return the answer to what is not served."""
    message = f"Unknown request URL: {request.method} {brief(_path(request))}."
    return refusal(404, message, "unknown_url")


def refusal(status: int, message: str, code: str | None) -> http.Response:
    """Return an error in OpenAI's form."""
    kind = "invalid_request_error" if status < 500 else "server_error"  # noqa: PLR2004
    body = dumps(wrapped(message, kind, None, code))
    return http.Response.make(status, body, {"content-type": "application/json"})


def _path(request: http.Request) -> str:
    return request.path.partition("?")[0]


def is_plain(path: str) -> bool:
    """Tell whether *path* is what it says, to any server."""
    is_text = path.isascii() and path.isprintable() and " " not in path
    is_path = path.startswith("/") and not _ODD.search(path.partition("?")[0])
    return is_text and is_path


def is_list(request: http.Request) -> bool:
    """Tell whether *request* asks for the list of models."""
    path, *_ = request.data.path.partition(b"?")
    return path.rstrip(b"/").endswith(b"/models") and request.method == "GET"


def is_model(request: http.Request) -> bool:
    """Tell whether *request* asks about one model."""
    return request.method == "GET" and b"/models/" in request.data.path


def is_asked(request: http.Request) -> bool:
    """Tell whether *request* asks for a chat completion."""
    return is_chat_request(request.method, request.path)


def is_upgrade(request: http.Request) -> bool:
    """Tell whether *request* asks for a WebSocket instead of a POST to Responses."""
    path, *_ = request.data.path.partition(b"?")
    if not path.rstrip(b"/").endswith(b"/responses"):
        return False
    asked = request.headers.get("upgrade", "").lower()
    return "websocket" in (each.strip() for each in asked.split(","))


def upgrade_refused() -> http.Response:
    """Return the answer to a request for a WebSocket; clients post at once then.

    To any other they ask again, seven times.
    """
    message = "This proxy serves no WebSockets. Send the request with POST."
    response = refusal(426, message, None)
    response.headers["upgrade"] = "HTTP/1.1"  # RFC 9110, 15.5.22
    response.headers["connection"] = "upgrade"
    return response


def wants_key(request: http.Request, *, is_other: bool, known: str | None) -> bool:
    """Tell whether *request* asks for what a key of the proxy's is for.

    The end of a path does not say that: `/v1/organization/keys/models` are no models.

    Args:
        request: The request.
        is_other: Whether it asks for that in a protocol that may be translated to chat.
        known: The base path that the user has set; empty, or None, for none.
    """
    if not (is_asked(request) or is_list(request) or is_other):
        return False
    # A client whose base URL ends with a slash asks for `/v1//models`.
    base = _END.sub("", re.sub("//+", "/", _path(request)))
    if known:
        return base == re.sub("//+", "/", known)
    return any(
        found.fullmatch(base)
        for host, found in _BASES
        if not host or host.matches(request.host, request.port)
    )


def key_refused(
    flow: http.HTTPFlow, origins: frozenset[str], *, is_routed: bool, is_known: bool
) -> http.Response | None:
    """The refusal of a request that may not use the key of its host.

    Args:
        flow: The flow.
        origins: Origins whose pages may.
        is_routed: Whether the user has set where the request goes.
        is_known: Whether its `Host` is one that no page can have let lead here.
    """
    request = flow.request
    is_http = request.scheme == "http"
    mode = flow.client_conn.proxy_mode
    is_fixed = is_routed or is_reverse(mode)
    # What is here to another proxy may be anywhere.
    is_near = is_here(request.host) and not isinstance(mode, mode_specs.UpstreamMode)
    if is_http and not is_fixed and not is_near:
        return refusal(403, "The key of this proxy goes out by https alone.", None)
    message = ""
    origin = request.headers.get("origin", "")
    is_foreign = bool(origin) or is_cross_site(request.headers)
    if is_foreign and cors.origin_of(request, origins) is None:
        message = (
            f"Pages of {brief(origin) or 'another site'} may not use the key of this "
            "proxy. normalize_cors names those that may."
        )
    elif not is_known:
        message = (
            "A page may have pointed this name at the proxy: use the proxy's address, or "
            "add the host to normalize_hosts."
        )
    if message:
        return refusal(403, message, None)
    return None if is_http else _unproven(flow)


def _unproven(flow: http.HTTPFlow) -> http.Response | None:
    """The refusal of a request whose server has not proved, or cannot prove, its name.

    A connection that is still to be made is not refused: without proof it has no key.
    """
    request, server = flow.request, flow.server_conn
    if ctx.options.ssl_insecure:
        message = (
            "With ssl_insecure no server proves its name, and the key of this proxy "
            "goes to none."
        )
        return refusal(500, message, None)
    host, port, *_ = server.address or ("", 0)
    is_it = (host, port) == (request.host, request.port) and server.connected
    if is_it and server.tls_established and not is_proven(server, request.host):
        message = "This connection's server has not proved its name. Connect again."
        return refusal(502, message, None)
    return None


def warn(
    modes: Sequence[mode_specs.ProxyMode], host: str, *, guarded: bool, has_keys: bool
) -> None:
    """Warn of a proxy that other machines can use, and anybody on them."""
    if guarded:
        return
    for mode in modes:
        listens = mode.listen_host(host or None)
        if not isinstance(mode, _OPEN) or is_loopback(listens):
            continue
        logger.warning(
            "normalize: anybody who reaches %s can use this %sproxy%s. Set "
            "--listen-host 127.0.0.1, or %s.",
            listens or "any address of this machine",
            "reverse " if is_reverse(mode) else "",
            " and its key" if has_keys else "",
            "normalize_gate" if is_reverse(mode) else "--proxyauth NAME:PASSWORD",
        )


def is_let_in(request: http.Request, tokens: list[str]) -> bool:
    """Tell whether the client has presented one of *tokens*, and take all off.

    A token goes no further, wherever it stands: in a path it becomes `***`, and what has
    it in a query or a header is dropped. A request that is refused goes nowhere, and anybody
    can send one: it is only seen to that none with the token is saved.
    """
    headers = request.headers
    scheme, _, given = str(headers.pop(HEADER, "")).partition(" ")
    headers.pop("proxy-authorization", None)
    other = str(headers.get(OTHER_HEADER, ""))
    # Most tokens of a team are nowhere in a request: each costs one look at all of it.
    rest = [request.path, request.authority, *map(": ".join, headers.items())]
    text = "\n".join(rest)
    unescaped = text.replace("\\/", "/").replace('\\"', '"').replace(r"\\", "\\")
    texts = text, unquote(text), unescaped
    is_known = False
    for token in tokens:
        known = _is_same(given, token) and scheme.lower() == "bearer"
        known |= _is_same(other, token)
        if known or any(token in each for each in texts):
            _take_off(request, token, is_thorough=known)
        is_known |= known
    return is_known


def _take_off(request: http.Request, token: str, *, is_thorough: bool) -> None:
    headers, search = request.headers, _Search(token, is_thorough=is_thorough)
    for name in {
        name for name, value in headers.items() if search.is_in_header(name, value)
    }:
        headers.pop(name, None)
    if search.is_in(request.authority):
        request.authority = ""
    path, mark, query = request.path.partition("?")
    # Without the token nobody can have it searched for field by field.
    fields = query.split("&") if is_thorough else [query]
    fields = [each for each in fields if not search.is_in_field(each)]
    if search.is_in("&".join(fields)):
        fields = []
    path = MASK if search.is_in(path) else path
    request.path = path + mark * bool(fields) + "&".join(fields)


def _is_same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.strip().encode(errors="replace"), token.encode())


class _Search:
    """Where a token may stand in a request.

    Args:
        token: The token. A short one is likely to be part of other words.
        is_thorough: Whether it is found however it is spelled, which takes long.
    """

    def __init__(self, token: str, *, is_thorough: bool) -> None:
        self._token = token
        self._spellings = spellings(token) if len(token) >= _LEAST else []
        self._is_thorough = is_thorough

    def is_in(self, text: str) -> bool:
        """Tell whether the token is somewhere in *text*."""
        if not self._spellings:
            return False
        if self._is_plainly_in(text) or any(each in text for each in self._spellings):
            return True
        return self._is_thorough and bool(places_of(self._token, text[:_MOST]))

    def is_in_header(self, name: str, value: str) -> bool:
        """Tell whether a header has it."""
        mark = ";" if name.lower() == "cookie" else None
        return self._is_part(value, mark) or self.is_in(f"{name}: {value}")

    def is_in_field(self, query: str) -> bool:
        """Tell whether a field of a query, or one of several, has it."""
        return self._is_part(query, "&") or self.is_in(query)

    def _is_part(self, text: str, mark: str | None) -> bool:
        """Tell whether it is one of the parts of *text*, or the value of one."""
        return self._is_plainly_in(text) and any(
            self._token in (part.strip(), part.partition("=")[2].strip('" '))
            for part in map(unquote, text.split(mark) if mark else [text])
        )

    def _is_plainly_in(self, text: str) -> bool:
        """Tell whether *text* has it as it is, or quoted once near the beginning."""
        return self._token in text or self._token in unquote(text[:_MOST])
