"""The streams of the load: what a number makes a provider say, and whether it arrived.

Each event says whose it is, its place, when it was sent (CLOCK_MONOTONIC, which all
processes of a machine share), words that only this stream has in this place, and a
checksum. It comes as NVIDIA NIM writes it, so that every event has to be repaired.
"""

import bisect
import itertools
import json
import random
import string
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from llm_normalize.report.histogram import Histogram

MODEL = "acme/llama-3.1-8b"
CREATED = 1_760_000_000  # of stream 0; each has its own
PATH = "/v1/chat/completions"

_DICE = random.Random(20)
_SPICE = ("é", "😀", '"', "\\", "\n", "data: ", "\u2028", "{", "[DONE]", "\r")


def _phrase() -> str:
    words = [
        "".join(_DICE.choices(string.ascii_lowercase, k=_DICE.randint(2, 8)))
        for _ in range(_DICE.randint(1, 3))
    ]
    return " ".join([*words, _DICE.choice(_SPICE)] if _DICE.random() < 0.2 else words)  # noqa: PLR2004


PHRASES = [_phrase() for _ in range(1009)]
_ESCAPED = [json.dumps(each, ensure_ascii=False)[1:-1].encode() for each in PHRASES]
_CHECKED = [zlib.crc32(each.encode()) for each in PHRASES]


def _place(seed: int, n: int) -> int:
    return (seed * 7919 + n * 31) % len(PHRASES)


def _checksum(head: bytes, place: int) -> int:
    return zlib.crc32(head, _CHECKED[place])


class Phase(NamedTuple):
    """A part of a stream: so many events a second, for so long."""

    rate: float
    seconds: float

    @property
    def events(self) -> int:
        """How many that are."""
        return max(round(self.rate * self.seconds), 1)


class Spoken(NamedTuple):
    """What is asked of the provider, in the request's message.

    Attributes:
        seed: Tells this stream from all others.
        phases: The text, at its pace.
        first: A gate that opens before the text; empty for none.
        delay: Seconds between that and the first event.
        last: A gate that opens before the end.
        flood: Whether the text comes as fast as it is taken.
    """

    seed: int
    phases: Sequence[Phase] = ()
    first: str = ""
    delay: float = 0.0
    last: str = ""
    flood: bool = False

    @property
    def events(self) -> int:
        """How many events of text there are."""
        return sum(each.events for each in self.phases)

    def body(self) -> bytes:
        """Return the request's body."""
        asked = {
            "model": MODEL,
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [{"role": "user", "content": json.dumps(self)}],
        }
        return json.dumps(asked).encode()

    @classmethod
    def read(cls, body: bytes) -> "Spoken":
        """Return what a request asks."""
        seed, phases, *rest = json.loads(json.loads(body)["messages"][0]["content"])
        return cls(seed, [Phase(*each) for each in phases], *rest)


class Words:
    """What one stream says, event by event."""

    def __init__(self, seed: int) -> None:
        envelope = (
            f'"id":"chat-{seed}","object":"chat.completion.chunk",'
            f'"created":{CREATED + seed},"model":"{MODEL}"'
        )
        self._seed = seed
        self._head = f"data: {{{envelope}".encode()
        choice = b',"choices":[{"index":0,"delta":{"role":%b,"content":'
        self._opening = self._head + choice % b'"assistant"'
        self._before = self._head + choice % b"null" + b'"'
        self._after = b'"},"finish_reason":null}]}\n\n'

    def opening(self) -> bytes:
        """Return the first event."""
        return self._opening + b'null},"finish_reason":null}]}\n\n'

    def text(self, n: int, now: int) -> bytes:
        """Return the event *n*, sent at *now* (nanoseconds)."""
        place = _place(self._seed, n)
        head = b"%d.%d.%d " % (self._seed, n, now)
        check = b" %08x" % _checksum(head, place)
        return b"".join((self._before, head, _ESCAPED[place], check, self._after))

    def ending(self, events: int) -> list[bytes]:
        """Return what follows *events* of text."""
        finish = b'""},"finish_reason":"stop","stop_reason":null}]}\n\n'
        usage = json.dumps(usage_of(events), separators=(",", ":")).encode()
        return [
            self._before[:-1] + finish,
            self._head + b',"choices":[],"usage":%b}\n\n' % usage,
            b"data: [DONE]\n\n",
        ]


def usage_of(events: int) -> dict[str, int]:
    """Return the figures of a stream with so many events of text."""
    figures = {"prompt_tokens": 9, "completion_tokens": events}
    return {**figures, "total_tokens": 9 + events}


def seconds_at(late: Histogram, part: float) -> float:
    """Return the time that *part* of all did not exceed; 0 where there are none."""
    return (late.at(part) or 0) / 1000


