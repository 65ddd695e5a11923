"""How an answer goes over the wire, and what goes wrong on its way."""

import contextlib
import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

import brotli

type Kind = Literal["stream", "body", "stream for body", "body for stream", "error", "other"]  # fmt: skip
type Framing = Literal["chunked", "length", "close"]
type Ending = Literal["end", "cut", "reset", "end and reset"]

FAULTS = {
    "": 60,
    "reset before the head": 3,
    "reset in an event": 5,
    "reset in a character": 3,
    "reset after the end": 2,
    "cut in an event": 8,
    "cut after [DONE]": 3,
    "stall": 3,
    "length too large": 3,
    "length too small": 3,
    "gzip corrupt": 4,
    "gzip cut off": 3,
}
"""What goes wrong, and how often it does."""
PIECEMEAL = {"", "stall"}
"""Where nothing goes wrong in the end."""
CHUNKED = {"cut after [DONE]", "reset after the end"}
"""What differs from a good end only in chunks."""
SHARED = {"length too large", "length too small"}
"""What costs other answers that share an HTTP/2 connection to the provider: h2 closes it
for a wrong length."""
RESETS = {each for each in FAULTS if each.startswith("reset")}
"""What mitmproxy (12.2) may never tell an HTTP/2 client that has several HTTP/1
connections to the provider: the task that is to say it is cancelled twice
(`drain_writers` in mitmproxy/proxy/server.py), and the answer never ends."""
TELLING = {"reset in an event", "reset in a character", "cut in an event"}
"""What the connection's end must not be taken for: that of the answer."""
UNDECODABLE = {"gzip cut off"}
"""What passes as it is, with a line in the log, where an answer is read to its end first."""
STALL = 2.0
"""Seconds that a provider stalls."""


class Part(NamedTuple):
    """Some of the body, and the seconds before it is sent."""

    pause: float
    data: bytes


@dataclass(frozen=True)
class Transfer:
    """How an answer's body is sent.

    Attributes:
        fault: What goes wrong.
        encoding: Its content encoding; empty for none.
        framing: How its length is given.
        headers: What tells both.
        data: The bytes that are sent.
        sent: Those of them that belong to the message.
        ending: What follows them.
    """

    fault: str
    encoding: str
    framing: Framing
    headers: dict[str, str]
    data: bytes
    sent: bytes
    ending: Ending

    @property
    def breaks(self) -> bool:
        """Whether its client sees it break off, or never come."""
        return self.fault not in (
            *PIECEMEAL,
            "reset after the end",
            "length too small",
            "gzip cut off",
        )

    @property
    def arrives(self) -> bool:
        """Whether all that is sent is sure to come to the proxy."""
        return not self.fault.startswith("reset")


def transfer(
    kind: Kind, wire: bytes, dice: Random, *, old: bool, never: Collection[str]
) -> Transfer:
    """Return how *wire* is sent.

    Args:
        kind: What it is.
        wire: The body.
        dice: The dice.
        old: Whether the client speaks HTTP/1.0, which has no chunks.
        never: Faults that cannot be had on such a connection.
    """
    fault = dice.choices([*FAULTS], [*FAULTS.values()])[0]
    possible = _possible(fault, kind, old=old) and fault not in never
    if not possible or len(wire) < 2:  # noqa: PLR2004
        fault = ""
    encoding = dice.choices(["", "gzip", "deflate", "br"], [40, 3, 1, 1])[0]
    if fault.startswith("gzip"):
        encoding = "gzip"
    elif fault in ("reset in a character", "length too small"):
        encoding = ""
    framing = _framing(fault, kind, dice, old=old)
    headers = {"content-encoding": encoding} if encoding else {}
    data = encode(wire, encoding)
    size = len(data)
    if fault == "gzip corrupt":
        # 0xFF begins a block of a type that does not exist.
        at = dice.randrange(len(wire))
        data = encode(wire[:at], encoding, ended=False) + b"\xff" * 40
        size = len(data)
    elif fault == "length too large":
        size += 100
    elif fault == "length too small":
        size = dice.randrange(1, len(data))
    elif fault == "gzip cut off":
        data = data[: dice.randrange(11, len(data))]
        size = len(data)
    else:
        data = data[: _place(fault, data, dice)]
    sent = data[:size]
    if framing == "length":
        headers["content-length"] = str(size)
    return Transfer(fault, encoding, framing, headers, data, sent, _ending(fault))


