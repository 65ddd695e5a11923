import gzip
import random
import sys
import zlib
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zstd_frames
from each_case import each_case
from llm_normalize.wire import content_encoding
from llm_normalize.wire.content_encoding import (
    OUTPUT_SIZE,
    CorruptBodyError,
    Decoder,
    LargeBodyError,
    beginning,
    decoder_for,
)
from llm_normalize.wire.content_encoding import decode as decode_whole
from llm_normalize.wire.limits import MAX_BODY
from streams import cuts

TEXT = b"".join(b'data: {"n":%d}\n\n' % n for n in range(200))


def raw_deflate(data: bytes) -> bytes:
    deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return deflate.compress(data) + deflate.flush()


ENCODERS = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "raw deflate": raw_deflate,
    "br": brotli.compress,
    "zstd": zstd_frames.compress,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
    "br, identity, zstd": lambda data: zstd_frames.compress(brotli.compress(data)),
}


def made(encoding: str) -> Decoder:
    decoder = decoder_for(encoding)
    assert decoder is not None
    return decoder


def run(encoding: str, reads: list[bytes]) -> tuple[bytes, bool]:
    """Return what came out of *reads*, and whether they turned out corrupt."""
    decoder = made(encoding)
    out = b""
    try:
        for each in reads:
            for step in decoder.feed(each):
                out += step
    except CorruptBodyError:
        return out, True
    return out, False


def decode(encoding: str, data: bytes) -> tuple[bytes, bool]:
    """Return what `run` gives for *data*, which must be the same in any cut."""
    whole = run(encoding, [data])
    for reads in cuts(data):
        assert run(encoding, reads) == whole, [len(each) for each in reads]
    return whole


def kept(decoder: Decoder) -> int:
    """Return how many bytes *decoder* itself keeps, zlib's window aside."""
    return sum(
        len(each)
        for each in vars(decoder).values()
        if isinstance(each, bytes | bytearray)
    )


def encoding_of(name: str) -> str:
    return name.removeprefix("raw ")


@pytest.mark.parametrize("name", ENCODERS)
def test_each_encoding_is_undone_in_any_cut(name: str) -> None:
    encoding = encoding_of(name)
    assert decode(encoding, ENCODERS[name](TEXT)) == (TEXT, False)


@given(st.sampled_from(list(ENCODERS)), st.binary(max_size=200))
def test_any_body_is_undone_in_any_cut(name: str, body: bytes) -> None:
    encoding = encoding_of(name)
    assert decode(encoding, ENCODERS[name](body)) == (body, False)


@pytest.mark.parametrize("encoding", ["", "x-gzip", " GZip ", "Deflate", "BR"])
def test_names_are_read_loosely(encoding: str) -> None:
    name = encoding.strip().lower().removeprefix("x-") or "identity"
    assert run(encoding, [ENCODERS[name](TEXT)]) == (TEXT, False)


@pytest.mark.parametrize(
    "encoding",
    [
        "compress",
        "gzip, compress",
        "gzip, gzip",
        "gzip, x-gzip",
        "br, gzip, zstd, deflate",
    ],
)
def test_what_cannot_be_undone_has_no_decoder(encoding: str) -> None:
    assert decoder_for(encoding) is None


def flushed(encoding: str, *parts: bytes) -> list[bytes]:
    """Return *parts*, each compressed and flushed by itself."""
    if encoding == "br":
        made = brotli.Compressor()
        return [made.process(each) + made.flush() for each in parts]
    if encoding == "zstd":
        zstd = zstd_frames.packer()
        return [zstd(each, False) for each in parts]
    deflate = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)
    return [deflate.compress(each) + deflate.flush(zlib.Z_FULL_FLUSH) for each in parts]


