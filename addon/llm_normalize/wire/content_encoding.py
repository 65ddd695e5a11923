"""Decode content encodings as the bytes arrive, with bounded memory.

mitmproxy's own decoders need a complete body, and inflate all of it at once
(`mitmproxy/net/encoding.py`): some kilobytes become gigabytes. These accept any cut,
return what is available in bounded parts, and store only their window. All bodies are
decoded here, of requests and of answers, streamed or not.
"""

import contextlib
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import brotli

from .limits import MAX_BODY

OUTPUT_SIZE = 64 * 1024
"""The largest size of one output in bytes."""

MAX_INFLATED_PER_TURN = 16 * 1024 * 1024
"""Bytes that the reads of one turn may inflate to; no model sends as much at once.

They are sent with their read. Brotli before 1.2 cannot limit the output of one byte: all of
it is in memory before it is counted.
"""

_SLICE = 32  # bytes: in zstd, a few blocks of 128 KiB at the most
_CODINGS = 3  # applied one after another
_WINDOW = 23  # bits of a zstd window: 8 MiB, the most that RFC 9659 allows

_GZIP = 16 + zlib.MAX_WBITS

_MEMBER = b"\x1f\x8b"
"""The first bytes of a member of a gzip body (RFC 1952)."""
_FRAMES = (
    b"\x28\xb5\x2f\xfd",
    *(bytes([first]) + b"\x2a\x4d\x18" for first in range(0x50, 0x60)),
)
"""The first bytes of a frame of a zstd body, and of a skippable frame (RFC 8878)."""


class CorruptBodyError(ValueError):
    """The body does not have the content encoding that its header names."""


class LargeBodyError(ValueError):
    """The body is larger than the limit for decoding."""


class Decoder:
    """The base class: passes bytes unchanged, for bodies without a content encoding."""

    @property
    def is_complete(self) -> bool:
        """Whether the body may end here."""
        return True

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what *data* decodes to, in parts.

        Raises:
            CorruptBodyError: It cannot be decoded.
        """
        yield data


_PLAIN = Decoder()


class _Zlib(Decoder):
    """gzip (also several consecutive members) and deflate (with or without a header)."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._inflate = zlib.decompressobj(window)
        # The first two bytes of a deflate body, until they are known.
        self._head: bytes | None = b""
        self._behind = b""  # the first byte after a member, until the second arrives
        self._over = False  # everything that follows is garbage

    @property
    def is_complete(self) -> bool:
        return self._inflate.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._window == zlib.MAX_WBITS and self._head is not None:
            data = self._head + data
            if len(data) < 2:  # noqa: PLR2004
                self._head = data
                return
            self._head = None
            if not _is_zlib_header(data):
                # RFC 9110 requires a zlib header; some servers omit it.
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
                out = self._inflate.decompress(data, OUTPUT_SIZE)
            except zlib.error as error:
                yield from _until_corrupt(before, data)
                raise CorruptBodyError(str(error)) from error
            data = self._inflate.unconsumed_tail or self._inflate.unused_data
            if out:
                yield out
            # A full output may leave more inside zlib although its input is used up.
            more = bool(data) or len(out) == OUTPUT_SIZE

    def _member(self, data: bytes) -> bytes:
        """*data* from the start of the next gzip member; empty without one.

        Zeros may precede it. Garbage after a complete body is ignored, as in browsers, Java
        and Python's clients (curl fails at it, and so does Node if the body is gzip).
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
    """Tell whether *data* starts with a header of RFC 1950."""
    return data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0


def _until_corrupt(inflate: "zlib._Decompress", data: bytes) -> Iterator[bytes]:
    """Yield the output of *data* before its corrupt byte, at which zlib raises."""
    with contextlib.suppress(zlib.error):
        for at in range(len(data)):  # pragma: no branch - it fails before its end
            out = inflate.decompress(data[at : at + 1])
            if out:
                yield out


class _Sliced(Decoder):
    """Decodes in small slices with a library that does not limit its output.

    If a slice has a corrupt byte, the library loses the output before it. So a second
    decoder follows one slice behind, and continues byte by byte when the first one fails.

    Args:
        make: Makes a decoder, which takes bytes and yields their output.
    """

    def __init__(self, make: "Callable[[], _Brotli | _Zstd]") -> None:
        self._first = make()
        self._later = make()

    @property
    def is_complete(self) -> bool:
        return self._first.is_complete

    def feed(self, data: bytes) -> Iterator[bytes]:
        for at in range(0, len(data), _SLICE):
            part = data[at : at + _SLICE]
            size = 0
            try:
                for out in self._first.outputs(part):
                    size += len(out)
                    yield out
                for _ in self._later.outputs(part):
                    pass
            except Exception:  # noqa: BLE001 - each library has a class of its own
                yield from self._until_corrupt(part, size)

    def _until_corrupt(self, part: bytes, size: int) -> Iterator[bytes]:
        """Yield the output of *part* before its corrupt byte, without *size* bytes."""
        bytewise = (part[at : at + 1] for at in range(len(part)))
        try:
            outputs = (out for byte in bytewise for out in self._later.outputs(byte))
            yield from _behind(size, outputs)
        except Exception as error:
            raise CorruptBodyError(str(error)) from error
        self._first = self._later  # its end was in *part*, followed by garbage


def _behind(size: int, outputs: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the *outputs*, without their first *size* bytes."""
    for output in outputs:
        if len(output) > size:
            yield output[size:]
        size = max(size - len(output), 0)


