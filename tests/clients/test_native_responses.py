"""Clients of Responses, and a provider that serves Responses itself, nearly."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.families.shapes import ARGUMENTS, NAME, THOUGHTS, WORDS, Json
from clients.native_loops import wrong_loops
from clients.programs import runners
from clients.servers import Proxy
from clients.test_translated import PROGRAMS
from native_faults import ALL, call, made, stream
from scripted import Provider, Script, body_script
from workshop.traffic.http1 import Request

CLIENTS = {
    name: runner
    for runner in runners()
    for name, protocol in runner.translated.items()
    if protocol == "responses" and name not in PROGRAMS
}
THOUGHT = [{"reasoning_content": each} for each in THOUGHTS]
CALLING = stream([*THOUGHT, call(0, "", NAME), *(call(0, each) for each in ARGUMENTS)])
SAYING = stream([*THOUGHT, *({"content": each} for each in WORDS)], "stop")
FAULTS = {name.replace(": ", "-").replace(" ", "_"): ALL[name] for name in ALL}


def answered(request: Request) -> Script:
    """A call of the tool, then what comes of it, with the fault that the path names."""
    _, _, fault, *_ = [*request.path.split("/"), "", ""]
    if not request.path.endswith("/v1/responses"):
        return body_script(b"404 page not found\n", 404, "text/plain")
    said = json.loads(request.body)["input"]
    is_answered = any(each.get("type") == "function_call_output" for each in said)
    events = made(SAYING if is_answered else CALLING, FAULTS[fault])
    return Script("", [_sent(each) for each in events])


def _sent(event: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (
        event["type"].encode(),
        json.dumps(event).encode(),
    )


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("mitmproxy")
    with Provider(answer=answered) as provider, Proxy(provider.url, folder) as proxy:
        yield proxy.url


@pytest.mark.parametrize("client", CLIENTS)
def test_client_reads_a_repaired_tool_loop(client: str, native: str) -> None:
    assert wrong_loops(CLIENTS[client], client, native, FAULTS) == {}
