"""run.py switches a desktop's proxy, and puts back what was there, to the byte."""

import os
import pty
import signal
import stat
import subprocess
import sys
import termios
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import psutil
import pytest

from desktop.session import PATIENCE, ROOT, Session, Started, session, until
from ports import free_port
from support import Provider, body_script

SCHEMA = "org.gnome.system.proxy"
HAS_ONE = f"""
gsettings set {SCHEMA} ignore-hosts "['*.corp.example', '10.0.0.0/8']"
gsettings set {SCHEMA}.https host corp.example
gsettings set {SCHEMA}.https port 3128
gsettings set {SCHEMA} use-same-proxy false
gsettings set {SCHEMA} mode none
"""
"""A proxy that is off, exceptions, and a mode that is set to its default."""


@pytest.fixture
def gnome(tmp_path: Path) -> Iterator[Session]:
    with session(tmp_path, "ubuntu:GNOME") as made:
        yield made


def dump(gnome: Session) -> str:
    return gnome.says("dconf", "dump", "/system/proxy/")


def get(gnome: Session, name: str) -> str:
    return gnome.says("gsettings", "get", *name.split()).strip()


def on(gnome: Session, *arguments: str) -> tuple[Started, int]:
    port = free_port()
    given = arguments or ("--system-proxy",)
    return gnome.start(*given, "-p", str(port)).until_on(), port


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_gnome_is_as_before_after_every_end_by_signal(
    gnome: Session, number: signal.Signals
) -> None:
    gnome.says("sh", "-c", HAS_ONE)
    before = dump(gnome)
    started, port = on(gnome)
    assert get(gnome, f"{SCHEMA} mode") == "'manual'"
    for kind in ("http", "https"):
        assert get(gnome, f"{SCHEMA}.{kind} host") == "'127.0.0.1'"
        assert get(gnome, f"{SCHEMA}.{kind} port") == str(port)
    assert get(gnome, f"{SCHEMA} ignore-hosts") == (
        "['*.corp.example', '10.0.0.0/8', 'localhost', '127.0.0.0/8', '::1']"
    )
    assert stat.S_IMODE(gnome.state.stat().st_mode) == 0o600
    assert stat.S_IMODE(gnome.state.parent.stat().st_mode) == 0o700
    assert started.end(number) == 0
    assert dump(gnome) == before
    assert not gnome.state.exists()
    assert "as they were before" in started.said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_gnome_is_as_before_when_the_proxy_ends_or_crashes(
    gnome: Session, number: signal.Signals
) -> None:
    gnome.says("sh", "-c", HAS_ONE)
    before = dump(gnome)
    started, _ = on(gnome)
    os.kill(gnome.read_state()["proxy"]["pid"], number)
    assert started.end() == (137 if number == signal.SIGKILL else 0)
    assert dump(gnome) == before
    assert not gnome.state.exists()


@pytest.mark.parametrize("again", [("--restore",), (), ("--system-proxy",)])
def test_next_start_puts_back_what_a_killed_one_could_not(
    gnome: Session, again: tuple[str, ...]
) -> None:
    gnome.says("sh", "-c", HAS_ONE)
    before = dump(gnome)
    killed, port = on(gnome)
    orphan = psutil.Process(gnome.read_state()["proxy"]["pid"])
    assert killed.end(signal.SIGKILL) == -signal.SIGKILL
    assert orphan.is_running()
    assert dump(gnome) != before
    second = gnome.start(*again, "-p", str(port))
    if again == ("--restore",):
        assert second.end() == 0
    elif again:
        second.until_on()
        # What was there before is still the user's, and not the proxy of the first.
        assert get(gnome, f"{SCHEMA}.https port") == str(port)
        assert second.end(signal.SIGTERM) == 0
    else:
        second.until_says("proxy listening")
        assert dump(gnome) == before
        second.end(signal.SIGTERM)
    assert not orphan.is_running()
    assert "Ended mitmproxy" in second.said
    assert dump(gnome) == before
    assert not gnome.state.exists()


def test_a_start_that_still_runs_is_left_in_peace(gnome: Session) -> None:
    first, port = on(gnome)
    during = dump(gnome)
    folder = f"confdir={gnome.home / 'other'}"
    for arguments in (
        ["--restore"],
        ["--restore", "--set", folder],
        ["--system-proxy", "-p", str(free_port())],
        ["--pac", "-p", str(free_port()), "--set", folder],
    ):
        other = gnome.start(*arguments)
        assert other.end() == 1
        assert f"process {first.process.pid} has set GNOME's" in other.said
    assert dump(gnome) == during
    plain = gnome.start("-p", str(free_port()))
    plain.until_says("proxy listening")
    plain.end(signal.SIGTERM)
    assert dump(gnome) == during
    assert "Traceback" not in plain.said
    first.end(signal.SIGTERM)
    assert dump(gnome) == ""
    assert port > 0


