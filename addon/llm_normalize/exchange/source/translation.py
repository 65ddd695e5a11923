"""Which requests are translated: those to providers of chat completions alone.

Some are known (`hosts.CHAT_ONLY`, and those that the user names). Others say so, by a path
that they do not serve, or serve without the tools of today's clients: that is remembered
of a client and a model whose request has then been answered as chat, and of all clients of
the model once several have got that. It is forgotten where a request that was translated
for it gets a 404 in turn.
"""

import logging
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from mitmproxy import http

from ...chat.errors.errors import wrapped
from ...chat.request_body import read_request
from ...protocols import Endpoint, endpoint_at
from ...protocols.answer_stream import error_in, object_in
from ...protocols.item_memory import ClientItems, ItemMemory
from ...protocols.messages.model_list import HEADER, model_list
from ...protocols.protocol import Circumstances, UntranslatableError
from ...repair.engine.translated_output import TRANSLATED
from ...request.refusals.missing_path import REFUSED, STATUSES, is_path_missing
from ...request.refusals.refusal_parser import LARGE
from ...routing.gate import is_asked
from ...routing.hosts import BY_TEMPLATE, CHAT_ONLY, Hosts
from ...routing.key_on_request import without_credentials
from ...routing.model_names import model_in
from ...text.printable import brief
from ...wire.content_encoding import beginning
from ...wire.json_text import dumps
from ..message.message_body import content_of, put_content, request_body
from ..message.request_facts import place_of, places_of
from ..request.adapted_request import Adapted, address_mark
from ..request.native_answer import is_owners
from ..request.translated_request import TranslatedRequest, chat_of
from ..state.exchange import Exchange

logger = logging.getLogger(__name__)

_AUTO, _OFF = "auto", "off"
_MOST = 1000
"""Paths that are remembered; clients choose them, so the oldest goes first."""
_LONG = 1000
"""Characters of a path and a model that are remembered."""
_SEVERAL = 3
"""Clients after whom all others take their word for it."""
_OK = 200
_SHORT = {str(size) for size in range(40, 120)}
"""Lengths of an error without any more: answers are longer."""
_BAD_REQUEST = 400
_FAILED = 500
_JSON = {"content-type": "application/json"}


def parse(texts: Sequence[str]) -> Hosts | None:
    """Return the hosts whose own endpoints are not used, of the option's value.

    None if nothing is translated.

    Raises:
        ValueError: The value is invalid.
    """
    hosts = [each for each in texts if each not in (_AUTO, _OFF)]
    if not texts or (_OFF in texts and len(texts) > 1):
        given = ", ".join(texts) or "nothing"
        raise ValueError(f"invalid value {given!r}: expected auto, off or hosts")
    try:
        return None if _OFF in texts else Hosts.parse([*CHAT_ONLY, *hosts])
    except ValueError as error:
        raise ValueError(f"expected auto, off or hosts: {error}") from None


type _Missing = tuple[str, int, str, str]
"""A host, its port, a path that it does not serve, with its query, and the model asked."""


