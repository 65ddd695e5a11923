"""What happens in a soak: a seed and a number give a stream, its quirks and its faults.

Provider and client both make the plan, and neither tells the other: what arrives is
held to what the number yields.
"""

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal, NamedTuple

from judge import quirks
from llm_normalize import conformance
from llm_normalize.wire.json_text import dumps
from workshop import judged
from workshop.soak import answers
from workshop.soak.faults import (
    RESETS,
    SHARED,
    UNDECODABLE,
    Kind,
    Part,
    Transfer,
    decode,
    timed_parts,
    transfer,
)

CHAT = "/v1/chat/completions"
KEY = "sk-soak-0123456789"
"""What no log may show."""
WIDE, NARROW = 16 * 1024 * 1024, 64 * 1024 - 1
IN_A_SESSION = 8
"""Streams at most on one connection."""

type Disconnect = Literal["", "at once", "before the head", "in the answer"]

KINDS: dict[Kind, int] = {
    "stream": 70,
    "body": 8,
    "stream for body": 5,
    "body for stream": 5,
    "error": 4,
    "other": 8,
}
DISCONNECT: dict[Disconnect, int] = {
    "": 88,
    "at once": 2,
    "before the head": 2,
    "in the answer": 8,
}
NIM = ("role/null-later", "content-null/opening", "extras-null", "finish-with-content")


@dataclass(frozen=True)
class Plan:
    """One request, and all that happens to its answer.

    Attributes:
        n: Its number.
        kind: What is asked and what comes.
        path: Its path, which names it.
        body: The request's body; empty for a GET.
        version: The HTTP version that an HTTP/1 client speaks.
        status: The answer's status.
        headers: The answer's headers.
        transfer: How the answer's body is sent.
        parts: The same, part by part.
        wire: What is sent of the body, decoded.
        quirks: Names of the quirks.
        request: What the oracle has to know of the request.
        meaning: What the whole answer means.
        disconnect: When the client disconnects.
        disconnects_at: Bytes of the body after which it disconnects.
        narrow: Whether it takes little before it has read it.
        slow: Whether it reads slowly.
    """

    n: int
    kind: Kind
    path: str
    body: bytes
    version: str
    status: int
    headers: dict[str, str]
    transfer: Transfer
    parts: Sequence[Part]
    wire: bytes
    quirks: Sequence[str]
    request: conformance.Request
    meaning: conformance.Meaning
    disconnect: Disconnect
    disconnects_at: int
    narrow: bool
    slow: bool

    @property
    def is_chat(self) -> bool:
        """Whether it is the addon's business."""
        return self.kind != "other"

    @property
    def faults(self) -> list[str]:
        """What goes wrong, on both sides, in words."""
        return [
            *([self.transfer.fault] if self.transfer.fault else []),
            *([f"client disconnects {self.disconnect}"] if self.disconnect else []),
            *(["client reads slowly"] if self.slow else []),
        ]

    def __str__(self) -> str:
        how = " ".join(filter(None, (self.transfer.framing, self.transfer.encoding)))
        faults = ", ".join(self.faults) or "none"
        names = ", ".join(self.quirks) or "none"
        return f"stream {self.n}: {self.kind}, {how}; faults: {faults}; quirks: {names}"


class Session(NamedTuple):
    """Requests on one connection of a client.

    Attributes:
        client: `plain` through the reverse proxy, or `tls` or `h2` through a tunnel.
        upstream: What the provider speaks: `plain`, `tls` (HTTP/1.1) or `h2`.
        numbers: Of the plans; one after the other, or at once over HTTP/2.
        window: Bytes that an HTTP/2 client takes before it has read them. mitmproxy keeps
            what does not fit, and forgets it when the answer breaks off.
    """

    client: Literal["plain", "tls", "h2"]
    upstream: Literal["plain", "tls", "h2"]
    numbers: Sequence[int]
    window: int