def test_a_configuration_that_is_broken_meanwhile_keeps_nothing_back(
    gnome: Session,
) -> None:
    killed, _ = on(gnome, "--system-proxy", "--set", f"confdir={gnome.home / 'own'}")
    killed.end(signal.SIGKILL)
    folder = gnome.home / ".mitmproxy"
    (folder / "config.yaml").write_text("normalize_mode: [")
    assert dump(gnome) != ""
    restored = gnome.start("--restore")
    assert restored.end() == 0
    assert dump(gnome) == ""
    assert not gnome.state.exists()


def test_a_proxy_that_settings_still_lead_to_is_not_ended(gnome: Session) -> None:
    killed, _ = on(gnome)
    proxy = psutil.Process(gnome.read_state()["proxy"]["pid"])
    killed.end(signal.SIGKILL)
    programs = gnome.home / "bin"
    programs.mkdir()
    refuses = programs / "gsettings"  # as without the session's bus
    refuses.write_text(
        '#!/bin/sh\ncase "$1" in set|reset) exit 0;; esac\nexec /usr/bin/gsettings "$@"\n'
    )
    refuses.chmod(0o755)
    path = gnome.environ["PATH"]
    gnome.environ["PATH"] = f"{programs}:{path}"
    assert gnome.start("--restore").end() == 1
    assert proxy.is_running()
    gnome.environ["PATH"] = path
    assert gnome.start("--restore").end() == 0
    assert not proxy.is_running()
    assert dump(gnome) == ""


def test_what_the_user_changes_meanwhile_stays(gnome: Session) -> None:
    started, _ = on(gnome)
    gnome.says("gsettings", "set", f"{SCHEMA}.https", "host", "mine.example")
    started.end(signal.SIGTERM)
    assert get(gnome, f"{SCHEMA} mode") == "'manual'"
    assert get(gnome, f"{SCHEMA}.https host") == "'mine.example'"
    assert get(gnome, f"{SCHEMA}.http host") == "''"
    assert f"stay: {SCHEMA}.https host" in started.said
    assert not gnome.state.exists()


SILENT = """
def request(flow):
    if flow.request.path == "/proxy.pac":
        flow.kill()
"""


@pytest.mark.parametrize(
    "arguments",
    [("--system-proxy", "--certs", "/no/such/file"), ("--pac", "-s", "silent.py")],
)
def test_a_proxy_that_does_not_answer_switches_nothing(
    gnome: Session, arguments: tuple[str, ...]
) -> None:
    (gnome.home / "silent.py").write_text(SILENT)
    started = gnome.start(*arguments, "-p", str(free_port()))
    assert started.end() == 1
    assert "nothing was switched" in started.said
    assert dump(gnome) == ""


def test_an_earlier_proxy_is_reported_and_how_to_go_through_it(gnome: Session) -> None:
    gnome.says("sh", "-c", f"{HAS_ONE} gsettings set {SCHEMA} mode manual")
    before = dump(gnome)
    started, _ = on(gnome)
    hint = (
        "corp.example:3128; to go through it: --upstream-proxy http://corp.example:3128"
    )
    started.until_says(hint)
    started.end(signal.SIGTERM)
    assert dump(gnome) == before


# A terminal


