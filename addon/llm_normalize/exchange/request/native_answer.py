"""An answer in its client's own protocol: what reads it, and what it depends on."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from typing import Self

from mitmproxy import http

from ...chat.errors.context_overflow import is_overflow
from ...chat.errors.errors import lost, phrase
from ...chat.request_body import read_request
from ...chat.state.asked import Asked
from ...protocols import Endpoint, endpoint_at
from ...protocols.answer_stream import error_in
from ...protocols.messages.tool_ids import restore
from ...protocols.native_reader import NativeReader
from ...protocols.native_readers import native_reader
from ...protocols.protocol import ClientProtocol, JsonObject
from ...repair.engine.body import STATUS, STREAM, repair_body, status_due
from ...repair.engine.stream_to_body import MOST, values_in
from ...repair.fix import Fix
from ...repair.outcome import EventRecord
from ...routing.hosts import HostPattern
from ...wire.json_text import as_object, dumps, value_in
from ..message.message_body import put_content, request_body
from ..stream.native_stream import NativeStream
from .adapted_request import Adapted

_PACKED = b"toolu-base64-"
"""What is in a request that may have ids in other letters than its provider's."""
TOOL_ID = "tool-id-foreign"
"""The fix that writes them in other letters."""
_MOST = 10_000
"""Ids of answers that are remembered; the oldest goes first."""


def is_owners(request: http.Request, endpoint: Endpoint) -> bool:
    """Tell whether *request* goes to who has made the protocol that it speaks."""
    patterns = map(HostPattern.parse, endpoint.protocol.owners)
    return any(each.matches(request.host, request.port) for each in patterns)


def native_endpoint(request: http.Request) -> Endpoint | None:
    """Where *request* goes, if the answer may be in its client's own protocol, nearly.

    Who has made the protocol sends it as it is.
    """
    found = endpoint_at(request.path) if request.method == "POST" else None
    if found is None or found.end != found.protocol.path or is_owners(request, found):
        return None
    return found


def restore_ids(flow: http.HTTPFlow, made: Adapted | None) -> Adapted | None:
    """Put the provider's ids of calls back into a request that goes to it natively.

    Args:
        flow: The flow; none of its request has been sent.
        made: What was changed in it before.

    Returns:
        What has been changed in it now.
    """
    request = flow.request
    body = request_body(request) or b""
    if _PACKED not in body or request.stream:
        return made
    try:
        value = read_request(body)
    except ValueError:
        return made
    paths = [*restore(value)]
    if not paths:
        return made
    request.headers.pop("content-encoding", None)
    put_content(request, dumps(value))
    edits = [(TOOL_ID, "changed", path) for path in paths]
    if made is None:
        return Adapted(body, edits)
    return Adapted(made.original, [*made.edits, *edits])


