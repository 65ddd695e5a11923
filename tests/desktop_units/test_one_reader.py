"""Where two tools look at the same thing, they say the same of it."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from desktop_units.machines import Recorded
from desktop_units.stores import SYSTEMS, Simulated, profile
from llm_normalize.check import ca, port, variables
from llm_normalize.check.finding import Finding, Mark, Way
from llm_normalize.desktop import local_server, processes
from llm_normalize.desktop.machine import Machine
from llm_normalize.desktop.processes import ProcessError
from llm_normalize.desktop.proxy import state as proxy_state
from llm_normalize.desktop.trust import authority
from llm_normalize.desktop.trust import command as trust
from llm_normalize.desktop.trust.actions import Actions
from llm_normalize.run import ports
from llm_normalize.run.mitmproxy_options import Listens, Plan
from llm_normalize.run.upstream_proxy import (
    UpstreamProxyError,
    from_environment,
    upstream,
)
from support import Provider, body_script

WAY = Way("127.0.0.1", 8080, ())


@pytest.fixture
def confdir(made: list[Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(made[0], tmp_path / "conf"))


def started(machine: Machine, confdir: Path, *words: str) -> Actions:
    return Actions(trust.parse([*words, "--confdir", str(confdir)]), machine)


def checked(machine: Machine, confdir: Path) -> list[Finding]:
    return ca.judge(machine, 8080, confdir, ca.read(confdir), None)


# -- the files of the CA


def test_a_ca_whose_copy_for_clients_is_gone_is_one_for_both(confdir: Path) -> None:
    """mitmproxy writes no other copy where it has its key."""
    (confdir / "mitmproxy-ca-cert.pem").unlink()
    authority.make(confdir)
    assert not (confdir / "mitmproxy-ca-cert.pem").exists()
    machine = Recorded(system="linux", environ={})
    found = ca.read(confdir)
    reported = started(machine, confdir, "status", "--json").status_data()
    assert found is not None
    assert found.certificate.fingerprint == reported["ca"]["sha256"]
    (finding,) = checked(machine, confdir)
    assert finding.mark is Mark.FAIL
    assert finding.saw.startswith("mitmproxy-ca-cert.pem, which clients are given")
    assert finding.repair.startswith(f"rm {confdir}/mitmproxy-ca*, ")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
@pytest.mark.parametrize(
    ("name", "mode"),
    [("", 0o770), ("mitmproxy-ca.pem", 0o640), ("mitmproxy-ca.p12", 0o604)],
)
def test_what_others_can_get_at_is_reported_by_both(
    name: str, mode: int, confdir: Path
) -> None:
    (confdir / name).chmod(mode)
    machine = Recorded(system="linux", environ={})
    (warning,) = started(machine, confdir, "status", "--json").status_data()["loose"]
    (finding,) = checked(machine, confdir)
    assert finding.mark is Mark.FAIL
    assert warning == f"{finding.saw} ({finding.repair})"


@pytest.mark.parametrize("text", ["", "no certificate"])
def test_a_file_that_holds_no_ca_is_named_by_both(text: str, tmp_path: Path) -> None:
    (tmp_path / "mitmproxy-ca.pem").write_text(text)
    machine = Recorded(system="linux", environ={})
    with pytest.raises(authority.AuthorityError) as refused:
        started(machine, tmp_path, "status").status_data()
    (finding,) = checked(machine, tmp_path)
    assert (finding.mark, finding.saw) == (Mark.FAIL, str(refused.value))


def test_a_key_of_another_user_s_proxy_does_not_hide_its_certificate(
    confdir: Path, made: list[Path]
) -> None:
    (confdir / "mitmproxy-ca.pem").unlink()
    (confdir / "mitmproxy-ca.pem").mkdir()  # cannot be read, by root neither
    found = ca.read(confdir)
    assert found is not None
    assert found.certificate == authority.load(made[0])
    (finding,) = checked(Recorded(system="linux", environ={}), confdir)
    assert finding.mark is Mark.FAIL
    assert "cannot be read" in finding.saw


# -- stores


@pytest.mark.parametrize("name", SYSTEMS)
def test_trust_names_the_file_of_all_roots(
    name: str, tmp_path: Path, made: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    machine: Simulated = SYSTEMS[name](tmp_path)
    confdir = shutil.copytree(made[0], machine.home / ".mitmproxy")
    started(machine, confdir, "install", "--yes").install()
    named = confdir / "normalize" / "ca-bundle.pem"
    assert f"REQUESTS_CA_BUNDLE={named}\n" in capsys.readouterr().out


def both(machine: Machine, confdir: Path) -> tuple[Finding, list[dict[str, str]], bool]:
    """Return the check's line, and what trust says of the stores of browsers."""
    found = ca.read(confdir)
    assert found is not None
    actions = started(
        machine, confdir, "status", "--store", "nss", "--store", "firefox"
    )
    reported = actions.status_data()["stores"]
    return ca.judge_browsers(machine, found, must=True), reported, actions.failed


