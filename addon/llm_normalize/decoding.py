"""Content encodings, undone as the bytes arrive.

mitmproxy's own decoders want a whole body (`mitmproxy/net/encoding.py`). These take any
cut, give out what is there in bounded steps, and keep nothing but their window. zstd is
left out: what mitmproxy imports for it differs between versions.
"""

import zlib
from collections.abc import Callable, Iterator

import brotli

STEP = 64 * 1024
"""Bytes that one step may inflate to."""

_GZIP = 16 + zlib.MAX_WBITS


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
        self._head: bytes | None = b""  # what came before anything came out

    def feed(self, data: bytes) -> Iterator[bytes]:
        more = bool(data)
        while more:
            if self._inflate.eof:
                if not data.strip(b"\0"):
                    return  # padding after the last member, which gzip allows
                self._inflate = zlib.decompressobj(self._window)
            out, data = self._step(data)
            if out:
                self._head = None
                yield out
            # A full step may leave output inside zlib although its input is used up.
            more = bool(data) or len(out) == STEP

    def _step(self, data: bytes) -> tuple[bytes, bytes]:
        """Return one step's output, and the input that is left."""
        try:
            out = self._inflate.decompress(data, STEP)
        except zlib.error as error:
            if self._head is None or self._window != zlib.MAX_WBITS:
                raise CorruptBodyError(str(error)) from error
            # RFC 9110 wants a zlib header, some servers leave it out.
            self._window = -zlib.MAX_WBITS
            self._inflate = zlib.decompressobj(self._window)
            return b"", self._head + data
        if self._head is not None and not out:
            self._head += data
        return out, self._inflate.unconsumed_tail or self._inflate.unused_data


class _Brotli(Decoder):
    def __init__(self) -> None:
        self._inflate = brotli.Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            yield from _brotli_steps(self._inflate, data)
        except brotli.error as error:
            raise CorruptBodyError(str(error)) from error


def _brotli_steps(inflate: brotli.Decompressor, data: bytes) -> Iterator[bytes]:
    if not hasattr(inflate, "can_accept_more_data"):  # brotli before 1.2
        for start in range(0, len(data), 256):
            yield inflate.process(data[start : start + 256])
        return
    yield inflate.process(data, output_buffer_limit=STEP)
    while not inflate.can_accept_more_data():
        yield inflate.process(b"", output_buffer_limit=STEP)


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "": Decoder,
    "identity": Decoder,
    "gzip": lambda: _Zlib(_GZIP),
    "x-gzip": lambda: _Zlib(_GZIP),
    "deflate": lambda: _Zlib(zlib.MAX_WBITS),
    "br": _Brotli,
}


def decoder_for(encoding: str) -> Decoder | None:
    """Return a decoder for a `content-encoding` value; None for one we cannot undo."""
    make = _DECODERS.get(encoding.strip().lower())
    return make() if make else None
