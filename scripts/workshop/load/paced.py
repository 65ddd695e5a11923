"""The streams of the load: what a number makes a provider say, and whether it arrived.

Each event says whose it is, its place, when it was sent (CLOCK_MONOTONIC, which all
processes of a machine share), words that only this stream has in this place, and a
checksum of the figures. It comes as NVIDIA NIM writes it, so that every event has to be repaired.
"""

import bisect
import itertools
import json
import re
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from llm_normalize.report.histogram import Histogram
from workshop.traffic.words import WORDS

MODEL = "acme/llama-3.1-8b"
CREATED = 1_760_000_000  # of stream 0; each has its own
PATH = "/v1/chat/completions"

_SPICE = ("data: ", "\u2028", "{", "[DONE]", "\r")
_ESCAPED = [
    json.dumps(each, ensure_ascii=False)[1:-1].encode() for each in (*WORDS, *_SPICE)
]
_SENT = re.compile(rb'"content":"\d+\.\d+\.(\d+) ')


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
    """What one stream says, event by event.

    Args:
        seed: Tells this stream from all others.
        repaired: Whether as OpenAI writes it, or as it is sent.
    """

    def __init__(self, seed: int, *, repaired: bool = False) -> None:
        envelope = (
            f'"id":"chat-{seed}","object":"chat.completion.chunk",'
            f'"created":{CREATED + seed},"model":"{MODEL}"'
        )
        self._seed = seed
        self._repaired = repaired
        self._head = f"data: {{{envelope}".encode()
        role = b"" if repaired else b'"role":null,'
        self._before = self._choice(role + b'"content":"')
        self._after = b'"},"finish_reason":null}]}\n\n'

    def _choice(self, delta: bytes) -> bytes:
        return self._head + b',"choices":[{"index":0,"delta":{' + delta

    def opening(self) -> bytes:
        """Return the first event."""
        content = b'""' if self._repaired else b"null"
        opening = self._choice(b'"role":"assistant","content":' + content)
        return opening + b'},"finish_reason":null}]}\n\n'

    def text(self, n: int, now: int) -> bytes:
        """Return the event *n*, sent at *now* (nanoseconds)."""
        head = b"%d.%d.%d " % (self._seed, n, now)
        words = _ESCAPED[(self._seed * 7919 + n * 31) % len(_ESCAPED)]
        check = b" %08x" % zlib.crc32(head)
        return b"".join((self._before, head, words, check, self._after))

    def ending(self, events: int) -> list[bytes]:
        """Return what follows *events* of text."""
        finish = self._choice(b'},"finish_reason":"stop"}]}\n\n')
        if not self._repaired:
            more = b'""},"finish_reason":"stop","stop_reason":null}]}\n\n'
            finish = self._before[:-1] + more
        figures = b'{"prompt_tokens":9,"completion_tokens":%d,"total_tokens":%d}'
        usage = figures % (events, 9 + events)
        return [
            finish,
            self._head + b',"choices":[],"usage":%b}\n\n' % usage,
            b"data: [DONE]\n\n",
        ]


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
        self.heard = 0
        self.whole = False
        self._spoken = spoken
        self._repaired = repaired
        self._late = late
        self._ends = list(itertools.accumulate(each.events for each in spoken.phases))
        self._words = Words(spoken.seed, repaired=repaired)
        self._endings = self._words.ending(spoken.events)
        self._rest = b""
        self._last = 0

    def feed(self, data: bytes, now: int) -> None:
        """Take some of the stream, which arrived at *now*."""
        silence, self._last = now - self._last, now
        if data == b"\n" and self._is_bridged(silence):
            return
        events = (self._rest + data).split(b"\n\n")
        self._rest = events.pop()
        for event in events:
            self._check(event + b"\n\n", now)

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

    def _check(self, event: bytes, now: int) -> None:
        number, self.heard = self.heard, self.heard + 1
        if self.whole:
            due = b""
        elif number == 0:
            due = self._words.opening()
        elif self.events < self._spoken.events:
            sent = _SENT.search(event)
            due = self._words.text(self.events, int(sent[1]) if sent else 0)
            if due == event and sent and self._late:
                phase = bisect.bisect_right(self._ends, self.events)
                self._late[phase].add((now - int(sent[1])) / 1e6)
            self.events += 1
        else:
            due = self._endings[number - 1 - self.events]
            self.whole = due is self._endings[-1]
        if event != due:
            self._say(f"event {number} is {event[:300]!r}, due was {due[:300]!r}")
