"""How the time of an input grows with its size: 1 KB to 8 MB of one unit, in many places."""

import json
import time
from collections.abc import Callable
from functools import cache
from typing import Any

from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.answer_stream import AnswerStream, error_in, object_in
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import calling, chunk, wire
from llm_normalize.request.refusals.refusal_parser import refusal_of
from llm_normalize.text.echo import Echo
from llm_normalize.wire.content_encoding import decoder_for
from workshop.fuzz.cases import Case, Say

SMALLEST, SIZES = 1024, 14
"""Bytes of the smallest input, and how many there are, each twice as large as the last."""
UNIT = 12
"""Bytes of the largest unit."""
UNITS = (
    b"1", b"[", b'"', b"\\", b"{}", b"a ", b"\\u0041", b"1.", b"\n", b"<", b"data: ",
    b'{"a":', b"a -> ", b"&a", b"\xc3\xa9", b"\n\n",
)  # fmt: skip
"""Units to begin with."""
_FACTOR = 8
_MOST = 28  # times the work for so much more; its square would be 64 times
_LEAST = 0.02  # seconds: below it, caches and the clock have their say
_TRIES = 3
_LONG = 2.0  # seconds: of what takes longer, no larger size is measured
_READ = 64 * 1024
_USUAL = "data: x\n\n"
_DEAR = 10  # times what a read of these costs; four times is the most that is met

_ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [], "input": "a"}


def _stream(data: bytes) -> None:
    decoder = decoder_for("")
    assert decoder is not None
    rewriter = Rewriter(Pipeline(Asked(stream=True, tools=True), FIXES), decoder)
    for at in range(0, len(data), _READ):  # as mitmproxy reads: each has a turn
        rewriter.read(data[at : at + _READ])
    rewriter.read(b"")


def _translated(data: bytes) -> None:
    for protocol in PROTOCOLS:
        stream = AnswerStream(protocol.translate(_ASKED).answer)
        stream(data)
        protocol.error_body(400, error_in(object_in(data), "words"))


def _error(words: str) -> bytes:
    error = {"message": words, "code": "context_length_exceeded"}
    return json.dumps({"error": error}).encode()


def _asked(words: str) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": words}]}).encode()
    refusal_of(_error("Unsupported parameter: seed"), Echo(body))


def _request(words: str) -> None:
    for protocol in PROTOCOLS:
        said = [{"role": "user", "content": words}]
        protocol.translate({**_ASKED, "messages": said, "input": words})


PLACES: dict[str, Callable[[str], object]] = {
    "bare": lambda words: _stream(words.encode()),
    "an event": lambda words: _stream(b"data: %b\n\n" % words.encode()),
    "a text": lambda words: _stream(wire([chunk({"content": words})])),
    "arguments": lambda words: _stream(wire([calling({"arguments": words})])),
    "translated text": lambda words: _translated(wire([chunk({"content": words})])),
    "translated arguments": lambda words: _translated(
        wire([calling({"id": "c", "function": {"name": "f", "arguments": words}})])
    ),
    "a translated error": lambda words: _translated(b"data: %b\n\n" % _error(words)),
    "an error": lambda words: repair_body(_error(words), 400, Asked(), FIXES),
    "a page": lambda words: repair_body(words.encode(), 502, Asked(), FIXES),
    "a refusal": lambda words: refusal_of(_error(words)),
    "a prompt": _asked,
    "a request": _request,
}

_STREAMS = ("bare", "an event", "a text", "arguments")
"""Those that are one stream."""


def check_size(case: Case, say: Say) -> None:
    """Measure an input of growing sizes, up to one.

    Args:
        case: Says the unit, the place and the size.
        say: Takes what grows too fast.
    """
    name = [*PLACES][case.argument % len(PLACES)]
    unit = case.payload[:UNIT].decode(errors="replace") or "a"
    small = 0.0
    for size in _sizes(SMALLEST << case.place % SIZES):
        for _ in range(_TRIES):  # another process may get in the way of one
            large = _cost(name, unit, size)
            grown = large / max(small, _LEAST)
            if grown < _MOST:
                break
            small = _cost(name, unit, size // _FACTOR)
        else:
            say(f"grows in {name}", f"{unit!r}: {grown:.0f} times to {size} bytes")
        if large > _LONG:
            break
        small = large
    if name in _STREAMS:
        _check_read(name, unit, say)


@cache
def _usual() -> float:
    return _cost("bare", _USUAL, _READ)


def _check_read(name: str, unit: str, say: Say) -> None:
    """Require that what may be done of one read has a limit, which others have to wait for."""
    for _ in range(_TRIES):
        times = _cost(name, unit, _READ) / _usual()
        if times < _DEAR:
            return
        _usual.cache_clear()  # the machine may have become slower
    say(f"dear in {name}", f"{unit!r}: a read costs {times:.0f} times the usual")


def _sizes(last: int) -> list[int]:
    """Return sizes up to the *last*, each `_FACTOR` times as large as the one before."""
    found = [last]
    while found[0] > SMALLEST:
        found.insert(0, found[0] // _FACTOR)
    return found


def _cost(name: str, unit: str, size: int) -> float:
    words = unit * (size // len(unit.encode()) + 1)
    begun = time.thread_time()
    PLACES[name](words)
    return time.thread_time() - begun
