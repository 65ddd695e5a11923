"""`llm-normalize check` on a machine of its own: real proxies, programs and stores.

What a test cannot have is the system's store, which belongs to the whole machine: a curl
on the PATH stands in that takes a file of the test's for it.
"""

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import certifi
import psutil
import pytest

import support
from ports import free_port
from script_runs import ended
from support import LOOPBACK, Provider, body_script, make_ca

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60
LINE = re.compile(r"^(ok  |FAIL|warn|skip) (.{14}) (.*)$")
OPENS = """
def tls_clienthello(data):
    data.ignore_connection = False
"""


class Mitmdump(support.Mitmdump):
    """One with a command line of its own: the check reads how a proxy was started."""

    forks = False


class Line(NamedTuple):
    mark: str
    step: str
    saw: str
    repair: str


class Checked(NamedTuple):
    """A check that has ended."""

    code: int
    lines: list[Line]
    last: str

    def of(self, step: str) -> Line:
        (line,) = (each for each in self.lines if each.step == step)
        return line

    def reported(self, step: str) -> Line:
        """Return the one line of a step that is not skipped."""
        found = (each for each in self.lines if each.mark != "skip")
        (line,) = (each for each in found if each.step == step)
        return line

    def marks(self, step: str) -> set[str]:
        return {each.mark for each in self.lines if each.step == step}


class Desk:
    """A user's machine: a home, variables, stores.

    Attributes:
        home: The home.
        environ: All variables.
        store: What stands for the system's store.
        confdir: mitmproxy's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.store = folder / "store.pem"
        self.confdir = self.home / ".mitmproxy"
        programs = folder / "bin"
        programs.mkdir()
        self.home.mkdir()
        self.store.write_bytes(Path(certifi.where()).read_bytes())
        curl = programs / "curl"
        variables = f"CURL_CA_BUNDLE={self.store} SSL_CERT_FILE={self.store}"
        curl.write_text(f'#!/bin/sh\n{variables} exec {shutil.which("curl")} "$@"\n')
        curl.chmod(0o755)
        # Whichever Node there is, it follows the variables, as a new one does.
        asks = f'case "$2" in process.stdout*) echo v24.5.0 ok ;; *) exec {shutil.which("node")} "$@" ;; esac'
        (programs / "node").write_text(f"#!/bin/sh\n{asks}\n")
        (programs / "node").chmod(0o755)
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "TMPDIR": str(folder),
            # GNOME's settings in a file, which needs no bus and nothing of the user's.
            "GSETTINGS_BACKEND": "keyfile",
            "XDG_CONFIG_HOME": str(self.home / ".config"),
        }

    def lead_here(self, port: int) -> None:
        """Set the variables as the docs say."""
        self.environ["HTTPS_PROXY"] = f"http://{LOOPBACK}:{port}"
        self.environ["NO_PROXY"] = "localhost,127.0.0.1,::1"
        self.environ["NODE_USE_ENV_PROXY"] = "1"

    def trust(self, ca: Path) -> None:
        """Have everything trust a CA."""
        with self.store.open("ab") as file:
            file.write(ca.read_bytes())
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
            self.environ[name] = str(self.store)
        self.environ["NODE_EXTRA_CA_CERTS"] = str(ca)
        database = self.home / ".pki" / "nssdb"
        database.mkdir(parents=True)
        base = ["certutil", "-d", f"sql:{database}"]
        add = ["-A", "-t", "C,,", "-n", "mitmproxy", "-i", str(ca)]
        for what in (["-N", "--empty-password"], add):
            subprocess.run([*base, *what], check=True, timeout=PATIENCE)

    def gnome(self, **settings: str) -> None:
        """Set GNOME's proxy."""
        self.environ["XDG_CURRENT_DESKTOP"] = "GNOME"
        folder = self.home / ".config" / "glib-2.0" / "settings"
        folder.mkdir(parents=True)
        lines = [f"{name}='{value}'" for name, value in settings.items()]
        text = "\n".join(["[system/proxy]", *lines, ""])
        (folder / "keyfile").write_text(text)

    def command(self, port: int, confdir: Path | None = None) -> list[str]:
        command = [sys.executable, str(ROOT / "scripts" / "run.py"), "check"]
        where = confdir or self.confdir
        return [*command, "-p", str(port), "--set", f"confdir={where}"]

    def check(self, port: int, confdir: Path | None = None) -> Checked:
        before = state(self.home)
        done = ended(self.command(port, confdir), env=self.environ)
        sys.stdout.write(done.stdout + done.stderr)
        assert done.stderr == ""
        assert state(self.home) == before
        assert left_over(self.environ["TMPDIR"]) == []
        assert "\x1b" not in done.stdout  # no terminal, no colour
        *rest, last = done.stdout.splitlines()
        lines: list[Line] = []
        for text in rest:
            if found := LINE.match(text):
                lines.append(Line(found[1].strip(), found[2].strip(), found[3], ""))
            else:
                repair = text.strip().removeprefix("repair: ")
                lines[-1] = lines[-1]._replace(repair=repair)
        assert all(each.repair for each in lines if each.mark == "FAIL"), lines
        return Checked(done.returncode, lines, last)


