"""The threats that addon/docs/security.md names, and that each has its tests."""

import asyncio
import http.client
import logging
import re
import stat
import tomllib
from pathlib import Path

import pytest
from mitmproxy.addons.block import Block
from mitmproxy.test import taddons, tflow

import test_layout
from llm_normalize.addon import Normalize
from llm_normalize.mitm.second_request import send
from llm_normalize.records.statistics import Stats
from llm_normalize.repair.fix import DONE, chunk, wire
from proxies import BAD, GOOD, Proxy, chat_flow, response_of
from support import (
    LOOPBACK,
    PATIENCE,
    Http1Client,
    Mitmdump,
    Provider,
    connect,
    make_ca,
)
from web import Mitmweb

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
ADDON = sorted((ROOT / "addon").rglob("*.py"))
BODY = {"model": "m", "stream": True}
ANSWER = wire(
    [chunk({"role": "assistant", "content": "Hi"}), chunk({}, finish="stop"), DONE]
)


# -- the document itself ---------------------------------------------------------------


def rows(path: Path) -> list[list[str]]:
    """Return the cells of the rows of a document's table."""
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [line.strip("| ").split(" | ") for line in lines[2:]]


THREATS = rows(ROOT / "addon" / "docs" / "security.md")
TESTED = rows(TESTS / "security" / "threats.md")