@dataclass(slots=True)
class TranslationMemory:
    """What is known of who serves which protocols.

    Attributes:
        chat_only: Hosts whose own endpoints are not used; None if nothing is translated.
        repairs: Whether anything is changed, and not only observed.
    """

    chat_only: Hosts | None = field(default_factory=lambda: Hosts.parse(CHAT_ONLY))
    repairs: bool = True
    _learned: OrderedDict[_Missing, set[bytes]] = field(default_factory=OrderedDict)
    """The clients that have found that a path is not served."""
    _by_template: Hosts = field(default_factory=lambda: Hosts.parse(BY_TEMPLATE))
    _items: ItemMemory = field(default_factory=ItemMemory)

    @property
    def _is_active(self) -> bool:
        return self.chat_only is not None and self.repairs

    def endpoint(self, request: http.Request, *, is_routed: bool) -> Endpoint | None:
        """Return whose protocol *request* speaks, if that may be translated.

        One that mitmproxy streams is sent before its body is known.

        Args:
            request: The request.
            is_routed: Whether it may go to another host than its client's.
        """
        may_be = request.method == "POST" and not request.stream
        found = endpoint_at(request.path) if may_be else None
        if found is None or not self._is_active:
            return None
        is_served = not is_routed and is_owners(request, found)
        return None if is_served else found

    def refuses_upgrade(self, exchange: Exchange) -> bool:
        """Tell whether a WebSocket is asked of who serves chat alone."""
        endpoint = endpoint_at(exchange.flow.request.path) if self._is_active else None
        return endpoint is not None and self.serves_chat_only(exchange, endpoint)

    def has_list(self, request: http.Request) -> bool:
        """Tell whether the list of models has another form for who sends *request*."""
        return self._is_active and HEADER in request.headers

    def listed(self, request: http.Request, body: bytes) -> bytes | None:
        """Return models, or one, in the form of a client's protocol; None if it has none."""
        value = object_in(body) if self.has_list(request) else {}
        is_read = value.get("object") in ("list", "model")
        return dumps(model_list(value)) if is_read else None

    def serves_chat_only(self, exchange: Exchange, endpoint: Endpoint) -> bool:
        """Tell whether it is known that nothing but chat is served where a request goes."""
        return self._is_known_chat_only(exchange) or self._remembers(exchange, endpoint)

    def _is_known_chat_only(self, exchange: Exchange) -> bool:
        hosts, places = self.chat_only or Hosts(), places_of(exchange.flow.request)
        known = any(hosts.include(*place) for place in places)
        return exchange.is_workers_ai or known

    def _remembers(self, exchange: Exchange, endpoint: Endpoint) -> bool:
        """Tell whether its client, or several others, found that a path is not served."""
        if not self._learned:
            return False
        # A path beside it is not served without it.
        ends = endpoint, endpoint._replace(end=endpoint.protocol.path)
        keys = [_missing(exchange, each) for each in ends]
        found = {mark for key in keys for mark in self._learned.get(key, ())}
        marks = exchange.client, address_mark(exchange.flow)
        return len(found) >= _SEVERAL or any(each in found for each in marks)

    def learn(self, exchange: Exchange, endpoint: Endpoint) -> None:
        """Remember that the path of an *endpoint* is not served for an exchange's model."""
        missing = _missing(exchange, endpoint)
        _, _, path, model = missing
        if len(path) + len(model) > _LONG:
            return
        clients = self._learned.pop(missing, set())
        if len(clients) < _SEVERAL:
            # A key of the proxy's own is everybody's; a client may make up any other.
            is_own = exchange.key is None
            clients.add(exchange.client if is_own else address_mark(exchange.flow))
        self._learned[missing] = clients
        while len(self._learned) > _MOST:
            self._learned.popitem(last=False)
        logger.info(
            "normalize: %s does not serve %s: requests of this client for it are "
            "translated to chat completions from now on",
            brief(place_of(exchange.flow.request)),
            brief(path.partition("?")[0]),
        )

    def is_doubtful(self, exchange: Exchange) -> bool:
        """Tell whether an answer says that its request was wrongly translated, from memory."""
        response = exchange.flow.response
        return (
            exchange.translated is not None
            and exchange.recalls
            and response is not None
            and response.status_code in STATUSES
        )

    def forget(self, exchange: Exchange) -> None:
        """Forget that the path is not served which the client of *exchange* has asked."""
        translated = exchange.translated
        endpoint = endpoint_at(translated.path) if translated is not None else None
        if endpoint is not None:
            self._learned.pop(_missing(exchange, endpoint), None)

    def put_in_chat(self, exchange: Exchange) -> bool:
        """Make chat of a request of another protocol at chat's path, or refuse it.

        Returns:
            Whether the proxy answered it.
        """
        request, made = exchange.flow.request, None
        if not self._is_active or request.stream or not is_asked(request):
            return False
        try:
            made = chat_of(content_of(request))
        except UntranslatableError as error:
            exchange.flow.response = refusal(error)
        except ValueError:  # it cannot be decoded: reported where it is read
            return False
        if made is not None:
            content, edits = made
            request.headers.pop("content-encoding", None)
            put_content(request, content)
            exchange.adapted = Adapted(content, edits)
        return exchange.flow.response is not None

    def handle_request(self, exchange: Exchange) -> bool:
        """Translate a request if its provider serves only chat completions, or answer it.

        Args:
            exchange: The exchange.

        Returns:
            Whether the proxy answered it.
        """
        if exchange.endpoint is None:
            return False
        endpoint = endpoint_at(exchange.flow.request.path) or exchange.endpoint
        if not self.serves_chat_only(exchange, endpoint):
            return False
        if endpoint.own_answer is not None:
            exchange.flow.response = _own_answer(endpoint, exchange.flow.request)
            return True
        try:
            exchange.recalls = not self._is_known_chat_only(exchange)
            self.translate(exchange, endpoint)
        except UntranslatableError as error:
            exchange.flow.response = refusal(error)
            return True
        return False

    def translate(self, exchange: Exchange, endpoint: Endpoint) -> None:
        """Make the request of *exchange* one for chat completions.

        Raises:
            UntranslatableError: Chat has no place for what it asks, or it is not read.
        """
        flow, adapted = exchange.flow, exchange.adapted
        request = flow.request
        content = _content(request)
        model = model_in(content) if exchange.mapped_model is not None else None
        # By its client's names:
        asked = content if adapted is None else adapted.original
        under = Circumstances(
            flow.id,
            endpoint.end,
            by_template=self._by_template.include(request.host, request.port),
            items=ClientItems(self._items, exchange.client),
        )
        made = TranslatedRequest.send(request, endpoint, asked, under, model)
        exchange.translated = made
        # What was asked is what the chat request asks: so much can be answered.
        edits = [*(() if adapted is None else adapted.edits)]
        edits += [(TRANSLATED, "dropped", path) for path in made.dropped]
        exchange.adapted = Adapted(content_of(request), edits)

    def is_refused(self, exchange: Exchange) -> bool:
        """Tell whether an answer's status may mean that its path is not served.

        Or that it wants the request in another form.
        """
        flow, response = exchange.flow, exchange.flow.response
        return (
            exchange.endpoint is not None
            and exchange.translated is None
            and response is not None
            and (
                response.status_code in (*STATUSES, *REFUSED, _FAILED)
                or _is_short(response)
            )
            and not is_owners(flow.request, exchange.endpoint)
            # Nor if mitmproxy has not asked: a replay answers in its own way.
            and bool(flow.server_conn.timestamp_start)
        )

    def end(self, exchange: Exchange) -> None:
        """Answer what the provider does not, and let a request show what was asked."""
        flow = exchange.flow
        if exchange.instead is not None:
            flow.response = exchange.instead
            put_in_protocol(exchange, flow.response)
        elif self.is_refused(exchange):
            self._answer_instead(exchange)
        if exchange.translated is not None:
            exchange.translated.restore(flow.request)

    def _answer_instead(self, exchange: Exchange) -> None:
        """Answer a request that its provider refuses, if it is one for no answer of chat."""
        flow = exchange.flow
        request, response = flow.request, flow.response
        endpoint = endpoint_at(request.path)
        if endpoint is None or endpoint.own_answer is None or response is None:
            return
        encoding = response.headers.get("content-encoding", "")
        raw = response.raw_content or b""
        if not response.stream and means_missing(
            request, response.status_code, raw, encoding
        ):
            flow.response = _own_answer(endpoint, request)
            put_in_protocol(exchange, flow.response)


