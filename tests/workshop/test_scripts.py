"""The scripts' own machinery: no test here installs anything or needs a network."""

import ast
import hashlib
import json
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from launchers import executable, load, stand_in
from llm_normalize import cli

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
COMMANDS = ("add_capture", "build", "check", "deploy/local", "run", "test")
PLAIN = ("deploy/drain",)
ALIASES = ("doctor", "report", "service", "trust")
TOOL = tuple(
    f"../addon/llm_normalize/{name}"
    for name in (
        "cli",
        "check/command",
        "desktop/service/command",
        "desktop/trust/command",
        "doctor/command",
        "doctor/known_providers",
        "report/command",
        "run/command",
        "text/command_line",
        "text/console",
        "text/loopback",
        "text/printable",
    )
)
"""What run.py imports before it has an environment."""

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="stands in for interpreters with shell scripts"
)


def shim(path: Path) -> Path:
    return executable(path, 'echo "pyenv: command not found" >&2', "exit 127")


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """_bootstrap in an empty project on a machine without any other interpreter."""
    module = load("_bootstrap")
    root = tmp_path / "project"
    (root / "scripts").mkdir(parents=True)
    locks = root / "scripts" / "requirements"
    locks.mkdir()
    for name in ("runtime", "development", "oldest", "uv"):
        (locks / f"{name}.txt").write_text(f"# {name}")
    (tmp_path / "home").mkdir()
    monkeypatch.setattr(module, "ROOT", root)
    # pip it is, but in the tests of uv.
    monkeypatch.setattr(module, "_own_uv", lambda _python: None)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("PYENV_ROOT", raising=False)
    monkeypatch.delenv(module.FORCED, raising=False)
    old = stand_in(tmp_path / "running", "3.8.18", venv=False)
    monkeypatch.setattr(sys, "executable", str(old))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "prefix"))
    return module


def found(module: Any) -> list[str]:
    return [python.name for python in module.pythons() if python.fits]


# Finding an interpreter


def test_machine_with_only_an_old_python_has_none_that_fits(venv: Any) -> None:
    assert [python.name for python in venv.pythons()] == ["3.8.18"]
    assert found(venv) == []


def test_shim_without_a_python_behind_it_is_passed_over(
    venv: Any, tmp_path: Path
) -> None:
    shim(tmp_path / "bin" / "python3.13")
    stand_in(tmp_path / "bin" / "python3.12", "3.12.1")
    broken: list[str] = []
    assert [python.name for python in venv.pythons(broken)] == ["3.8.18", "3.12.1"]
    assert broken == [str(tmp_path / "bin" / "python3.13")]


def test_name_counts_in_every_folder_of_path(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim(tmp_path / "shims" / "python3.12")
    stand_in(tmp_path / "bin" / "python3.12", "3.12.4")
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}::{tmp_path / 'bin'}")
    assert found(venv) == ["3.12.4"]


def test_same_interpreter_under_two_names_is_found_once(
    venv: Any, tmp_path: Path
) -> None:
    stand_in(tmp_path / "bin" / "python3.12", "3.12.4")
    (tmp_path / "bin" / "python3").symlink_to("python3.12")
    assert found(venv) == ["3.12.4"]


@pytest.mark.parametrize("output", ["Python was not found", "[]", "[1, 2]", "null"])
def test_program_that_answers_nonsense_is_no_python(
    venv: Any, tmp_path: Path, output: str
) -> None:
    assert venv.probe([executable(tmp_path / "odd", f"echo '{output}'")]) is None


def test_python_without_wheels_does_not_fit(venv: Any, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "python3.13", "3.13.0", wheels=False)
    assert found(venv) == []


def test_this_interpreter_answers_the_probe() -> None:
    python = load("_bootstrap").probe([sys.executable])
    assert python.version == sys.version_info[:3]
    assert Path(python.base).exists()


def test_pyenv_versions_are_tried_newest_first(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("3.9.18", "3.12.2", "3.12.10", "3.13.0"):
        stand_in(tmp_path / "pyenv" / "versions" / version / "bin/python3", version)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert found(venv) == ["3.13.0", "3.12.10", "3.12.2"]


def test_pyenv_is_found_by_the_interpreter_that_runs(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "pyenv" / "versions" / "3.12.1" / "bin/python3"
    stand_in(found, "3.12.1")
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "pyenv/versions/3.8.18"))
    assert found in list(venv._pyenv_pythons())


