"""What may stand beside a key on a request, and how the key is put on it.

mitmproxy saves, copies and shows flows at any time, also while a request is on its way
(`-w` when it ends, mitmweb, the console, replays, scripts). A key is in a header then. So

- the header exists only while it is due: `KeyedHeaders`;
- whatever is saved or copied of the flow has `***` in its place: `saved_flows`;
- when the answer is there the header becomes `***`, and at the end what the provider has
  echoed is taken out of answer, error and record (`key_echo`): `GuardedKey`.
"""

import logging
import re
from collections.abc import Callable
from copy import copy
from typing import Self
from urllib.parse import unquote_plus

from mitmproxy import http
from mitmproxy.proxy import mode_specs

from ..mitm.certificate_proof import is_proven
from ..mitm.helpers import hostport
from ..mitm.saved_flows import guard_flows, saved_headers
from ..text.echo import MASK
from ..text.printable import brief
from .gate import refusal
from .key_echo import Field, hide, hide_in_head
from .keys import HEADER, Secret

logger = logging.getLogger(__name__)

_CREDENTIAL = re.compile(
    r"(.*[_-])?(api[_-]?key|authori[sz]ation|(auth|access|api|subscription)[_-]key"
    r"|token|secret|password|cookie)|key|auth",
    re.IGNORECASE,
)
"""Names of headers and query fields by which clients present keys of their own."""
_STEERING = re.compile(
    r"(^|[_-])(forwarded|host|override|rewrite|original|ur[il]|base|upstream|target|proxy"
    r"|destination)([_-]|$)|^x[_-]http[_-]method$|^x[_-]real[_-]ip$|^via$|^upgrade$"
    r"|^http2-settings$|^transfer_"
)
"""Names of headers that let servers ask elsewhere, or for something else, than is asked.

Some servers take `_` for `-`.
"""

type _Fields = tuple[tuple[bytes, bytes], ...]


def strip_for_key(flow: http.HTTPFlow) -> None:
    """Leave nothing on the request of *flow* by which its client could misuse a key.

    That is, have it sent elsewhere, or echoed: `Host` and authority are the server's own,
    credentials and what servers obey behind a proxy are dropped.
    """
    request = flow.request
    mode = flow.client_conn.proxy_mode
    asks_proxy = isinstance(mode, mode_specs.UpstreamMode) and request.scheme == "http"
    name_server(request, is_absolute=asks_proxy)
    request.path = without_credentials(request.path)
    request.trailers = None
    request.headers = http.Headers(
        (name, value)
        for name, value in request.headers.fields
        if _goes_along(name.decode("latin-1").lower(), value, asks_proxy=asks_proxy)
    )


def name_server(request: http.Request, *, is_absolute: bool) -> None:
    """Let *request* name the server that it goes to, and no other one.

    Args:
        request: The request.
        is_absolute: Whether its first line has to hold the whole URL, as an upstream
            proxy wants it; in reverse mode a client may have sent any.
    """
    place = hostport(request.scheme, request.host.rstrip("."), request.port)
    request.authority = place if is_absolute and request.authority else ""
    request.host_header = place


def without_credentials(target: str) -> str:
    """Return a request's *target* without the keys in its query."""
    path, mark, query = target.partition("?")
    fields = [
        each
        for each in query.split("&")
        if not any(  # to some servers, `;` parts fields, too
            _CREDENTIAL.fullmatch(unquote_plus(part.partition("=")[0]))
            for part in each.split(";")
        )
    ]
    return path + mark * bool(fields) + "&".join(fields)


def _goes_along(name: str, value: bytes, *, asks_proxy: bool) -> bool:
    """Tell whether a header of a client's may be beside a key."""
    if name == "connection":  # it may name others, which are dropped on their way
        return value.strip().lower() in (b"close", b"keep-alive")
    if name == "host" or (asks_proxy and name == "proxy-authorization"):
        return True
    is_split = any(each in value for each in b"\r\n\0")  # by HTTP/2 it may be
    return not (is_split or _CREDENTIAL.fullmatch(name) or _STEERING.search(name))


class KeyedHeaders(http.Headers):
    """Headers that have a key only while it is due.

    Args:
        fields: The others.
        key: The key.
        is_due: Tells whether the request may have it now.
    """

    def __init__(self, fields: _Fields, key: str, is_due: Callable[[], bool]) -> None:
        self._key = HEADER.encode(), f"Bearer {key}".encode()
        self._is_due = is_due
        super().__init__(fields)

    @property
    def fields(self) -> _Fields:
        """All fields, as mitmproxy sends them."""
        return (*self._others, self._key) if self._is_due() else self._others

    @fields.setter
    def fields(self, fields: _Fields) -> None:
        self._others = tuple(each for each in fields if each != self._key)

    def copy(self) -> http.Headers:  # type: ignore[override]
        """Return a copy, which has what is due now."""
        return http.Headers(self.fields)

    def llm_normalize_saved(self) -> http.Headers:
        """Return the headers as they are saved."""
        return http.Headers((*self._others, (self._key[0], MASK.encode())))


class GuardedKey:
    """A key on the request of one flow, until the flow is over.

    Args:
        flow: The flow.
        key: The key.
    """

    def __init__(self, flow: http.HTTPFlow, key: str) -> None:
        self._flow = flow
        self._key = key.encode()
        self._clean: set[Field] = set()  # fields of the answer that do not have it
        self._is_over = False

    @classmethod
    def put_on(cls, flow: http.HTTPFlow, secret: Secret) -> Self | None:
        """Put a key on; None if there is none, and the client gets an error.

        It can be seen from when mitmproxy has chosen the connection, and only if that is
        one to the very server: no hook of another addon before that sees it, nor does it
        go along where one sends the request elsewhere.
        """
        request = flow.request
        try:
            key = secret.read()
        except ValueError as error:
            host = brief(request.host)
            logger.warning("normalize: normalize_keys: %s: %s", host, error)
            message = "The proxy has no key for this provider."
            flow.response = refusal(500, message, None)
            return None
        goal = request.scheme, request.host, request.port
        early = flow.server_conn = copy(flow.server_conn)

        def is_due() -> bool:
            server = flow.server_conn
            if server is early or goal != (request.scheme, request.host, request.port):
                return False
            return request.scheme == "http" or is_proven(server, request.host)

        strip_for_key(flow)
        guard_flows()
        request.headers = KeyedHeaders(request.headers.fields, key, is_due)
        return cls(flow, key)

    def hide_in_head(self) -> None:
        """Take what is echoed out of an answer's headers, which are about to be sent."""
        if not self._is_over and self._flow.response is not None:
            hide_in_head(self._flow.response, self._key, self._clean)

    def take_off(self) -> None:
        """Take the key off again; what is saved stays the same."""
        self._flow.request.headers = saved_headers(self._flow.request.headers)

    def close(self) -> None:
        """Take off the key of a flow that is over, and what is echoed of it."""
        self.take_off()
        if not self._is_over:
            self._is_over = True
            hide(self._flow, self._key, self._clean)
            self._key, self._clean = b"", set()
