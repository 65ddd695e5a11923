"""The scripts' own machinery: no test here installs anything or needs a network."""

import ast
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import _uv
from launchers import executable, load
from script_runs import ended

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
COMMANDS = ("add_capture", "build", "check", "deploy/local", "run", "test")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def of_python_3_8() -> Iterator[Path]:
    """Yield what is written for it: run.py imports some of that without an environment."""
    targets = PYPROJECT["tool"]["ruff"]["per-file-target-version"]
    for pattern in [each for each, target in targets.items() if target == "py38"]:
        start, _, rest = pattern.partition("{")
        names, _, end = rest.partition("}")
        for name in names.split(","):
            yield from ROOT.glob(f"{start}{name}{end}")


pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="stands in for interpreters with shell scripts"
)


# Command lines


def old_pythons() -> Iterator[str]:
    folders = [os.environ.get("PYENV_ROOT"), os.environ.get("HOME", "") + "/.pyenv"]
    for folder in filter(None, folders):
        for path in sorted(Path(folder).glob("versions/3.8.*/bin/python3")):
            yield str(path)
    yield from filter(None, [shutil.which("python3.8")])


def old_python() -> str:
    for path in old_pythons():
        if _uv.answer(path, "--version"):
            return path
    pytest.skip("no Python 3.8 on this machine")


def help_of(name: str, python: str, cwd: Path) -> str:
    command = [python, str(SCRIPTS / f"{name}.py"), "--help"]
    return ended(command, cwd=cwd, check=True).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_works_on_python_3_8(name: str, tmp_path: Path) -> None:
    assert ".venv" in help_of(name, old_python(), tmp_path)


@pytest.mark.parametrize("path", sorted(of_python_3_8()), ids=lambda path: path.stem)
def test_script_is_written_for_python_3_8(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("bench", ["--rounds", "0"], "--rounds: takes a number from 1 on"),
        ("load", ["--rate", "10", "0"], "--rate: takes a number above 0, not 0"),
        ("soak", ["--minutes", "x"], "--minutes: invalid float value: 'x'"),
        ("fuzz", ["--replay", "nowhere"], "--replay: there is no file nowhere"),
    ],
)
def test_wrong_argument_is_a_wrong_call(
    name: str, given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        load(name).parse(given)
    assert ended.value.code == 2
    assert f"error: argument {says}\n" in capsys.readouterr().err


NO_MITMPROXY = """
import glob, importlib, sys
sys.path[:0] = ["addon", "tests", "tests/helpers", "scripts"]
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
    command = [sys.executable, "-c", NO_MITMPROXY, *left_out]
    done = ended(command, cwd=ROOT, check=True)
    assert done.stdout == "[]\n"


def test_oldest_mitmproxy_is_the_lower_bound() -> None:
    assert PYPROJECT["project"]["dependencies"][0].startswith("mitmproxy>=12,<13 ;")
    assert load("test").OLDEST_MITMPROXY == "12.0.0"


def test_ci_calls_flags_that_exist() -> None:
    test = load("test")
    called = [
        line.split("scripts/test.py", 1)[1].partition(">")[0].rstrip(")").split()
        for line in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
        if "python3 scripts/test.py" in line
    ]
    apart = [["--deploy"], ["--desktop"], ["--peers"], ["--clients"]]
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
    for program in ("tmux", "chromium-headless-shell"):  # so that nothing is missing
        executable(tmp_path / "bin" / program)
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    done = ended(["bash", str(script)], env={"PATH": path})
    asked = [each.split("|") for each in (tmp_path / "asked").read_text().splitlines()]
    (fuzzing,) = [
        arguments for script, *arguments in asked if script.endswith("fuzz.py")
    ]
    assert load("fuzz").parse(fuzzing).runs == 3000
    assert done.returncode == finds
    assert "found\n" in done.stdout
    assert ("=== All passed" in done.stdout) != finds
    assert (["scripts/test.py", "--peers"] in asked) != finds


# What hands over to the package


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
    command = [old_python(), str(tmp_path / "scripts" / "run.py"), *given]
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = ended(command, cwd=tmp_path, env=environ)
    assert (done.returncode, said in done.stdout) == (code, True)
    assert {each.name for each in tmp_path.iterdir()} == {"addon", "scripts"}
