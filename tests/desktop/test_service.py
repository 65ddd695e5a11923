"""The systemd user unit: checked by systemd, and run by one."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nobody
from desktop import service_session as session
from llm_normalize.desktop.machine import Machine
from llm_normalize.desktop.service import unit
from llm_normalize.desktop.service.plan import plan
from script_runs import ended


def verified(folder: Path, text: str) -> str:
    """Return what systemd finds in the unit *text*."""
    program = shutil.which("systemd-analyze")
    assert program, "install systemd-analyze (Debian: apt-get install systemd)"
    path = folder / unit.NAME
    path.write_text(text, encoding="utf-8")
    runtime = folder / "runtime"
    runtime.mkdir(exist_ok=True, mode=0o700)
    done = ended(
        [program, "--user", "verify", "--man=no", "--recursive-errors=no", str(path)],
        stderr=subprocess.STDOUT,
        env={"HOME": str(folder), "XDG_RUNTIME_DIR": str(runtime), "PATH": "/usr/bin"},
    )
    return done.stdout + (f"exit {done.returncode}" if done.returncode else "")


def text(folder: Path, *more: str) -> str:
    made = plan(Machine(home=folder), 8080, more)
    touch = [str(shutil.which("touch")), made.command[2]]
    return unit.text_of(made.command, touch, made.environment, made.listens)


def test_systemd_finds_no_fault(tmp_path: Path) -> None:
    assert verified(tmp_path, text(tmp_path)) == ""


def test_systemd_finds_no_fault_whatever_the_folders_are_called(tmp_path: Path) -> None:
    folder = tmp_path / session.ODD.replace("/", "_")
    folder.mkdir()
    program = folder / "mitmdump"
    program.symlink_to(Path(sys.prefix) / "bin" / "mitmdump")
    listens = unit.Listens("127.0.0.1", 1)
    command = [str(program), "-s", str(folder / "x.py"), session.ODD]
    made = unit.text_of(command, command, folder / "service.env", listens)
    assert verified(tmp_path, made) == ""


def test_systemd_finds_a_fault(tmp_path: Path) -> None:
    made, right = text(tmp_path), "StartLimitBurst=5"
    assert right in made
    assert verified(tmp_path, made.replace(right, "StartLimitBurst=many")) != ""


@pytest.mark.skipif(bool(nobody.lacking()), reason=nobody.lacking())
def test_an_ordinary_users_systemd_starts_restarts_and_ends_it() -> None:
    found = [
        line.split()[1]
        for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        if line.split()[2] == "cgroup2"
    ]
    if not found:
        pytest.skip("there is no cgroup2 for a systemd of its own")
    # Below the group of this process, and given to that user.
    mine = (
        Path("/proc/self/cgroup").read_text(encoding="utf-8").split("0::/")[1].strip()
    )
    group = f"{found[0]}/{mine}/llm-normalize-$$"
    said = nobody.run(
        [sys.executable, session.__file__],
        {"LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
        before=[
            f"group={group}",
            "mkdir $group",
            "echo $$ >$group/cgroup.procs",
            f"chown -R {nobody.ID}:{nobody.ID} $group",
        ],
        after=[
            f"echo $$ >{found[0]}/{mine}/cgroup.procs",
            # What a systemd that was killed left behind.
            "find $group -name cgroup.procs -exec cat {} + | xargs -r kill -9",
            "sleep 0.2; find $group -depth -type d -exec rmdir {} + 2>/dev/null",
        ],
    )
    assert said.endswith("all is well\n"), said
