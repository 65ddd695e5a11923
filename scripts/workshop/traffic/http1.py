"""HTTP/1 as it arrives, read by h11: requests for providers, answers for clients.

Incremental and strict: whatever a proxy does to the framing of an answer shows here. What
is sent is written by hand, since much of it is wrong on purpose.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import h11

_HEAD = 64 * 1024
"""Bytes that a head may have."""


class FramingError(Exception):
    """The bytes are no HTTP/1 message."""


class Request(NamedTuple):
    """A request with its body."""

    method: str
    path: str
    version: str
    headers: dict[str, str]
    body: bytes


def _text(value: bytes) -> str:
    return value.decode(errors="surrogateescape")


def chunked(*parts: bytes) -> bytes:
    """Return *parts*, an HTTP chunk each."""
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


LAST_CHUNK = b"0\r\n\r\n"


def _events(http: h11.Connection, data: bytes) -> Iterator[h11.Event]:
    """Yield what *data* completes; no data is the connection's end."""
    try:
        http.receive_data(data)
        while isinstance(event := http.next_event(), h11.Event):
            yield event
            if isinstance(event, h11.ConnectionClosed):
                return
    except h11.RemoteProtocolError as error:
        raise FramingError(str(error)) from None


class RequestReader:
    """Takes what a server receives, and gives the requests in it."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        # For each request anew: h11 is not shown the answer, for which it would wait.
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD)
        self._body: list[bytes] = []

    def feed(self, data: bytes) -> list[Request]:
        """Return the requests that *data* completes.

        Raises:
            FramingError: It cannot be read.
        """
        found = []
        while data:
            rest = b""
            for event in _events(self._http, data):
                if isinstance(event, h11.Request):
                    self._head = event
                elif isinstance(event, h11.Data):
                    self._body.append(event.data)
                else:
                    found.append(self._request())
                    rest, _ = self._http.trailing_data
                    self._begin()
                    break
            data = rest
        return found

    def _request(self) -> Request:
        return Request(
            self._head.method.decode(),
            _text(self._head.target),
            f"HTTP/{self._head.http_version.decode()}",
            {_text(name): _text(value) for name, value in self._head.headers},
            b"".join(self._body),
        )


type Framing = Literal["", "chunked", "length", "close"]


class ResponseReader:
    """Takes what a client receives of one answer.

    Args:
        head: Bytes that its head may have.

    Attributes:
        status: 0 until the head is there.
        headers: With names in lower case.
        framing: What tells where the body ends; empty until the head is there.
        done: Whether the answer has come to its own end.
        interim: The statuses of interim answers before it.
    """

    def __init__(self, head: int = _HEAD) -> None:
        self.status = 0
        self.interim: list[int] = []
        self.headers: dict[str, str] = {}
        self.framing: Framing = ""
        self.done = False
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=head)
        # What was asked was written by others; this is all that h11 has to know of it.
        self._http.send(h11.Request(method="POST", target="/", headers=[("host", "x")]))
        self._http.send(h11.EndOfMessage())

    def feed(self, data: bytes) -> bytes:
        """Return what *data* brings of the body.

        Raises:
            FramingError: It cannot be read, or goes on after its end.
        """
        body = b"".join([part for part, _ in self.parts(data)]) if data else b""
        if self.done and self.rest:
            raise FramingError(f"bytes after the end: {self.rest[:60]!r}")
        return body

    def parts(self, data: bytes) -> Iterator[tuple[bytes, bool]]:
        """Yield what *data* brings of the body, and whether an HTTP chunk ends there.

        Raises:
            FramingError: It cannot be read.
        """
        if self.done:
            self._http.receive_data(data)
            return
        for event in _events(self._http, data):
            if isinstance(event, h11.Data):
                yield event.data, event.chunk_end
            elif isinstance(event, h11.InformationalResponse):
                self.interim.append(event.status_code)
            elif isinstance(event, h11.Response):
                self._read_head(event)
            elif isinstance(event, h11.EndOfMessage):
                if event.headers:
                    raise FramingError("trailers, which nobody sends here")
                self.done = True
                return

    @property
    def rest(self) -> bytes:
        """What has arrived, and is not read."""
        return self._http.trailing_data[0]

    def end(self) -> bool:
        """Take the connection's end; tell whether that is the answer's own."""
        try:
            list(() if self.done else self.parts(b""))
        except FramingError:
            return False
        return self.done

    @property
    def keeps(self) -> bool:
        """Whether the connection can be used again."""
        asked = self.headers.get("connection", "").lower()
        return self.done and self.framing != "close" and asked != "close"

    def _read_head(self, head: h11.Response) -> None:
        self.status = head.status_code
        self.headers = {_text(name): _text(value) for name, value in head.headers}
        if "transfer-encoding" in self.headers:
            self.framing = "chunked"
        elif "content-length" in self.headers:
            self.framing = "length"
        else:
            self.framing = "close"
