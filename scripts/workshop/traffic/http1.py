"""HTTP/1 as it arrives: requests for the providers, answers for the clients.

Incremental and strict: whatever a proxy does to the framing of an answer shows here.
"""

from typing import Literal, NamedTuple

_HEAD = 64 * 1024
"""Bytes that a head may have."""
_LINE_END = 2


class FramingError(Exception):
    """The bytes are no HTTP/1 message."""


class Request(NamedTuple):
    """A request, whole."""

    method: str
    path: str
    version: str
    headers: dict[str, str]
    body: bytes


def _fields(lines: list[bytes]) -> dict[str, str]:
    fields = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon:
            raise FramingError(f"no header field: {line[:60]!r}")
        fields[name.lower()] = value.strip()
    return fields


def chunked(data: bytes) -> bytes:
    """Return *data* as one HTTP chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


class RequestReader:
    """Takes what a server receives, and gives the requests in it."""

    def __init__(self) -> None:
        self._buffer = b""

    def feed(self, data: bytes) -> list[Request]:
        """Return the requests that *data* completes.

        Raises:
            FramingError: It cannot be read.
        """
        self._buffer += data
        found = []
        while (request := self._next()) is not None:
            found.append(request)
        return found

    def _next(self) -> Request | None:
        head, blank, rest = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            if len(head) > _HEAD:
                raise FramingError("a head without an end")
            return None
        first, *lines = head.split(b"\r\n")
        parts = first.decode("latin-1").split(" ")
        if len(parts) != 3:  # noqa: PLR2004 - method, path, version
            raise FramingError(f"no request line: {first[:60]!r}")
        headers = _fields(lines)
        if "transfer-encoding" in headers:
            raise FramingError("a request in chunks")
        size = int(headers.get("content-length", "0"))
        if len(rest) < size:
            return None
        self._buffer = rest[size:]
        method, path, version = parts
        return Request(method, path, version, headers, rest[:size])


type Framing = Literal["", "chunked", "length", "close", "none"]


class ResponseReader:
    """Takes what a client receives of one answer.

    Attributes:
        status: 0 until the head is there.
        headers: With names in lower case.
        framing: What tells where the body ends; empty until the head is there.
        done: Whether the answer has come to its own end.
    """

    def __init__(self, *, bodiless: bool = False) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.framing: Framing = ""
        self.done = False
        self._bodiless = bodiless
        self._buffer = b""
        self._left = 0  # bytes of the body, or of the chunk at hand and its line end

    def feed(self, data: bytes) -> bytes:
        """Return what *data* brings of the body.

        Raises:
            FramingError: It cannot be read, or goes on after its end.
        """
        self._buffer += data
        if not self.framing and not self._take_head():
            return b""
        if self.framing == "chunked":
            out = self._take_chunks()
        elif self.framing == "length":
            out, self._buffer = self._buffer[: self._left], self._buffer[self._left :]
            self._left -= len(out)
            self.done = not self._left
        else:
            out, self._buffer = self._buffer, b""
        if self.done and self._buffer:
            raise FramingError(f"bytes after the end: {self._buffer[:60]!r}")
        return out

    def end(self) -> bool:
        """Take the connection's end; tell whether that is the answer's own."""
        self.done = self.done or self.framing == "close"
        return self.done

    @property
    def keeps(self) -> bool:
        """Whether the connection can be used again."""
        asked = self.headers.get("connection", "").lower()
        return self.done and self.framing != "close" and asked != "close"

    def _take_head(self) -> bool:
        head, blank, rest = self._buffer.partition(b"\r\n\r\n")
        if not blank:
            if len(head) > _HEAD:
                raise FramingError("a head without an end")
            return False
        first, *lines = head.split(b"\r\n")
        version, _, words = first.decode("latin-1").partition(" ")
        if not version.startswith("HTTP/1.") or not words[:3].isdigit():
            raise FramingError(f"no status line: {first[:60]!r}")
        self.status = int(words[:3])
        self.headers = _fields(lines)
        self._buffer = rest
        if self._bodiless:
            self.framing, self.done = "none", True
        elif self.headers.get("transfer-encoding", "").lower() == "chunked":
            self.framing = "chunked"
        elif "content-length" in self.headers:
            self.framing, self._left = "length", int(self.headers["content-length"])
            self.done = not self._left
        else:
            self.framing = "close"
        return True

    def _take_chunks(self) -> bytes:
        out = []
        while not self.done:
            if self._left:
                piece = self._take_chunk()
                if piece is None:
                    break
                out.append(piece)
            else:
                line, end, _ = self._buffer.partition(b"\r\n")
                if not end or (line == b"0" and len(self._buffer) < len(LAST_CHUNK)):
                    break
                self._begin_chunk(line)
        return b"".join(out)

    def _take_chunk(self) -> bytes | None:
        """Return some of the chunk at hand; None if nothing of it is there."""
        data = self._buffer[: self._left]
        body = data[: max(self._left - _LINE_END, 0)]
        if len(data) == self._left:
            if data[len(body) :] != b"\r\n":
                raise FramingError(f"no line end after a chunk: {data[-9:]!r}")
        elif not body:
            return None  # half a line end
        else:
            data = body
        self._buffer = self._buffer[len(data) :]
        self._left -= len(data)
        return body

    def _begin_chunk(self, line: bytes) -> None:
        if line != b"0":
            self._left = _chunk_size(line) + _LINE_END
            self._buffer = self._buffer[len(line) + _LINE_END :]
        elif not self._buffer.startswith(LAST_CHUNK):
            raise FramingError("trailers, which nobody sends here")
        else:
            self._buffer = self._buffer[len(LAST_CHUNK) :]
            self.done = True


def _chunk_size(text: bytes) -> int:
    try:
        size = int(text, 16)
    except ValueError:
        raise FramingError(f"no chunk size: {text[:60]!r}") from None
    if size <= 0:
        raise FramingError(f"a chunk of {size} bytes")
    return size
