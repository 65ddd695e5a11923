"""Clients of Responses and of Messages, and a provider that serves chat alone."""

import json
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from clients.chat_only import (
    BEGUN,
    BROKEN,
    BUSY,
    DIALECTS,
    PRINTED,
    REFUSED,
    REQUEST,
    answered,
)
from clients.families.shapes import ARGUMENTS, NAME, TEXT, THOUGHT, USAGE, Json
from clients.matrix import AT_ONCE
from clients.programs import Runner, runners
from clients.servers import Proxy
from workshop.environments import EnvironmentLackingError
from workshop.traffic.scripted import Provider

CLIENTS = {name: runner for runner in runners() for name in runner.translated}
PROGRAMS = ("codex", "claude-code")  # on the command line, with tools of their own
# In place of what these give: their own words, or none, as no status is said there.
ENDS = {"responses": ("completed", "completed"), "messages": ("tool_use", "end_turn")}
AI_SDK = ("tool-calls", "stop")
NO_ENDS = (None, "failed", "error", "interrupted", "other", "unknown")
WHOLE = "whole"  # the case of an unstreamed loop

type Report = dict[str, Json]
"""What a client reports of a case."""


class Runs:
    """Runs the client programs, some at once, and holds what they report."""

    def __init__(self, proxy: str, pool: ThreadPoolExecutor) -> None:
        self._proxy = proxy
        self._pool = pool
        self._runs: dict[str, Future[dict[str, Report]]] = {}

    def start(self, names: set[str]) -> None:
        """Start the programs of the clients *names*, unless they have been."""
        for runner in {CLIENTS[name].name: CLIENTS[name] for name in names}.values():
            if runner.name not in self._runs:
                self._runs[runner.name] = self._pool.submit(self._run, runner)

    def report(self, client: str, case: str) -> Json:
        """Return what *client* has read of *case*."""
        self.start({client})
        try:
            return self._runs[CLIENTS[client].name].result()[client][case]
        except EnvironmentLackingError as error:
            reason = f"no environment for {client}: {error}"
        if os.environ.get("CI"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)

    def _run(self, runner: Runner) -> dict[str, Report]:
        keys = [(client, case) for client in runner.translated for case in cases(client)]
        reports = runner.run(
            [
                {
                    "client": client,
                    "url": f"{self._proxy}/{client}/{case}/v1",
                    "request": {**REQUEST, "stream": case != WHOLE},
                }
                for client, case in keys
            ]
        )
        found: dict[str, Report] = {client: {} for client in runner.translated}
        for (client, case), report in zip(keys, reports, strict=True):
            found[client][case] = report
        return found


def cases(client: str) -> list[str]:
    if client in PROGRAMS:
        return [*DIALECTS, "refused"]
    return [*DIALECTS, WHOLE, *BROKEN]


@pytest.fixture(scope="module")
def chat_only() -> Iterator[Provider]:
    with Provider(answer=answered) as started:
        yield started


@pytest.fixture(scope="module")
def runs(
    chat_only: Provider,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Runs]:
    folder = tmp_path_factory.mktemp("mitmproxy")
    with Proxy(chat_only.url, folder) as proxy, ThreadPoolExecutor(AT_ONCE) as pool:
        made = Runs(proxy.url, pool)
        specs = [getattr(item, "callspec", None) for item in request.session.items]
        wanted = {spec.params.get("client") for spec in specs if spec is not None}
        made.start({str(each) for each in wanted if each in CLIENTS})
        yield made
        pool.shutdown(cancel_futures=True)


def asked_by(provider: Provider, client: str, case: str) -> list[Json]:
    """Return the chat requests of a case."""
    path = f"/{client}/{case}/v1/chat/completions"
    return [
        json.loads(each.body)
        for each in provider.requests
        if each.path.partition("?")[0] == path
    ]


def assert_carries_all(chat: Json) -> None:
    """See that the second request has the call, its reasoning and its result."""
    calling, result = [
        said
        for said in chat["messages"]
        if said["role"] == "tool" or said.get("tool_calls")
    ]
    assert calling["reasoning_content"] == THOUGHT
    assert result["tool_call_id"] == calling["tool_calls"][0]["id"]
    assert PRINTED in result["content"]


LIBRARIES = [client for client in CLIENTS if client not in PROGRAMS]


@pytest.mark.parametrize("case", [*DIALECTS, WHOLE])
@pytest.mark.parametrize("client", LIBRARIES)
def test_library_reads_a_tool_loop(
    runs: Runs, chat_only: Provider, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    assert "error" not in outcome
    first, second = asked_by(chat_only, client, case)
    assert bool(first.get("stream")) == (case != WHOLE)
    assert_carries_all(second)
    assert outcome.get("final", TEXT) == TEXT
    if case == WHOLE and "final" in outcome:
        return  # all that such a run returns
    calling, saying = outcome["turns"]
    assert calling["calls"] == [[NAME, json.loads("".join(ARGUMENTS))]]
    assert saying["calls"] == []
    ends = AI_SDK if client.startswith("ai-sdk") else ENDS[protocol_of(client)]
    for turn, text, end in zip((calling, saying), ("", TEXT), ends, strict=True):
        read = [turn["reasoning"], turn["text"]]
        assert turn.get("whole", read) == [THOUGHT, text]
        assert case == WHOLE or read == [THOUGHT, text]
        assert turn["finish"] == end
        assert turn["usage"] == [USAGE["prompt_tokens"], USAGE["completion_tokens"]]


def protocol_of(client: str) -> str:
    return CLIENTS[client].translated[client]


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("client", LIBRARIES)
def test_library_sees_what_went_wrong(runs: Runs, client: str, case: str) -> None:
    outcome = runs.report(client, case)["outcome"]
    said = json.dumps(outcome)
    if case == "refused":
        assert REFUSED in said
        assert "400" in said
        return
    *_, turn = outcome["turns"]
    assert turn["text"] == BEGUN
    assert (BUSY in said) == (case == "failed")
    assert turn["finish"] in NO_ENDS


@pytest.mark.parametrize("case", DIALECTS)
@pytest.mark.parametrize("client", PROGRAMS)
def test_program_runs_a_tool_loop(
    runs: Runs, chat_only: Provider, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    assert outcome["exit"] == 0, outcome
    assert "error" not in outcome
    assert outcome["final"] == TEXT
    assert PRINTED in outcome["printed"]
    assert outcome["usage"]["output_tokens"] == 2 * USAGE["completion_tokens"]
    asked = asked_by(chat_only, client, case)
    assert all(chat["stream"] for chat in asked)  # else it has asked all again
    assert len(asked) == 2
    assert_carries_all(asked[1])


@pytest.mark.parametrize("client", PROGRAMS)
def test_program_says_what_was_refused(runs: Runs, client: str) -> None:
    outcome = runs.report(client, "refused")["outcome"]
    assert outcome["exit"] != 0
    assert REFUSED in outcome["error"]
