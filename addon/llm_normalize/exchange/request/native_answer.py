"""An answer in its client's own protocol: what reads it, and what it depends on."""

from collections import OrderedDict
from collections.abc import Callable, Collection
from functools import partial
from hashlib import sha256

from mitmproxy import http

from ...chat.request_body import read_request
from ...protocols import Endpoint, endpoint_at
from ...protocols.native import NativeReader
from ...protocols.native_readers import native_reader
from ...protocols.protocol import ClientProtocol, JsonObject
from ...routing.hosts import Hosts

_MOST = 10_000
"""Ids of answers that are remembered; the oldest goes first."""


def is_owners(request: http.Request, endpoint: Endpoint) -> bool:
    """Tell whether *request* goes to who has made the protocol that it speaks."""
    owners = Hosts.parse(endpoint.protocol.owners)
    return owners.include(request.host, request.port)


def native_endpoint(request: http.Request) -> Endpoint | None:
    """Where *request* goes, if the answer may be in its client's own protocol, nearly.

    Who has made the protocol sends it as it is.
    """
    found = endpoint_at(request.path) if request.method == "POST" else None
    if found is None or found.end != found.protocol.path or is_owners(request, found):
        return None
    return found


class AnswerIds:
    """The ids of earlier answers: clients take two answers of one id for one."""

    def __init__(self) -> None:
        self._asked: OrderedDict[tuple[bytes, str], bytes] = OrderedDict()

    def is_new(self, client: bytes, body: bytes, answer_id: str) -> bool:
        """Tell whether no answer to another request of a *client* has had an id.

        The same request may be answered from a cache.
        """
        digest = sha256(body).digest()
        first = self._asked.setdefault((client, answer_id), digest)
        if len(self._asked) > _MOST:
            self._asked.popitem(last=False)
        return first == digest


class NativeAnswer:
    """What reads one answer.

    Args:
        protocol: What its client speaks.
        body: The request as its client sent it, decoded.
        exchange: The id of the exchange.
        skipped: The names of the fixes that are off.

    Attributes:
        protocol: What its client speaks.
    """

    def __init__(
        self,
        protocol: ClientProtocol,
        body: bytes | None,
        exchange: str,
        skipped: Collection[str],
    ) -> None:
        self.protocol = protocol
        self._body = body or b""
        self._is_new: Callable[[str], bool] = lambda _: True
        self._exchange = exchange
        self._skipped = skipped
        self._request: JsonObject
        try:
            self._request = read_request(self._body)
        except ValueError:  # it is the provider's to refuse
            self._request = {}

    def know(self, ids: AnswerIds, client: bytes) -> None:
        """Know which *ids* earlier answers to *client* had."""
        self._is_new = partial(ids.is_new, client, self._body)

    def reader(self) -> NativeReader:
        """Return a reader of the answer."""
        return native_reader(
            self.protocol.name,
            self._request,
            self._exchange,
            self._skipped,
            self._is_new,
        )
