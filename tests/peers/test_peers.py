"""Servers that are nearly compatible, behind the addon, and real clients before it."""

import json
import re

import pytest

from llm_normalize import conformance
from peers import sources
from peers.cases import Case
from peers.known import PEERS
from peers.stage import CASES, Key, Played, Seen, Wire

type All = dict[Key, Seen]

CHATGLM: Key = ("chatglm.cpp", "text-stream")

ALL = [pytest.param(key, case, id=f"{key[0]}: {key[1]}") for key, case in CASES.items()]
EACH = [
    pytest.param(key, case, client, id=f"{key[0]}: {key[1]}: {client}")
    for key, case in CASES.items()
    for client in case.clients
]

TEXTS = [each for each in ALL if "text-stream" in str(each.id)]

# Each is asked once for the bytes without the addon and once for those with it.
CALL_ID = re.compile(rb"call_[\w-]+")


def breaches(wire: Wire, case: Case) -> set[str]:
    """Return which parts of the form an answer breaks."""
    asked = conformance.Request.from_body(case.asked, stream="stream" in case.asked)
    if wire.status >= 400:
        found = conformance.check_error_body(wire.body)
    elif asked.stream:
        found = conformance.check_stream(wire.body, asked)
    else:
        found = conformance.check_body(wire.body, asked)
    return {line.partition(":")[0] for line in found}


@pytest.mark.parametrize(("key", "case"), ALL)
def test_answer_has_openais_form_with_the_addon_alone(
    seen: All, key: Key, case: Case
) -> None:
    plain, repaired = seen[key].wires
    assert (plain.status, repaired.status) == (case.status, case.status)
    assert breaches(plain, case) == set(case.breaches.split())
    assert breaches(repaired, case) == set()


@pytest.mark.parametrize(("key", "case"), ALL)
def test_nothing_of_the_answer_is_lost(seen: All, key: Key, case: Case) -> None:
    read = (
        conformance.meaning_of_stream
        if "stream" in case.asked
        else conformance.meaning_of_body
    )
    bodies = [CALL_ID.sub(b"call_id", wire.body) for wire in seen[key].wires]
    before, after = map(read, bodies)
    assert conformance.lost(before, after) == []


@pytest.mark.parametrize(("key", "case"), ALL)
def test_the_fixes_are_these(seen: All, key: Key, case: Case) -> None:
    assert seen[key].fixes == set(case.fixes.split())
    assert seen[key].end == "complete"


@pytest.mark.parametrize(("key", "case", "client"), EACH)
def test_client_gets_what_it_should_with_the_addon(
    seen: All, key: Key, case: Case, client: str
) -> None:
    plain, repaired = seen[key].reported[client]
    assert repaired == case.expected(client)
    assert (plain != repaired) == (client in case.wrong)


def shown(body: bytes) -> str | None:
    """Read as many pages do, and return the text; None if they wait for more.

    They split at two newlines, take what begins with `data: `, stop at the finish reason
    or at `[DONE]`, and add up whatever is there, as JavaScript does.
    """
    text = ""
    for block in body.split(b"\n\n"):
        event = block.strip(b"\n")
        if not event.startswith(b"data: ") or b"\r\n" in event:
            continue
        if event == b"data: [DONE]":
            return text
        (choice,) = json.loads(event[6:])["choices"]
        if choice["finish_reason"]:
            return text
        content = choice["delta"].get("content", "")
        text += "null" if content is None else content
    return None


@pytest.mark.parametrize(("key", "case"), TEXTS)
def test_page_shows_the_text_with_the_addon(seen: All, key: Key, case: Case) -> None:
    plain, repaired = (wire.body for wire in seen[key].wires)
    assert shown(repaired) == case.right["text"]
    assert shown(plain) == (case.right["text"] if case.shown == "" else case.shown)


def test_chatglm_sends_crlf_and_pings(seen: All) -> None:
    plain, repaired = (wire.body for wire in seen[CHATGLM].wires)
    assert (plain.count(b"\n\n"), plain.count(b"[DONE]")) == (0, 0)
    assert b"\r\n: ping - " in plain
    assert (repaired.count(b"\r"), repaired.count(b": ping")) == (0, 0)


def test_addon_has_nothing_to_complain_of(played: Played) -> None:
    assert played.complaints == []


def test_every_peer_is_asked_for_a_stream_and_for_a_call() -> None:
    for peer in PEERS:
        assert any("stream" in case.asked for case in peer.cases)
        assert any(case.breaches for case in peer.cases)
        assert (
            any(case.right.get("calls") for case in peer.cases) or peer.name == "vLLM"
        )


def test_sources_are_pinned_to_the_byte_and_the_rest_by_version() -> None:
    for name in sources.ONLY:
        _, pinned = sources.lock_of(name).read_text("utf-8").splitlines()
        assert re.fullmatch(r"[\w.-]+==[\d.]+ --hash=sha256:[0-9a-f]{64}", pinned)
    for line in sources.LOCK.read_text("utf-8").splitlines():
        assert line.startswith("#") or re.fullmatch(r"[\w.-]+==[\w.]+", line), line
    assert {peer.server for peer in PEERS if peer.server} == set(sources.ONLY)
