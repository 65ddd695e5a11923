"""Codex and Claude Code through sessions with providers whose answers are nearly right.

One serves chat alone, and refuses what NIM does; others serve the agent's own protocol.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import native_faults
import native_message_faults
from clients.chat_only import REQUEST
from clients.families.shapes import Json
from clients.missing_environment import needed
from clients.native_session import NativeSession, history
from clients.programs import runners
from clients.scenarios import (
    DAYS,
    LAMPS,
    NATIVE_DAYS,
    TURNS,
    Day,
    interrupted,
    long_session,
    mark,
    native_session,
)
from clients.servers import Proxy
from clients.session import FINAL, Session
from scripted import Provider, Script, body_script
from workshop.traffic.http1 import Request

CLIENTS = {name: runner for runner in runners() for name in runner.translated}
FAULTS = {
    "codex": [*native_faults.ALL.values()],
    "claude-code": [*native_message_faults.ALL.values()],
}
"""Those of the protocol that each speaks."""
BOTH = pytest.mark.parametrize("client", ["codex", "claude-code"])


class Stage:
    """A provider with a path for each session, and a proxy before it."""

    def __init__(self, folder: Path) -> None:
        self._sessions: dict[str, Session] = {}
        self._numbers = itertools.count(1)
        self.provider = Provider(answer=self._answered)
        self.proxy = Proxy(self.provider.url, folder)

    def _answered(self, request: Request) -> Script:
        session = self._sessions.get(request.path.split("/")[1])
        return session.answer(request) if session else body_script(b"", 404)

    def play(self, client: str, session: Session, **asked: Any) -> Json:
        """Return the outcome of a session, once nothing was lost in it."""
        name = f"session-{next(self._numbers)}"
        self._sessions[name] = session
        request = {**REQUEST, "prompts": ["Print words."], **asked}
        case = {"client": client, "url": f"{self.proxy.url}/{name}/v1"}
        with needed(client):
            (report,) = CLIENTS[client].run([{**case, "request": request}])
        outcome: Json = report["outcome"]
        assert session.faults == []
        assert outcome.get("final") == FINAL, outcome
        assert outcome["exit"] == 0
        # What it could not read, it would ask again, unstreamed.
        assert all(each["stream"] for each in session.requests)
        results = [x for x in session.requests[-1]["messages"] if x["role"] == "tool"]
        assert len({each["tool_call_id"] for each in results}) == len(results)
        assert self.proxy.complaints() == []
        return outcome


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("mitmproxy"))
    with made.provider, made.proxy:
        yield made


@BOTH
def test_program_ends_a_session_that_is_compacted_twice(
    stage: Stage, client: str
) -> None:
    # Codex shortens by what it has counted, Claude Code once it is refused.
    session = Session(long_session(), window=9_000 if client == "claude-code" else 0)
    # The tokens are estimated, for the provider does not count. A model of its own: what
    # another session was refused is known.
    stage.play(client, session, model="acme/heron-8b", compact_at=13_000)
    assert session.refused.keys() >= {"calls", "images"}
    results = [x for x in session.requests[-1]["messages"] if x["role"] == "tool"]
    assert mark(TURNS - 1) in str(results[-1])
    assert session.compactions > 1


@pytest.mark.parametrize("day", DAYS.values(), ids=DAYS)
def test_program_uses_its_tools(stage: Stage, day: Day) -> None:
    session = Session(day.steps, day.helper)
    stage.play(day.client, session, model=day.model, mcp=LAMPS)
    assert session.is_over


@BOTH
def test_program_goes_on_where_it_was_interrupted(
    stage: Stage, client: str, tmp_path: Path
) -> None:
    stops = [tmp_path / each for each in ("text", "call", "tool")]
    session = Session(interrupted(stops))
    prompts = ["Print words.", *["Go on."] * len(stops)]
    stage.play(client, session, prompts=prompts, stops=[*map(str, stops)])
    assert session.is_over


@BOTH
def test_program_has_done_the_same_with_a_native_provider_that_is_nearly_right(
    stage: Stage, client: str
) -> None:
    day, faults = NATIVE_DAYS[client], FAULTS[client]
    answers = len(day.steps) + 1
    kept = []
    for first in (None, *range(0, len(faults), answers)):
        part = [] if first is None else faults[first : first + answers]
        session = NativeSession(day.steps, faults=part)
        stage.play(client, session, model=day.model, mcp=LAMPS)
        assert session.is_over
        kept.append(history(session.asked[-1]))
    assert [each for each in kept if each != kept[0]] == []


@BOTH
def test_program_compacts_a_session_with_a_native_provider(
    stage: Stage, client: str
) -> None:
    # As above, each by its own means.
    window = 9_000 if client == "claude-code" else 0
    session = NativeSession(native_session(), window=window, faults=FAULTS[client])
    stage.play(client, session, model="acme/rail-8b", compact_at=13_000)
    assert session.is_over
    assert session.compactions


@pytest.mark.parametrize(
    "name", ["{name}", "{namespace}__{name}", "{namespace}.{name}"]
)
def test_codex_uses_its_tools_with_a_provider_that_knows_functions_alone(
    stage: Stage, name: str
) -> None:
    def fault(events: list[Json]) -> list[Json]:
        for item in native_faults.items_in(events):
            if "namespace" in item:
                item["name"] = name.format_map(item)
                del item["namespace"]
        return native_faults.as_functions(events)

    day = NATIVE_DAYS["codex"]
    session = NativeSession(day.steps, faults=[fault])
    stage.play("codex", session, model=day.model, mcp=LAMPS)
    assert session.is_over
