"""One program through the proxy: real programs, a provider, and a host that is not opened."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import certifi
import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from llm_normalize.client import env as env_command
from llm_normalize.client import exec as exec_command
from llm_normalize.client import proxy
from llm_normalize.client.variables import variables
from llm_normalize.demo import provider
from llm_normalize.desktop import node
from llm_normalize.desktop.machine import Machine, Result
from llm_normalize.run import child
from llm_normalize.run.start_error import StartError
from ports import free_port
from script_runs import ended
from support import status_page

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "llm_normalize"]
ASK = {
    "model": provider.MODEL,
    "stream": True,
    "messages": [{"role": "user", "content": "What are streams?"}],
}
URLLIB = """
import sys, urllib.error, urllib.request
asked = urllib.request.Request(sys.argv[1], sys.argv[3].encode(), {"content-type": "application/json"})
print("null roles:", urllib.request.urlopen(asked).read().count(b'"role":null'))
try:
    urllib.request.urlopen(sys.argv[2])
except urllib.error.HTTPError as error:
    print("unlisted:", error.code)
"""
CURL = """
curl -sS -H 'content-type: application/json' -d "$3" "$1" | grep -c '"role":null' | sed 's/^/null roles: /'
curl -sS -o /dev/null -w 'unlisted: %{http_code}\\n' "$2"
"""
JAVA = """
import java.net.URI;
import java.net.http.*;
public class Ask {
  public static void main(String[] given) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    HttpRequest asked = HttpRequest.newBuilder(URI.create(given[0]))
        .header("content-type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(given[2])).build();
    String body = client.send(asked, HttpResponse.BodyHandlers.ofString()).body();
    System.out.println("null roles: " + (body.split("\\"role\\":null", -1).length - 1));
    asked = HttpRequest.newBuilder(URI.create(given[1])).build();
    int status = client.send(asked, HttpResponse.BodyHandlers.ofString()).statusCode();
    System.out.println("unlisted: " + status);
  }
}
"""


class Hosts(NamedTuple):
    listed: int
    unlisted: int
    roots: Path


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two servers behind private CAs: a provider, and one whose TLS stays closed."""
    folder = tmp_path_factory.mktemp("hosts")
    roots = folder / "roots.pem"
    places = [folder / "one", folder / "two"]
    for each in places:
        each.mkdir()
    with provider.running(places[0]) as one, provider.running(places[1]) as two:
        roots.write_bytes(one.ca.read_bytes() + two.ca.read_bytes())
        yield Hosts(one.port, two.port, roots)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {
        name: os.environ[name]
        for name in ("PATH", "PYTHONPYCACHEPREFIX")
        if name in os.environ
    }
    return {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "addon")}


def executed(
    environ: dict[str, str], *given: str, **more: str
) -> subprocess.CompletedProcess[str]:
    command = [*PROGRAM, "exec", *given]
    return ended(command, env={**environ, **more}, cwd=environ["HOME"])


def asking(hosts: Hosts, *program: str) -> list[str]:
    url = f"https://localhost:{hosts.listed}/v1/chat/completions"
    other = f"https://localhost:{hosts.unlisted}/"
    listed = f"normalize_hosts=localhost:{hosts.listed}"
    return ["--set", listed, "--", *program, url, other, json.dumps(ASK)]