class _Brotli:
    def __init__(self) -> None:
        self._inflate = brotli.Decompressor()

    @property
    def is_complete(self) -> bool:
        return bool(self._inflate.is_finished())

    def outputs(self, data: bytes) -> Iterator[bytes]:
        if self._inflate.is_finished():
            return  # garbage, as after gzip
        yield from _brotli_outputs(self._inflate, data)


def _brotli_outputs(inflate: brotli.Decompressor, data: bytes) -> Iterator[bytes]:
    if not hasattr(inflate, "can_accept_more_data"):  # brotli before 1.2
        out = inflate.process(data)
        if out:  # an empty chunk would count as the stream's end
            yield out
        return
    # "Can accept more" says that the input is used up, not that all output is out.
    while True:
        out = inflate.process(data, output_buffer_limit=OUTPUT_SIZE)
        data = b""
        if out:
            yield out
        if inflate.is_finished() or (not out and inflate.can_accept_more_data()):
            return


class _Zstd:
    """zstd, by whichever library is there; also several frames in a row (RFC 8878)."""

    def __init__(self, make: Callable[[], Callable[[], Any]]) -> None:
        self._make = make()
        self._inflate = self._make()
        self._head = b""  # what may begin another frame, behind one
        self._over = False  # whatever comes is garbage

    @property
    def is_complete(self) -> bool:
        return bool(self._inflate.eof)

    def outputs(self, data: bytes) -> Iterator[bytes]:
        while data and not self._over:
            if self._inflate.eof:
                data = self._frame(data)
            if data and not self._over:
                out = self._inflate.decompress(data)
                data = self._inflate.unused_data
                if out:
                    yield out

    def _frame(self, data: bytes) -> bytes:
        """Return *data* from the beginning of another frame; nothing without one."""
        data = self._head + data
        head = data[: len(_FRAMES[0])]
        self._head = data if len(data) < len(_FRAMES[0]) else b""
        self._over = not any(each.startswith(head) for each in _FRAMES)
        if self._over or self._head:
            return b""
        self._inflate = self._make()
        return data


def _zstd() -> Callable[[], Callable[[], Any]] | None:
    """The factory of decoders for the frames of one zstd body, one after another.

    None if mitmproxy brings none: what it depends on differs between its versions.
    """
    with contextlib.suppress(ImportError):
        import zstandard  # noqa: PLC0415 - as below

        most = 1 << _WINDOW
        return lambda: zstandard.ZstdDecompressor(max_window_size=most).decompressobj
    with contextlib.suppress(ImportError):
        from compression import zstd  # noqa: PLC0415 - Python 3.14

        return _own_zstd(zstd)
    with contextlib.suppress(ImportError):
        from backports import zstd  # noqa: PLC0415 - the same for older ones

        return _own_zstd(zstd)
    return None