class AnswerIds:
    """The ids of earlier answers: clients take two answers of one id for one."""

    def __init__(self) -> None:
        self._asked: OrderedDict[tuple[bytes, bytes], bytes] = OrderedDict()

    def is_new(self, client: bytes, talk: bytes, answer_id: str) -> bool:
        """Tell whether no answer in another *talk* of a client has had an id.

        The same may be answered from a cache.
        """
        digest = sha256(talk).digest()
        name = sha256(answer_id.encode(errors="surrogatepass")).digest()
        first = self._asked.setdefault((client, name), digest)
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
        asked: What is known of the request in any protocol.

    Attributes:
        protocol: What its client speaks.
    """

    def __init__(
        self,
        protocol: ClientProtocol,
        body: bytes | None,
        exchange: str,
        skipped: Collection[str],
        asked: Asked,
    ) -> None:
        self.protocol = protocol
        self._is_new: Callable[[str], bool] = lambda _: True
        self._exchange = exchange
        self._skipped = skipped
        self._asked = asked
        self._request: JsonObject
        try:
            self._request = read_request(body or b"")
        except ValueError:  # it is the provider's to refuse
            self._request = {}

    @property
    def name(self) -> str:
        """Its protocol's."""
        return self.protocol.name

    def stated(self, asked: Asked) -> Self:
        """The same, of a request of which nothing is known but what *asked* says."""
        request = dumps({"model": asked.model})
        return type(self)(self.protocol, request, "", self._skipped, asked)

    def know(self, ids: AnswerIds, client: bytes) -> None:
        """Know which *ids* earlier answers to *client* had."""
        self._is_new = partial(self._has_new, ids, client)

    def _has_new(self, ids: AnswerIds, client: bytes, answer_id: str) -> bool:
        talk = dumps([self._request.get(key) for key in ("messages", "input")])
        return ids.is_new(client, talk, answer_id)

    def stream(
        self, on_record: Callable[[EventRecord], None], label: str
    ) -> NativeStream:
        """The repair that a stream passes: see `NativeStream`."""
        return NativeStream(self._reader(), on_record, label)

    def body(
        self,
        data: bytes,
        status: int,
        asked: Asked,
        fixes: Sequence[type[Fix]],
        label: str = "",
    ) -> EventRecord:
        """Repair the body *data* of an answer with *status*.

        An error is repaired as chat's is (see `repair_body`), and put into the form of its
        protocol.
        """
        names = {fix.name for fix in fixes}
        value = value_in(data)
        if value is None and status < HTTPStatus.BAD_REQUEST and STREAM in names:
            folded = self._folded(data, label)
            if folded is not None:
                made = self.body(folded.after[0], status, asked, fixes, label)
                made.before = data
                made.fixes = [*dict.fromkeys([*folded.fixes, *made.fixes])]
                return made
        is_good = status < HTTPStatus.BAD_REQUEST and STATUS in names
        due = status_due(data, status) if is_good else None
        record = EventRecord(0, data, [data])
        if (due or status) < HTTPStatus.BAD_REQUEST:
            if isinstance(value, dict):
                self._answer(record, value)
            return record
        if not self.protocol.is_error(value):
            record = repair_body(data, due or status, asked, fixes, label)
            self._put_in_protocol(record, due or status)
        elif isinstance(value, dict):
            self._answer(record, value)
        if due:
            record.status = due
            record.fixed(STATUS)
        return record

    def _folded(self, data: bytes, label: str) -> EventRecord | None:
        """A body of what a stream says that was sent in its place; None if it breaks off."""
        reader, records = self._reader(), list[EventRecord]()
        stream = NativeStream(reader, records.append, label)
        stream.parser.budget_left = MOST
        out = b"".join([*stream.feed(data), *stream.end()])
        made = self.protocol.body_of(filter(None, map(as_object, values_in(out))))
        if made is None or (stream.raw_events and not reader.has_hole):
            return None
        if reader.has_hole and not made.get("error"):
            made = lost("a part")
        fixes = [name for each in records for name in each.fixes]
        return EventRecord(0, data, [dumps(made)], [*dict.fromkeys([*fixes, STREAM])])

    def _answer(self, record: EventRecord, value: JsonObject) -> None:
        reader = self._reader()
        events, names = reader.body(value)
        record.fixed(*names)
        record.tokens = reader.tokens
        if names:
            record.after[:] = [dumps(made) for _, made in events]

    def _put_in_protocol(self, record: EventRecord, status: int) -> None:
        fix = self.protocol.error_fix
        if fix and fix not in self._skipped:
            error = error_in(as_object(value_in(record.after[0])), phrase(status))
            record.after[:] = [dumps(self.protocol.error_body(status, error))]
            record.fixed(fix)

    def _reader(self) -> NativeReader:
        return native_reader(
            self.protocol.name,
            self._request,
            self._exchange,
            self._skipped,
            is_new=self._is_new,
            created=self._asked.time,
            is_too_long=partial(is_overflow, status=HTTPStatus.BAD_REQUEST),
            is_mapped=self._asked.is_mapped,
        )
