"""`llm-normalize service` on machines whose systemctl is recorded."""

import plistlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from desktop_units.machines import Answer, Recorded
from llm_normalize.desktop import local_server
from llm_normalize.desktop.machine import Machine, Result, System
from llm_normalize.desktop.service import actions as service
from llm_normalize.desktop.service import command as script
from llm_normalize.desktop.service import plan as service_plan
from llm_normalize.desktop.service import unit

ROOT = Path(__file__).resolve().parents[2]
MITMDUMP = f"{Path(sys.prefix)}/bin/mitmdump"
SHOW = ("systemctl", "--user", "show")
ACTIVE = "ActiveState=active\nSubState=running\nResult=success\nNRestarts=0\nMainPID=7"
INACTIVE = "ActiveState=inactive\nSubState=dead\nResult=success\nNRestarts=0\nMainPID=0"


def machine(home: Path, system: System = "linux", **answers: Answer) -> Recorded:
    """Return a machine with systemd, whose service runs once it was started."""
    said: dict[tuple[str, ...], Answer] = {
        SHOW: Result(0, INACTIVE),
        ("journalctl",): Result(0, "said by mitmdump\n"),
        ("loginctl",): Result(0, "no\n"),
    }
    for name in ("daemon-reload", "disable", "enable", "reset-failed", "restart"):
        said["systemctl", "--user", name] = Result(0)
    for name, answer in answers.items():
        said["systemctl", "--user", name] = answer
    return Recorded(
        system=system, environ={}, home=home, answers=said, programs=("touch",)
    )


@pytest.fixture(autouse=True)
def listening(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """What the port's checks find, one after the other; the last one stays."""
    found = [False, True]
    monkeypatch.setattr(
        local_server,
        "listens",
        lambda *_: found.pop(0) if len(found) > 1 else found[0],
    )
    monkeypatch.setattr(service, "PATIENCE", 0.3)
    return found


def turning(first: str, *later: str) -> Callable[[list[str]], Result]:
    """Answer *first*, then *later*, whose last one stays."""
    left = [first, *later]
    return lambda _: Result(0, left.pop(0) if len(left) > 1 else left[0])


def run(on: Machine, *given: str) -> int:
    return script.main(given, machine=on)


def started(home: Path, **answers: Answer) -> Recorded:
    said: dict[str, Any] = {"show": turning(INACTIVE, ACTIVE), **answers}
    return machine(home, **said)


def test_install_writes_starts_and_sees_it_listen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    on = started(tmp_path)
    assert run(on, "install", "-p", "8081") == 0
    path = tmp_path / ".config/systemd/user/llm-normalize.service"
    text = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert unit.is_untouched(text)
    assert unit.listens(text) == ("127.0.0.1", 8081)
    assert [command[2] for command in on.ran if command[0] == "systemctl"] == [
        "show", "daemon-reload", "reset-failed", "enable", "show"
    ]  # fmt: skip
    assert ["systemctl", "--user", "enable", "--now", "llm-normalize.service"] in on.ran
    said = capsys.readouterr().out
    assert text in said
    assert "listens on 127.0.0.1:8081" in said
    assert "journalctl --user -u llm-normalize.service" in said
    assert "loginctl enable-linger" in said


def test_a_port_that_is_taken_is_reported_and_nothing_written(
    tmp_path: Path, listening: list[bool], capsys: pytest.CaptureFixture[str]
) -> None:
    listening[:] = [True]
    assert run(machine(tmp_path), "install") == 1
    assert "listens on 127.0.0.1:8080 already" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "later",
    [
        INACTIVE.replace("inactive", "failed"),
        ACTIVE.replace("NRestarts=0", "NRestarts=1"),
        ACTIVE,  # and the port never answers
    ],
)
def test_a_service_that_does_not_listen_is_reported_with_its_last_lines(
    tmp_path: Path,
    listening: list[bool],
    capsys: pytest.CaptureFixture[str],
    later: str,
) -> None:
    listening[:] = [False]
    assert run(started(tmp_path, show=turning(INACTIVE, later)), "install") == 1
    said = capsys.readouterr()
    assert said.out.endswith("said by mitmdump\n")
    assert "does not listen on 127.0.0.1:8080" in said.err


