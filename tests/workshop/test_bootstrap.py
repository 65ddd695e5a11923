"""The environment of the scripts, on a machine where uv and Python are stood in for."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import _uv
from launchers import executable, load, stand_in
from script_runs import ended

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
LOCK = "".join(
    f"# {name}\n{name}==1 \\\n    --hash=sha256:00\n"
    for name in ("runtime", "development", "oldest", "uv")
)

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="stands in for interpreters with shell scripts"
)


class Machine:
    """A machine with a uv and a Python 3.12, which write down what they are asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "project"
        self.root.mkdir()
        self.python("3.12")
        self.uv()
        self.write_lock(LOCK)

    def python(self, version: str, **how: str) -> Path:
        return stand_in(self.folder / "bin" / f"python{version}", version, **how)

    def uv(self, fails: str = "nothing", says: str = "error: it broke") -> None:
        """Have a uv that can do all but what *fails* matches."""
        executable(
            self.folder / "uv",
            f'echo "uv $*" >> {self.folder}/asked',
            f"""case "$*" in *{fails}*) echo "{says}"; exit 2;; esac""",
            'case "$*" in *" venv "*) for last; do :; done; mkdir -p "$last/bin"',
            f'ln -s {self.folder}/bin/python3.12 "$last/bin/python";; esac',
        )

    def write_lock(self, text: str) -> None:
        (self.root / "lock.txt").write_text(text, encoding="utf-8")

    def taken(self) -> list[str]:
        """Return who made or filled an environment since the last call of this."""
        asked = self.folder / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        asked.unlink(missing_ok=True)
        steps = ("venv", "ensurepip", "install")
        return [
            f"{line.split()[0]} {step}"
            for line in lines
            for step in steps
            if f" {step} " in f"{line} "
        ]

    def pinned(self) -> list[str]:
        """Return what was to be installed last."""
        text = (self.root / ".venv" / "requirements.txt").read_text()
        return [line.partition("==")[0] for line in text.splitlines() if "==" in line]


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """_bootstrap in an empty project on that machine."""
    module = load("_bootstrap")
    monkeypatch.setattr(module, "ROOT", tmp_path / "project")
    monkeypatch.setattr(module, "LOCK", tmp_path / "project" / "lock.txt")
    monkeypatch.setattr(module, "uv", lambda: _uv.Uv(f"{tmp_path}/uv", (), {}))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "prefix"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.delenv(module.FORCED, raising=False)
    return module


@pytest.fixture
def machine(venv: Any, tmp_path: Path) -> Machine:
    assert tmp_path / "project" == venv.ROOT
    return Machine(tmp_path)


ANEW = ["uv venv", "uv install"]


def test_first_start_makes_and_fills_the_environment_and_the_second_nothing(
    venv: Any, machine: Machine
) -> None:
    python = venv.environment()
    assert python == venv.ROOT / ".venv" / "bin" / "python"
    assert machine.taken() == ANEW
    assert machine.pinned() == ["runtime", "development"]
    assert venv.environment() == python
    assert machine.taken() == []


def test_changed_lock_completes_the_environment_in_place(
    venv: Any, machine: Machine
) -> None:
    venv.environment()
    machine.taken()
    machine.write_lock(LOCK.replace("development==1", "development==2"))
    venv.environment()
    assert machine.taken() == ["uv install"]


@pytest.mark.parametrize("held", [True, False])
def test_interrupted_installation_starts_anew(
    venv: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    if held:
        venv.environment()
        machine.write_lock(LOCK.replace("development==1", "development==2"))
    with monkeypatch.context() as patched:
        patched.setattr(venv, "fill", interrupt)
        with pytest.raises(KeyboardInterrupt):
            venv.environment()
    left = venv.ROOT / ".venv" / "left-behind"
    left.touch()
    machine.taken()
    venv.environment()
    assert machine.taken() == ANEW
    assert not left.exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"folder": 1}', "moved"])
def test_damaged_stamp_counts_as_none(venv: Any, machine: Machine, text: str) -> None:
    venv.environment()
    stamp = venv.ROOT / ".venv" / venv.STAMP
    if text == "moved":
        text = stamp.read_text().replace(str(venv.ROOT), "/elsewhere")
    stamp.write_text(text)
    machine.taken()
    venv.environment()
    assert machine.taken() == ANEW


