"""Real clients report through the addon what they report of OpenAI's own shape."""

import json
import re
import zlib
from dataclasses import dataclass

import brotli
import pytest

from clients import tables
from clients.families import FAMILIES, Answer, Family, Json
from clients.matrix import CLIENTS, Cell, Key, Matrix
from clients.missing_environment import needed
from clients.programs import RUNNERS, runners
from clients.servers import Proxy
from environments import EnvironmentLackingError
from llm_normalize import conformance

# Where a client does not report the same although OpenAI could have sent what it got.
EXCEPTIONS: dict[Key, str] = {}

# Quirks that none of these clients minds, and why they are repaired all the same.
UNNOTICED = {
    "line-end-crlf": "breaks those that split at two newlines, and none of these does",
    "done-missing": "hangs those that wait for it on a connection that stays open",
    "done-bare": "is the same to these: they end with the connection",
    "done-unclosed": "loses [DONE] only, and these end with the connection",
}

CELLS = [(client, family) for client in CLIENTS for family in FAMILIES]
QUIRKS = [family for family in FAMILIES.values() if family.quirk != family.openai]


def cell(matrix: Matrix, client: str, family: str) -> Cell:
    with needed(client):
        return matrix.cell(client, family)


@dataclass(frozen=True)
class Measured:
    """All cells that could be had, and why some clients have none."""

    cells: dict[Key, Cell]
    lacking: dict[str, str]

    @property
    def ran(self) -> list[str]:
        return [client for client in CLIENTS if client not in self.lacking]


@pytest.fixture(scope="session")
def measured(matrix: Matrix) -> Measured:
    matrix.start(CLIENTS)
    cells: dict[Key, Cell] = {}
    lacking: dict[str, str] = {}
    for client, family in CELLS:
        if client not in lacking:
            try:
                cells[client, family] = matrix.cell(client, family)
            except EnvironmentLackingError as error:
                lacking[client] = str(error)
    return Measured(cells, lacking)


@pytest.mark.parametrize("client", CLIENTS)
def test_client_sees_what_openai_would_have_sent(
    matrix: Matrix, client: str, subtests: pytest.Subtests
) -> None:
    for family in FAMILIES:
        found = cell(matrix, client, family)  # of one run: where one lacks, all do
        with subtests.test(family):
            if (client, family) in EXCEPTIONS:
                assert found.after != found.wanted, "it is an exception no more"
            else:
                assert found.after == found.wanted


@pytest.mark.parametrize("client", CLIENTS)
def test_client_is_content_with_openais_own_shape(matrix: Matrix, client: str) -> None:
    assert not cell(matrix, client, "openai-text").wanted["outcome"].get("error")


@pytest.mark.parametrize("family", QUIRKS, ids=lambda family: family.name)
def test_quirk_breaks_a_client(measured: Measured, family: Family) -> None:
    broken = [
        client
        for client in measured.ran
        if measured.cells[client, family.name].fails_before
    ]
    if family.name in UNNOTICED:
        assert broken == []
    elif not broken and measured.lacking:
        pytest.skip(f"none that could run; not tried: {', '.join(measured.lacking)}")
    else:
        assert broken


def test_tables_say_what_was_measured(
    measured: Measured, pytestconfig: pytest.Config
) -> None:
    is_updated = pytestconfig.getoption("--update-table")
    if measured.lacking:
        give_none = pytest.fail if is_updated else pytest.skip
        give_none(f"not all could run: {', '.join(measured.lacking)}")
    for path, text in tables.documents(measured.cells).items():
        if is_updated:
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.read_text(encoding="utf-8") == text


def test_proxy_has_nothing_to_complain_of(measured: Measured, proxy: Proxy) -> None:
    assert measured.ran
    assert proxy.complaints() == []


def transport_of(answer: Answer, request: Json) -> list[str]:
    """Return what OpenAI does not do around a body."""
    found = [f"transport: {name}" for name, _ in answer.headers]
    if answer.status == 202:
        found.append("transport: the answer comes later")
    if answer.status == 200:
        kind = "text/event-stream" if "stream" in request else "application/json"
        if answer.content_type != kind:
            found.append("transport: another content type")
    return found


def plain_body_of(answer: Answer) -> bytes:
    body = b"".join(answer.pieces)
    for coding in (value for name, value in answer.headers if "encoding" in name):
        body = (
            zlib.decompress(body, 31) if coding == "gzip" else brotli.decompress(body)
        )
    return body


def breaches(answer: Answer, request: Json) -> list[str]:
    found = transport_of(answer, request)
    body = plain_body_of(answer)
    if answer.status >= 400:
        return found + conformance.check_error_body(body)
    asked = conformance.Request.from_body(request, stream="stream" in request)
    check = conformance.check_stream if asked.stream else conformance.check_body
    return found + check(body, asked)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_family_is_a_quirk_and_its_reference_has_the_form(family: Family) -> None:
    assert breaches(family.openai, family.request) == []
    assert (breaches(family.quirk, family.request) == []) == family.conforms


def test_locks_pin_everything_exactly() -> None:
    for runner in runners():
        if not runner.lock.exists():
            continue
        for line in runner.lock.read_text().splitlines():
            pin = re.fullmatch(r"[\w.-]+==[\w.]+( \\)?", line)
            is_hash = re.fullmatch(r" +--hash=sha256:[0-9a-f]{64}( \\)?", line)
            assert line.startswith("#") or pin or is_hash, line


def test_node_locks_pin_everything_and_name_no_registry() -> None:
    locks = list(RUNNERS.glob("*/package-lock.json"))
    assert locks
    for lock in locks:
        text = lock.read_text(encoding="utf-8")
        assert '"resolved"' not in text, lock
        assert "registry" not in text, lock
        packages = json.loads(text)["packages"]
        assert all("integrity" in packages[name] for name in packages if name), lock
        wanted = json.loads(lock.with_name("package.json").read_text("utf-8"))
        for version in wanted["dependencies"].values():
            assert re.fullmatch(r"\d+\.\d+\.\d+", version), lock
