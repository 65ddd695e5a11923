"""An input of the fuzzer: bytes that say an answer, and what is done with it."""

import random
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from llm_normalize.chat.state.asked import Asked

type Json = Any
type Say = Callable[[str, str], None]
"""Takes what was found: its kind, and a text."""

LONGEST = 16 * 1024
"""Bytes of an input; larger ones are slow and show nothing more."""


HEADER = 8
"""Bytes, of which the last two say nothing."""
MODES = ("stream", "stream", "stream", "stream", "body", "long", "stream", "body")
STATUSES = (200, 400, 401, 404, 413, 422, 429, 500, 503, 529, 302, 999, 0)
_USAGE, _TOOLS, _FORCED, _BROKEN, _TIGHT, _BODY_ASKED, _STRICT, _MODEL = (
    1 << at for at in range(8)
)


class Case(NamedTuple):
    """What an input says, after its header of `HEADER` bytes.

    Attributes:
        asked: What the request asked.
        payload: The answer.
        mode: What is done with it, one of `MODES`.
        argument: What that needs to know: the status, or what varies.
        cut: The seed of the places to cut at; 0 is byte by byte.
        ended: Whether the stream comes to a clean end.
        tight: Whether the limits on what is kept are so low that they are met.
    """

    asked: Asked
    payload: bytes
    mode: str = "stream"
    argument: int = 0
    cut: int = 0
    ended: bool = True
    tight: bool = False

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Return what *data* says: any bytes say something."""
        flags, mode, n, argument, *rest = data[:HEADER].ljust(HEADER, b"\0")
        asked = Asked(
            stream=not flags & _BODY_ASKED,
            usage=bool(flags & _USAGE),
            tools=bool(flags & (_TOOLS | _FORCED)),
            forced_tool=bool(flags & _FORCED),
            model="acme-1" if flags & _MODEL else "",
            n=n % 4 + 1,
            strict=bool(flags & _STRICT),
        )
        return cls(
            asked,
            data[HEADER:],
            MODES[mode % len(MODES)],
            argument,
            cut=int.from_bytes(rest[:2]),
            ended=not flags & _BROKEN,
            tight=bool(flags & _TIGHT),
        )

    def write(self) -> bytes:
        """Return the input that says this."""
        flags = (
            _USAGE * self.asked.usage
            | _TOOLS * self.asked.tools
            | _FORCED * self.asked.forced_tool
            | _BROKEN * (not self.ended)
            | _TIGHT * self.tight
            | _BODY_ASKED * (not self.asked.stream)
            | _STRICT * self.asked.strict
            | _MODEL * bool(self.asked.model)
        )
        n = min(self.asked.n, 4) - 1
        head = bytes([flags, MODES.index(self.mode), n, self.argument])
        return head + self.cut.to_bytes(2) + bytes(2) + self.payload

    @property
    def status(self) -> int:
        """The HTTP status of a body."""
        return STATUSES[self.argument % len(STATUSES)]

    @property
    def varied(self) -> str:
        """How the events of a long stream are varied."""
        ways = (" without finish reasons", " with new ids", " with new indexes")
        return "".join(way for at, way in enumerate(ways) if self.argument >> at & 1)

    def reads(self, data: bytes) -> list[bytes]:
        """Return *data* cut as the input says."""
        if not self.cut:
            return [data[at : at + 1] for at in range(len(data))]
        dice = random.Random(self.cut)
        places = sorted(dice.choices(range(len(data) + 1), k=dice.randint(1, 40)))
        pairs = zip([0, *places], [*places, len(data)], strict=True)
        return [data[start:end] for start, end in pairs]

    def describe(self) -> str:
        """Return what the input says, for people."""
        more = {
            "body": f", status {self.status}",
            "long": f", repeated{self.varied}",
        }.get(self.mode, "")
        ended = "" if self.ended else ", breaks off"
        tight = ", low limits" if self.tight else ""
        cut = f"cut by {self.cut}" if self.cut else "byte by byte"
        lines = [f"{self.mode}{more}, {cut}{ended}{tight}", f"{self.asked}"]
        return "\n".join(lines + [repr(line) for line in self.payload.splitlines(True)])
