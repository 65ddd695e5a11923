"""The systemd unit: what systemd's own checks say, and its commands, really run."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import drain
import support
from desktop.starting import assert_it_repairs, running
from ports import free_port
from script_runs import ended
from workshop import LOOPBACK
from workshop.deploy.instances import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "scripts" / "deploy" / "normalize@.service"
TEXT = UNIT.read_text(encoding="utf-8")
INSTALLED = "/opt/llm_normalize"
EXPOSED = 15  # tenths, of 100: what `systemd-analyze security` may find at most


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    assert program, "install systemd-analyze (Debian: apt-get install systemd)"
    return ended([program, *arguments], stderr=subprocess.STDOUT)


def verified(folder: Path, text: str) -> str:
    """Return what systemd finds in the unit *text*, its programs being there."""
    path = folder / "normalize@8081.service"
    text = text.replace(f"{INSTALLED}/.venv", sys.prefix)
    path.write_text(text.replace(INSTALLED, str(ROOT)))
    done = analyze("verify", "--man=no", "--recursive-errors=no", str(path))
    return done.stdout + ("" if done.returncode == 0 else f"exit {done.returncode}")


def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    assert verified(tmp_path, TEXT) == ""


def test_systemd_finds_a_fault(tmp_path: Path) -> None:
    right = "TimeoutStopSec=1830"
    assert right in TEXT
    assert verified(tmp_path, TEXT.replace(right, "TimeoutStopSec=soon")) != ""


def exposure(folder: Path, text: str) -> int:
    path = folder / "normalize@8081.service"
    path.write_text(text)
    rating = ("security", "--offline=true", f"--threshold={EXPOSED}", "--no-pager")
    return analyze(*rating, str(path)).returncode


def test_little_is_exposed(tmp_path: Path) -> None:
    assert exposure(tmp_path, TEXT) == 0
    hardened = re.findall(r"(?m)^(?:Protect|Private|Restrict|SystemCall)\w+=.*\n", TEXT)
    assert len(hardened) > 15
    for directive in hardened[::2]:
        text = TEXT.replace(directive, "")
    assert exposure(tmp_path, text.replace("DynamicUser=yes\n", "")) != 0


def test_tls_needs_memory_that_is_written_and_run() -> None:
    # pyOpenSSL's callbacks: with it, every TLS connection fails.
    assert "\nMemoryDenyWriteExecute" not in TEXT


def directive(name: str) -> str:
    joined = TEXT.replace("\\\n", " ")
    (found,) = re.findall(rf"(?m)^{name}=(.*)$", joined)
    return str(found)


def test_every_instance_is_started_as_elsewhere() -> None:
    words = shlex.split(directive("ExecStart"))
    given = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert set(SETTINGS) <= set(given)
    assert words[words.index("--listen-host") + 1] == LOOPBACK


def test_draining_has_time_to_end() -> None:
    seconds = int(shlex.split(directive("ExecStop"))[-1])
    assert int(directive("TimeoutStopSec")) > seconds
    assert seconds >= 1800


@pytest.mark.parametrize("name", ["ExecStop", "ExecStartPost"])
def test_drain_commands_are_understood(name: str) -> None:
    words = shlex.split(directive(name).removeprefix("+-"))
    assert words[:2] == ["/usr/bin/python3", f"{INSTALLED}/scripts/deploy/drain.py"]
    flags = drain.parse(words[2:])
    assert flags.server.replace("%i", "8081") == "normalize/normalize-8081"
    assert flags.ready == (name == "ExecStartPost")


def unescaped(command: str) -> str:
    return command.replace("$$", "$").replace("%%", "%")


def test_shared_authority_is_put_in_its_place_for_itself_alone(tmp_path: Path) -> None:
    state, shared = tmp_path / "state", tmp_path / "mitmproxy-ca.pem"
    state.mkdir()
    shell, flag, script = shlex.split(directive("ExecStartPre").removeprefix("+"))
    script = unescaped(script).replace("/etc/normalize/mitmproxy-ca.pem", str(shared))
    command = [shell, flag, script]
    environment = {"STATE_DIRECTORY": str(state), "PATH": "/usr/bin:/bin"}
    subprocess.run(command, env=environment, check=True)
    assert list(state.iterdir()) == []  # without one nothing happens
    shared.write_text("key")
    subprocess.run(command, env=environment, check=True)
    made = state / "mitmproxy-ca.pem"
    assert made.read_text() == "key"
    assert made.stat().st_mode & 0o777 == 0o600
    assert made.stat().st_uid == state.stat().st_uid


def test_its_command_really_serves(tmp_path: Path) -> None:
    port = free_port()
    with support.Provider() as provider:
        values = {
            "${NORMALIZE_UPSTREAM}": f"http://{LOOPBACK}:{provider.port}",
            "${STATE_DIRECTORY}": str(tmp_path),
            "$NORMALIZE_ARGS": "--set normalize_pairs_size=1m",
            "%i": str(port),
            f"{INSTALLED}/.venv": sys.prefix,
            INSTALLED: str(ROOT),
        }
        command = directive("ExecStart")
        for name, value in values.items():
            assert name in command
            command = command.replace(name, value)
        given = shlex.split(command)
        with running(given, port, tmp_path, {"PATH": "/usr/bin:/bin"}):
            assert_it_repairs(port, provider)
    assert (tmp_path / "normalize" / f"pairs-{port}.jsonl").exists()
    assert (tmp_path / "log").read_text() == ""  # nothing of a request in the journal