PACKED, MEMBER = gzip.compress(TEXT), gzip.compress(b"more")
NO_SUM = b"\0" * 8
SKIPPED = b"\x53\x2a\x4d\x18\x04\0\0\0junk"
WHOLE: dict[str, tuple[str, bytes, bytes]] = {
    "gzip members": ("gzip", PACKED + gzip.compress(b"") + MEMBER, TEXT + b"more"),
    "padding behind gzip": ("gzip", PACKED + b"\0" * 9, TEXT),
    # Python's own gzip module skips it as well.
    "padding between members": ("gzip", PACKED + b"\0" * 9 + MEMBER, TEXT + b"more"),
    "garbage between members": ("gzip", PACKED + b"junk" + MEMBER, TEXT),
    "zstd frames": (
        "zstd",
        zstd_frames.compress(TEXT) + SKIPPED + zstd_frames.compress(b"more"),
        TEXT + b"more",
    ),
}
CORRUPT: dict[str, tuple[str, bytes, bytes]] = {
    "a further member": ("gzip", PACKED + MEMBER[:10] + b"\xff" * 9, TEXT),
    "its head alone": ("gzip", PACKED + b"\x1f\x8bjunk", TEXT),
    "the sum of a member": ("gzip", PACKED + MEMBER[:-8] + NO_SUM, TEXT + b"more"),
    "the sum": ("gzip", PACKED[:-8] + NO_SUM, TEXT),
    "gzip for deflate": ("deflate", PACKED, b""),
    **{
        f"{encoding} goes on": (
            encoding,
            flushed(encoding, TEXT)[0] + b"\xff" * 9,
            TEXT,
        )
        for encoding in ("gzip", "deflate", "br", "zstd")
    },
    **{
        f"no {encoding}": (encoding, b"\xff\xfedata: 1\n\n" * 3, b"")
        for encoding in ("gzip", "deflate", "br", "zstd", "gzip, br")
    },
    # What a slice gave before its corrupt byte comes out once.
    "in a slice": (
        "zstd",
        zstd_frames.compress(b"ab") + b"\x28\xb5\x2f\xfd" + b"\x08" * 9,
        b"ab",
    ),
}


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_what_a_server_flushes_comes_out_with_its_read(encoding: str) -> None:
    parts = [b"data: 1\n\n", b"data: 2\n\n"]
    decoder = made(encoding)
    out = [b"".join(decoder.feed(each)) for each in flushed(encoding, *parts)]
    assert (out, list(decoder.feed(b""))) == (parts, [])


@each_case(WHOLE, ids=str)
def test_several_bodies_are_one_and_padding_is_none(name: str) -> None:
    encoding, data, body = WHOLE[name]
    assert decode(encoding, data) == (body, False)


@each_case(CORRUPT, ids=str)
def test_what_came_before_a_corrupt_byte_comes_out_in_any_cut(name: str) -> None:
    encoding, data, body = CORRUPT[name]
    assert decode(encoding, data) == (body, True)


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw deflate", "br", "zstd"])
@pytest.mark.parametrize(
    "garbage",
    [b"junk" * 9, b"\x28\xb5junk", b"\r\n", b"\x1f", b"\x1fjunk", b"\xff\xff", b"\0\0junk", b"j\x1f\x8b\x08"],
)  # fmt: skip
def test_garbage_after_a_whole_body_is_ignored_in_any_cut(
    name: str, garbage: bytes
) -> None:
    # So do browsers, Java and Python's clients; curl fails at it, and Node at some.
    encoding = encoding_of(name)
    assert decode(encoding, ENCODERS[name](TEXT) + garbage) == (TEXT, False)


def test_what_has_no_encoding_may_end_anywhere() -> None:
    assert Decoder().is_complete


HERE = content_encoding._zstd()


class OtherZstd(ModuleType):
    """What the libraries have in common with the one that is here, by their manuals."""

    DecompressionParameter = SimpleNamespace(window_log_max=100)

    @staticmethod
    def ZstdDecompressor(  # noqa: N802 - its name
        *, options: dict[int, int] | None = None, max_window_size: int = 0
    ) -> object:
        assert HERE is not None
        if options is None:
            assert max_window_size == 2**23
            return SimpleNamespace(decompressobj=HERE())
        assert options == {100: 23}
        return HERE()()


