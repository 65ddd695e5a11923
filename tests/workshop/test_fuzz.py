"""The fuzzer: that it runs, that it can fail, and that what it finds can be replayed."""

import ast
import base64
import importlib.util
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

import _uv
from launchers import load
from llm_normalize.chat.chunks.chunk import Chunk, deltas
from llm_normalize.chat.state import stream_state
from llm_normalize.chat.state.stream_state import Asked, Seen
from llm_normalize.fixes import FIXES
from llm_normalize.repair.fix import Fix, HoldingFix
from llm_normalize.wire import sse
from streams import ANY
from workshop.fuzz import cases, checks, sizes

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
BROKEN = """
from llm_normalize.repair.fix import Fix
from llm_normalize.repair.look import Finding

class Broken(Fix):
    name = "broken"
    handles = Finding.FINISH
    examples = ()

    def edit(self, chunk):
        if any(each.get("finish_reason") == "stop" for each in chunk["choices"]):
            raise ValueError("broken on purpose")
        return False
"""


@pytest.fixture
def target() -> Any:
    return load("workshop.fuzz")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place for temporary files, where inputs are saved, and nothing recorded."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TEMP", str(tmp_path))
    monkeypatch.setenv("LLM_CAPTURES", str(tmp_path / "none"))
    return tmp_path


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HERE, str(SCRIPTS), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def kinds(target: Any, case: Any) -> set[str]:
    return {found.kind for found in target.check(case.write())}


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
    target: Any,
    monkeypatch: pytest.MonkeyPatch,
    fix: type[Fix],
    mode: str,
    kind: str,
) -> None:
    case = target.Case(Asked(stream=True), STREAM, mode)
    assert kinds(target, case) == set()
    monkeypatch.setattr(cases, "every_fix", [*cases.every_fix, fix])
    assert kind in kinds(target, case)


def test_broken_body_is_found(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Loses(Fix):
        name = "broken"

        def body(self, body: Chunk) -> bool:
            body["choices"].clear()
            return True

    body = b'{"choices":[{"index":0,"message":{"content":"Tea"}}]}'
    case = target.Case(Asked(), body, "body")
    assert kinds(target, case) == set()
    monkeypatch.setattr(cases, "every_fix", [*cases.every_fix, Loses])
    assert "body lost choice …: text … became …" in kinds(target, case)


def test_what_grows_once_does_not_keep_growing(
    target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Copies(_Keeps, HoldingFix):
        rounds: ClassVar[int] = 0

        def edit(self, chunk: Chunk) -> bool:
            Copies.rounds += 1
            self.kept = [chunk] * (5000 if Copies.rounds > 200 else 0)
            return False

        def flush(self) -> list[Chunk]:
            return []  # so it is asked about all

    case = target.Case(Asked(stream=True), STREAM, "long")
    monkeypatch.setattr(cases, "every_fix", [*cases.every_fix, Copies])
    assert kinds(target, case) == set()
    assert Copies.rounds == 450  # it looked again


def test_corrupt_body_is_none_of_a_fault(target: Any) -> None:
    for argument in range(len(cases.ENCODINGS) * len(cases.DAMAGES)):
        case = target.Case(
            Asked(stream=True), STREAM, "encoded", argument, place=0x9000
        )
        assert not any(
            kind.startswith(("logged", "raised")) for kind in kinds(target, case)
        )


def test_limits_are_lowered_for_one_input_only(target: Any) -> None:
    case = target.Case(Asked(stream=True), b"data: " + b"x" * 9000, tight=True)
    assert kinds(target, case) == set()
    assert (sse.LIMIT, stream_state.MAX_TRACKED) == (8 * 1024 * 1024, 1024)


def test_what_is_held_counts_all_that_is_reachable() -> None:
    small, large = {"a": [b""]}, {"a": [b"x" * 1000]}
    assert checks.held(large) == checks.held(small) + 1000


# Inputs


def test_case_survives_being_written(target: Any) -> None:
    asked = Asked(stream=True, usage=True, tools=True, forced_tool=True, n=3)
    for mode in dict.fromkeys(cases.MODES):
        case = target.Case(asked, b"data: x", mode, 7, 8, 9, ended=False, tight=True)
        assert target.Case.read(case.write()) == case


@pytest.mark.unmeasured
def test_time_grows_with_the_size_alone(
    target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(len(sizes.PLACES)):
        case = target.Case(Asked(), b"1.", "size", place, place=6)
        assert target.check(case.write()) == []
    monkeypatch.setitem(sizes.PLACES, "bare", re.compile("1+x").search)
    case = target.Case(Asked(), b"1", "size", 0, place=6)
    assert "grows in bare" in {found.kind for found in target.check(case.write())}


def test_any_bytes_are_an_input(target: Any) -> None:
    dice = random.Random(1)
    for size in range(40):
        target.check(dice.randbytes(size))


def test_cut_loses_nothing(target: Any) -> None:
    for cut in range(20):
        case = target.Case(Asked(), STREAM, cut=cut)
        assert b"".join(case.reads(STREAM)) == STREAM


@pytest.mark.usefixtures("folder")
def test_seeds_are_captures_and_examples(target: Any) -> None:
    seeds = target.seeds()
    own = sum(1 for _ in (ROOT / "tests" / "captures").glob("*/*/response.*"))
    assert len(seeds) > own + len(FIXES)
    assert {target.Case.read(data).mode for data in seeds} == set(cases.MODES)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "fuzz").iterdir()), ids=lambda path: path.stem
)
def test_what_broke_a_promise_once_breaks_none(target: Any, path: Path) -> None:
    assert path in target.inputs()
    assert target.check(path.read_bytes()) == []


