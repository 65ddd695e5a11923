"""The fuzzer: that it runs, that it can fail, and that what it finds can be replayed."""

import base64
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from launchers import load
from llm_normalize.chat.chunks.chunk import Chunk, deltas
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import Fix
from script_runs import ended
from streams import ANY
from workshop.fuzz import cases, checks, engine, inputs

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"

# Without fuzz.main, which would go to .venv first: this environment will do.
# Whoever runs the suite in the background may have had Ctrl-C ignored.
HERE = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import fuzz
flags = fuzz.parse(sys.argv[2:])
sys.exit(fuzz.replay(flags) if flags.replay else fuzz.run(flags))
"""

STREAM = (
    b'data: {"id":"chatcmpl-123456","object":"chat.completion.chunk","created":1,'
    b'"model":"acme-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},'
    b'"finish_reason":null}]}\n\n'
    b'data: {"id":"chatcmpl-123456","object":"chat.completion.chunk","created":1,'
    b'"model":"acme-1","choices":[{"index":0,"delta":{"content":"Tea"},'
    b'"finish_reason":null}]}\n\n'
    b'data: {"id":"chatcmpl-123456","object":"chat.completion.chunk","created":1,'
    b'"model":"acme-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
SEEDS = [cases.Case(Asked(stream=True), STREAM[at:]) for at in (0, 9)]
BROKEN = """
from ..repair.look import Finding

class Broken(Fix):
    name = "broken"
    handles = Finding.FINISH
    examples = ()

    def edit(self, chunk):
        raise ValueError("broken on purpose")


FIXES = (*FIXES, Broken)
"""
"""What the package's list of fixes says behind its end, in a copy."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files, where inputs are saved, and nothing recorded."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TEMP", str(tmp_path))
    monkeypatch.setenv("LLM_CAPTURES", str(tmp_path / "none"))
    return tmp_path


def start(*arguments: str, scripts: Path = SCRIPTS) -> subprocess.CompletedProcess[str]:
    return ended([sys.executable, "-c", HERE, str(scripts), *arguments])


def kinds(case: Any) -> set[str]:
    return {found.kind for found in checks.check(case.write())}


# What breaks each promise, one way each


class _Fails(Fix):
    name = "broken"
    handles = ANY

    def edit(self, chunk: Chunk) -> bool:
        return bool(chunk["no such key"])


class _Loses(Fix):
    name = "broken"
    handles = ANY

    def edit(self, chunk: Chunk) -> bool:
        return any(delta.pop("content", None) for _, _, delta in deltas(chunk))


class _GoesOn(Fix):
    name = "broken"
    handles = ANY

    def edit(self, chunk: Chunk) -> bool:
        said = [delta for _, _, delta in deltas(chunk) if delta.get("content")]
        for delta in said:
            delta["content"] += "x"
        return bool(said)


class _Keeps(Fix):
    name = "broken"
    handles = ANY

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self.kept: list[Chunk] = []

    def edit(self, chunk: Chunk) -> bool:
        self.kept.append(chunk)
        return False


class _Alternates(Fix):
    name = "broken"
    handles = ANY
    made: ClassVar[list[bool]] = []

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self.made.append(True)

    def edit(self, chunk: Chunk) -> bool:
        chunk["number"] = len(self.made)
        return True


class _Lies(Fix):
    name = "broken"
    handles = ANY

    def edit(self, chunk: Chunk) -> list[Chunk]:
        return [chunk, {"choices": [], "note": "[DONE]"}]


@pytest.mark.parametrize(
    ("fix", "mode", "kind"),
    [
        (_Fails, "stream", "logged KeyError in test_fuzz.py:edit"),
        (_Loses, "stream", "lost choice …: text … became …"),
        (_GoesOn, "stream", "twice differs broken"),
        (_GoesOn, "stream", "sound stream changed broken"),
        (_Keeps, "long", "kept grows"),
        (_Alternates, "stream", "cut differs (no fix)"),
        (_Lies, "stream", "[DONE] made up"),
    ],
)
def test_broken_promise_is_found(
    monkeypatch: pytest.MonkeyPatch,
    fix: type[Fix],
    mode: str,
    kind: str,
) -> None:
    case = cases.Case(Asked(stream=True), STREAM, mode)
    assert kinds(case) == set()
    monkeypatch.setattr(checks, "FIXES", [*FIXES, fix])
    assert kind in kinds(case)


def test_broken_body_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loses(Fix):
        name = "broken"

        def body(self, body: Chunk) -> bool:
            body["choices"].clear()
            return True

    body = b'{"choices":[{"index":0,"message":{"content":"Tea"}}]}'
    case = cases.Case(Asked(), body, "body")
    assert kinds(case) == set()
    monkeypatch.setattr(checks, "FIXES", [*FIXES, Loses])
    assert "body lost choice …: text … became …" in kinds(case)


def test_each_limit_that_is_lowered_is_the_name_of_one() -> None:
    with checks._limits(low=True):
        low = {
            name
            for at, module in list(sys.modules.items())
            for name, value in checks.LOW_LIMITS.items()
            if at.startswith("llm_normalize.") and vars(module).get(name) == value
        }
    assert low == checks.LOW_LIMITS.keys()


# Inputs


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "fuzz").iterdir()), ids=lambda path: path.stem
)
def test_what_broke_a_promise_once_breaks_none(path: Path) -> None:
    assert path in inputs.inputs()
    assert checks.check(path.read_bytes()) == []


# The command


def test_bug_is_reported_saved_and_can_be_replayed(folder: Path) -> None:
    copy = folder / "copy"
    for name in ("addon", "scripts"):
        shutil.copytree(ROOT / name, copy / name)
    with (copy / "addon/llm_normalize/fixes/__init__.py").open("a") as file:
        file.write(BROKEN)
    scripts = copy / "scripts"
    done = start("--runs", "30", "--seed", "1", scripts=scripts)
    assert done.returncode == 1
    kind = "logged ValueError in __init__.py:edit"
    assert f"\n{kind}\n" in done.stdout
    assert "broken on purpose" in done.stdout
    given = re.findall(r"the input in base64: (\S+)", done.stdout)[0]
    command = next(line for line in done.stdout.splitlines() if "--replay" in line)
    _, script, *arguments = shlex.split(command)
    assert script == str(scripts / "fuzz.py")
    assert Path(arguments[-1]).read_bytes() == base64.b64decode(given)
    again = start(*arguments, scripts=scripts)
    assert again.returncode == 1
    assert f"\n{kind}\n" in again.stdout
    fixed = start(*arguments)
    assert fixed.returncode == 0
    assert "no promise is broken" in fixed.stdout


def test_inputs_are_drawn_by_chance_where_there_is_no_atheris(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = load("fuzz")
    monkeypatch.setattr(script, "has_atheris", lambda: False)
    monkeypatch.setattr(engine, "seeds", lambda: [case.write() for case in SEEDS])
    script.work(script.parse(["--job", str(folder), "--runs", "8", "--seed", "1"]))
    assert ": 8 runs, " in capsys.readouterr().out
    assert [*folder.glob("*.bin")] == []