def test_pyenv_is_found_by_its_shims_when_home_is_elsewhere(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shim(tmp_path / "pyenv" / "shims" / "python3.12")
    stand_in(tmp_path / "pyenv" / "versions" / "3.12.1" / "bin/python3", "3.12.1")
    monkeypatch.setenv("PATH", str(tmp_path / "pyenv" / "shims"))
    assert found(venv) == ["3.12.1"]


def test_forced_python_is_taken(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(venv.FORCED, str(stand_in(tmp_path / "mine", "3.14.1")))
    assert venv.forced_python().name == "3.14.1"


def test_forced_python_may_be_a_name_on_path(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path / "bin" / "mine", "3.14.1")
    monkeypatch.setenv(venv.FORCED, "mine")
    assert venv.forced_python().name == "3.14.1"


@pytest.mark.parametrize(
    ("version", "has", "sentence"),
    [
        ("3.11.9", {}, "3.11.9"),
        ("3.13.0", {"wheels": False}, "does not run on"),
        ("3.13.0", {"ensurepip": False, "pip": False}, "install python3.13-venv"),
        (None, {}, "does not start"),
    ],
)
def test_forced_python_that_is_no_use_is_refused(
    venv: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str | None,
    has: dict[str, bool],
    sentence: str,
) -> None:
    path = tmp_path / "mine"
    if version:
        stand_in(path, version, **has)
    monkeypatch.setenv(venv.FORCED, str(path))
    with pytest.raises(venv.SetupError, match=sentence):
        venv.forced_python()


def test_programs_of_an_environment_on_windows() -> None:
    place = load("_bootstrap").program(Path(".venv"), "python", windows=True)
    assert place == Path(".venv", "Scripts", "python.exe")


# Making an environment


class Steps:
    """Stands in for `run`: does what `-m venv` would, keeps what was asked."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []
        self.fail: Callable[[list[str]], bool] = lambda _command: False
        self.error: BaseException | None = None

    def __call__(self, _title: str, command: list[str], **_more: str) -> str:
        command = [str(word) for word in command]
        self.commands.append(command)
        if self.error is not None and self.fail(command):
            raise self.error
        if "venv" in command:
            inner = Path(command[-1]) / "bin" / "python"
            inner.parent.mkdir(parents=True)
            inner.symlink_to(command[0])
        return "mitmproxy"

    def taken(self) -> list[str]:
        """Return the steps since the last call of this."""
        names = [
            "venv" if "venv" in command else command[2] for command in self.commands
        ]
        self.commands.clear()
        return [name for name in names if name in ("venv", "pip")]


@pytest.fixture
def steps(venv: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Steps:
    stand_in(tmp_path / "bin" / "python3.12", "3.12.4")
    fake = Steps()
    monkeypatch.setattr(venv, "run", fake)
    return fake


def test_first_start_makes_and_fills_the_environment(venv: Any, steps: Steps) -> None:
    python = venv.environment()
    assert python == venv.ROOT / ".venv" / "bin" / "python"
    assert steps.taken() == ["venv", "pip"]


def test_second_start_does_nothing(venv: Any, steps: Steps) -> None:
    first = venv.environment()
    steps.taken()
    assert venv.environment() == first
    assert steps.taken() == []


def test_changed_lock_completes_the_environment_in_place(
    venv: Any, steps: Steps
) -> None:
    venv.environment()
    steps.taken()
    venv.lock("development").write_text("# another requirement")
    venv.environment()
    assert steps.taken() == ["pip"]


def test_interrupted_installation_starts_anew(venv: Any, steps: Steps) -> None:
    steps.error, steps.fail = KeyboardInterrupt(), lambda command: "pip" in command
    with pytest.raises(KeyboardInterrupt):
        venv.environment()
    left = venv.ROOT / ".venv" / "left-behind"
    left.touch()
    steps.error = None
    steps.taken()
    venv.environment()
    assert steps.taken() == ["venv", "pip"]
    assert not left.exists()


def test_interrupted_update_starts_anew(venv: Any, steps: Steps) -> None:
    venv.environment()
    venv.lock("development").write_text("# another requirement")
    steps.error, steps.fail = KeyboardInterrupt(), lambda command: "pip" in command
    with pytest.raises(KeyboardInterrupt):
        venv.environment()
    steps.error = None
    steps.taken()
    venv.environment()
    assert steps.taken() == ["venv", "pip"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"folder": 1}'])
def test_damaged_stamp_counts_as_none(venv: Any, steps: Steps, text: str) -> None:
    venv.environment()
    (venv.ROOT / ".venv" / venv.STAMP).write_text(text)
    steps.taken()
    venv.environment()
    assert steps.taken() == ["venv", "pip"]


def test_moved_project_makes_its_environment_anew(
    venv: Any, steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.environment()
    moved = venv.ROOT.rename(venv.ROOT.with_name("moved"))
    monkeypatch.setattr(venv, "ROOT", moved)
    steps.taken()
    venv.environment()
    assert steps.taken() == ["venv", "pip"]


def test_environment_whose_interpreter_is_gone_is_made_anew(
    venv: Any, steps: Steps, tmp_path: Path
) -> None:
    venv.environment()
    (tmp_path / "bin" / "python3.12").unlink()
    stand_in(tmp_path / "bin" / "python3.13", "3.13.0")
    steps.taken()
    venv.environment()
    assert steps.taken() == ["venv", "pip"]


def test_environment_of_who_only_uses_it_is_completed_for_work_on_it(
    venv: Any, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    venv.environment(names=venv.RUNTIME)
    assert steps.commands[-1][-1].endswith("runtime.txt")
    assert steps.taken() == ["venv", "pip"]
    venv.environment()
    assert steps.commands[-1][-1].endswith("development.txt")
    assert steps.taken() == ["pip"]
    assert "adding the packages for development to .venv" in capsys.readouterr().err
    venv.environment(names=venv.RUNTIME)
    venv.environment()
    assert steps.taken() == []


def test_sets_that_are_pinned_anew_are_each_installed_anew(
    venv: Any, steps: Steps
) -> None:
    venv.environment()
    for name in ("runtime", "development"):
        venv.lock(name).write_text("# others")
    steps.taken()
    venv.environment(names=venv.RUNTIME)
    assert steps.commands[-1][-1].endswith("runtime.txt")
    venv.environment()
    assert steps.commands[-1][-1].endswith("development.txt")


def test_another_forced_python_makes_the_environment_anew(
    venv: Any, steps: Steps, tmp_path: Path
) -> None:
    venv.environment()
    steps.taken()
    other = venv.probe([stand_in(tmp_path / "other", "3.14.0")])
    venv.environment(python=other)
    assert steps.taken() == ["venv", "pip"]
    venv.environment(python=other)
    assert steps.taken() == []


def test_tagged_environment_has_a_folder_and_requirements_of_its_own(
    venv: Any, steps: Steps
) -> None:
    python = venv.environment("oldest", names=("oldest",))
    assert python.parent.parent.name == ".venv-oldest"
    assert steps.commands[-1][-2:] == ["-r", str(venv.lock("oldest"))]


def test_python_without_ensurepip_lends_its_own_pip(
    venv: Any, steps: Steps, tmp_path: Path
) -> None:
    stand_in(tmp_path / "bin" / "python3.12", "3.12.4", ensurepip=False)
    venv.environment()
    make, lend = steps.commands[:2]
    inner = str(venv.ROOT / ".venv" / "bin" / "python")
    assert "--without-pip" in make
    assert lend[1:6] == ["-m", "pip", "--python", inner, "install"]
    assert lend[6:] == venv.exactly("pip")


def test_python_that_cannot_make_an_environment_gives_way_to_the_next(
    venv: Any, steps: Steps, tmp_path: Path
) -> None:
    worse = str(stand_in(tmp_path / "bin" / "python3.13", "3.13.0"))
    steps.error = venv.CommandError("making .venv failed", ["no ensurepip"])
    steps.fail = lambda command: command[0] == worse
    venv.environment()
    stamp = json.loads((venv.ROOT / ".venv" / venv.STAMP).read_text())
    assert stamp["version"] == "3.12.4"


def test_symlink_in_place_of_the_environment_is_not_followed(
    venv: Any, steps: Steps, tmp_path: Path
) -> None:
    kept = tmp_path / "elsewhere" / "kept"
    kept.parent.mkdir()
    kept.touch()
    (venv.ROOT / ".venv").symlink_to(kept.parent)
    venv.environment()
    assert steps.taken() == ["venv", "pip"]
    assert kept.exists()


def test_only_one_start_makes_environments(venv: Any) -> None:
    with (venv.ROOT / ".venv.lock").open("a+") as other:
        with venv._locked():
            assert not venv._lock(other.fileno())
        assert venv._lock(other.fileno())


def test_failed_pip_shows_its_last_lines_and_the_repair(
    venv: Any, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.error = venv.CommandError("installing failed", ["ERROR: no such version"])
    steps.fail = lambda command: "pip" in command
    with pytest.raises(SystemExit, match="1"):
        venv.ensure()
    said = capsys.readouterr().err
    assert "    ERROR: no such version\n" in said
    assert said.rstrip().endswith("Then start again.")


def test_failed_step_tells_no_credentials() -> None:
    venv = load("_bootstrap")
    code = "raise SystemExit('no answer from https://joe:pass@word@host/simple')"
    with pytest.raises(venv.CommandError) as caught:
        venv.run("asking", [sys.executable, "-c", code])
    assert caught.value.lines == ["no answer from https://****@host/simple"]


def test_failed_step_keeps_what_the_program_said_last() -> None:
    venv = load("_bootstrap")
    code = "print(*range(99), sep='\\n'); raise SystemExit(3)"
    with pytest.raises(venv.CommandError) as caught:
        venv.run("counting", [sys.executable, "-c", code])
    assert caught.value.lines[-2:] == ["97", "98"]


def test_settings_that_lead_pip_astray_are_not_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    handed = load("_bootstrap")._clean(EXTRA="yes")
    assert "PYTHONPATH" not in handed
    assert (handed["PIP_USER"], handed["EXTRA"]) == ("0", "yes")


def test_machine_without_any_way_gets_one_sentence(
    venv: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shim(tmp_path / "bin" / "python3.12")
    stand_in(tmp_path / "bin" / "python3", "3.12.4", ensurepip=False, pip=False)
    with pytest.raises(SystemExit, match="1"):
        venv.ensure()
    said = capsys.readouterr().err.splitlines()
    assert "no Python 3.12 or newer" in said[0]
    assert len(said) == 2
    for part in ("install one", venv.FORCED, "python3.12-venv", "does not start"):
        assert part in said[1]


def test_folder_that_cannot_be_written_gets_a_sentence(
    venv: Any, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    steps.error = PermissionError(13, "Permission denied", ".venv")
    steps.fail = lambda _command: True
    with pytest.raises(SystemExit, match="1"):
        venv.ensure()
    assert "cannot make the environment in" in capsys.readouterr().err


def test_uv_fetches_into_the_project_only(
    venv: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = stand_in(tmp_path / "fetched", "3.13.9")
    seen = tmp_path / "seen"
    executable(
        tmp_path / "bin" / "uv",
        f'echo "$* $UV_PYTHON_INSTALL_DIR $UV_PYTHON_INSTALL_BIN" >> "{seen}"',
        f'echo "{fetched}"',
    )
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", "/elsewhere")
    assert venv._fetch([]).name == "3.13.9"
    own = venv.ROOT / ".venv-uv" / "pythons"
    assert f"python install {venv.FETCHED} {own} 0\n" in seen.read_text()


def test_uv_on_path_that_does_not_start_is_replaced(
    venv: Any, steps: Steps, tmp_path: Path
) -> None:
    shim(tmp_path / "bin" / "uv")
    maker = venv.probe([stand_in(tmp_path / "maker", "3.9.1")])
    with pytest.raises(venv.SetupError):  # nothing is really installed here
        venv._fetch([maker])
    mine = str(venv.ROOT / ".venv-uv" / "program" / "bin" / "uv")
    assert [mine, "python", "install", venv.FETCHED] in steps.commands


# Restarting


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose `.venv` is in order, and a script that says where it runs."""
    venv = load("_bootstrap")
    root = (tmp_path / "a project").resolve()
    (root / "scripts").mkdir(parents=True)
    for name in ("_uv.py", "_bootstrap.py"):
        shutil.copy(SCRIPTS / name, root / "scripts")
    locks = root / "scripts" / "requirements"
    locks.mkdir()
    for name in ("runtime", "development"):
        (locks / f"{name}.txt").write_text("# no requirements")
    script = [
        "import os, sys, _bootstrap",
        "_bootstrap.ensure()",
        "left = [name for name in os.environ if name == _bootstrap.RESTARTED]",
        "print(sys.prefix, sys.argv[1:], os.getcwd(), left, sep='|')",
    ]
    (root / "scripts" / "where.py").write_text("\n".join(script))
    base = venv.probe([sys.executable]).base
    made = [base, "-m", "venv", "--without-pip", str(root / ".venv")]
    subprocess.run(made, check=True, timeout=60)
    digest = hashlib.sha256(b"# no requirements").hexdigest()
    stamp = {
        "folder": str(root / ".venv"),
        "link": str((root / ".venv" / "bin" / "python").resolve()),
        "base": base,
        "version": ".".join(str(number) for number in sys.version_info[:3]),
        "holds": dict.fromkeys(("runtime", "development"), digest),
    }
    (root / ".venv" / venv.STAMP).write_text(json.dumps(stamp))
    return root


def start(project: Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / "scripts" / "where.py"), "a b", "--c"]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False
    )


