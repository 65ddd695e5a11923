"""Clients of other protocols and a provider of chat completions, with a real mitmdump."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from end_to_end.test_routing import KEY, OPENAI, TOKEN, Start
from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps
from support import (
    LOOPBACK,
    Break,
    BrokenEndError,
    Http1Client,
    Http2Client,
    Mitmdump,
    Part,
    Provider,
    Script,
    body_script,
    connect,
    starting,
    to,
)

type Json = Any

RESPONSES, MESSAGES = "/responses", "/messages"
BOTH = pytest.mark.parametrize("end", [RESPONSES, MESSAGES])
ASKED: dict[str, Json] = {
    RESPONSES: {"model": "m", "input": "heron?", "stream": True},
    MESSAGES: {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "heron?"}],
        "stream": True,
    },
}
HEAD = wire([chunk({"role": "assistant", "content": None})])
TEXT = wire([chunk({"content": "Hi"})])
MORE = wire([chunk({"content": " there"})])
FINISH = wire([chunk({}, finish="stop")])
EVENTS = (HEAD, TEXT, MORE, FINISH, DONE)
LAST = {RESPONSES: "response.completed", MESSAGES: "message_stop"}
DELTA = {RESPONSES: b"response.output_text.delta", MESSAGES: b"text_delta"}
UNKNOWN = body_script(b"404 page not found\n", 404, "text/plain")


@pytest.fixture
def start(
    tmp_path: Path, mitm_ca: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    """Start a mitmdump of the test's own, with a key and a token in its environment."""
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("A_TOKEN", TOKEN)
    with starting(tmp_path, mitm_ca) as begin:
        yield begin


def chat_only(
    provider: Provider, *parts: Part, refusal: Script = UNKNOWN, **more: Json
) -> tuple[Script, dict[str, tuple[str, Script]]]:
    """Return a script of chat completions, and the paths beside it that are not served."""
    script = provider.script(*parts, **more)
    base = script.path.removesuffix("/chat/completions")
    others = {}
    for end in (RESPONSES, MESSAGES, f"{MESSAGES}/count_tokens"):
        path = base + end
        missing = Script(
            path, refusal.parts, refusal.status, refusal.headers, refusal.framing
        )
        provider.alias(missing, path)
        others[end] = path, missing
    return script, others


def events_in(body: bytes) -> list[tuple[str, Json]]:
    """Return the events of a stream, each with its name."""
    found = []
    for block in body.decode().split("\n\n"):
        lines = [line.partition(": ") for line in block.split("\n") if line]
        if lines:
            fields = {name: value for name, _, value in lines}
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def ask(
    mitmdump: Mitmdump, path: str, body: Json, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(path, body, named)
        return reply.status, reply.headers, reply.rest()


def text_in(end: str, body: bytes) -> str:
    if end == RESPONSES:
        kind = "response.output_text.delta"
        return "".join(data["delta"] for name, data in events_in(body) if name == kind)
    deltas = (data.get("delta", {}) for _, data in events_in(body))
    return "".join(each.get("text", "") for each in deltas)


# -- once refused, chat from then on -------------------------------------------------


@BOTH
def test_path_that_is_not_served_is_asked_as_chat_at_once_and_from_then_on(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    gate = threading.Event()
    script, others = chat_only(provider, HEAD, TEXT, gate, MORE, FINISH, DONE)
    path, refused = others[end]
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(path, ASKED[end], {"authorization": f"Bearer {KEY}"})
        assert reply.status == 200
        assert reply.headers["content-type"] == "text/event-stream"
        reply.until(DELTA[end])  # live: the rest has not been sent
        gate.set()
        body = reply.rest()
    assert text_in(end, reply.body) == "Hi there", body
    assert events_in(reply.body)[-1][0] == LAST[end]
    assert len(refused.requests) == 1
    (chat,) = script.requests
    assert json.loads(chat.body)["messages"] == [{"role": "user", "content": "heron?"}]
    assert chat.headers["authorization"] == f"Bearer {KEY}"
    status, _, again = ask(reverse, path, ASKED[end])
    assert (status, text_in(end, again)) == (200, "Hi there")
    assert (len(refused.requests), len(script.requests)) == (1, 2)
    records = reverse.records(refused)
    flow = records[-1]
    assert (flow["protocol"], flow["translated"], flow["end"]) == (
        end.removeprefix("/"),
        True,
        "complete",
    )
    pairs = [each for each in records if each["type"] == "pair"]
    assert all(each["fixes"][-1] == "translated" for each in pairs)
    assert "".join(each["before"] for each in pairs).encode() == b"".join(EVENTS)
    assert "".join(text for each in pairs for text in each["after"]) == reply.body.decode()


@BOTH
def test_unstreamed_request_is_answered_by_one_body(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    body = dumps(completion({"role": "assistant", "content": "Hi"}))
    script, others = chat_only(
        provider, body, headers={"content-type": "application/json"}, framing="length"
    )
    path, refused = others[end]
    for _ in range(2):
        status, headers, answer = ask(reverse, path, {**ASKED[end], "stream": False})
        assert (status, headers["content-type"]) == (200, "application/json")
        assert int(headers["content-length"]) == len(answer)
        assert b'"Hi"' in answer
        assert json.loads(answer)["id"].startswith(("resp_", "msg_"))
    assert (len(refused.requests), len(script.requests)) == (1, 2)
    assert reverse.records(refused)[-1]["translated"] is True