def typed(gnome: Session, keys: bytes, *arguments: str) -> int:
    """Start it in a terminal, type *keys* once it is on, and return its exit code."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (30, 100))
    ran = [sys.executable, str(ROOT / "scripts" / "run.py"), *arguments]
    with subprocess.Popen(
        ["setsid", "--ctty", "--wait", *ran],
        stdin=its,
        stdout=its,
        stderr=its,
        env={**gnome.environ, "TERM": "xterm"},
    ) as process:
        os.close(its)
        drain = Thread(target=read_all, args=(ours,), daemon=True)
        drain.start()
        gnome.started.append(process)
        until(lambda: gnome.state.exists() and "'manual'" in dump(gnome))
        for key in keys:
            time.sleep(0.5)  # the console draws between two of them
            os.write(ours, bytes([key]))
        code = process.wait(PATIENCE)
        drain.join(PATIENCE)
    os.close(ours)
    return code


def read_all(number: int) -> None:
    with suppress(OSError):  # the terminal's other end is closed
        while data := os.read(number, 65536):
            sys.stdout.buffer.write(data)  # shown where a test fails


@pytest.mark.parametrize(
    ("keys", "program"),
    [
        (b"\x03", ()),
        (b"\x03\x03", ()),
        (b"\x03", ("--web", "--set", "web_open_browser=false")),
        (b"qy", ("--console",)),
    ],
    ids=["once", "twice", "web", "console"],
)
def test_gnome_is_as_before_after_keys(
    gnome: Session, keys: bytes, program: tuple[str, ...]
) -> None:
    gnome.says("sh", "-c", HAS_ONE)
    before = dump(gnome)
    if "--web" in program:
        program += ("--web-port", str(free_port()))
    code = typed(gnome, keys, *program, "--system-proxy", "-p", str(free_port()))
    # A second Ctrl-C may cut mitmproxy's own end short, which its code tells.
    cut_short = {128 + signal.SIGINT, -signal.SIGINT} if keys == b"\x03\x03" else set()
    assert code in {0, *cut_short}
    assert dump(gnome) == before
    assert not gnome.state.exists()


def test_password_of_the_upstream_proxy_is_sent_and_never_seen(gnome: Session) -> None:
    # A network's proxy that lets nobody through.
    with Provider(answer=lambda _: body_script(b"", 503)) as server:
        gnome.environ["COMPANY"] = f"http://me:s3cret@127.0.0.1:{server.port}"
        started, port = on(gnome, "--system-proxy", "--upstream-proxy", "env:COMPANY")
        proxy = psutil.Process(gnome.read_state()["proxy"]["pid"])
        reported = ["curl", "-sS", "-m", "20", "--proxy", f"http://127.0.0.1:{port}"]
        gnome.machine.run([*reported, "https://listed.test/"])
        command = proxy.cmdline()
        started.end(signal.SIGTERM)
    login = f"Basic {b64encode(b'me:s3cret').decode()}"
    assert ("CONNECT", "listed.test:443", login) in [
        (each.method, each.path, each.headers.get("proxy-authorization"))
        for each in server.requests
    ]
    assert any("upstream:http://127.0.0.1:" in each for each in command)
    for text in (*command, started.said, dump(gnome)):
        assert "s3cret" not in text
    assert not any(
        b"s3cret" in file.read_bytes()
        for file in (gnome.home / ".mitmproxy").rglob("*")
        if file.is_file()
    )


# KDE


@pytest.fixture
def kde(tmp_path: Path) -> Iterator[Session]:
    with session(tmp_path, "KDE", {"KDE_SESSION_VERSION": "5"}) as made:
        yield made


KIOSLAVERC = b"""\
# mine, and KDE's tools would drop this line
[Proxy Settings]
httpsProxy=http://me:word@corp.example 3128
ProxyType=0
NoProxyFor=*.corp.example

[$Version]
update_info=kioslave.upd:kde2.2/r1
PersistentProxyConnection=false
"""


@pytest.mark.parametrize(
    ("before", "number"),
    [
        (None, signal.SIGINT),
        (b"", signal.SIGTERM),
        (KIOSLAVERC, signal.SIGTERM),
        (KIOSLAVERC, signal.SIGKILL),
    ],
)
def test_kde_has_its_file_back_to_the_byte(
    kde: Session, before: bytes | None, number: signal.Signals
) -> None:
    folder = kde.home / ".config"
    folder.mkdir()
    file = folder / "kioslaverc"
    if before is not None:
        file.write_bytes(before)
        file.chmod(0o640)
    started, port = on(kde)
    text = file.read_text()
    assert f"httpsProxy=http://127.0.0.1 {port}\n" in text
    assert f"httpProxy=http://127.0.0.1 {port}\n" in text
    assert "ProxyType=1\n" in text
    assert "localhost,127.0.0.0/8,::1\n" in text
    started.end(number)
    if number == signal.SIGKILL:
        assert kde.start("--restore").end() == 0
    assert (file.read_bytes() if file.exists() else None) == before
    assert before is None or stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not kde.state.exists()


def test_kde_keeps_what_was_written_meanwhile(kde: Session) -> None:
    folder = kde.home / ".config"
    folder.mkdir()
    (folder / "kioslaverc").write_bytes(KIOSLAVERC)
    started, _ = on(kde)
    wrote = ["kwriteconfig5", "--file", "kioslaverc", "--group", "Other", "--key", "a"]
    kde.says(*wrote, "1")
    started.end(signal.SIGTERM)
    text = (folder / "kioslaverc").read_text()
    assert "[Other]\na=1\n" in text
    for line in KIOSLAVERC.decode().splitlines()[1:]:
        assert line in text
    assert "127.0.0.1" not in text
