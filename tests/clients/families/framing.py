"""How events are written, cut and sent."""

import zlib
from collections.abc import Callable, Iterator

import brotli

from clients.families.shapes import (
    DONE,
    EVENTS,
    JSON,
    OPENAI_TEXT,
    Answer,
    Family,
    reframed,
)


def lines_apart(event: bytes) -> bytes:
    """Return *event* with its JSON cut over two data lines."""
    return event.replace(b',"choices"', b',\ndata: "choices"')


def glued() -> Answer:
    """Return a text with two events on each line."""
    events = [event.rstrip(b"\n") for event in OPENAI_TEXT.pieces[:-1]]
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


def families() -> Iterator[Family]:
    yield from lines()
    yield from events()
    yield from ends()
    yield from transports()


def lines() -> Iterator[Family]:
    """Yield other ways to write an event."""
    frames: dict[str, Callable[[bytes], bytes]] = {
        "data-no-space": lambda event: event.replace(b"data: ", b"data:", 1),
        "data-twice": lambda event: b"data: " + event,
        "line-end-crlf": lambda event: event.replace(b"\n", b"\r\n"),
        "line-end-cr": lambda event: event.replace(b"\n", b"\r"),
        "comments": lambda event: (
            b": ping - 2026-01-05\n\n" + event + b": PROCESSING\n"
        ),
        "comments-as-data": lambda event: b"data: : PROCESSING\n\n" + event,
        "fields-event-id": lambda event: b"id: 7\nevent: message\n" + event,
        "data-several-lines": lines_apart,
        "data-null-between": lambda event: event + b"data: null\n\n",
    }
    for name, frame in frames.items():
        yield Family(name, reframed(frame), OPENAI_TEXT)


def events() -> Iterator[Family]:
    """Yield other ways to part events."""
    yield Family(
        "events-one-newline",
        reframed(lambda event: event.replace(b"\n\n", b"\n")),
        OPENAI_TEXT,
    )
    yield Family("events-glued", glued(), OPENAI_TEXT)
    bare = reframed(lambda event: event.removeprefix(b"data: ").replace(b"\n\n", b"\n"))
    yield Family("lines-of-json", bare, OPENAI_TEXT)


def ends() -> Iterator[Family]:
    *most, _ = OPENAI_TEXT.pieces
    odd = {
        "done-missing": b"",
        "done-with-blank": b"data: [DONE] \n\n",
        "done-bare": b"[DONE]\n\n",
        "done-unclosed": b"data: [DONE]",
    }
    for name, done in odd.items():
        yield Family(name, Answer((*most, *([done] if done else []))), OPENAI_TEXT)


def transports() -> Iterator[Family]:
    """Yield what the body does not show."""
    pieces = OPENAI_TEXT.pieces
    yield Family("events-as-json", Answer(pieces, 200, JSON), OPENAI_TEXT)
    yield Family("events-as-text", Answer(pieces, 200, "text/plain"), OPENAI_TEXT)
    for coding, packed in (("gzip", gzipped(pieces)), ("br", brotlied(pieces))):
        yield Family(
            f"events-{coding}",
            Answer(packed, 200, EVENTS, (("content-encoding", coding),)),
            OPENAI_TEXT,
        )