def test_environment_of_who_only_uses_it_is_completed_for_work_on_it(
    venv: Any, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    venv.environment(names=venv.RUNTIME)
    assert machine.pinned() == ["runtime"]
    assert machine.taken() == ANEW
    venv.environment()
    assert machine.pinned() == ["runtime", "development"]
    assert machine.taken() == ["uv install"]
    assert "adding the packages for development to .venv" in capsys.readouterr().err
    venv.environment(names=venv.RUNTIME)
    assert machine.taken() == []


def test_tagged_environment_has_a_folder_and_packages_of_its_own(
    venv: Any, machine: Machine
) -> None:
    python = venv.environment("oldest", names=venv.OLDEST)
    assert python.parent.parent.name == ".venv-oldest"
    text = (python.parents[1] / "requirements.txt").read_text()
    assert [word for word in text.split() if "==" in word] == [
        "development==1", "oldest==1"
    ]  # fmt: skip
    assert machine.taken() == ANEW
    machine.write_lock(LOCK.replace("oldest==1", "oldest==2"))
    venv.environment("oldest", names=venv.OLDEST)
    assert machine.taken() == ANEW  # nothing of the older lock is left


def test_symlink_in_place_of_the_environment_is_not_followed(
    venv: Any, machine: Machine, tmp_path: Path
) -> None:
    kept = tmp_path / "elsewhere" / "kept"
    kept.parent.mkdir()
    kept.touch()
    (venv.ROOT / ".venv").symlink_to(kept.parent)
    venv.environment()
    assert machine.taken() == ANEW
    assert kept.exists()


def test_linked_environment_is_used_as_it_is_or_left_alone(
    venv: Any, machine: Machine
) -> None:
    link, kept = venv.ROOT / ".venv", venv.ROOT / ".venv-kept"
    venv.environment("kept", names=venv.RUNTIME)
    link.symlink_to(kept)
    machine.taken()
    assert venv.environment(names=venv.RUNTIME) == link / "bin" / "python"
    with pytest.raises(_uv.SetupError, match="remove the link"):
        venv.environment()
    assert machine.taken() == []
    assert link.resolve() == kept
    assert venv.environment(names=venv.RUNTIME) == link / "bin" / "python"


@pytest.mark.usefixtures("machine")
def test_only_one_start_makes_environments(venv: Any) -> None:
    with (venv.ROOT / ".venv.lock").open("a+") as other:
        with venv._locked():
            assert not venv._lock(other.fileno())
        assert venv._lock(other.fileno())


# Where pip has to do it


def test_pip_fills_it_where_uv_cannot_be_had(
    venv: Any,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail() -> None:
        raise _uv.CommandError("installing uv with pip failed", ["ERROR: no such"])

    monkeypatch.setattr(venv, "uv", fail)
    venv.environment()
    assert machine.taken() == ["python3.12 venv", "python install"]
    assert "    ERROR: no such\n  So pip does its work.\n" in capsys.readouterr().err


def test_python_at_hand_is_taken_where_uv_finds_none(
    venv: Any, machine: Machine
) -> None:
    machine.uv(fails="' venv '")
    machine.python("3.13", implementation="pypy")
    executable(machine.folder / "bin" / "python3.14", "exit 127")  # a shim of pyenv
    venv.environment()
    assert machine.taken() == ["uv venv", "python3.12 venv", "uv install"]


def test_another_hash_ends_it_and_no_other_program_tries(
    venv: Any, machine: Machine
) -> None:
    machine.uv(fails="install", says="Hash mismatch for `one==1`")
    with pytest.raises(_uv.MismatchError, match="not what was reviewed"):
        venv.environment()
    assert machine.taken() == ANEW


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"version": "3.8"}, "mine is cpython 3.8: mitmproxy does not run on it"),
        ({"version": "3.13", "implementation": "pypy"}, "mine is pypy 3.13"),
        ({"version": "3.13", "makes": ""}, "apt-get install python3-venv"),
        ({}, "mine is not at hand .* LLM_NORMALIZE_PYTHON .uv: error: it broke"),
    ],
)
def test_forced_python_that_is_no_use_is_refused(
    venv: Any,
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    how: dict[str, str],
    says: str,
) -> None:
    machine.uv(fails="' venv '")
    path = machine.folder / "mine"
    if how:
        stand_in(path, **how)
    monkeypatch.setenv(venv.FORCED, str(path))
    with pytest.raises(_uv.SetupError, match=says):
        venv.environment(wanted=str(path))
    assert not (venv.ROOT / ".venv").exists()