ENOUGH = 3
"""Faults that are listed of one stream."""
SILENCE = 10 * 10**9
"""Nanoseconds after which a bare newline may come: the addon bridges silence."""


class Check:
    """Holds what a client receives of one stream to what was due, as it comes.

    Args:
        spoken: What was asked.
        repaired: Whether the events come as OpenAI writes them, or as they were sent.
        late: Where times are counted, one for each phase.

    Attributes:
        faults: What was wrong, in words.
        events: Events of text that arrived.
        heard: Events of any kind.
        whole: Whether all of it arrived.
    """

    def __init__(
        self, spoken: Spoken, *, repaired: bool, late: Sequence[Histogram] = ()
    ) -> None:
        self.faults: list[str] = []
        self.events = 0
        self.whole = False
        self._spoken = spoken
        self._repaired = repaired
        self._late = late
        self._ends = list(itertools.accumulate(each.events for each in spoken.phases))
        self._rest = b""
        self._last = 0
        self.heard = 0
        self._envelope = {
            "id": f"chat-{spoken.seed}",
            "object": "chat.completion.chunk",
            "created": CREATED + spoken.seed,
            "model": MODEL,
        }

    def feed(self, data: bytes, now: int) -> None:
        """Take some of the stream, which arrived at *now*."""
        silence, self._last = now - self._last, now
        if data == b"\n" and self._is_bridged(silence):
            return
        blocks = (self._rest + data).split(b"\n\n")
        self._rest = blocks.pop()
        for block in blocks:
            self._check_block(block, now)

    def _is_bridged(self, silence: int) -> bool:
        between = self.heard > 0 and not (self._rest or self.whole)
        return self._repaired and between and silence >= SILENCE

    def end(self, *, clean: bool) -> None:
        """Take its end, *clean* if its framing says so."""
        if not clean:
            self._say("it broke off")
        if self._rest:
            self._say(f"half an event at its end: {self._rest[:200]!r}")
        if not self.whole:
            self._say(f"it ended after {self.events} of {self._spoken.events} events")

    def _say(self, text: str) -> None:
        if len(self.faults) < ENOUGH:
            self.faults.append(text)

    def _check_block(self, block: bytes, now: int) -> None:
        number, self.heard = self.heard, self.heard + 1
        if self.whole:
            self._say(f"more after [DONE]: {block[:200]!r}")
        elif number == 0:
            self._expect(block, self._due(self._opening()))
        elif self.events < self._spoken.events:
            self._text(block, now)
        else:
            self._ending(block, number - 1 - self.events)

    def _ending(self, block: bytes, place: int) -> None:
        if place == 0:
            self._expect(block, self._due(*self._finish()))
        elif place == 1:
            usage = usage_of(self._spoken.events)
            self._expect(block, {**self._envelope, "choices": [], "usage": usage})
        else:
            self.whole = True
            if block != b"data: [DONE]":
                self._say(f"in place of [DONE]: {block[:300]!r}")

    def _opening(self) -> dict[str, Any]:
        return {"role": "assistant", "content": "" if self._repaired else None}

    def _finish(self) -> tuple[dict[str, Any], dict[str, Any]]:
        if self._repaired:
            return {}, {"finish_reason": "stop"}
        more = {"finish_reason": "stop", "stop_reason": None}
        return {"role": None, "content": ""}, more

    def _due(
        self, delta: dict[str, Any], more: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": None, **(more or {})}
        return {**self._envelope, "choices": [choice]}

    def _value(self, block: bytes) -> Any:
        if not block.startswith(b"data: {"):
            return None
        try:
            return json.loads(block[6:])
        except ValueError:
            return None

    def _expect(self, block: bytes, due: dict[str, Any]) -> None:
        if self._value(block) != due:
            self._say(f"event {self.heard - 1} is {block[:300]!r}, due was {due}")

    def _text(self, block: bytes, now: int) -> None:
        n, self.events = self.events, self.events + 1
        value = self._value(block)
        try:
            text = value["choices"][0]["delta"]["content"]
            head, _, check = text.rpartition(" ")
            prefix, _, phrase = head.partition(" ")
            seed, at, sent = prefix.split(".")
            then = int(sent)
        except (TypeError, LookupError, ValueError, AttributeError):
            self._say(f"text {n} cannot be read: {block[:300]!r}")
            return
        delta = {"content": text} if self._repaired else {"role": None, "content": text}
        place = _place(self._spoken.seed, n)
        due = f"{_checksum(f'{prefix} '.encode(), place):08x}"
        if (seed, at) != (str(self._spoken.seed), str(n)):
            self._say(f"text {at} of stream {seed} in place of text {n}")
        elif phrase != PHRASES[place] or check != due or value != self._due(delta):
            self._say(f"text {n} is damaged: {block[:300]!r}")
        elif self._late:
            phase = bisect.bisect_right(self._ends, n)
            self._late[phase].add((now - then) / 1e6)
