"""The fuzzer's job, from the outside: a process that runs inputs, and what it saves."""

import base64
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from workshop import SCRIPTS, variables
from workshop.child import Child
from workshop.fuzz.checks import Finding, check
from workshop.fuzz.inputs import inputs

FUZZ = SCRIPTS / "fuzz.py"
PATIENCE = 20.0  # seconds that it may take longer than it was given
GLANCE = 0.2
_CHATTER = ("#", "INFO:")
"""How lines of libFuzzer begin that tell nobody anything."""


class Job(Child):
    """The process that runs inputs; what it prints is passed on."""

    def hear(self, line: str) -> None:
        """Pass a line on."""
        if not line.startswith(_CHATTER):
            print(line, flush=True)


class Findings:
    """What inputs break, the first of each kind printed.

    Attributes:
        paths: The input of each kind.
    """

    def __init__(self) -> None:
        self.paths: dict[str, Path] = {}
        self._seen: set[Path] = set()

    def look(self, path: Path, *, saved: bool = False) -> None:
        """Run an input that was not run here before.

        Args:
            path: Its file.
            saved: Whether it is a finding, whatever becomes of it here.
        """
        if path in self._seen:
            return
        self._seen.add(path)
        data = path.read_bytes()
        found = check(data)
        if saved and not found:
            found = [Finding(path.stem, "it breaks a promise now and then")]
        for each in found:
            self._report(each, path, data)

    def _report(self, found: Finding, path: Path, data: bytes) -> None:
        if found.kind in self.paths:
            return
        self.paths[found.kind] = path
        rerun = ["python3", str(FUZZ), "--replay", str(path)]
        text = found.text.rstrip().replace("\n", "\n    ")
        print(f"\n{found.kind}\n    {text}\n  {shlex.join(rerun)}", flush=True)
        # The file is gone where a machine lasts as long as its job.
        encoded = base64.b64encode(data).decode()
        print(f"  the input in base64: {encoded}\n", flush=True)


def run(
    arguments: Sequence[str],
    seed: int,
    until: float,
    *,
    reported: tuple[str, ...],
) -> int:
    """Replay what broke a promise once, run the job, and return the exit code.

    Args:
        arguments: Those of scripts/fuzz.py for the job.
        seed: Of its dice, and of the order of its sets.
        until: When it should have ended, on the monotonic clock.
        reported: How kinds of findings begin that are printed alone.
    """
    folder = Path(tempfile.mkdtemp(prefix="llm_normalize-fuzz-"))
    # A Ctrl-C in the terminal is for the process that has the findings.
    job = Job(
        "the fuzzer",
        [sys.executable, str(FUZZ), *arguments, "--job", str(folder), "--seed", str(seed)],
        env=variables(PYTHONHASHSEED=str(seed % 2**32)),
        start_new_session=True,
    )  # fmt: skip
    findings = Findings()
    is_well = True
    try:
        for path in inputs():
            findings.look(path)
        job.start()
        while job.code is None and time.monotonic() < until + PATIENCE:
            for path in sorted(folder.glob("*.bin")):
                findings.look(path, saved=True)
            time.sleep(GLANCE)
        is_well = not job.code
        if not is_well:
            print(job.gone())
    except KeyboardInterrupt:
        print("\ninterrupted")
    finally:
        job.stop()
    for path in sorted(folder.glob("*.bin")):
        findings.look(path, saved=True)
    return summary(findings, folder, reported) or int(not is_well)


def summary(findings: Findings, folder: Path, reported: tuple[str, ...]) -> int:
    """Print the result, remove what is of no use, and return the exit code."""
    for corpus in folder.glob("corpus-*"):
        shutil.rmtree(corpus)
    print(f"--- summary\n{len(findings.paths)} findings")
    for kind, path in sorted(findings.paths.items()):
        print(f"{kind}: {path}")
    left = [path for path in sorted(folder.iterdir()) if path.suffix != ".bin"]
    for path in left:  # libFuzzer's own: an input that hung, say
        print(f"an input that ended its job, or took too long for libFuzzer: {path}")
    if not any(folder.iterdir()):
        folder.rmdir()
    # By slugs: of a finding that is none here, only the name of its file is known.
    printed_alone = tuple(Finding(each, "").slug for each in reported)
    fatal = [
        kind
        for kind, path in findings.paths.items()
        # The inputs in tests/fuzz were repaired once, so they have to stay so.
        if not (
            Finding(kind, "").slug.startswith(printed_alone) and folder in path.parents
        )
    ]
    return int(bool(fatal or left))
