"""Clients of Responses and of Messages, and a provider that serves chat alone."""

import contextlib
import itertools
import json
from collections.abc import Iterator

import pytest

from clients.chat_only import (
    BEGUN,
    BROKEN,
    BUSY,
    DIALECTS,
    LENGTH,
    PRINTED,
    PROMPTS,
    REFUSED,
    REQUEST,
    TALKS,
    answered,
)
from clients.families.shapes import ARGUMENTS, NAME, TEXT, THOUGHT, USAGE, Json
from clients.missing_environment import needed
from clients.programs import Programs, Runner, runners, wanted_in
from clients.servers import Proxy
from environments import EnvironmentLackingError
from scripted import Provider

CLIENTS = {name: runner for runner in runners() for name in runner.translated}
PROGRAMS: dict[str, dict[str, str]] = {
    "copilot-responses": {
        "refused": REFUSED,
        "failed": BUSY,
        "cut": "error reading a body from connection",
        "unfinished": "Responses stream ended without a completed response",
    },
    "copilot-messages": {
        "refused": REFUSED,
        "failed": BUSY,
        "cut": "error reading a body from connection",
        "unfinished": "stream ended without producing a Message",
    },
    "codex": {
        "refused": REFUSED,
        "failed": f"stream disconnected before completion: {BUSY}",
        "cut": "stream disconnected before completion: Transport error",
        "unfinished": "stream closed before response.completed",
        LENGTH: "Incomplete response returned, reason: max_output_tokens",
    },
    "claude-code": {
        "refused": REFUSED,
        "failed": "Server error mid-response",
        "cut": "Connection lost mid-response",
        "unfinished": "Connection lost mid-response",
        LENGTH: "response exceeded the 128000 output token maximum",
    },
    "pi-responses": {
        "refused": REFUSED,
        "failed": f"server_error: {BUSY}",
        "cut": "terminated",
        "unfinished": "stream ended before a terminal response event",
        LENGTH: "length",
    },
    "pi-messages": {
        "refused": REFUSED,
        "failed": BUSY,
        "cut": "terminated",
        "unfinished": "stream ended before message_stop",
        LENGTH: "length",
    },
}
"""Those on the command line, with tools of their own, and how they say what went wrong.

The slowest first. What is missing is no error to them.
"""
EXIT_WITH_0 = ("pi-responses", "pi-messages")
"""Those that exit as after an answer: an error is in the JSON that they print."""
UNSTREAMED = ("copilot-responses",)
"""Those that can be set to ask for one body."""
ASKED_AGAIN = {"claude-code": 3, "copilot-responses": 2, "copilot-messages": 2}
"""How often a text that got too long is asked to go on."""

ENDS = {
    "responses": ("completed", "completed", "max_output_tokens"),
    "messages": ("tool_use", "end_turn", "max_tokens"),
    "ai-sdk": ("tool-calls", "stop", "length"),
}
"""What says that there is a call, that all was said, that it got too long."""
NO_ENDS = (None, "failed", "error", "interrupted", "other", "unknown")
WHOLE = "whole"  # the case of an unstreamed loop

type Report = dict[str, Json]
"""What a client reports of a case."""