def defined() -> set[str]:
    """Return the names of all tests in the project."""
    return {
        name
        for path in TESTS.rglob("test_*.py")
        for name in re.findall(
            r"^(?:async )?def (test_\w+)",
            path.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }


def test_each_threat_has_its_tests_which_exist() -> None:
    assert len(THREATS) > 15
    assert [threat for threat, _ in TESTED] == [threat for threat, _ in THREATS]
    for threat, tests in TESTED:
        named = set(re.findall(r"`(test_\w+)`", tests))
        assert named, threat
        assert named - defined() == set()


# -- the key of the authority, and who can reach the port -------------------------------


def test_key_of_the_authority_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    make_ca(folder, "mitmproxy")
    with_key = [
        path for path in folder.iterdir() if b"PRIVATE KEY" in path.read_bytes()
    ]
    with_key += [folder / "mitmproxy-ca.p12"]  # the same, not readable as text
    assert folder / "mitmproxy-ca.pem" in with_key
    for path in with_key:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert b"PRIVATE KEY" not in (folder / "mitmproxy-ca-cert.pem").read_bytes()


@pytest.mark.parametrize(
    ("address", "refused"), [("192.168.1.9", False), ("8.8.8.8", True)]
)
def test_public_addresses_stay_blocked(address: str, refused: bool) -> None:
    block = Block()
    with taddons.context(block, Normalize()) as context:
        client = tflow.tclient_conn()
        client.peername = (address, 1)
        block.client_connected(client)
        assert bool(client.error) == refused
        context.master.event_loop.close()  # mitmproxy 12.0 leaves it open


def test_nothing_that_is_shipped_lifts_that_block() -> None:
    shipped = [*ADDON, *(ROOT / "scripts").rglob("*")]
    texts = [path.read_text(encoding="utf-8") for path in shipped if path.is_file()
             and path.suffix in (".py", ".cfg", ".service", ".yaml", ".env")]  # fmt: skip
    assert len(texts) > 100
    assert not [text for text in texts if "block_global" in text]


def test_reverse_proxy_asks_its_upstream_alone(
    provider: Provider, reverse: Mitmdump
) -> None:
    script = provider.script(ANSWER)
    with Provider() as other:
        inner = other.script(b"internal")
        absolute = f"http://{LOOPBACK}:{other.port}{inner.path}"
        provider.alias(script, absolute)  # mitmproxy hands the target on as it is
        for target, host in (
            (absolute, f"{LOOPBACK}:{other.port}"),
            (script.path, f"{LOOPBACK}:{other.port}"),
        ):
            with Http1Client(connect(reverse.port), host) as client:
                assert client.post(target, BODY).rest() == ANSWER
        with connect(reverse.port) as raw:
            place = f"{LOOPBACK}:{other.port}"
            raw.sendall(f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n\r\n".encode())
            assert b" 400 " in raw.recv(99)
        assert other.protocols == []


# -- a hostile page ----------------------------------------------------------------------


PAGE = {"origin": "https://evil.example", "content-type": "text/plain"}


def test_page_of_another_origin_brings_no_key_and_is_granted_nothing(
    provider: Provider, reverse: Mitmdump
) -> None:
    script = provider.script(ANSWER)
    reply = reverse.ask(script.path, BODY, PAGE)
    assert reply.body == ANSWER
    granted = [name for name in reply.headers if name.startswith("access-control")]
    assert granted == []
    (request,) = script.requests
    known = {"host", "origin", "content-type", "content-length", "accept-encoding"}
    assert set(request.headers) == known


def test_preflight_is_the_providers_to_answer(
    provider: Provider, reverse: Mitmdump
) -> None:
    script = provider.script(status=405)
    connection = http.client.HTTPConnection(LOOPBACK, reverse.port, timeout=20)
    headers = {**PAGE, "access-control-request-method": "POST"}
    connection.request("OPTIONS", script.path, headers=headers)
    reply = connection.getresponse()
    granted = [
        name for name, _ in reply.getheaders() if "access-control" in name.lower()
    ]
    assert (reply.status, granted) == (405, [])
    connection.close()


def test_mitmweb_shows_flows_to_nobody_without_its_token(
    tmp_path: Path, mitm_ca: Path
) -> None:
    with Mitmweb(tmp_path, mitm_ca) as started:
        place, _, token = started.page.partition("/?token=")
        port = int(place.rpartition(":")[2])
        for path, host, status in (
            ("/flows", f"{LOOPBACK}:{port}", 403),
            ("/flows", "evil.example", 403),  # a name that was rebound to this address
            (f"/flows?token={token}", f"{LOOPBACK}:{port}", 200),
        ):
            asking = http.client.HTTPConnection(LOOPBACK, port, timeout=20)
            asking.request("GET", path, headers={"host": host})
            assert asking.getresponse().status == status
            asking.close()


# -- a hostile provider --------------------------------------------------------------------


def test_redirect_of_a_result_is_not_followed(tmp_path: Path) -> None:
    with Provider() as provider, Provider() as other:
        target = f"http://{LOOPBACK}:{other.port}/stolen"
        script = provider.script(status=302, headers={"location": target})
        made = chat_flow(host="x")
        made.request.url = f"{provider.url}{script.path}"
        made.request.headers["host"] = f"{LOOPBACK}:{provider.port}"
        with Proxy(tmp_path):
            reply = asyncio.run(send(made, made.request, PATIENCE))
        assert reply.status == 302
        assert other.protocols == []


@pytest.mark.parametrize("name", ["../../escaped", "/tmp/escaped", "a\0b", "x" * 5000])
def test_names_from_the_network_make_no_file_names(tmp_path: Path, name: str) -> None:
    conf = tmp_path / "conf"
    with Proxy(conf) as proxy:
        made = chat_flow(
            request={"model": name, "stream": True}, path=f"/{name}/chat/completions"
        )
        made.request.headers["host"] = name
        proxy.stream(made, GOOD.replace(b"chatcmpl", name.encode()))
        (record,) = proxy.records("flow")
    assert record["model"] == name[:1000]
    assert len(record["host"]) <= 1000
    assert len(record["path"]) <= 1000
    files = sorted(path.name for path in tmp_path.rglob("*") if path.is_file())
    assert files == [".pairs-8080.jsonl.lock", "pairs-8080.jsonl"]


HOSTILE = "\x1b]0;title\x07\n[12:00:00.000] a line that nobody logged" + "m" * 9_000


@pytest.mark.parametrize(
    ("encoding", "data", "reported"),
    [
        ("identity", BAD, "repaired"),
        ("identity", b"data: ?\n\n", "unread"),
        (HOSTILE, b"", "unsupported encoding"),
    ],
)
def test_no_name_reaches_the_terminal_as_a_command(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    encoding: str,
    data: bytes,
    reported: str,
) -> None:
    caplog.set_level(logging.INFO)
    with Proxy(tmp_path) as proxy:
        made = chat_flow(request={"model": HOSTILE, "stream": True})
        made.request.headers["host"] = HOSTILE
        response_of(made).headers["content-encoding"] = encoding
        if data:
            proxy.stream(made, data)
        else:
            proxy.addon.responseheaders(made)
            proxy.addon.response(made)
    said = [
        each.getMessage() for each in caplog.records if each.name.startswith("llm_")
    ]
    assert any(reported in each for each in said)
    assert all(each.isprintable() and len(each) < 1000 for each in said)


def test_statistics_are_bounded_whatever_is_asked_for() -> None:
    stats = Stats()
    for at in range(9_000):
        stats.add(f"{at % 4_000}.test", f"{at}-{'m' * 5_000}", {"content-null": 1})
    kept = sum(len(cell) for row in stats.rows() for cell in row)
    assert kept < 1024 * 1024


RUNS = re.compile(r"\b(eval|__import__|system|[pP]open)\(|(?<![\w.])(exec|compile)\(")
RUN = {"ctypes", "marshal", "pickle", "runpy", "shelve", "subprocess"}


def test_addon_runs_nothing_that_it_reads() -> None:
    assert not test_layout.STDLIB & RUN  # nor has it anything else to import
    paths = [*test_layout.ADDON, ROOT / "addon" / "normalize.py"]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    assert [path for path, text in texts.items() if RUNS.search(text)] == []
    # The fixes, whose modules' names stand there.
    using = [path for path, text in texts.items() if "importlib" in text]
    assert using == [test_layout.PACKAGE / "fixes" / "__init__.py"]


# -- the supply chain ------------------------------------------------------------------------


def test_tools_are_pinned_and_the_addon_needs_mitmproxy_alone() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert [re.split(r"\W", each)[0] for each in read["project"]["dependencies"]] == [
        "mitmproxy",
        "psutil",  # for the tools: test_layout.py has who may import it
    ]
    groups = read["dependency-groups"]
    wanted = [each for group in groups.values() for each in group]
    assert len(wanted) > 7
    assert [
        each for each in wanted if not re.fullmatch(r"[\w-]+==[\d.]+( ; .+)?", each)
    ] == []