def test_a_database_that_cannot_be_looked_into_is_judged_alike(
    tmp_path: Path, confdir: Path
) -> None:
    for installed in (("chromium",), ("chromium", "certutil")):
        machine = Recorded("linux", {}, tmp_path, programs=installed)
        finding, (store,), is_failed = both(machine, confdir)
        assert (finding.mark, store["state"]) == (Mark.FAIL, "not trusted")
        assert finding.saw == f"~/.pki/nssdb: not trusted: {store['detail']}"
        assert is_failed
    profile(tmp_path / ".mozilla/firefox", ("x.default", "1"))
    finding, (store,), _ = both(Recorded("linux", {}, tmp_path), confdir)
    assert (finding.mark, store["state"]) == (Mark.SKIP, "unknown")
    assert finding.repair in store["detail"]


# -- who listens, and what it answers


@pytest.fixture
def other() -> Iterator[int]:
    """The port of a program that says it is llm_normalize, but not by a page."""
    body = json.dumps({"name": "llm_normalize", "version": "9", "pid": 7}).encode()
    with Provider(answer=lambda _: body_script(body, 404)) as server:
        yield server.port


def taken(number: int) -> str:
    """Return who has a port, as run says it."""
    listens = Listens("regular", "", "127.0.0.1", number, is_own=False)
    said = ports.obstacle(Plan(Path("/c"), (listens,)))
    return said.partition(" is taken: ")[2].partition(";")[0]


def judged(number: int) -> str:
    """Return who has it, as the check says it."""
    way = Way("127.0.0.1", number, ())
    found = local_server.status("127.0.0.1", number)
    owner = processes.listener(number)
    return port.judge(Recorded(system="linux"), way, Path("/c"), found, owner).saw


def test_both_name_who_listens(other: int) -> None:
    name = psutil.Process().name()
    assert taken(other) == f"{name} (process {os.getpid()}) listens there"
    assert judged(other).startswith(f"{name} (pid {os.getpid()}) has ")


def test_another_user_s_program_is_taken_for_none_of_this_user(
    other: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system tells such a socket without its process."""
    place = SimpleNamespace(port=other)
    foreign = SimpleNamespace(laddr=place, pid=None, status=psutil.CONN_LISTEN)
    monkeypatch.setattr(psutil, "net_connections", lambda _: [foreign])
    assert taken(other) == "another program listens there"
    assert "which the system does not name" in judged(other)


# -- a shell's variables


@pytest.mark.parametrize(
    ("text", "place", "saw"),
    [
        ("http://proxy.corp:3128/", "proxy.corp:3128", "points to another proxy"),
        ("https://proxy.corp", "proxy.corp:443", "points to another proxy"),
        ("proxy.corp:3128", "proxy.corp:3128", "points to another proxy"),
        ("https://me:pw@[::2]", "[::2]:443", "points to another proxy"),
        ("HTTP://Proxy.corp", "proxy.corp:80", "points to another proxy"),
        ("proxy.corp", "", "is not a proxy's address"),
        ("http://proxy.corp:port", "", "is not a proxy's address"),
        ("http://proxy.corp:0", "", "is not a proxy's address"),
        ("http://proxy.corp/x.pac", "", "is not a proxy's address"),
        ("http://a b:1", "", "is not a proxy's address"),
        ("http://", "", "is not a proxy's address"),
        ("gopher://proxy.corp:70", "", "is not a proxy's address"),
        ("socks5://p:1080", "", "by socks5://, through which this one cannot go"),
        ("socks5h://p", "", "by socks5h://, through which this one cannot go"),
    ],
)
def test_an_address_is_the_same_one_for_all(text: str, place: str, saw: str) -> None:
    environ = {"HTTPS_PROXY": text, "ALL_PROXY": WAY.url}
    assert from_environment(environ) == place
    machine = Recorded(system="linux", environ=environ)
    assert not variables.lead_here(machine, WAY)
    (finding,) = [
        each for each in variables.judge(machine, WAY) if "HTTPS_PROXY" in each.saw
    ]
    assert saw in finding.saw
    assert ("--upstream-proxy" in finding.repair) is bool(place)
    if place:
        scheme = "https" if text.startswith("https") else "http"
        assert upstream("env:A", {"A": text}).url == f"{scheme}://{place}"
    else:
        said = "^invalid --upstream-proxy: expected http://HOST:PORT"
        with pytest.raises(UpstreamProxyError, match=said):
            upstream(text, {})


# -- without psutil


@pytest.fixture
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "IS_COMPLETE", False)
    monkeypatch.delattr(processes, "psutil")


@pytest.mark.usefixtures("_bare")
def test_without_psutil_the_check_says_what_it_lacks(other: int) -> None:
    (finding,) = port.unknown()
    assert (finding.mark, finding.repair) == (Mark.SKIP, processes.INSTALL)
    assert finding.saw.startswith("psutil is not installed")
    assert "which the system does not name" in judged(other)
    assert taken(other) == "another program listens there"


@pytest.mark.usefixtures("_bare")
def test_without_psutil_no_setting_is_switched(tmp_path: Path) -> None:
    refused = pytest.raises(ProcessError, match=r"psutil .*: pip install")
    with refused, proxy_state.locked(tmp_path):
        pytest.fail("nobody could tell the owner from another process")
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(ProcessError, match=r"psutil .*: pip install"):
        processes.started(os.getpid())
    assert not processes.Started(os.getpid(), 1.0, "").is_running