def test_same_seed_gives_the_same_mutations(target: Any) -> None:
    seeds = target.seeds()
    mutator = target.Mutator(seeds)

    def mutated(number: int) -> list[bytes]:
        dice = random.Random(number)
        return [mutator.mutate(data, dice) for data in seeds]

    assert mutated(1) == mutated(1)
    assert mutated(1) != mutated(2)
    changed = sum(one != other for one, other in zip(mutated(1), seeds, strict=True))
    assert changed > len(seeds) * 0.8


def test_mutation_keeps_to_the_limit(target: Any) -> None:
    mutator = target.Mutator([STREAM])
    dice = random.Random(1)
    assert all(len(mutator.mutate(STREAM, dice, 100)) <= 100 for _ in range(100))


def test_finding_is_made_small(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "every_fix", [*cases.every_fix, _Fails])
    data = target.Case(Asked(stream=True, usage=True), STREAM, cut=7).write()
    kind = "logged KeyError in test_fuzz.py:edit"
    small = target.shrink(data, kind, 20)
    assert kind in {found.kind for found in target.check(small)}
    assert len(small) < 60


# The command


def test_short_run_of_sound_code_finds_nothing(folder: Path) -> None:
    done = start("--engine", "hypothesis", "--runs", "20", "--seed", "1", "--jobs", "2")
    assert done.returncode == 0, done.stdout
    assert "hypothesis, 20 runs, seed 1, jobs 2" in done.stdout
    assert ": 20 runs, " in done.stdout
    assert "0 findings" in done.stdout
    assert [*folder.iterdir()] == []


