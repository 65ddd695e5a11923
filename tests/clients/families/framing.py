"""How events are written, cut and sent."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace

import brotli

from clients.families.shapes import DONE, JSON, Answer


def lines_apart(event: bytes) -> bytes:
    """Return *event* with its JSON cut over two data lines."""
    return event.replace(b',"choices"', b',\ndata: "choices"')


def glued(pieces: tuple[bytes, ...]) -> Answer:
    """Return a text with two events on each line."""
    events = [event.rstrip(b"\n") for event in pieces[:-1]]
    pairs = zip(events[::2], events[1::2], strict=True)
    return Answer((*(one + two + b"\n\n" for one, two in pairs), DONE))


def gzipped(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    packed = [
        packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH) for piece in pieces
    ]
    return (*packed, packer.flush())


def brotlied(pieces: tuple[bytes, ...]) -> tuple[bytes, ...]:
    packer = brotli.Compressor()
    packed = [packer.process(piece) + packer.flush() for piece in pieces]
    return (*packed, packer.finish())


FRAMES: dict[str, Callable[[bytes], bytes]] = {
    "data-no-space": lambda event: event.replace(b"data: ", b"data:", 1),
    "data-twice": lambda event: b"data: " + event,
    "line-end-crlf": lambda event: event.replace(b"\n", b"\r\n"),
    "line-end-cr": lambda event: event.replace(b"\n", b"\r"),
    "comments": lambda event: b": ping - 2026-01-05\n\n" + event + b": PROCESSING\n",
    "comments-as-data": lambda event: b"data: : PROCESSING\n\n" + event,
    "fields-event-id": lambda event: b"id: 7\nevent: message\n" + event,
    "data-several-lines": lines_apart,
    "data-null-between": lambda event: event + b"data: null\n\n",
    "events-one-newline": lambda event: event.replace(b"\n\n", b"\n"),
    "lines-of-json": lambda event: event.removeprefix(b"data: ").replace(
        b"\n\n", b"\n"
    ),
}
"""Other ways to write an event."""
ENDS = {
    "done-missing": b"",
    "done-with-blank": b"data: [DONE] \n\n",
    "done-bare": b"[DONE]\n\n",
    "done-unclosed": b"data: [DONE]",
}


def quirks(text: Answer) -> Iterator[tuple[str, Answer]]:
    """Yield *text* in other ways, each with its name."""
    pieces = text.pieces
    for name, frame in FRAMES.items():
        yield name, Answer(tuple(map(frame, pieces)))
    yield "events-glued", glued(pieces)
    for name, done in ENDS.items():
        yield name, Answer((*pieces[:-1], *([done] if done else [])))
    for kind, content_type in {"json": JSON, "text": "text/plain"}.items():
        yield f"events-as-{kind}", replace(text, content_type=content_type)
    for coding, packed in (("gzip", gzipped(pieces)), ("br", brotlied(pieces))):
        headers = (("content-encoding", coding),)
        yield f"events-{coding}", Answer(packed, headers=headers)