def _possible(fault: str, kind: Kind, *, old: bool) -> bool:
    if kind == "other":
        return fault in PIECEMEAL
    if kind != "stream":
        return fault in PIECEMEAL or fault == "cut in an event"
    return not (old and fault in CHUNKED)


def _framing(fault: str, kind: Kind, dice: Random, *, old: bool) -> Framing:
    framing: Framing = dice.choices(["chunked", "length", "close"], [7, 1, 1])[0]  # type: ignore[assignment]
    if kind in ("body", "stream for body", "error") or fault.startswith("length"):
        return "length"
    if fault in CHUNKED:
        return "chunked"
    if framing == "chunked" and old:
        framing = "close"
    return "length" if framing == "close" and fault in TELLING else framing


def _place(fault: str, data: bytes, dice: Random) -> int:
    """Return how many bytes of *data* are sent."""
    if fault == "reset before the head":
        return 0
    if fault == "reset in a character":
        heads = [at for at, byte in enumerate(data) if byte >= 0xC0]  # noqa: PLR2004
        return dice.choice(heads or [len(data) // 2]) + 1
    if fault in TELLING:
        return dice.randrange(1, len(data))
    return len(data)


def _ending(fault: str) -> Ending:
    if fault == "reset after the end":
        return "end and reset"
    if fault.startswith("reset"):
        return "reset"
    return "cut" if fault.startswith(("cut", "length")) else "end"


# -- content encodings ----------------------------------------------------------------

_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}
_STEP = 200


def encode(data: bytes, encoding: str, *, ended: bool = True) -> bytes:
    """Return *data* encoded, flushed now and then as a server that streams does."""
    if encoding == "br":
        return bytes(brotli.compress(data, quality=1))
    if not encoding:
        return data
    deflate = zlib.compressobj(1, zlib.DEFLATED, _WINDOWS[encoding])
    out = []
    for at in range(0, len(data), _STEP):
        out.append(deflate.compress(data[at : at + _STEP]))
        out.append(deflate.flush(zlib.Z_SYNC_FLUSH))
    out.append(deflate.flush(zlib.Z_FINISH if ended else zlib.Z_SYNC_FLUSH))
    return b"".join(out)


def decode(data: bytes, encoding: str) -> bytes:
    """Return what the beginning of an encoded body says, up to what is corrupt."""
    if not encoding:
        return data
    step: Callable[[bytes], bytes]
    if encoding == "br":
        step = brotli.Decompressor().process
    else:
        step = zlib.decompressobj(_WINDOWS[encoding]).decompress
    out = bytearray()
    with contextlib.suppress(zlib.error, brotli.error):
        for at in range(len(data)):
            out += step(data[at : at + 1])
    return bytes(out)


# -- how it is cut --------------------------------------------------------------------


def timed_parts(data: bytes, dice: Random, *, stalls: bool) -> Sequence[Part]:
    """Return *data* as it is sent: by lines, or in parts of up to a byte, some, or all."""
    cut = data.splitlines(keepends=True)
    if dice.random() < 0.65:  # noqa: PLR2004 - else by lines
        # Of a long one no single bytes: that would take too long.
        most = max(dice.choice([1, 7, 40, 1000, len(data)]), len(data) // 300)
        cut = []
        while rest := data[sum(map(len, cut)) :]:
            cut.append(rest[: dice.randint(1, most)])
    # A stream has some 20 events a second, or comes at once.
    pace = dice.choice([0.0, 0.0, 0.005, 0.02, 0.05])
    pace = min(pace, 6 / max(len(cut), 1))
    found = [Part(dice.random() * 2 * pace, each) for each in cut]
    if stalls and found:
        at = dice.randrange(len(found))
        found[at] = Part(STALL, found[at].data)
    return found