def test_machine_without_any_way_gets_one_sentence(
    venv: Any, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.uv(fails="' venv '")
    (machine.folder / "bin" / "python3.12").unlink()
    with pytest.raises(SystemExit, match="1"):
        venv.ensure()
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert said[2].startswith("llm_normalize: Python 3.12 or newer is not at hand")


def test_without_a_network_the_repair_is_said(
    venv: Any, machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.uv(fails="install")
    machine.python("3.12", pip="ERROR: no such version")
    with pytest.raises(SystemExit, match="1"):
        venv.ensure()
    said = capsys.readouterr().err
    assert "    ERROR: no such version\n" in said
    assert "check the network, and the proxy (HTTPS_PROXY)" in said.splitlines()[-1]


@pytest.mark.parametrize("changes", [False, True])
def test_environment_outlives_packages_that_cannot_be_had(
    venv: Any, machine: Machine, capsys: pytest.CaptureFixture[str], changes: bool
) -> None:
    venv.environment(names=venv.RUNTIME)
    packages = venv.ROOT / ".venv" / "lib" / "python3.12" / "site-packages"
    package = packages / "runtime-1.dist-info"
    package.mkdir(parents=True)
    machine.uv(fails="install", says=f"$(rmdir {package})" if changes else "error")
    machine.python("3.12", pip="ERROR: no such version")
    with pytest.raises(SystemExit, match="1"):
        venv.ensure()
    said = capsys.readouterr().err
    assert (".venv still has what it had" in said) is not changes
    machine.taken()
    machine.uv()
    venv.environment(names=venv.RUNTIME)
    assert machine.taken() == (ANEW if changes else [])


# Restarting


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose `.venv` is in order, and a script that says where it runs."""
    venv = load("_bootstrap")
    root = (tmp_path / "a project").resolve()
    (root / "scripts").mkdir(parents=True)
    for name in ("_uv.py", "_bootstrap.py"):
        shutil.copy(SCRIPTS / name, root / "scripts")
    (root / "scripts" / "lock.txt").write_text(LOCK)
    script = [
        "import os, sys, _bootstrap",
        "_bootstrap.ensure()",
        "left = [name for name in os.environ if name == _bootstrap.RESTARTED]",
        "print(sys.prefix, sys.argv[1:], os.getcwd(), left, sep='|')",
    ]
    (root / "scripts" / "where.py").write_text("\n".join(script))
    base = getattr(sys, "_base_executable", sys.executable)
    made = [base, "-m", "venv", "--without-pip", str(root / ".venv")]
    subprocess.run(made, check=True, timeout=60)
    pins = {name: f"{name}==1 \\\n    --hash=sha256:00\n" for name in venv.DEVELOPMENT}
    stamp = {
        "folder": str(root / ".venv"),
        "link": str((root / ".venv" / "bin" / "python").resolve()),
        "wanted": "",
        "holds": {
            name: hashlib.sha256(pin.encode()).hexdigest() for name, pin in pins.items()
        },
    }
    (root / ".venv" / venv.STAMP).write_text(json.dumps(stamp))
    return root


def start(project: Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "scripts" / "where.py"), "a b", "--c"]
    return ended(command, cwd=cwd, env={**os.environ, **more})


def test_script_restarts_in_the_environment(project: Path, tmp_path: Path) -> None:
    done = start(project, tmp_path)
    assert done.stderr == ""
    prefix, arguments, folder, left = done.stdout.strip().split("|")
    assert Path(prefix) == project / ".venv"
    assert arguments == "['a b', '--c']"
    assert Path(folder).resolve() == tmp_path.resolve()
    assert left == "[]"
