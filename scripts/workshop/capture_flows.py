"""Capture folders of saved flows, each held to OpenAI's form at once."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from mitmproxy import exceptions, flow
from mitmproxy.io import FlowReader

import _bootstrap
from llm_normalize.answer_settings import Selected
from llm_normalize.commands import capture_rows
from llm_normalize.fixes import FIXES
from llm_normalize.request.adaptation import HostAdaptations

_TESTS = _bootstrap.ROOT / "tests" / "fixes" / "test_captures.py"
_NOTHING = 3
_SELECTED = Selected(FIXES, frozenset(), HostAdaptations())


def run(paths: Sequence[Path], where: Path, *, fill: bool) -> int:
    """Make a folder of each flow, say what is in it, and return the exit code."""
    made: list[Path] = []
    try:
        flows = [each for path in paths for each in _flows(path)]
        _, *rows = capture_rows(flows, where, lambda _: _SELECTED, fill=fill)
    except (OSError, exceptions.FlowReadException) as error:
        print(f"add_capture.py: {error}", file=sys.stderr)
        return 1
    for name, fixes, note in rows:
        if fixes:
            made.append(Path(name))
            print(f"{name}: {fixes}\n  {note}", flush=True)
        else:
            print(f"flow {name}: {note}")
    if not made:
        print("there is no answer of a model in these flows", file=sys.stderr)
        return _NOTHING
    failed = [folder for folder in made if not _has_the_form(folder)]
    print(
        f"{len(made) - len(failed)} of {len(made)} have the form that OpenAI gives them"
    )
    return int(bool(failed))


def _flows(path: Path) -> Iterator[flow.Flow]:
    with path.open("rb") as file:
        try:
            yield from FlowReader(file).stream()
        except exceptions.FlowReadException as error:
            words = f"{path}: no file of flows ({error})"
            raise exceptions.FlowReadException(words) from error


def _has_the_form(folder: Path) -> bool:
    """Run the tests of captures over *folder*, and say what is wrong."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--no-header",
            "--tb=short",
            str(_TESTS),
        ],
        cwd=_bootstrap.ROOT,
        env={**os.environ, "LLM_NORMALIZE_CAPTURES": str(folder.resolve())},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{folder}: not yet as OpenAI would send it. What is wrong:")
        print(
            *(each for each in done.stdout.splitlines() if each[:2] == "E "), sep="\n"
        )
    return not done.returncode
