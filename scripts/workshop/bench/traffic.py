"""The streams of the benchmark: what a provider sends, and what has to arrive.

Provider and client make both from the same `Plan`, so that a proxy which loses or
changes a byte is found out. The words are our own; nearly every event has other ones.
"""

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

HOST = "127.0.0.1"
PATH = "/v1/chat/completions"

type Kind = Literal["good", "nim"]
"""What a provider sends: OpenAI's own form as vLLM spells it, or NVIDIA NIM's."""
type Form = Literal["sent", "repaired", "text"]
"""What has to arrive: the bytes as they were sent, the bytes that OpenAI would have
sent, or just the same text (of a peer that writes every event anew)."""

KINDS: tuple[Kind, ...] = ("good", "nim")
CYCLE = 2048  # events with a text of their own; a longer stream begins again
FRAME = 3  # events without a text: the opening, the finish and [DONE]
DONE = b"data: [DONE]\n\n"
SENT = re.compile(rb"@(\d{19})")
"""The time at which an event was sent, in its text: `time.monotonic_ns`."""

ANSWERS = 4
"""Answers with an id and a time of their own, as all of a provider's have."""

_WORDS = ["the", "kettle", "sings", "naïve", "warm", "☕", "at", "dawn", "while", "a", "small", "river", "carries", "paper", "boats", "past", "every", "window", "of", "café", "Lumière", ",", "and", "Zoë", "writes", '"again"', "in", "blue", "ink", ":", "how", "do", "茶", "leaves", "know", "when", "to", "unfold", "?", "one\n", "two\n", "three\n", "then", "path", "C:\\tea\\cups", "or", "50", "%", "of", "it", ";", "nobody", "counts", "the", "🫖", "twice", ".", "So", "we", "stream", "word", "by", "word", "until", "silence", "returns", "like", "rain", "on", "tin", "roofs", "--", "softly", "(", "and", "late", ")"]  # fmt: skip


class Plan(NamedTuple):
    """One stream, as the request's message says it.

    Attributes:
        kind: Which dialect.
        events: How many, with opening, finish and `[DONE]`.
        gap_us: Microseconds between two events; 0 for none, and no times in the text.
        phase_us: When it is due within each gap, so that many streams do not coincide.
        start: Which of the texts comes first.
    """

    kind: Kind
    events: int
    gap_us: int = 0
    phase_us: int = 0
    start: int = 0

    @classmethod
    def of_request(cls, body: bytes) -> "Plan":
        """Return the plan in a request's *body*.

        Raises:
            ValueError: There is none.
        """
        try:
            words = json.loads(body)["messages"][-1]["content"].split()
            kind, *numbers = words
            plan = cls(kind, *map(int, numbers))
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"no plan in {body[:200]!r}") from error
        if kind not in KINDS or plan.events <= FRAME:
            raise ValueError(f"no plan is {words}")
        return plan

    @property
    def answer(self) -> int:
        """Which of the answers it is."""
        return self.start % ANSWERS

    def request(self, host: str) -> bytes:
        """Return the request that asks *host* for it."""
        message = {"role": "user", "content": " ".join(map(str, self))}
        asked = {"model": "bench", "stream": True, "messages": [message]}
        body = json.dumps(asked).encode()
        lines = [
            f"POST {PATH} HTTP/1.1",
            f"host: {host}",
            "content-type: application/json",
            "authorization: Bearer bench",
            f"content-length: {len(body)}",
        ]
        return "\r\n".join([*lines, "", ""]).encode() + body


class Event(NamedTuple):
    """An event with a text, whose sending time goes between `head` and `tail`."""

    head: bytes
    tail: bytes


class Dialect(NamedTuple):
    """The events of all streams of a kind, in one form.

    Attributes:
        opening: The first event.
        events: Those with a text, `CYCLE` of them.
        finish: The last chunk.
    """

    opening: bytes
    events: list[Event]
    finish: bytes


@functools.cache
def dialect(kind: Kind, answer: int = 0, *, repaired: bool = False) -> Dialect:
    """Return the events of an *answer*, as they are sent or as OpenAI would send them."""
    nim = kind == "nim"
    conforms = repaired or not nim
    role = {} if conforms else {"role": None}
    mark = "%08x" % (0x7E3A91C4 + 97 * answer)
    name = ("chat-" if nim else "chatcmpl-") + mark * 4

    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        if finish and not conforms:
            choice["stop_reason"] = None
        chunk = {
            "id": name,
            "object": "chat.completion.chunk",
            "created": 1750000000 + answer,
            "model": "meta/llama-3.1-8b-instruct" if nim else "acme/steady-70b-chat",
            "choices": [choice],
        }
        text = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
        return f"data: {text}\n\n".encode()

    def parted(text: str) -> Event:
        head, _, tail = event({**role, "content": text + "\0"}).partition(b"\\u0000")
        return Event(head, tail)

    return Dialect(
        event({"role": "assistant", "content": "" if conforms else None}),
        [parted(text) for text in texts()],
        event({} if conforms else {**role, "content": ""}, "stop"),
    )


@functools.cache
def texts() -> list[str]:
    """Return the texts of a cycle, all of them different."""
    words = itertools.cycle(_WORDS)
    # A number here and there, as models write them, keeps the words from repeating.
    return [
        f" {word}"
        if place < len(_WORDS)
        else f" {word}{place if place % 3 else -place}"
        for place, word in zip(range(CYCLE), words, strict=False)
    ]


def in_turn(plan: Plan) -> Iterator[int]:
    """Yield which texts of the cycle a stream has, in order."""
    for place in range(plan.events - FRAME):
        yield (plan.start + place) % CYCLE


class Wire(NamedTuple):
    """Events as HTTP chunks, one each, and where each begins."""

    data: bytes
    starts: list[int]


@functools.cache
def wire(kind: Kind, answer: int) -> Wire:
    """Return the events of a cycle as they are sent, without times."""
    events = dialect(kind, answer).events
    chunks = [http_chunk(head + tail) for head, tail in events]
    starts = [0, *itertools.accumulate(map(len, chunks))]
    return Wire(b"".join(chunks), starts)


def http_chunk(event: bytes) -> bytes:
    """Return *event* as a chunk of HTTP/1.1's chunked encoding."""
    return b"%x\r\n%b\r\n" % (len(event), event)


def text_chunks(plan: Plan) -> Iterator[memoryview]:
    """Yield the events that have a text, each in its HTTP chunk, in large parts."""
    data, starts = wire(plan.kind, plan.answer)
    view = memoryview(data)
    left, place = plan.events - FRAME, plan.start % CYCLE
    while left:
        end = min(place + left, CYCLE)
        yield view[starts[place] : starts[end]]
        left -= end - place
        place = 0


def new_digest() -> Any:
    """Return what sums up a stream that arrives."""
    return hashlib.blake2b(digest_size=16)


@functools.lru_cache(maxsize=256)
def expected(plan: Plan, form: Form) -> str:
    """Return the digest of the stream as it has to arrive, without sending times."""
    digest = new_digest()
    if form == "text":
        every = texts()
        for place in in_turn(plan):
            digest.update(every[place].encode())
        return str(digest.hexdigest())
    repaired = form == "repaired"
    opening, events, finish = dialect(plan.kind, plan.answer, repaired=repaired)
    digest.update(opening)
    for place in in_turn(plan):
        digest.update(b"".join(events[place]))
    digest.update(finish + DONE)
    return str(digest.hexdigest())


def expected_events(plan: Plan, form: Form) -> int:
    """Return how many events have to arrive, of a text those that have some."""
    return plan.events - FRAME if form == "text" else plan.events
