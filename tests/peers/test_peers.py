"""Servers that are nearly compatible, behind the addon, and real clients before it."""

import json
import re

import pytest

import form
from peers import sources, stage
from peers.asking import Json
from peers.cases import CHATGLM, ONE_API, PEERS, Case
from peers.stage import CASES, Key, Seen, Wire

type All = dict[Key, Seen]

ALL = [
    pytest.param(key, case, id=f"{key[0]}: {key[1]}") for key, case in CASES.items()
]
EACH = [
    pytest.param(key, case, client, id=f"{key[0]}: {key[1]}: {client}")
    for key, case in CASES.items()
    for client in case.clients
]


def breaches(wire: Wire, case: Case) -> set[str]:
    """Return which parts of the form an answer breaks."""
    asked = form.Request.from_body(case.asked, stream="stream" in case.asked)
    if wire.status >= 400:
        found = form.check_error_body(wire.body)
    elif asked.stream:
        found = form.check_stream(wire.body, asked)
    else:
        found = form.check_body(wire.body, asked)
    return {line.partition(":")[0] for line in found}


def difference(said: Json, expected: Json) -> Json:
    """Return what was *said* otherwise; None for nothing."""
    return {
        name: said.get(name)
        for name in said.keys() | expected.keys()
        if said.get(name) != expected.get(name)
    }


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
        form.meaning_of_stream if "stream" in case.asked else form.meaning_of_body
    )
    before, after = (read(wire.body) for wire in seen[key].wires)
    assert form.lost(before, after) == []


@pytest.mark.parametrize(("key", "case"), ALL)
def test_the_fixes_are_these(seen: All, key: Key, case: Case) -> None:
    assert seen[key].fixes == set(case.fixes.split())
    assert seen[key].end == "complete"


@pytest.mark.parametrize(("key", "case", "client"), EACH)
def test_client_gets_what_it_should_with_the_addon(
    seen: All, key: Key, case: Case, client: str
) -> None:
    assert seen[key].told[client][1] == case.expected(client)


@pytest.mark.parametrize(("key", "case", "client"), EACH)
def test_client_gets_without_the_addon_what_the_table_says(
    seen: All, key: Key, case: Case, client: str
) -> None:
    said = seen[key].told[client][0]
    assert difference(said, case.expected(client)) == case.wrong.get(client, {})
