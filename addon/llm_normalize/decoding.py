"""Content encodings, undone as the bytes arrive.

mitmproxy's own decoders want a whole body (`mitmproxy/net/encoding.py`). These take any
cut, give out what is there in bounded steps, and keep nothing but their window. zstd is
left out: what mitmproxy imports for it differs between versions.
"""

import contextlib
import zlib
from collections.abc import Callable, Iterator

import brotli

STEP = 64 * 1024
"""Bytes that one step may inflate to."""

MOST = 16 * 1024 * 1024
"""Bytes that one read may inflate to; no model says as much at once.

They leave with their read. Brotli before 1.2 cannot bound what one byte becomes: there
all of that is in memory before it is counted.
"""

_GZIP = 16 + zlib.MAX_WBITS

_MEMBER = b"\x1f\x8b"
"""What a member of a gzip body begins with (RFC 1952)."""


class CorruptBodyError(Exception):
    """The body is not what its content encoding says."""


class Decoder:
    """Bytes as they are on the wire, for bodies without a content encoding."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what *data* decodes to, in steps.

        Raises:
            CorruptBodyError: It cannot be decoded.
        """
        yield data


class _Zlib(Decoder):
    """gzip (also several members in a row) and deflate (with or without a header)."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inflate = zlib.decompressobj(window)
        self._head: bytes | None = (
            b""  # the first two bytes of a deflate body, until they are told
        )
        self._behind = b""  # the first byte behind a member, until the second is there
        self._over = False  # whatever comes is garbage

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._window == zlib.MAX_WBITS and self._head is not None:
            data = self._head + data
            if len(data) < 2:  # noqa: PLR2004
                self._head = data
                return
            self._head = None
            if not _is_zlib_header(data):
                # RFC 9110 wants a zlib header, some servers leave it out.
                self._window = -zlib.MAX_WBITS
                self._inflate = zlib.decompressobj(self._window)
        more = bool(data)
        while more:
            if self._inflate.eof:
                data = self._member(data)
                if not data:
                    return
                self._inflate = zlib.decompressobj(self._window)
            before = self._inflate.copy()
            try:
                out = self._inflate.decompress(data, STEP)
            except zlib.error as error:
                yield from _until_corrupt(before, data)
                raise CorruptBodyError(str(error)) from error
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if out:
                yield out
            # A full step may leave output inside zlib although its input is used up.
            more = bool(data) or len(out) == STEP

    def _member(self, data: bytes) -> bytes:
        """Return *data* from the next gzip member's beginning; nothing without one.

        There may be zeros before it. Garbage behind a whole body is ignored, as browsers,
        Java and Python's clients do (curl fails at it, and Node where the body is gzip).
        """
        if self._over or self._window != _GZIP:
            return b""
        data = (self._behind + data).lstrip(b"\0")
        self._behind = data if data == _MEMBER[:1] else b""
        if data.startswith(_MEMBER):
            return data
        self._over = data != self._behind
        return b""


def _is_zlib_header(data: bytes) -> bool:
    """Tell whether *data* begins as RFC 1950 has it."""
    return data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0


def _until_corrupt(inflate: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Yield what *data* gives before the byte that is corrupt: zlib says it at once."""
    with contextlib.suppress(zlib.error):
        for at in range(len(data)):  # pragma: no branch - it fails before its end
            out = inflate.decompress(data[at : at + 1])
            if out:
                yield out


class _Brotli(Decoder):
    def __init__(self) -> None:
        self._inflate = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        # One by one: what a piece gives before a corrupt byte is lost with the piece.
        try:
            for at in range(len(data)):
                if self._inflate.is_finished():
                    return  # garbage, as behind gzip
                yield from _brotli_steps(self._inflate, data[at : at + 1])
        except brotli.error as error:
            raise CorruptBodyError(str(error)) from error


def _brotli_steps(inflate: brotli.Decompressor, data: bytes) -> Iterator[bytes]:
    if not hasattr(inflate, "can_accept_more_data"):  # brotli before 1.2
        out = inflate.process(data)
        if out:  # an empty piece would be taken for the stream's end
            yield out
        return
    # "Can accept more" says that the input is used up, not that all output is out.
    while True:
        out = inflate.process(data, output_buffer_limit=STEP)
        data = b""
        if out:
            yield out
        if inflate.is_finished() or (not out and inflate.can_accept_more_data()):
            return


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "": Decoder,
    "identity": Decoder,
    "gzip": lambda: _Zlib(_GZIP),
    "x-gzip": lambda: _Zlib(_GZIP),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
}
# Not codings at all, but sent as if: nothing has been done to the body.
_DECODERS |= dict.fromkeys(("utf-8", "utf8", "none", "chunked", "binary"), Decoder)


def decoder_for(encoding: str) -> Decoder | None:
    """Return a decoder for a `content-encoding` value; None for one we cannot undo."""
    make = _DECODERS.get(encoding.strip().lower())
    return make() if make else None