def _is_short(response: http.Response) -> bool:
    """Tell whether a good answer may be LM Studio's that it does not serve a path."""
    length = response.headers.get("content-length", "")
    is_json = "json" in response.headers.get("content-type", "")
    return response.status_code == _OK and is_json and length in _SHORT


def _missing(exchange: Exchange, endpoint: Endpoint) -> _Missing:
    """The key to remember if the protocol of *endpoint* is not served."""
    request, asked = exchange.flow.request, exchange.mapped_model
    protocol = endpoint.protocol
    model = asked or model_in(request_body(request) or b"") or ""
    # The query may decide what is served: `api-version`.
    _, mark, query = without_credentials(request.path).partition("?")
    end = endpoint.end if endpoint.end in protocol.also else protocol.path
    path = endpoint.base + end + mark + query
    return request.host, request.port, path, model


def means_missing(
    request: http.Request, status: int, raw: bytes, encoding: str = ""
) -> bool:
    """Tell whether the answer to *request* means that its path is not served.

    Args:
        request: The request.
        status: The HTTP status.
        raw: The body.
        encoding: Its encoding.
    """
    return is_path_missing(
        status,
        beginning(raw, encoding, LARGE),
        request.path.partition("?")[0],
        model_in(request_body(request) or b"") or "",
    )


def refusal(error: ValueError) -> http.Response:
    """Return the answer to a request that cannot be translated, or read."""
    kind, param = "invalid_request_error", getattr(error, "param", None) or None
    made = wrapped(str(error), kind, param, getattr(error, "code", None))
    return http.Response.make(_BAD_REQUEST, dumps(made), _JSON)


def put_in_protocol(exchange: Exchange, response: http.Response) -> None:
    """Let an error of the proxy's own have the form of its client's protocol."""
    found = exchange.translated or exchange.endpoint or exchange.native
    if found is None or response.status_code < _BAD_REQUEST:
        return
    error = error_in(object_in(response.raw_content or b""), response.reason)
    made = found.protocol.error_body(response.status_code, error)
    response.content = dumps(made)


def _content(request: http.Request) -> bytes:
    try:
        return content_of(request)
    except ValueError as error:
        words = f"The body of the request is not read: {error}."
        raise UntranslatableError(words) from None


def _own_answer(endpoint: Endpoint, request: http.Request) -> http.Response:
    assert endpoint.own_answer is not None
    try:
        made = endpoint.own_answer(read_request(_content(request)))
    except ValueError as error:
        return refusal(error)
    return http.Response.make(200, dumps(made), _JSON)