@pytest.mark.parametrize("name", ["urllib", "curl", "java"])
def test_program_gets_repaired_answers_and_reaches_other_hosts(
    name: str, hosts: Hosts, environ: dict[str, str], tmp_path: Path
) -> None:
    if name == "java" and not shutil.which("javac"):
        pytest.skip("needs a JDK")
    if name == "java":
        (tmp_path / "Ask.java").write_text(JAVA)
        subprocess.run(["javac", "Ask.java"], cwd=tmp_path, check=True)
    program = {
        "urllib": [sys.executable, "-c", URLLIB],
        "curl": ["sh", "-c", CURL, "sh"],
        "java": ["java", "-Dhttp.nonProxyHosts=", "Ask"],
    }
    # What the shell trusts is what the proxy trusts of the provider.
    done = executed(
        environ, *asking(hosts, *program[name]), SSL_CERT_FILE=str(hosts.roots)
    )
    assert done.stdout == "null roles: 0\nunlisted: 404\n", done.stderr
    assert done.returncode == 0
    log = tmp_path / ".mitmproxy" / "normalize" / "exec.log"
    assert f"its log: {log}\n" in done.stderr
    said = f"localhost:{hosts.listed} {provider.MODEL}: 9 of 10 events repaired ("
    assert said in log.read_text()
    assert (log.parent / "pairs-exec.jsonl").exists()


def test_program_has_its_own_signals_and_exit_code_and_the_proxy_ends_with_it(
    environ: dict[str, str],
) -> None:
    code = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
        "print(os.getpid(), os.environ['HTTPS_PROXY'], flush=True)\n"
        "for _ in range(600):\n"  # a signal just before a sleep does not end it
        "    time.sleep(0.1)"
    )
    words = [*PROGRAM, "exec", sys.executable, "-c", code]
    with subprocess.Popen(
        words, env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid, url = process.stdout.readline().split()
        assert int(pid) == process.pid  # it is the program by now
        port = int(url.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), 5).close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 7
    end = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
        except ConnectionRefusedError:
            break
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        (
            ["--set", "normalize_mode=x"],
            1,
            "the proxy did not start: invalid normalize_mode 'x': expected repair",
        ),
        (
            ["--provider", "nvidia"],
            2,
            "exec needs a proxy: leave --mode and --provider",
        ),
    ],
)
def test_a_proxy_that_does_not_serve_programs_says_why(
    given: list[str], code: int, says: str, environ: dict[str, str]
) -> None:
    done = executed(environ, *given, "--", "true")
    assert done.returncode == code
    assert done.stderr.startswith(f"llm_normalize: {says}")


@pytest.mark.parametrize(
    ("given", "code", "says"),
    [
        ([], 2, "expected a program, behind --"),
        (["-p", "8081"], 2, "expected a program, behind --"),
        (["--", "no-such-program"], 127, "no-such-program is not found"),
    ],
)
def test_a_wrong_call_gets_a_sentence(
    given: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        found = exec_command.main(given)
    except SystemExit as end:
        found = int(str(end.code))
    assert found == code
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "port", "ours", "program"),
    [
        (["codex", "-p", "1"], 8080, [], ["codex", "-p", "1"]),
        (["codex", "--", "x"], 8080, [], ["codex", "--", "x"]),
        (["-p", "81", "--", "a", "--", "b"], 81, [], ["a", "--", "b"]),
        (["--set", "a=b", "--", "a"], 8080, ["--set", "a=b"], ["a"]),
    ],
)
def test_what_belongs_to_the_program_is_its_own(
    given: list[str], port: int, ours: list[str], program: list[str]
) -> None:
    flags, arguments, words = exec_command.parse(given)
    assert (flags.port, arguments, words) == (port, ours, program)


# Which proxy


def test_without_a_proxy_env_prints_no_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    number = free_port()
    assert env_command.main(["-p", str(number)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"no proxy listens on port {number}; to start it: " in err
    assert err.endswith(f"run.py -p {number}\n")


@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://corp.example:3128"}, "env:HTTPS_PROXY"),
        ({"https_proxy": "http://a:b@corp.example:1"}, "env:https_proxy"),
        ({"ALL_PROXY": "http://corp.example:3128"}, "env:ALL_PROXY"),
        ({"ALL_PROXY": "socks5://corp.example:3128"}, None),
        ({"HTTPS_PROXY": "http://127.0.0.1:1"}, None),  # where nothing listens any more
    ],
)
def test_own_proxy_goes_through_that_of_the_network(
    environ: dict[str, str], named: str | None
) -> None:
    assert proxy._of_the_network(Machine(environ=environ)) == named