def _own_zstd(library: Any) -> Callable[[], Callable[[], Any]]:
    """The factory of decoders of Python's own library."""
    window = {library.DecompressionParameter.window_log_max: _WINDOW}
    return lambda: partial(library.ZstdDecompressor, options=window)


_gzip = partial(_Zlib, _GZIP)
_DECODERS: dict[str, Callable[[], Decoder]] = {
    "": Decoder,
    "identity": Decoder,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": partial(_Zlib, zlib.MAX_WBITS),
    "br": partial(_Sliced, _Brotli),
}
if (_make := _zstd()) is not None:  # pragma: no branch - mitmproxy brings one
    _DECODERS["zstd"] = partial(_Sliced, partial(_Zstd, _make))
# Not codings at all, but sent as if: nothing has been done to the body.
_DECODERS |= dict.fromkeys(("utf-8", "utf8", "none", "chunked", "binary"), Decoder)


class _Stacked(Decoder):
    """One coding over another, the outermost first."""

    def __init__(self, outer: Decoder, inner: Decoder) -> None:
        self._outer = outer
        self._inner = inner

    @property
    def is_complete(self) -> bool:
        return self._outer.is_complete and self._inner.is_complete

    def feed(self, data: bytes) -> Iterator[bytes]:
        for output in self._outer.feed(data):
            yield from self._inner.feed(output)


def decoder_for(encoding: str) -> Decoder | None:
    """Return a decoder for a `content-encoding` value; None if it cannot be decoded.

    Also None if it names a coding twice: some servers do so although they applied it once.
    """
    if not encoding:
        return _PLAIN
    names = [name.strip().lower() for name in encoding.split(",")]
    makes = [_DECODERS.get(name) for name in names]
    codings = [make for make in makes if make is not Decoder]
    if len(codings) > _CODINGS or len(set(codings)) < len(codings):
        return None
    decoder = Decoder()
    for make in codings:  # in the order in which they were applied
        if make is None:
            return None
        made = make()
        decoder = made if type(decoder) is Decoder else _Stacked(made, decoder)
    return decoder


def beginning(data: bytes, encoding: str, most: int) -> bytes:
    """Return the decoded start of *data*, as far as possible; stop after *most* bytes."""
    decoder = decoder_for(encoding)
    found, size = list[bytes](), 0
    with contextlib.suppress(CorruptBodyError):
        for output in decoder.feed(data) if decoder else ():
            found.append(output)
            size += len(output)
            if size > most:
                break
    return b"".join(found)


def decode(data: bytes, encoding: str, most: int = MAX_BODY) -> bytes:
    """Return all that *data* decodes to.

    Args:
        data: A complete body.
        encoding: Its `content-encoding`.
        most: Bytes that it may inflate to.

    Raises:
        LargeBodyError: It inflates to more.
        CorruptBodyError: It does not have this encoding, breaks off, or its encoding
            is not supported.
    """
    decoder = decoder_for(encoding)
    if decoder is None:
        raise CorruptBodyError("its encoding is not supported")
    if type(decoder) is Decoder:
        if len(data) > most:
            raise LargeBodyError(f"it is larger than {most:,} bytes")
        return data
    out: list[bytes] = []
    size = 0
    for at in range(
        0, len(data), OUTPUT_SIZE
    ):  # a decoder may copy what it has not read yet
        for output in decoder.feed(data[at : at + OUTPUT_SIZE]):
            size += len(output)
            if size > most:
                raise LargeBodyError(f"it is larger than {most:,} bytes, inflated")
            out.append(output)
    if data and not decoder.is_complete:
        raise CorruptBodyError("it breaks off")
    return b"".join(out)
