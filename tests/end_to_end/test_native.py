"""Providers that speak their client's own protocol, nearly, with a real mitmdump."""

import json
import threading
from typing import Any

from end_to_end.test_translation import ASKED, BOTH, MESSAGES, RESPONSES, events_in
from judge import messages_form
from llm_normalize.native_fixes.message_events import (
    STOP,
    block,
    delta,
    end,
    message,
    start,
    stop,
)
from llm_normalize.native_fixes.response_events import WHOLE
from support import Http1Client, Mitmdump, Part, Provider, Script, connect

type Json = Any

FIGURES = {
    "input_tokens": 5,
    "output_tokens": 2,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}
BEGIN = start(usage=FIGURES)
TEXT = [block("text"), delta("text_delta", "Hi"), stop()]
END = [end(usage=FIGURES), STOP]
GOOD: dict[str, list[Json]] = {
    MESSAGES: [BEGIN, {"type": "ping"}, *TEXT, *END],
    RESPONSES: WHOLE,
}
UNSTOPPED = [BEGIN, *TEXT[:2], end("stop", usage=FIGURES)]
"""No stop of its block, another's reason, and no end."""


def spaced(events: list[Json]) -> bytes:
    """Return a stream as another encoder writes it."""
    return "".join(
        f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events
    ).encode()


def provided(provider: Provider, path: str, *parts: Part, **more: Json) -> Script:
    return provider.script(*parts, path=f"/v1{path}", **more)


def judged(body: bytes) -> dict[str, Any]:
    reader = messages_form.read(events_in(body))
    assert reader.faults == []
    return reader.message


@BOTH
def test_right_answer_leaves_byte_for_byte_at_once(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    gate = threading.Event()
    data = spaced(GOOD[end])
    cut = data.index(b"Hi") + 1
    script = provided(provider, end, data[:cut], gate, data[cut:])
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED[end], {})
        reply.until(data[: data.rindex(b"event:", 0, cut)])
        gate.set()
        reply.rest()
    assert reply.body == data


@BOTH
def test_answer_in_one_body_is_the_same_as_its_events(
    reverse: Mitmdump, provider: Provider, end: str
) -> None:
    whole = {
        MESSAGES: message({"type": "text", "text": "Hi"}, usage=FIGURES),
        RESPONSES: WHOLE[-1]["response"],
    }
    data = json.dumps(whole[end]).encode()
    kind = {"content-type": "application/json"}
    for framing in ("length", "chunked"):
        script = provided(provider, end, data, headers=kind, framing=framing)
        reply = reverse.ask(script.path, ASKED[end])
        assert (reply.status, reply.headers["content-type"]) == (
            200,
            "text/event-stream",
        )
        events = [each for _, each in events_in(reply.body) if each["type"] != "ping"]
        assert events == [each for each in GOOD[end] if each["type"] != "ping"]
    script = provided(provider, end, data, headers=kind, framing="length")
    asked = {**ASKED[end], "stream": False}
    assert reverse.ask(script.path, asked).body == data


def test_silent_message_is_kept_alive_and_ends_once_it_is_whole(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    events = UNSTOPPED
    script = provided(
        provider, MESSAGES, spaced(events[:2]), gate, spaced(events[2:]), gate
    )
    with (
        reverse.options(normalize_keepalive=1),
        Http1Client(connect(reverse.port)) as client,
    ):
        reply = client.post(script.path, ASKED[MESSAGES], {})
        reply.until(b"event: ping")
        gate.set()
        reply.rest()
    assert judged(reply.body)["stop_reason"] == "end_turn"
