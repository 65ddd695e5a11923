"""Clients of Messages, and a provider that serves Messages itself, nearly."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.families.shapes import ARGUMENTS, NAME, THOUGHTS, WORDS
from clients.native_loops import wrong_loops
from clients.programs import runners
from clients.servers import Proxy
from clients.test_translated import PROGRAMS
from llm_normalize.native_fixes.message_events import (
    STOP,
    block,
    delta,
    end,
    start,
    stop,
)
from llm_normalize.native_fixes.native_fix import wire
from scripted import Provider, Script, body_script
from workshop.traffic.http1 import Request

type Events = list[dict[str, Any]]

CLIENTS = {
    name: runner
    for runner in runners()
    for name, protocol in runner.translated.items()
    if protocol == "messages" and name not in PROGRAMS
}
THOUGHT: Events = [
    block("thinking"),
    *(delta("thinking_delta", each) for each in THOUGHTS),
    delta("signature_delta", "signed"),
    stop(),
]
CALLING: Events = [
    start(),
    *THOUGHT,
    block("tool_use", 1, name=NAME),
    *(delta("input_json_delta", each, 1) for each in ARGUMENTS),
    stop(1),
    end("tool_use"),
    STOP,
]
SAYING: Events = [
    start(id="msg_2"),
    *THOUGHT,
    block("text", 1),
    *(delta("text_delta", each, 1) for each in WORDS),
    stop(1),
    end(),
    STOP,
]


def without(*kinds: str) -> Callable[[Events], Events]:
    return lambda events: [each for each in events if each["type"] not in kinds]


def each(kind: str, change: Callable[[Any], object]) -> Callable[[Events], Events]:
    """Return what changes the events of a kind in place."""

    def changed(events: Events) -> Events:
        for event in events:
            if event["type"] == kind:
                change(event)
        return events

    return changed


def in_one_block(events: Events) -> Events:
    for event in events:
        if "index" in event:
            event["index"] = 0
    return events


def input_in_start(events: Events) -> Events:
    for event in events:
        if event.get("content_block", {}).get("type") == "tool_use":
            event["content_block"]["input"] = json.loads("".join(ARGUMENTS))
    return [
        event
        for event in events
        if event.get("delta", {}).get("type") != "input_json_delta"
    ]


def twice(events: Events) -> Events:
    return [events[0], copy.deepcopy(events[0]), *events[1:]]


WORD = {"tool_use": "tool_calls", "end_turn": "stop"}
FAULTS: dict[str, Callable[[Events], Events]] = {
    "none": lambda events: events,
    "usage": each("message_start", lambda event: event["message"].pop("usage")),
    "content": each("message_start", lambda event: event["message"].pop("content")),
    "id": each("message_start", lambda event: event["message"].update(id="chatcmpl-1")),
    "figures": each("message_delta", lambda event: event.pop("usage")),
    "reason": each(
        "message_delta",
        lambda event: event["delta"].update(
            stop_reason=WORD[event["delta"]["stop_reason"]]
        ),
    ),
    "starts": twice,
    "start": without("message_start"),
    "stops": without("content_block_stop"),
    "stop": without("message_stop"),
    "end": without("message_delta"),
    "indexes": in_one_block,
    "input": input_in_start,
}


def answered(request: Request) -> Script:
    """A call of the tool, then what comes of it, with the fault that the path names."""
    _, _, fault, *_ = [*request.path.split("/"), "", ""]
    if not request.path.partition("?")[0].endswith("/messages"):
        return body_script(b"404 page not found\n", 404, "text/plain")
    is_answered = b"tool_result" in request.body
    events = copy.deepcopy(SAYING if is_answered else CALLING)
    return Script("", [wire([event]) for event in FAULTS[fault](events)])


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("mitmproxy")
    with Provider(answer=answered) as provider, Proxy(provider.url, folder) as proxy:
        yield proxy.url


@pytest.mark.parametrize("client", CLIENTS)
def test_client_reads_a_repaired_tool_loop(client: str, native: str) -> None:
    assert wrong_loops(CLIENTS[client], client, native, FAULTS) == {}