def test_script_restarts_in_the_environment(project: Path, tmp_path: Path) -> None:
    done = start(project, tmp_path)
    assert done.stderr == ""
    prefix, arguments, folder, left = done.stdout.strip().split("|")
    assert Path(prefix) == project / ".venv"
    assert arguments == "['a b', '--c']"
    assert Path(folder).resolve() == tmp_path.resolve()
    assert left == "[]"


def test_environment_that_is_not_what_it_says_ends_with_a_sentence(
    project: Path, tmp_path: Path
) -> None:
    place = project / ".venv" / load("_bootstrap").STAMP
    place.write_text(json.dumps({**json.loads(place.read_text()), "version": "3.99.0"}))
    done = start(project, tmp_path)
    assert done.returncode == 1
    assert "is broken: remove that folder" in done.stderr
    assert "Traceback" not in done.stderr


# Command lines


def old_pythons() -> Iterator[str]:
    folders = [os.environ.get("PYENV_ROOT"), os.environ.get("HOME", "") + "/.pyenv"]
    for folder in filter(None, folders):
        for path in sorted(Path(folder).glob("versions/3.8.*/bin/python3")):
            yield str(path)
    yield from filter(None, [shutil.which("python3.8")])


def old_python() -> str:
    venv = load("_bootstrap")
    for path in old_pythons():
        if venv.probe([path]) is not None:
            return path
    pytest.skip("no Python 3.8 on this machine")