def state(folder: Path) -> dict[str, bytes]:
    """Return all files, but those of caches."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {
        str(path): path.read_bytes() for path in paths if ".cache" not in path.parts
    }


def left_over(temporary: str) -> list[str]:
    """Return the folders and the processes that a check has left behind."""
    found = [str(each) for each in Path(temporary).glob("llm-normalize-check-*")]
    for process in psutil.process_iter(["cmdline", "environ"]):
        environ = process.info["environ"] or {}
        if environ.get("TMPDIR") == temporary:
            found.append(shlex.join(process.info["cmdline"] or []))
    return found


@pytest.fixture(scope="session")
def ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ca")
    make_ca(folder, "mitmproxy")
    return folder


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@contextlib.contextmanager
def proxy(desk: Desk, ca: Path, *scripts: str, **options: Any) -> Iterator[Mitmdump]:
    """Run a proxy on the desk."""
    folder = desk.home.parent / "proxy"
    folder.mkdir()
    with Mitmdump(folder, ca, options=options, scripts=scripts) as running:
        desk.confdir = running.confdir
        yield running


def test_on_a_healthy_machine_all_is_ok(desk: Desk, ca: Path) -> None:
    with proxy(desk, ca) as running:
        desk.trust(running.ca)
        desk.lead_here(running.port)
        desk.gnome(mode="auto", **{"autoconfig-url": pac(running.port)})
        checked = desk.check(running.port)
    assert checked.code == 0
    assert {each.mark for each in checked.lines} <= {"ok", "skip"}
    steps = {each.step for each in checked.lines if each.mark == "ok"}
    assert steps >= {
        "port",
        "variables",
        "system proxy",
        "PAC",
        "CA",
        "CA in system",
        "CA in Python",
        "CA in Node",
        "CA in browsers",
        "other hosts",
        "stream",
    }
    assert checked.last.startswith("all ")
    assert "before the second was sent" in checked.of("stream").saw


def pac(port: int) -> str:
    return f"http://{LOOPBACK}:{port}/proxy.pac"


def test_where_nothing_listens_a_proxy_of_its_own_stands_in(
    desk: Desk, ca: Path
) -> None:
    port = free_port()
    shutil.copytree(ca, desk.confdir)
    desk.lead_here(port)
    desk.gnome(mode="auto", **{"autoconfig-url": pac(port)})
    checked = desk.check(port)
    assert checked.code == 1
    assert checked.of("port").mark == "FAIL"
    start = ROOT / "scripts" / "run.py"
    assert checked.of("port").repair == f"python3 {start} -p {port}"
    assert checked.last.endswith(f"the first to repair: {checked.of('port').repair}")
    assert checked.reported("variables").mark == "ok"  # once something listens
    assert checked.of("system proxy").mark == "FAIL"
    assert checked.of("system proxy").repair.startswith("gsettings set")
    assert checked.of("stream").mark == checked.of("other hosts").mark == "ok"
    assert "check's own" in checked.of("stream").saw


def test_a_folder_without_a_ca_stays_without(desk: Desk) -> None:
    checked = desk.check(free_port())
    assert checked.of("CA").mark == "FAIL"
    assert checked.of("stream").mark == "ok"
    assert not desk.confdir.exists()


def test_a_folder_that_is_not_whole_is_used_and_stays_so(desk: Desk, ca: Path) -> None:
    shutil.copytree(ca, desk.confdir)
    (desk.confdir / "mitmproxy-dhparam.pem").unlink()
    (desk.confdir / "config.yaml").write_text("normalize_mode: observe\n")
    desk.trust(desk.confdir / "mitmproxy-ca-cert.pem")
    checked = desk.check(free_port())
    assert checked.of("CA in Node").mark == "ok"
    assert "is observe" in checked.of("stream").saw


def test_a_reverse_proxy_is_named_and_asked_nothing(desk: Desk, ca: Path) -> None:
    with serving() as provider:
        folder = desk.home.parent / "reverse"
        folder.mkdir()
        upstream = f"reverse:http://{LOOPBACK}:{provider.port}"
        with Mitmdump(folder, ca, "--mode", upstream) as running:
            checked = desk.check(running.port)
    assert provider.requests == []
    assert "in reverse mode" in checked.of("port").saw
    assert checked.of("stream").mark == "ok"


def test_another_proxy_behind_this_one_is_not_asked_for_this_machine(
    desk: Desk, ca: Path
) -> None:
    with socket.create_server((LOOPBACK, 0)) as corporate:
        corporate.setblocking(False)
        folder = desk.home.parent / "upstream"
        folder.mkdir()
        upstream = f"upstream:http://{LOOPBACK}:{corporate.getsockname()[1]}"
        with Mitmdump(folder, ca, "--mode", upstream) as running:
            desk.confdir = running.confdir
            checked = desk.check(running.port)
        with pytest.raises(BlockingIOError):
            corporate.accept()
    for step in ("port", "PAC", "other hosts", "stream"):
        assert checked.of(step).mark == "ok", step


def serving() -> Provider:
    """Return a web server that has nothing."""
    return Provider(answer=lambda _: body_script(b"", 404))


def test_a_ca_that_nobody_trusts_is_repaired_as_said(desk: Desk, ca: Path) -> None:
    with proxy(desk, ca) as running:
        desk.lead_here(running.port)
        checked = desk.check(running.port)
        for step in ("CA in system", "CA in Python", "CA in Node", "CA in browsers"):
            assert checked.marks(step) == {"FAIL"}, step
        # What `trust` would have put into the system's store:
        desk.store.write_bytes(desk.store.read_bytes() + running.ca.read_bytes())
        for step in ("CA in Python", "CA in requests", "CA in Node"):
            for line in (each for each in checked.lines if each.step == step):
                for name, file in re.findall(r"export (\w+)=([^;]+)", line.repair):
                    desk.environ[name] = file
        again = desk.check(running.port)
    for step in ("CA in system", "CA in Python", "CA in requests", "CA in Node"):
        assert again.marks(step) == {"ok"}, step


def test_an_opened_host_that_is_not_listed_is_noticed(desk: Desk, ca: Path) -> None:
    with proxy(desk, ca, OPENS) as running:
        line = desk.check(running.port).of("other hosts")
    assert line.mark == "FAIL"
    assert "another certificate than its own" in line.saw


def test_a_broken_configuration_is_reported(desk: Desk, ca: Path) -> None:
    shutil.copytree(ca, desk.confdir)
    (desk.confdir / "config.yaml").write_text("normalize_mode: [\n")
    checked = desk.check(free_port())
    assert checked.of("own proxy").mark == "FAIL"
    assert f"correct {desk.confdir}/config.yaml" in checked.of("own proxy").repair


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_in_between_leaves_nothing_behind(
    number: signal.Signals, desk: Desk, ca: Path
) -> None:
    shutil.copytree(ca, desk.confdir)
    with subprocess.Popen(
        desk.command(free_port()),
        env=desk.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            # The own proxy runs from before this line to the end.
            for line in process.stdout:
                if line.startswith("ok   PAC"):
                    process.send_signal(number)
                    break
            _, said = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert ("nothing is left running" in said) is (number is signal.SIGINT)
    assert left_over(desk.environ["TMPDIR"]) == []
