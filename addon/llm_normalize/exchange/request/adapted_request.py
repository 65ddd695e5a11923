"""Requests on their way: changed to what their provider accepts."""

import logging
from dataclasses import dataclass, field

from mitmproxy import http

from ...request.adaptation import CHAT, Body, HostAdaptations
from ...request.refusals.dropped_parameters import apply, ordered
from ...request.refusals.learned_rejections import Key, Learned, mark_of
from ...text.printable import brief
from ...wire.json_text import as_string, dumps, value_in
from ..message.message_body import content_of, put_content
from ..message.request_facts import named_host

logger = logging.getLogger(__name__)

# Where a client says who it is: a header that is new in each request tells nothing.
_CREDENTIALS = frozenset((
    b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"proxy-authorization",
))  # fmt: skip
_IN_QUERY = ("key", "api_key", "api-key", "token", "access_token")

type RequestEdit = tuple[str, str, str]
"""An adaptation's name, what it did, and to what: names only, never values."""


@dataclass
class Adapted:
    """A request that was changed before it was sent.

    Attributes:
        original: Its body as the client sent it.
        edits: What was changed.
    """

    original: bytes = field(repr=False)
    edits: list[RequestEdit]


def adapt(
    flow: http.HTTPFlow,
    here: HostAdaptations,
    learned: Learned,
    client: bytes,
    *,
    observe: bool,
    sent_as: str = CHAT,
) -> Adapted | None:
    """Change the request of *flow* to what its provider accepts.

    Args:
        flow: The flow; none of its request has been sent.
        here: What may be changed in requests to its host.
        learned: What providers have refused.
        client: Whose request it is, see `client_of`.
        observe: Change nothing, return what would be changed.
        sent_as: How it is sent, see `Adaptation.sent_as`.

    Returns:
        What was changed; None where nothing was.
    """
    request = flow.request
    try:
        text = content_of(request)
    except ValueError as error:
        logger.warning(
            "normalize: a request to %s is not read (%s): nothing in it is adapted or "
            "mapped",
            brief(named_host(request)),
            brief(str(error)),
        )
        return None
    own = [each for each in here.own if sent_as in each.sent_as]
    knows = here.learns and learned.knows(request.data.host, request.data.port)
    body = _read(text) if own or knows else None
    if body is None:
        return None
    edits: list[RequestEdit] = []
    memory = learned.answers.of(client, request.host, request.port)
    for each in own:
        if each.name in here.wanted or each.is_for_model(body.get("model")):
            edits += [(each.name, *edit) for edit in each(memory=memory).edit(body)]
    forms = here.forms_for(sent_as) if knows else ()
    for change in ordered(learned.of(key_of(request, body, client)) if knows else ()):
        if change.by in forms:
            edits += [(change.by, *edit) for edit in apply(change, body, memory)]
    if not edits:
        return None
    adapted = Adapted(text, edits)
    if not observe:
        put_content(request, dumps(body))
    return adapted


def body_of(request: http.Request) -> Body | None:
    """Return the body of *request*; None if it cannot be read, or was not stored."""
    try:
        return _read(content_of(request))
    except ValueError:
        return None


def _read(text: bytes) -> Body | None:
    body = value_in(text)
    return body if isinstance(body, dict) else None


def key_of(request: http.Request, body: Body, client: bytes) -> Key:
    """Return under what it is remembered what a *request* of *client* may not have."""
    return request.host, request.port, as_string(body.get("model")), client


def client_of(flow: http.HTTPFlow) -> bytes:
    """Return whose request *flow* is: a mark of its credentials and of its address."""
    return mark_of([*_credentials(flow), _bytes(flow.client_conn.peername[0])])


def credential_of(flow: http.HTTPFlow) -> bytes:
    """Return a mark of what the request of *flow* is let in with."""
    return mark_of(_credentials(flow))


def _credentials(flow: http.HTTPFlow) -> list[bytes]:
    request = flow.request
    fields = request.headers.fields
    found = sorted(  # a client may send them in any order
        (name.lower(), value)
        for name, value in fields
        if value and name.lower() in _CREDENTIALS
    )
    if b"?" in request.data.path:  # to read what is not there takes long
        query = dict(reversed(request.query.fields))  # the first counts; parsed once
        found += [
            (b"?" + name.encode(), _bytes(query[name]))
            for name in _IN_QUERY
            if query.get(name)
        ]
    if "proxyauth" in flow.metadata:  # mitmproxy's own
        found.append((b"proxyauth", _bytes(str(flow.metadata["proxyauth"]))))
    if not found:
        found = [
            (b"cookie", value) for name, value in fields if name.lower() == b"cookie"
        ]
    return [part for field in found for part in field]


def address_mark(flow: http.HTTPFlow) -> bytes:
    """Return a mark of the address alone that sent the request of *flow*."""
    return mark_of([b"address", _bytes(flow.client_conn.peername[0])])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