def session(seed: int, k: int) -> Session:
    """Return the session *k*."""
    dice = Random(f"{seed} session {k}")
    client = dice.choices(["plain", "tls", "h2"], [6, 1, 2])[0]
    upstream = "plain" if client == "plain" else dice.choice(["tls", "h2"])
    count = dice.choice([1, 2, 3, 4, 6, IN_A_SESSION])
    first = k * IN_A_SESSION
    numbers = range(first, first + count)
    window = dice.choice([WIDE, WIDE, NARROW])
    return Session(client, upstream, numbers, window)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=256)
def plan(seed: int, n: int) -> Plan:
    """Return what happens to stream *n*."""
    dice = Random(f"{seed} stream {n}")
    draft = draw(n, dice)
    its = session(seed, n // IN_A_SESSION)
    old = its.client != "h2" and answers.chance(dice, 5)
    never = {"h2": SHARED, "tls": RESETS if its.client == "h2" else set()}
    left_out = {*never.get(its.upstream, ())}
    if not draft.content_type.startswith("text/event-stream"):
        left_out |= UNDECODABLE
    sending = transfer(draft.kind, draft.wire, dice, old=old, never=left_out)
    return Plan(
        n=n,
        kind=draft.kind,
        path=f"/{n}{draft.path}",
        body=dumps(draft.asked) if draft.asked else b"",
        version="HTTP/1.0" if old else "HTTP/1.1",
        status=draft.status,
        headers={"content-type": draft.content_type, **sending.headers},
        transfer=sending,
        parts=timed_parts(sending.data, dice, stalls=sending.fault == "stall"),
        wire=decode(sending.sent, sending.encoding),
        quirks=draft.names,
        request=draft.request,
        meaning=draft.meaning,
        disconnect=dice.choices([*DISCONNECT], [*DISCONNECT.values()])[0],
        disconnects_at=dice.randrange(len(draft.wire) + 200),
        narrow=its.client == "h2" and its.window == NARROW,
        slow=answers.chance(dice, 3),
    )


# -- what is asked, and what comes --------------------------------------------------


@dataclass
class Draft:
    """An answer before anything goes wrong with it."""

    kind: Kind
    asked: dict[str, Any]
    wire: bytes
    meaning: conformance.Meaning
    request: conformance.Request
    names: list[str] = field(default_factory=list)
    content_type: str = "text/event-stream"
    status: int = 200
    path: str = CHAT


def draw(n: int, dice: Random) -> Draft:
    """Return what is asked as *n*, and what comes."""
    kind = dice.choices([*KINDS], [*KINDS.values()])[0]
    if kind == "error":
        return _error(n, dice)
    if kind == "other":
        return _other(n, dice)
    streams = kind in ("stream", "stream for body")
    answer = (answers.stream if streams else answers.body)(n, dice)
    asked = judged.request_of(answer)
    asked = replace(asked, stream=kind in ("stream", "body for stream"))
    if kind == "stream for body":
        asked = replace(asked, include_usage=False)
    elif kind == "body for stream":
        asked = replace(asked, include_usage=answers.chance(dice, 50))
    seed = dice.randrange(1000)
    sent = _request(asked, legacy=answer.request.legacy)
    if streams:
        drawn = _chosen(quirks.QUIRKS, answer, dice)
        # A busy machine pauses for longer than anything waits.
        chosen = [each for each in drawn if each.base not in quirks.LATE]
        stream = quirks.damaged(answer, chosen, seed)
        draft = Draft(
            kind, sent, stream.encode(), judged.as_read(stream.meaning), asked
        )
    else:
        chosen = _body_quirks(kind, answer, dice)
        body = quirks.damaged_body(answer, chosen, seed)
        draft = Draft(kind, sent, body.encode(), judged.as_read(body.meaning), asked)
        draft.content_type = "application/json"
        if kind == "body for stream":
            draft.wire = dice.choice(FRAMES)(body.value)
            if asked.include_usage and body.meaning.usage is None:
                draft.request = replace(asked, include_usage=None)
    draft.names = [each.name for each in chosen]
    if chosen and answers.chance(dice, 10):
        draft.content_type = dice.choice(["application/json", "text/plain"])
    return draft


def _request(asked: conformance.Request, *, legacy: bool = False) -> dict[str, Any]:
    """Return the body of a request that asks for this."""
    body: dict[str, Any] = {
        "model": quirks.MODEL,
        "stream": asked.stream,
        "messages": [{"role": "user", "content": "Tell me é😀"}],
    }
    if asked.include_usage:
        body["stream_options"] = {"include_usage": True}
    functions = [{"name": name} for name in sorted(quirks.TOOLS)]
    tools = [{"type": "function", "function": each} for each in functions]
    if asked.tools:
        body["tools"] = tools
    if legacy:
        body["functions"] = functions
    if asked.forced_tool:
        body["tool_choice"] = tools[0]
    if asked.n > 1:
        body["n"] = asked.n
    return body


def _chosen(
    known: Sequence[quirks.Quirk], answer: quirks.Answer, dice: Random
) -> list[quirks.Quirk]:
    """Return quirks that fit the answer and each other: none, NVIDIA's, or some."""
    fitting = [each for each in known if each.needs <= answer.has]
    if answers.chance(dice, 15):
        return []
    if answers.chance(dice, 30):
        wanted = [each for each in fitting if each.name in NIM]
    else:
        wanted = dice.choices(fitting, k=dice.randint(1, 4))
    chosen: list[quirks.Quirk] = []
    for each in wanted:
        if all(quirks.fits(each, other) for other in chosen):
            chosen.append(each)
    return chosen


def _body_quirks(kind: Kind, answer: quirks.Answer, dice: Random) -> list[quirks.Quirk]:
    chosen = _chosen(quirks.BODY_QUIRKS, answer, dice)
    if kind == "body":
        return chosen
    # Without an envelope, or a finish and what else tells a body, such an answer could
    # as well be the first event of many.
    chosen = [each for each in chosen if each.name != "body-native/bare"]
    names = {each.base for each in chosen}
    if names & {"body-object", "body-usage-hollow", "body-delta"}:
        chosen = [each for each in chosen if each.base != "body-finish-hollow"]
    return chosen


FRAMES: list[Callable[[Any], bytes]] = [
    dumps,
    lambda value: b"\n\n" + dumps(value) + b"\n",
    lambda value: json.dumps(value, indent=2).encode(),
    lambda value: quirks.encode([value]),
    lambda value: quirks.encode([value, quirks.DONE]),
]
"""How a body comes in the place of a stream."""


def _error(n: int, dice: Random) -> Draft:
    text = f"Too busy for {answers.mark(n)}"
    status, error = dice.choice(
        [
            (429, {"status": 429, "title": "Too Many Requests", "detail": text}),
            (400, {"error": text}),
            (503, {"error": {"message": text, "type": "busy", "code": 503}}),
            (500, {"message": text, "type": "internal_server_error", "code": 500}),
            (404, {"detail": text}),
        ]
    )
    wire = dumps(error)
    asked = conformance.Request(stream=answers.chance(dice, 50))
    meaning = conformance.meaning_of_body(wire)
    draft = Draft("error", _request(asked), wire, meaning, asked)
    draft.status, draft.content_type = status, "application/json"
    return draft


def _other(n: int, dice: Random) -> Draft:
    """Return what is not the addon's business, and passes as it is."""
    name = answers.mark(n)
    value = {"object": "list", "data": [{"id": name, "role": None, "n": 1.50}]}
    events = [
        b"event: response.output_text.delta\r\ndata:" + dumps({"delta": name, "at": at})
        for at in range(dice.randrange(1, 9))
    ]
    stream = b": ping\n\n" + b"".join(each + b"\r\n\r\n" for each in events)
    body = b" " + dumps(value)
    path, wire, kind = dice.choice(
        [
            ("/v1/models", body, "application/json"),
            ("/v1/embeddings", body, "application/json"),
            ("/v1/completions", stream, "text/event-stream"),
            ("/v1/threads/runs", stream, "text/event-stream; charset=utf-8"),
        ]
    )
    asked = conformance.Request(stream=wire is stream)
    sent = {} if path == "/v1/models" else _request(asked)
    draft = Draft("other", sent, wire, conformance.Meaning(), asked)
    draft.content_type, draft.path = kind, path
    return draft
