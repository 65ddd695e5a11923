"""Clients whose provider speaks Responses or Messages itself, nearly, each with its faults."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import native_faults
import native_message_faults
from clients.chat_only import REQUEST
from clients.families.shapes import ARGUMENTS, NAME, TEXT, THOUGHTS, WORDS, Json
from clients.missing_environment import needed
from clients.native_session import body_of, native_events, native_script
from clients.programs import Runner, runners
from clients.servers import Proxy
from clients.test_translated import PROGRAMS
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import Circumstances, ClientProtocol
from llm_normalize.protocols.responses import RESPONSES
from native_faults import Change, Data
from scripted import Provider, Script, body_script
from workshop.traffic.http1 import Request

ENDING = [[[NAME, json.loads("".join(ARGUMENTS))]], TEXT, []]
"""The calls of the first turn, the text of the second, and its calls."""
THOUGHT = [{"reasoning_content": each} for each in THOUGHTS]
CALLING = [
    *THOUGHT,
    native_faults.call(0, "", NAME),
    *(native_faults.call(0, each) for each in ARGUMENTS),
]
SAYING = [*THOUGHT, *({"content": each} for each in WORDS)]
CLIENTS: dict[str, tuple[Runner, str]] = {
    name: (runner, protocol)
    for runner in runners()
    for name, protocol in runner.translated.items()
    if name not in PROGRAMS
}


def faults(of: dict[str, Change]) -> dict[str, Change]:
    """Faults by names that a path can have, and a body in the place of a stream."""
    named = {name.replace(": ", "-").replace(" ", "_"): of[name] for name in of}
    return {"none": lambda _: None, **named, "body": body_of}


FAULTS = {
    "responses": faults(native_faults.ALL),
    "messages": faults(native_message_faults.ALL),
}


def events(protocol: ClientProtocol, deltas: Sequence[Json], finish: str) -> list[Data]:
    """A right stream in answer to any request."""
    asked: Json = {"model": "tern-2", "input": "Hi", "messages": [], "stream": True}
    under = Circumstances(finish)
    return native_events(protocol.translate(asked, under).answer, deltas, finish)


STREAMS = {
    each.name: (events(each, CALLING, "tool_calls"), events(each, SAYING, "stop"))
    for each in (RESPONSES, MESSAGES)
}


def answered(request: Request) -> Script:
    """A call of the tool, then what comes of it, with the fault that the path names."""
    _, client, fault, *_ = [*request.path.split("/"), "", ""]
    protocol = CLIENTS[client][1] if client in CLIENTS else ""
    if not request.path.partition("?")[0].endswith(f"/v1/{protocol}"):
        return body_script(b"404 page not found\n", 404, "text/plain")
    calling, saying = STREAMS[protocol]
    results = (b'"tool_result"', b'"function_call_output"')
    is_answered = any(each in request.body for each in results)
    right = saying if is_answered else calling
    return native_script(native_faults.made(right, FAULTS[protocol][fault]))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("mitmproxy")
    with Provider(answer=answered) as provider, Proxy(provider.url, folder) as proxy:
        yield proxy.url


@pytest.mark.parametrize("client", CLIENTS)
def test_client_reads_a_repaired_tool_loop(client: str, native: str) -> None:
    runner, protocol = CLIENTS[client]
    names = [*FAULTS[protocol]]
    with needed(client):
        reports = runner.run(
            [
                {
                    "client": client,
                    "url": f"{native}/{client}/{x}/v1",
                    "request": REQUEST,
                }
                for x in names
            ]
        )
    outcomes = zip(names, (each["outcome"] for each in reports), strict=True)
    assert {fault: each for fault, each in outcomes if is_wrong(each)} == {}


def is_wrong(outcome: dict[str, Any]) -> bool:
    """Tell whether a loop had an error, or ended otherwise."""
    calling, saying = [*outcome.get("turns", []), {}, {}][:2]
    found = [calling.get("calls"), saying.get("text"), saying.get("calls")]
    return bool({"error", "unhandled"} & outcome.keys()) or found != ENDING
