"""Codex and Claude Code through a long session with a provider that refuses what NIM does."""

from pathlib import Path

import pytest

from clients.chat_only import REQUEST
from clients.lacking import give_up
from clients.programs import runners
from clients.servers import Proxy
from clients.session import FINAL, TURNS, Session, mark
from environments import EnvironmentLackingError
from scripted import Provider

CLIENTS = {name: runner for runner in runners() for name in runner.translated}


@pytest.mark.parametrize("client", ["codex", "claude-code"])
def test_program_ends_a_long_session(client: str, tmp_path: Path) -> None:
    # Codex shortens by what it has counted, Claude Code once it is refused.
    session = Session(window=9_000 if client == "claude-code" else 0)
    # Estimated, for the provider does not count.
    request = {**REQUEST, "prompt": "Print words.", "compact_at": 13_000}
    with (
        Provider(answer=session.answer) as provider,
        Proxy(provider.url, tmp_path) as proxy,
    ):
        case = {"client": client, "url": f"{proxy.url}/{client}/v1", "request": request}
        try:
            (report,) = CLIENTS[client].run([case])
        except EnvironmentLackingError as error:
            give_up(client, error)
        complaints = proxy.complaints()
    outcome = report["outcome"]
    assert outcome.get("final") == FINAL, outcome
    assert outcome["exit"] == 0
    assert session.faults == []
    assert all(each["stream"] for each in session.requests)
    assert session.refused.keys() >= {"calls", "images"}
    assert complaints == []
    results = [x for x in session.requests[-1]["messages"] if x["role"] == "tool"]
    assert len({each["tool_call_id"] for each in results}) == len(results)
    assert mark(TURNS - 1) in str(results[-1])
    assert session.compactions > 0
