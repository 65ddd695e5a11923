"""The fuzzer's job: a process that runs inputs, how far it is, and what it finds."""

import base64
import json
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workshop import SCRIPTS, variables
from workshop.child import Child
from workshop.fuzz.checks import check
from workshop.fuzz.inputs import inputs

FUZZ = SCRIPTS / "fuzz.py"
MARK = "@"
"""Begins a line of a job that is for this process."""
EVERY = 5.0  # seconds between two lines of progress
PATIENCE = 20.0  # seconds that it may take longer than it was given
GLANCE = 0.2
_DONE = re.compile(r"^Done (\d+) runs|\bcov: (\d+)")

type Finding = dict[str, str]


class Job(Child):
    """The process that runs inputs, and what it finds.

    Args:
        arguments: Those of scripts/fuzz.py.
        seed: Of the dice, and of the order of its sets.
        replays: What of the command line a replay needs.

    Attributes:
        findings: The first of each kind.
    """

    def __init__(
        self, arguments: Sequence[str], seed: int, replays: Sequence[str]
    ) -> None:
        # A Ctrl-C in the terminal is for the process that has the findings.
        super().__init__(
            "the fuzzer",
            [sys.executable, str(FUZZ), *arguments, "--seed", str(seed)],
            env=variables(PYTHONHASHSEED=str(seed % 2**32)),
            start_new_session=True,
        )
        self.findings: dict[str, Finding] = {}
        self._replays = replays
        self._started = time.monotonic()
        self._runs = self._coverage = 0

    def hear(self, line: str) -> None:
        """Take a line: how far it is, or what it found."""
        if line.startswith(MARK):
            message: dict[str, Any] = json.loads(line[len(MARK) :])
            self._runs = message.get("runs", self._runs)
            if "kind" in message:
                self.report(message)
        elif found := _DONE.search(line):
            self._runs = int(found[1] or self._runs)
            self._coverage = max(self._coverage, int(found[2] or 0))

    def report(self, finding: Finding) -> None:
        """Print a finding, unless one of its kind was."""
        if finding["kind"] in self.findings:
            return
        self.findings[finding["kind"]] = finding
        rerun = ["python3", str(FUZZ), *self._replays, "--replay", finding["path"]]
        text = finding["text"].rstrip().replace("\n", "\n    ")
        print(f"\n{finding['kind']}\n    {text}\n  {shlex.join(rerun)}", flush=True)
        # The file is gone where a machine lasts as long as its job.
        data = base64.b64encode(Path(finding["path"]).read_bytes()).decode()
        print(f"  the input in base64: {data}\n", flush=True)

    def follow(self, until: float) -> bool:
        """Tell whether it ends well, or is ended because it is late.

        Args:
            until: When it should have ended, on the monotonic clock.
        """
        line_at = time.monotonic() + EVERY
        while self.code is None:
            now = time.monotonic()
            if now > until + PATIENCE:
                return True
            if now >= line_at:
                print(self.progress(), flush=True)
                line_at = now + EVERY
            time.sleep(GLANCE)
        self.close()
        if self.code:
            print(f"{self.gone()} It said last:")
            said = [each for each in self.lines if not each.startswith(MARK)]
            print("\n".join("    " + line for line in said[-16:]))
        return not self.code

    def progress(self) -> str:
        """Return how far it is, in a line."""
        took = time.monotonic() - self._started
        parts = [f"{self._runs} runs", f"{self._runs / max(took, 0.1):.0f} runs/s"]
        if self._coverage:
            parts.append(f"coverage {self._coverage}")
        parts.append(f"{len(self.findings)} findings")
        return f"{took:5.0f} s: " + ", ".join(parts)


def run(
    arguments: Sequence[str],
    seed: int,
    until: float,
    *,
    replays: Sequence[str],
    reported: tuple[str, ...],
) -> int:
    """Replay what broke a promise once, run the job, and return the exit code.

    Args:
        arguments: Those of scripts/fuzz.py for the job.
        seed: Of its dice.
        until: When it should have ended, on the monotonic clock.
        replays: What of the command line a replay needs.
        reported: How kinds of findings begin that are printed alone.
    """
    folder = Path(tempfile.mkdtemp(prefix="llm_normalize-fuzz-"))
    job = Job([*arguments, "--job", str(folder)], seed, replays)
    is_well = True
    try:
        for path in inputs():
            for found in check(path.read_bytes()):
                job.report({**found._asdict(), "path": str(path)})
        job.start()
        is_well = job.follow(until)
    except KeyboardInterrupt:
        print("\ninterrupted")
    finally:
        job.stop()
    return summary(job, folder, reported) or int(not is_well)


def summary(job: Job, folder: Path, reported: tuple[str, ...]) -> int:
    """Print the result, remove what is of no use, and return the exit code."""
    for corpus in folder.glob("corpus-*"):
        shutil.rmtree(corpus)
    print("--- summary")
    print(job.progress().strip())
    for kind, finding in sorted(job.findings.items()):
        print(f"{kind}: {finding['path']}")
    left = [path for path in sorted(folder.iterdir()) if path.suffix != ".bin"]
    for path in left:  # libFuzzer's own: an input that hung, say
        print(f"an input that ended its job, or took too long for libFuzzer: {path}")
    if not any(folder.iterdir()):
        folder.rmdir()
    fatal = [
        kind
        for kind, finding in job.findings.items()
        # The inputs in tests/fuzz were repaired once, so they have to stay so.
        if not (kind.startswith(reported) and folder in Path(finding["path"]).parents)
    ]
    return int(bool(fatal or left))
