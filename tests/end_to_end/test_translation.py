"""Clients of other protocols and a provider of chat completions, with a real mitmdump."""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from end_to_end.test_routing import KEY
from llm_normalize.repair.fix import DONE, chunk, wire
from package.test_public_names import NAMES
from support import (
    Break,
    Http1Client,
    Mitmdump,
    Part,
    Provider,
    Script,
    body_script,
    connect,
)

type Json = Any

RESPONSES, MESSAGES = "/responses", "/messages"
BOTH = pytest.mark.parametrize("end", [RESPONSES, MESSAGES])
ASKED: dict[str, Json] = {
    RESPONSES: {
        "model": "m",
        "input": "heron?",
        "stream": True,
        "metadata": {"note": "wagtail"},
    },
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
    again = reverse.ask(path, ASKED[end], {"authorization": f"Bearer {KEY}"})
    assert (again.status, text_in(end, again.body)) == (200, "Hi there")
    assert (len(refused.requests), len(script.requests)) == (1, 2)
    records = reverse.records(refused)
    flow = records[-1]
    assert list(flow) == NAMES["log"]["flow of a translation"]
    assert (flow["protocol"], flow["translated"], flow["end"]) == (
        end.removeprefix("/"),
        True,
        "complete",
    )
    pairs = [each for each in records if each["type"] == "pair"]
    assert all(each["fixes"][-1] == "translated" for each in pairs)
    assert "".join(each["before"] for each in pairs).encode() == b"".join(EVENTS)
    logged = "".join(text for each in pairs for text in each["after"]).encode()
    names = [name for name, _ in events_in(logged)]
    assert names == [name for name, _ in events_in(reply.body)]
    assert text_in(end, logged) == "Hi there"
    assert "wagtail" not in json.dumps(records)


# -- errors, breaks ---------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ((FINISH, DONE), "complete"),
        ((b'data: {"error":{"message":"overloaded"}}\n\n',), "complete"),
        ((FINISH,), "client-left"),
    ],
)
def test_client_that_hangs_up_behind_the_last_event_has_all_of_it(
    reverse: Mitmdump,
    provider: Provider,
    end: str,
    sent: Sequence[bytes],
    expected: str,
) -> None:
    never = threading.Event()
    _, others = chat_only(provider, HEAD, TEXT, *sent, never)
    path, refused = others[end]
    failed = {RESPONSES: "response.failed", MESSAGES: "event: error"}[end]
    last = LAST[end] if DONE in sent else failed if FINISH not in sent else "Hi"
    with Http1Client(connect(reverse.port)) as client:
        client.post(path, ASKED[end]).until(last.encode())
    assert reverse.records(refused)[-1]["end"] == expected
    never.set()


# -- the end -------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    "parts",
    [(*EVENTS, 8.0), (*EVENTS[:-1], 8.0), (*EVENTS[:-1], 0.3, Break.RESET)],
    ids=["stays", "falls silent", "resets"],
)
def test_stream_ends_with_its_protocols_last_event(
    reverse: Mitmdump, provider: Provider, end: str, parts: Sequence[Part]
) -> None:
    script, others = chat_only(provider, *parts)
    path, refused = others[end]
    with (
        reverse.options(normalize_keepalive=1),
        Http1Client(connect(reverse.port)) as client,
    ):
        for _ in range(2):  # the second time the path is known
            begun = time.monotonic()
            body = client.post(path, ASKED[end]).rest()
            assert events_in(body)[-1][0] == LAST[end]
            assert time.monotonic() - begun < 5
            flow = reverse.records(refused)[-1]
            assert (flow["type"], flow["end"]) == ("flow", "complete")
    assert len(script.requests) == 2