@pytest.mark.parametrize("name", ["zstandard", "compression.zstd", "backports.zstd"])
def test_zstd_is_undone_by_the_library_that_is_there(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("zstandard", "compression", "backports"):
        monkeypatch.setitem(sys.modules, each, None)
    assert content_encoding._zstd() is None
    parent = name.partition(".")[0]
    monkeypatch.setitem(sys.modules, parent, ModuleType(parent))
    monkeypatch.setitem(sys.modules, name, OtherZstd(name))
    make = content_encoding._zstd()
    assert make is not None
    decoder = content_encoding._Sliced(lambda: content_encoding._Zstd(make))
    assert b"".join(decoder.feed(zstd_frames.compress(TEXT) * 2)) == TEXT * 2


BOMBS = {
    "gzip": gzip.compress(bytes(3 * MAX_BODY)),
    "deflate": zlib.compress(bytes(3 * MAX_BODY)),
    "br": brotli.compress(bytes(3 * MAX_BODY), quality=3),
    "zstd": zstd_frames.compress(bytes(3 * MAX_BODY)),
    "br, zstd": zstd_frames.compress(brotli.compress(bytes(3 * MAX_BODY), quality=3)),
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_whole_body_inflates_to_its_bound_and_no_further(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    feed = content_encoding._Sliced.feed

    def counted(decoder: content_encoding._Sliced, data: bytes) -> Iterator[bytes]:
        for step in feed(decoder, data):
            seen.append(len(step))
            yield step

    monkeypatch.setattr(content_encoding._Sliced, "feed", counted)
    with pytest.raises(LargeBodyError):
        decode_whole(BOMBS[encoding], encoding)
    # Brotli before 1.2 cannot be kept from giving out 16 MiB at once.
    is_old = "br" in encoding and not hasattr(
        brotli.Decompressor, "can_accept_more_data"
    )
    assert sum(seen) < (4 if is_old else 2) * MAX_BODY
    assert len(decode_whole(BOMBS[encoding], encoding, 3 * MAX_BODY)) == 3 * MAX_BODY


@pytest.mark.parametrize("name", ENCODERS)
def test_a_whole_body_that_is_cut_off_is_corrupt(name: str) -> None:
    data, encoding = ENCODERS[name](TEXT), encoding_of(name)
    assert decode_whole(data, encoding) == TEXT
    assert decode_whole(b"", encoding) == b""
    if name != "identity":
        with pytest.raises(CorruptBodyError):
            decode_whole(data[:-1], encoding)


def test_a_whole_body_without_an_encoding_has_a_bound_too() -> None:
    assert decode_whole(b"1234", "", 4) == b"1234"
    with pytest.raises(LargeBodyError, match="larger than 3 bytes"):
        decode_whole(b"1234", "none", 3)
    with pytest.raises(CorruptBodyError, match="not supported"):
        decode_whole(b"1234", "compress")


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw deflate"])
def test_a_bomb_comes_out_in_bounded_steps(name: str) -> None:
    data = ENCODERS[name](bytes(200 * OUTPUT_SIZE))
    steps = [len(step) for step in made(encoding_of(name)).feed(data)]
    assert sum(steps) == 200 * OUTPUT_SIZE
    assert max(steps) <= OUTPUT_SIZE


@pytest.mark.skipif(
    not hasattr(brotli.Decompressor, "can_accept_more_data"),
    reason="brotli before 1.2 has no output limit",
)
def test_a_brotli_bomb_comes_out_in_bounded_steps() -> None:
    decoder = made("br")
    data = brotli.compress(bytes(200 * OUTPUT_SIZE))
    steps = [len(step) for step in decoder.feed(data)]
    assert sum(steps) == 200 * OUTPUT_SIZE
    assert max(steps) <= 4 * OUTPUT_SIZE  # the library's limit is a soft one


class OldBrotli:
    """The interface before 1.2, which has no output limit."""

    New = brotli.Decompressor
    slices: list[int]

    def __init__(self) -> None:
        self._inflate = self.New()

    def process(self, data: bytes) -> bytes:
        self.slices.append(len(data))
        out = self._inflate.process(data)
        assert isinstance(out, bytes)
        return out

    def is_finished(self) -> bool:
        return bool(self._inflate.is_finished())


@pytest.fixture
def old_brotli(monkeypatch: pytest.MonkeyPatch) -> type[OldBrotli]:
    monkeypatch.setattr(OldBrotli, "slices", [], raising=False)
    monkeypatch.setattr(brotli, "Decompressor", OldBrotli)
    return OldBrotli


def test_brotli_before_1_2_is_fed_in_small_slices(old_brotli: type[OldBrotli]) -> None:
    body = random.Random(1).randbytes(1000)
    assert run("br", [brotli.compress(body)]) == (body, False)
    assert len(old_brotli.slices) > 1
    assert max(old_brotli.slices) <= 256


def empty_pieces(name: str) -> int:
    """Count the empty ones among the pieces of a body that comes byte by byte."""
    decoder = made(encoding_of(name))
    data = ENCODERS[name](TEXT)
    reads = [data[at : at + 1] for at in range(len(data))]
    pieces = [piece for read in reads for piece in decoder.feed(read)]
    assert b"".join(pieces) == TEXT
    return pieces.count(b"")


@pytest.mark.parametrize("name", ENCODERS)
def test_no_piece_is_empty(name: str) -> None:
    # An empty piece would be taken for the stream's end.
    assert empty_pieces(name) == 0


@pytest.mark.usefixtures("old_brotli")
def test_no_piece_is_empty_with_brotli_before_1_2() -> None:
    assert empty_pieces("br") == 0


def test_beginning_of_a_body_is_decoded_as_far_as_it_goes() -> None:
    packed = gzip.compress(b"x" * 3 * OUTPUT_SIZE)
    assert beginning(packed, "gzip", 10 * OUTPUT_SIZE) == b"x" * 3 * OUTPUT_SIZE
    assert beginning(packed, "gzip", OUTPUT_SIZE) == b"x" * 2 * OUTPUT_SIZE
    assert (
        beginning(gzip.compress(b"good")[:-8] + b"bad", "gzip", OUTPUT_SIZE) == b"good"
    )
    assert beginning(b"as it is", "", OUTPUT_SIZE) == b"as it is"
    assert beginning(b"?", "unknown", OUTPUT_SIZE) == b""