def test_bug_is_reported_saved_and_can_be_replayed(folder: Path) -> None:
    broken = folder / "broken.py"
    broken.write_text(BROKEN, encoding="utf-8")
    more = ("--fixes", str(broken))
    done = start(*more, "--engine", "hypothesis", "--runs", "30", "--seed", "1")
    assert done.returncode == 1
    kind = "logged ValueError in broken.py:edit"
    assert f"\n{kind}\n" in done.stdout
    assert "broken on purpose" in done.stdout
    given = re.findall(r"the input in base64: (\S+)", done.stdout)[0]
    command = next(line for line in done.stdout.splitlines() if "--replay" in line)
    _, script, *arguments = shlex.split(command)
    assert script == str(SCRIPTS / "fuzz.py")
    assert Path(arguments[-1]).read_bytes() == base64.b64decode(given)
    again = start(*arguments)
    assert again.returncode == 1
    assert f"\n{kind}\n" in again.stdout
    fixed = start(*arguments[-2:])
    assert fixed.returncode == 0
    assert "no promise is broken" in fixed.stdout


@pytest.mark.skipif(
    importlib.util.find_spec("atheris") is None,
    reason="atheris has no wheel for this Python on this system",
)
def test_run_with_coverage_finds_the_bug(folder: Path) -> None:
    broken = folder / "broken.py"
    broken.write_text(BROKEN, encoding="utf-8")
    script = str(SCRIPTS / "fuzz.py")
    flags = ["--fixes", str(broken), "--job", str(folder), "--engine", "atheris"]
    done = subprocess.run(
        [sys.executable, script, *flags, "--runs", "50", "--seed", "1"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert '"kind": "logged ValueError in broken.py:edit"' in done.stdout
    assert "cov: " in done.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(os.name == "nt", reason="sends the signal as POSIX has it")
def test_ctrl_c_ends_with_the_summary() -> None:
    arguments = ["--engine", "hypothesis", "--seconds", "60", "--seed", "1"]
    command = [sys.executable, "-u", "-c", HERE, str(SCRIPTS), *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("hypothesis, 60 s")
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(timeout=30) == 0
    assert "interrupted\n--- summary\n" in rest


def test_machine_without_atheris_goes_on_by_chance(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fuzz = load("fuzz")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert fuzz.engine_of(fuzz.parse([])) == "hypothesis"
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert "no wheel for this Python on this system; hypothesis goes on" in said
    with pytest.raises(_uv.SetupError, match="leave out --engine atheris"):
        fuzz.engine_of(fuzz.parse(["--engine", "atheris"]))


@pytest.mark.parametrize(
    "given",
    [
        ["--runs", "1", "--seconds", "1"],
        ["--runs", "0"],
        ["--jobs", "-1"],
        ["--replay", "no such file"],
    ],
    ids=" ".join,
)
def test_flags_that_make_no_sense_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        load("fuzz").parse(given)


def test_script_is_written_for_python_3_8() -> None:
    source = (SCRIPTS / "fuzz.py").read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))


def test_help_needs_no_environment(tmp_path: Path) -> None:
    base = getattr(sys, "_base_executable", sys.executable)
    done = subprocess.run(
        [base, str(SCRIPTS / "fuzz.py"), "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ".venv" in done.stdout


def test_reported_kinds_do_not_fail_but_what_is_kept_does(tmp_path: Path) -> None:
    script = load("fuzz")

    def code(kind: str, path: Path) -> int:
        jobs = script.Jobs()
        jobs.findings[kind] = {"kind": kind, "text": "", "path": str(path)}
        made = tmp_path / "new"
        made.mkdir(exist_ok=True)
        return int(script.summary(jobs, made, ("twice", "lost")))

    new, known = tmp_path / "new" / "a.bin", ROOT / "tests" / "fuzz" / "a.bin"
    assert [code(kind, new) for kind in ("twice differs x", "logged y")] == [0, 1]
    assert code("twice differs x", known) == 1


def test_jobs_of_one_seed_order_their_sets_alike() -> None:
    jobs = load("fuzz").Jobs()
    for seed in (5, 5, 6):
        jobs.start([sys.executable, "-c", "print(hash('a'))"], seed)
    jobs.follow(time.monotonic() + 30, lambda _: None)
    first, again, other = jobs._last.values()
    assert len(first) == 1
    assert first == again != other