class Runs:
    """Runs the client programs, some at once, and holds what they report."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self.programs = Programs(self._run)

    def report(self, client: str, case: str) -> Json:
        """Return what *client* has read of *case*."""
        with needed(client):
            return self.programs.result(CLIENTS[client])[client][case]

    def _run(self, runner: Runner) -> dict[str, Report]:
        keys = [
            (client, case) for client in runner.translated for case in cases(client)
        ]
        reports = runner.run(
            [
                {
                    "client": client,
                    "url": f"{self.proxy.url}/{client}/{case}/v1",
                    "request": asked(case),
                }
                for client, case in keys
            ]
        )
        found: dict[str, Report] = {client: {} for client in runner.translated}
        for (client, case), report in zip(keys, reports, strict=True):
            found[client][case] = report
        return found


def asked(case: str) -> Json:
    """Return what a client is to ask in a case."""
    prompts = PROMPTS if case in TALKS else REQUEST["prompts"]
    more = {"prompts": prompts, "store": case == TALKS[1]}
    return {**REQUEST, "stream": case != WHOLE, **more}


def cases(client: str) -> list[str]:
    if client in PROGRAMS:
        # What is asked again takes longest.
        return [*BROKEN, LENGTH, *loops(client)]
    return [*DIALECTS, WHOLE, *talks(client), *BROKEN, LENGTH]


def talks(client: str) -> list[str]:
    """Return the conversations of a library; Messages stores none."""
    stores = CLIENTS[client].translated[client] == "responses"
    return [*TALKS] if stores else [TALKS[0]]


def loops(program: str) -> list[str]:
    """Return the cases in which a program calls its tool."""
    return [*DIALECTS, WHOLE] if program in UNSTREAMED else [*DIALECTS]


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
    with Proxy(chat_only.url, folder) as proxy:
        made = Runs(proxy)
        wanted = wanted_in(request.session)
        # The slowest first.
        slowest = [each for each in [*PROGRAMS, *CLIENTS] if each in wanted]
        made.programs.start(CLIENTS[each] for each in slowest)
        yield made
        made.programs.close()


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


def assert_usage(turn: Json) -> None:
    assert turn["usage"] == [USAGE["prompt_tokens"], USAGE["completion_tokens"]]


def ends_of(client: str) -> tuple[str, str, str]:
    if client.startswith("ai-sdk"):
        return ENDS["ai-sdk"]
    return ENDS[CLIENTS[client].translated[client]]


LIBRARIES = [client for client in CLIENTS if client not in PROGRAMS]
AGENTS = [client for client in LIBRARIES if client.startswith("openai-agents")]


@pytest.mark.parametrize("case", DIALECTS)
@pytest.mark.parametrize("client", LIBRARIES)
def test_library_reads_a_streamed_tool_loop(
    runs: Runs, chat_only: Provider, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    assert not {"error", "unhandled"} & outcome.keys()
    assert outcome.get("final", TEXT) == TEXT
    calling, saying = outcome["turns"]
    assert calling["calls"] == [[NAME, json.loads("".join(ARGUMENTS))]]
    assert saying["calls"] == []
    assert (calling["finish"], saying["finish"]) == ends_of(client)[:2]
    for turn, text in ((calling, ""), (saying, TEXT)):
        assert [turn["reasoning"], turn["text"]] == [THOUGHT, text]
        assert turn.get("whole", [THOUGHT, text]) == [THOUGHT, text]
        assert_usage(turn)
    first, second = asked_by(chat_only, client, case)
    assert first["stream"]
    assert_carries_all(second)


@pytest.mark.parametrize("client", LIBRARIES)
def test_library_reads_an_unstreamed_tool_loop(
    runs: Runs, chat_only: Provider, client: str
) -> None:
    outcome = runs.report(client, WHOLE)["outcome"]
    assert not {"error", "unhandled"} & outcome.keys()
    if client in AGENTS:
        assert outcome == {"final": TEXT}
    else:
        calling, saying = outcome["turns"]
        assert calling["calls"] == [[NAME, json.loads("".join(ARGUMENTS))]]
        assert [calling["whole"], saying["whole"]] == [[THOUGHT, ""], [THOUGHT, TEXT]]
        assert (calling["finish"], saying["finish"]) == ends_of(client)[:2]
        assert_usage(calling)
        assert_usage(saying)
    first, second = asked_by(chat_only, client, WHOLE)
    assert not first.get("stream")
    assert_carries_all(second)


@pytest.mark.parametrize(
    ("client", "case"), [(each, case) for each in LIBRARIES for case in talks(each)]
)
def test_library_keeps_all_of_a_conversation(
    runs: Runs, chat_only: Provider, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    assert not {"error", "unhandled"} & outcome.keys()
    assert [len(each["calls"]) for each in outcome["turns"]] == [1, 0] * len(PROMPTS)
    chats = [
        [each for each in chat["messages"] if each["role"] != "system"]
        for chat in asked_by(chat_only, client, case)
    ]
    for before, after in itertools.pairwise(chats):  # a provider's cache hits
        assert after[: len(before)] == before
    *last, result = chats[-1]
    assert [each["content"] for each in last if each["role"] == "user"] == PROMPTS
    thoughts = [each for each in last if each["role"] == "assistant"]
    assert [each["reasoning_content"] for each in thoughts] == [THOUGHT] * 5
    assert [each["content"] for each in thoughts] == [None, TEXT] * 2 + [None]
    results = [each for each in [*last, result] if each["role"] == "tool"]
    calls = [call["id"] for each in thoughts for call in each.get("tool_calls", ())]
    assert [each["tool_call_id"] for each in results] == calls
    assert len({*calls}) == len(PROMPTS)


@pytest.mark.parametrize("client", LIBRARIES)
def test_library_knows_that_a_text_got_too_long(runs: Runs, client: str) -> None:
    outcome = runs.report(client, LENGTH)["outcome"]
    assert ("error" in outcome) == (client in AGENTS)  # an agent cannot go on
    (turn,) = outcome["turns"]
    assert (turn["text"], turn["finish"]) == (BEGUN, ends_of(client)[2])


@pytest.mark.parametrize("client", LIBRARIES)
def test_library_has_the_words_of_a_refusal(runs: Runs, client: str) -> None:
    said = json.dumps(runs.report(client, "refused")["outcome"]["error"])
    assert REFUSED in said
    assert "400" in said


@pytest.mark.parametrize("case", [case for case in BROKEN if case != "refused"])
@pytest.mark.parametrize("client", LIBRARIES)
def test_library_gets_no_end_that_the_provider_did_not_send(
    runs: Runs, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    (turn,) = outcome["turns"]
    assert turn["text"] == BEGUN
    assert turn["finish"] in NO_ENDS
    assert (BUSY in json.dumps(outcome)) == (case == "failed")
    assert case != "cut" or "error" in outcome


@pytest.mark.parametrize(
    ("client", "case"), [(each, case) for each in PROGRAMS for case in loops(each)]
)
def test_program_runs_a_tool_loop(
    runs: Runs, chat_only: Provider, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    assert outcome["exit"] == 0, outcome
    assert not {"error", "unhandled"} & outcome.keys()
    assert outcome["final"] == TEXT
    assert PRINTED in outcome["printed"]
    assert outcome["usage"]["output_tokens"] == 2 * USAGE["completion_tokens"]
    first, second = asked_by(chat_only, client, case)
    # What it could not read, it would ask again, unstreamed.
    assert [bool(chat.get("stream")) for chat in (first, second)] == [case != WHOLE] * 2
    assert_carries_all(second)


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("client", PROGRAMS)
def test_program_says_what_went_wrong(
    runs: Runs, chat_only: Provider, client: str, case: str
) -> None:
    outcome = runs.report(client, case)["outcome"]
    assert bool(outcome["exit"]) == (client not in EXIT_WITH_0)
    assert "final" not in outcome
    assert PROGRAMS[client][case] in outcome["error"]
    assert all(chat["stream"] for chat in asked_by(chat_only, client, case))


@pytest.mark.parametrize("client", PROGRAMS)
def test_program_knows_that_a_text_got_too_long(
    runs: Runs, chat_only: Provider, client: str
) -> None:
    outcome = runs.report(client, LENGTH)["outcome"]
    assert PROGRAMS[client].get(LENGTH, "") in outcome.get("error", "")
    assert ("error" in outcome) == (LENGTH in PROGRAMS[client])
    _, *again = asked_by(chat_only, client, LENGTH)
    assert len(again) == ASKED_AGAIN.get(client, 0)
    for chat in again:
        begun = [said for said in chat["messages"] if said["role"] == "assistant"]
        assert {said["content"] for said in begun} == {BEGUN}
        assert {said["reasoning_content"] for said in begun} == {THOUGHT}


def test_proxy_has_nothing_to_complain_of(runs: Runs) -> None:
    for runner in CLIENTS.values():
        with contextlib.suppress(EnvironmentLackingError):
            runs.programs.result(runner)
    assert runs.proxy.complaints() == []