def test_arguments_that_do_not_serve_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(StartError, match="not for a proxy that serves"):
        proxy.started(Machine(), ["--options"])


# Whether it is to be trusted


@pytest.fixture
def claims(tmp_path: Path) -> Iterator[proxy.Proxy]:
    """What says that it is the proxy, and that its CA is in the folder named."""
    confdir = tmp_path / "conf"
    (confdir / "normalize").mkdir(parents=True)
    (confdir / "mitmproxy-ca-cert.pem").touch()
    (confdir / "normalize" / "ca-bundle.pem").touch()
    with status_page(confdir=str(confdir)) as server:
        yield proxy.Proxy(server.port, confdir)


def test_proxy_of_this_user_is_used(claims: proxy.Proxy) -> None:
    assert proxy.running(claims.port) == claims


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("", "it does not say where its CA is. Stop it"),
        ("conf", "it does not say where its CA is. Stop it"),
        ("/no/such/folder", "there is no CA in its folder /no/such/folder. Stop it"),
    ],
)
def test_folder_without_a_ca_is_not_trusted(named: str, says: str) -> None:
    refused = pytest.raises(StartError, match=f"is not a proxy .*: {says}")
    with status_page(confdir=named) as server, refused:
        proxy.running(server.port)


@pytest.mark.parametrize(
    "name", ["", "mitmproxy-ca-cert.pem", "normalize", "normalize/ca-bundle.pem"]
)
def test_what_another_user_owns_is_not_trusted(
    name: str, claims: proxy.Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, stat = claims.confdir / name, Path.stat

    def owned(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        found = stat(path, follow_symlinks=follow_symlinks)
        if path != others:
            return found
        return os.stat_result([*found[:4], 4_000_123, *found[5:]])

    monkeypatch.setattr(Path, "stat", owned)
    says = f"{others} belongs to user 4000123, not to you. Stop it and start yours, or"
    with pytest.raises(StartError, match=re.escape(says)):
        proxy.running(claims.port)


@pytest.mark.parametrize(
    ("tool", "words"), [(env_command, []), (exec_command, ["--", "env"])]
)
def test_no_program_gets_what_is_not_trusted(
    tool: Any, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with status_page(confdir="/evil") as server:
        assert tool.main(["-p", str(server.port), *words]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "is not a proxy to trust: there is no CA in its folder /evil" in err


# What is set


class Having(Machine):
    def find(self, program: str) -> str | None:
        return f"/bin/{program}" if program in self.environ["HAS"] else None

    def run(self, command: object, *, text: str = "", timeout: float = 60) -> Result:
        return Result(0, self.environ["NODE"])


def test_variables_are_those_of_proxy_and_trust(tmp_path: Path) -> None:
    found = variables(Having(environ={"HAS": ""}), 81, tmp_path)
    bundle = str(tmp_path / "normalize" / "ca-bundle.pem")
    assert found == {
        "HTTPS_PROXY": "http://127.0.0.1:81",
        "https_proxy": "http://127.0.0.1:81",
        "SSL_CERT_FILE": bundle,
        "REQUESTS_CA_BUNDLE": bundle,
        "CURL_CA_BUNDLE": bundle,
        "NODE_EXTRA_CA_CERTS": bundle,
        "NODE_USE_ENV_PROXY": "1",
    }


def test_without_a_newer_cryptography_java_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(pkcs12, "serialize_java_truststore")
    machine = Having(environ={"HAS": "java"})
    assert "JAVA_TOOL_OPTIONS" not in variables(machine, 81, tmp_path)
    assert "needs cryptography 45 or newer (pip" in capsys.readouterr().err


def test_options_of_java_stay_and_ours_come_once(tmp_path: Path) -> None:
    machine = Having(environ={"HAS": "java", "JAVA_TOOL_OPTIONS": "-Dmine=1"})
    first = variables(machine, 81, tmp_path)["JAVA_TOOL_OPTIONS"]
    assert first.startswith("-Dmine=1 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=81")
    again = Having(environ={"HAS": "java", "JAVA_TOOL_OPTIONS": first})
    assert variables(again, 81, tmp_path)["JAVA_TOOL_OPTIONS"] == first
    more = f"{first} -Dhttps.proxyHosts=x '-Dname=a b' -Djavax.net.ssl.trustStore=\"a b\" -Xmx1g"
    later = Having(environ={"HAS": "java", "JAVA_TOOL_OPTIONS": more})
    ours = first.removeprefix("-Dmine=1 ")
    kept = "-Dmine=1 -Dhttps.proxyHosts=x '-Dname=a b' -Xmx1g"
    found = variables(later, 81, tmp_path / "a b")["JAVA_TOOL_OPTIONS"]
    assert found.startswith(f"{kept} -Dhttps.proxyHost=127.0.0.1 ")
    back = Having(environ={"HAS": "java", "JAVA_TOOL_OPTIONS": found})
    assert variables(back, 81, tmp_path)["JAVA_TOOL_OPTIONS"] == f"{kept} {ours}"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """All roots in the proxy's folder: one suffices."""
    found = tmp_path / "normalize" / "ca-bundle.pem"
    found.parent.mkdir()
    root = Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----")
    found.write_text(root[0] + root[1])
    return found


@pytest.mark.parametrize(
    "name",
    ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE"],
)
def test_certificates_that_the_bundle_lacks_are_told(
    name: str, bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bundle.exists()
    roots = Path(certifi.where()).read_text().split("-----END CERTIFICATE-----")[:3]
    path = tmp_path / "company.pem"
    path.write_text("".join(f"{each}-----END CERTIFICATE-----" for each in roots))
    variables(Having(environ={"HAS": "", name: str(path)}), 81, tmp_path)
    said = capsys.readouterr().err
    assert f"that {name} names and the proxy lacks (2 in {path})" in said
    assert f"SSL_CERT_FILE={path}\n" in said


def test_roots_of_java_are_not_written_through_a_link(
    bundle: Path, tmp_path: Path
) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_text("kept")
    store = bundle.with_suffix(".p12")
    store.symlink_to(theirs)
    variables(Having(environ={"HAS": "java"}), 81, tmp_path)
    assert theirs.read_text() == "kept"
    assert not store.is_symlink()
    assert pkcs12.load_pkcs12(store.read_bytes(), b"changeit").additional_certs


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/usr/bin/env node\nx", True),
        ("#!/usr/bin/env -S node --x\n", True),
        ("#!/bin/sh\nnode x\n", False),
        ("", False),
    ],
)
def test_script_for_node_is_known_by_its_first_line(
    text: str, expected: bool, tmp_path: Path
) -> None:
    path = tmp_path / "tool"
    path.write_text(text)
    path.chmod(0o755)
    assert node.is_node(Machine(), str(path)) is expected


@pytest.mark.parametrize("knows", [True, False])
def test_program_for_a_node_that_ignores_the_proxy_is_told_so(
    claims: proxy.Proxy,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    knows: bool,
) -> None:
    started: list[tuple[list[str], str]] = []
    monkeypatch.setattr(node, "is_node", lambda *_: True)
    monkeypatch.setattr(node, "version", lambda _: ("v20.1.0", knows))
    monkeypatch.setattr(
        child, "become", lambda *it: started.append((it[0], it[1]["HTTPS_PROXY"]))
    )
    exec_command.main(["-p", str(claims.port), "--", "sh", "-c", "x"])
    assert started == [(["sh", "-c", "x"], f"http://127.0.0.1:{claims.port}")]
    ignored = "Node v20.1.0 ignores proxy variables (22.21 and 24.5 follow them)"
    assert (ignored in capsys.readouterr().err) is not knows