def help_of(name: str, python: str, cwd: Path) -> str:
    command = [python, str(SCRIPTS / f"{name}.py"), "--help"]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_needs_no_environment(name: str, tmp_path: Path) -> None:
    base = load("_bootstrap").probe([sys.executable]).base
    assert ".venv" in help_of(name, base, tmp_path)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_works_on_python_3_8(name: str, tmp_path: Path) -> None:
    assert ".venv" in help_of(name, old_python(), tmp_path)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_command_works_on_python_3_8_as_it_is(name: str, tmp_path: Path) -> None:
    assert "usage:" in help_of(name, old_python(), tmp_path)


@pytest.mark.parametrize(
    "name", ["_bootstrap", "_uv", *ALIASES, *COMMANDS, *PLAIN, *TOOL]
)
def test_script_is_written_for_python_3_8(name: str) -> None:
    source = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))


def test_processes_of_the_tests_share_what_one_of_them_compiled(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    test = load("test")
    monkeypatch.setattr(test._bootstrap, "ROOT", tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", "")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "module.py").write_text("import sys")
    command = [sys.executable, "-c", "import module"]
    compiled = tmp_path / ".venv-compiled"
    inside = compiled.joinpath(*tmp_path.parts[1:])
    old = inside / "temporary" / "pytest-of-me"
    old.mkdir(parents=True)
    test.compile_once()
    subprocess.run(command, cwd=tmp_path, check=True)
    assert not old.exists()
    assert [path.stem.partition(".")[0] for path in inside.glob("*.pyc")] == ["module"]
    assert not (tmp_path / "__pycache__").exists()


NO_MITMPROXY = """
import glob, importlib, sys
sys.path[:0] = ["addon", "tests", "scripts"]
given = [each if each.endswith(".py") else each + "/test_*.py" for each in sys.argv[1:]]
for path in [path for each in given for path in glob.glob(each)]:
    module = path.removeprefix("tests/").removesuffix(".py")
    importlib.import_module(module.replace("/", "."))
print([name for name in sys.modules if name.split(".")[0] == "mitmproxy"])
"""


def test_what_the_other_versions_leave_out_knows_no_mitmproxy() -> None:
    script = load("test")
    left_out = script.PURE
    assert all((ROOT / path).exists() for path in [*left_out, *script.TOOLS])
    done = subprocess.run(
        [sys.executable, "-c", NO_MITMPROXY, *left_out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_oldest_mitmproxy_is_the_lower_bound() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert read["project"]["dependencies"] == ["mitmproxy>=12,<13"]
    assert load("test").OLDEST_MITMPROXY == "12.0.0"


def test_ci_calls_flags_that_exist() -> None:
    test = load("test")
    called = [
        line.split("scripts/test.py", 1)[1].partition(">")[0].rstrip(")").split()
        for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
        if "python3 scripts/test.py" in line
    ]
    apart = [["--deploy"], ["--desktop"], ["--clients"], ["--peers"]]
    compiled, matrix = ["--collect-only", "-q"], ["--matrix-only"]
    here = [["--packages"], compiled, []]
    assert called == [*here, [*matrix, *compiled], matrix, *apart]
    assert all(test.parse(each)[1] in ([], compiled) for each in called)


@pytest.mark.parametrize("finds", [False, True])
def test_ci_ends_where_the_fuzzer_finds_something(tmp_path: Path, finds: bool) -> None:
    (tmp_path / ".ci").mkdir()
    script = shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    ends = f"case $1 in *fuzz.py) echo found; exit {int(finds)};; esac"
    asks = 'IFS="|"; echo "$*" >> asked'  # what has blanks stays one argument
    executable(tmp_path / "bin" / "python3", asks, ends)
    executable(tmp_path / "bin" / "tmux")  # so that nothing is missing
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", script],
        env={"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    asked = [each.split("|") for each in (tmp_path / "asked").read_text().splitlines()]
    (fuzzing,) = [
        arguments for script, *arguments in asked if script.endswith("fuzz.py")
    ]
    assert load("fuzz").parse(fuzzing).runs == 3000
    assert done.returncode == finds
    assert "found\n" in done.stdout
    assert ("=== All passed" in done.stdout) != finds
    assert (["scripts/test.py", "--peers"] in asked) != finds


@pytest.mark.parametrize("lacks", [["haproxy"], ["haproxy", "systemd-analyze"]])
def test_deployment_that_cannot_be_tested_fails_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, lacks: list[str]
) -> None:
    test = load("test")

    def which(name: str, **_: object) -> str | None:
        return None if name in lacks else name

    monkeypatch.setattr(test.shutil, "which", which)
    result = test.run_with_programs("deploy", test.DEPLOY, [])
    assert result.failed
    assert "apt-get install haproxy" in result.outcome
    assert ("systemd" in result.outcome) == ("systemd-analyze" in lacks)


def test_folders_of_tests_that_are_run_apart_are_left_out_of_the_suite() -> None:
    read = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    left_out = read["tool"]["pytest"]["norecursedirs"]
    test = load("test")
    for folder in (test.CLIENTS, test.PEERS, test.DEPLOY):
        assert Path(folder).name in left_out
        assert list((ROOT / folder).glob("test_*.py"))


# What hands over to the package


def test_run_py_takes_what_the_command_takes(tmp_path: Path) -> None:
    script = str(SCRIPTS / "run.py")
    done = subprocess.run(
        [old_python(), script, "dcotor"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ("llm_normalize: unknown tool dcotor: did you mean doctor?\n")


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (["report", "--help"], 0, "usage: llm-normalize report"),
        (["doctor", "--list"], 0, "NVIDIA_API_KEY"),
        (["trust", "--bogus"], 2, ""),
        (["service"], 2, ""),
        (["check", "--help"], 0, "usage: llm-normalize check"),
    ],
)
def test_run_py_reads_a_tools_arguments_before_anything_is_made(
    tmp_path: Path, given: list[str], code: int, said: str
) -> None:
    for folder in ("addon", "scripts"):
        without = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=without)
    done = subprocess.run(
        [old_python(), str(tmp_path / "scripts" / "run.py"), *given],
        cwd=tmp_path,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, said in done.stdout) == (code, True)
    assert {each.name for each in tmp_path.iterdir()} == {"addon", "scripts"}


@pytest.mark.parametrize("given", [["demo", "--web"], ["-p", "8081"], []])
def test_run_py_hands_over_in_an_environment_that_was_made_for_it(
    monkeypatch: pytest.MonkeyPatch, given: list[str]
) -> None:
    script = load("run")
    asked: list[Any] = []
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(script._bootstrap, "ensure", asked.append)
    monkeypatch.setattr(cli, "main", lambda words: [*asked, list(words)])
    assert script.main(*given) == [("runtime",), given]


@pytest.mark.parametrize("name", ALIASES)
def test_older_name_of_a_tool_is_run_py_with_that_tool(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(sys, "path", [str(SCRIPTS), *sys.path])
    monkeypatch.setitem(
        sys.modules, "run", SimpleNamespace(main=lambda *a: asked.append(a))
    )
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--json"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")
    assert asked == [(name, "--json")]