@pytest.mark.parametrize("what", ["install", "remove"])
def test_a_unit_of_somebody_else_stays(
    tmp_path: Path, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    on = machine(tmp_path)
    path = service.path_of(on)
    path.parent.mkdir(parents=True)
    path.write_text("[Service]\n")
    assert run(on, what, "--force") == 1
    assert "not written by llm_normalize" in capsys.readouterr().err
    assert path.read_text() == "[Service]\n"
    path.unlink()
    path.symlink_to("/dev/null")  # masked
    assert run(on, what, "--force") == 1
    assert "a link to /dev/null" in capsys.readouterr().err
    assert path.is_symlink()
    assert on.ran == []


@pytest.mark.parametrize("what", ["install", "remove"])
def test_a_unit_that_was_changed_by_hand_stays_unless_forced(
    tmp_path: Path, listening: list[bool], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(started(tmp_path), "install") == 0
    on = started(tmp_path)
    path = service.path_of(on)
    changed = path.read_text().replace("MemoryMax=2G", "MemoryMax=3G")
    path.write_text(changed)
    capsys.readouterr()
    assert run(on, what) == 1
    said = capsys.readouterr()
    assert "changed by hand" in said.err
    assert ("-MemoryMax=3G\n+MemoryMax=2G\n" in said.out) == (what == "install")
    assert path.read_text() == changed
    listening[:] = [False, True]
    assert run(on, what, "--force") == 0
    assert not path.exists() or path.read_text() != changed


def test_status_tells_state_port_and_logs(
    tmp_path: Path, listening: list[bool], capsys: pytest.CaptureFixture[str]
) -> None:
    on = machine(tmp_path, show=Result(0, ACTIVE + "\nUnitFileState=enabled"))
    assert run(on, "status") == 1
    assert "Not installed" in capsys.readouterr().out
    assert run(started(tmp_path), "install") == 0
    capsys.readouterr()
    assert run(on, "status") == 0
    assert capsys.readouterr().out == (
        f"unit:  {service.path_of(on)} (as written; enabled)\n"
        "state: active (running), process 7, restarted 0 times, last result success\n"
        "port:  127.0.0.1:8080 answers\n"
        "logs:  journalctl --user -u llm-normalize.service\n"
    )
    listening[:] = [False]
    service.path_of(on).write_text("[Service]\n")
    assert run(on, "status") == 1
    assert "(not written by llm_normalize; enabled)" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["remove", "status"])
def test_what_runs_without_its_unit_is_named(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(machine(tmp_path, show=Result(0, ACTIVE)), what)
    said = capsys.readouterr().out
    assert "still runs (process 7); to end it: systemctl --user stop" in said
    without = Result(1, err="Failed to connect to bus: No such file or directory\n")
    for show in (Result(0, INACTIVE), without):
        assert run(machine(tmp_path, show=show), what) == (what == "status")
        said = capsys.readouterr().out
        assert "still runs" not in said
        assert ("nothing to remove" in said) == (what == "remove")


def test_a_machine_without_systemd_is_told_another_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = Result(1, err="Failed to connect to bus: No such file or directory\n")
    assert run(machine(tmp_path, show=failed), "install") == 1
    said = capsys.readouterr().err
    assert "Failed to connect to bus" in said
    assert "no systemd serves this user here: start " in said
    assert list(tmp_path.iterdir()) == []


def test_rights_of_the_file_with_secrets_are_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secrets = tmp_path / "conf" / "normalize" / "service.env"
    secrets.parent.mkdir(parents=True)
    secrets.touch(0o644)
    secrets.chmod(0o644)
    confdir = f"confdir={tmp_path / 'conf'}"
    assert run(started(tmp_path), "install", "--set", confdir) == 0
    said = capsys.readouterr().out
    assert f"EnvironmentFile=-{secrets}" in said
    assert f"Others can read {secrets}" in said


# -- what runs ----------------------------------------------------------------------------


def command(home: Path, *arguments: str) -> list[str]:
    return service_plan.plan(machine(home), 8080, arguments).command


def test_it_listens_on_loopback_and_says_little(tmp_path: Path) -> None:
    assert command(tmp_path) == [
        MITMDUMP, "-s", f"{ROOT}/addon/normalize.py",
        "--listen-host", "127.0.0.1", "--listen-port", "8080",
        "--set", "tcp_timeout=1800", "--set", "body_size_limit=64m",
        "--set", "flow_detail=0", "--set", "termlog_verbosity=warn",
    ]  # fmt: skip


def test_the_users_word_counts_once(tmp_path: Path) -> None:
    made = command(tmp_path, "--set", "flow_detail=2", "--set=tcp_timeout=60")
    assert [each for each in made if "flow_detail" in each] == ["flow_detail=2"]
    assert [each for each in made if "tcp_timeout" in each] == ["--set=tcp_timeout=60"]
    for given in (
        ["--set", "listen_host=::1"],
        ["--set=listen_host=::1"],
        ["--listen-host", "::1"],
        ["--listen-host=::1"],
    ):
        made = command(tmp_path, *given)
        assert made.count("--listen-host") == 1
        assert made.count("::1") == 1
        assert "listen_host=::1" not in made


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "proxyauth=me:secret"], "proxyauth is a secret"),
        (["--proxyauth", "me:secret"], "proxyauth is a secret"),
        (["--upstream-auth=me:secret"], "upstream_auth is a secret"),
        (["--mode", "regular@8081"], "use -p instead"),
        (["-mregular@8081"], "use -p instead"),
        (["--set", "listen_port=1"], "set the port with -p"),
        (["--set", "confdir=here"], "needs the whole path"),
        (["--set", "normalize_pairs=a\nb"], "no unit can hold"),
    ],
)
def test_what_has_no_place_in_a_unit_is_refused(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    on = machine(tmp_path)
    assert run(on, "install", *arguments) == 2
    reported = capsys.readouterr()
    assert said in reported.err
    assert "me:secret" not in reported.out + reported.err
    assert on.ran == []


# -- other systems --------------------------------------------------------------------------


def elsewhere(home: Path, system: System, capsys: Any) -> str:
    on = machine(home, system)
    assert run(on, "install", "--mode", "reverse:https://example.com") == 1
    assert run(on, "remove") == 0
    assert run(on, "status") == 1
    assert on.ran == []
    assert list(home.iterdir()) == []
    return str(capsys.readouterr().out)


def test_macos_gets_a_property_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = elsewhere(tmp_path, "macos", capsys)
    start, end = said.index("<?xml"), said.index("</plist>") + len("</plist>")
    agent = plistlib.loads(said[start:end].encode())
    assert agent["ProgramArguments"][0] == MITMDUMP
    assert agent["ProgramArguments"][-1] == "reverse:https://example.com"
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert "launchctl bootstrap" in said
    assert said.count("launchctl bootout gui/$(id -u)/llm-normalize") == 3
    assert "not tried" in said


def test_windows_gets_a_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = elsewhere(tmp_path, "windows", capsys)
    assert f"-Execute '{MITMDUMP}' -Argument '-s " in said
    assert "Register-ScheduledTask" in said
    assert said.count("Unregister-ScheduledTask") == 3
    assert "not tried" in said
