"""The fuzzer's job: it runs inputs, led by coverage or drawn by chance, and saves findings."""

import hashlib
import os
import random
import sys
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from workshop.fuzz.cases import LONGEST
from workshop.fuzz.checks import Finding, check
from workshop.fuzz.inputs import seeds
from workshop.fuzz.mutator import Mutator
from workshop.fuzz.shrink import shrink

SHRINKING = 5.0  # seconds to make a finding small
HANGS = 60  # seconds after which libFuzzer gives an input up
ENOUGH = 30  # findings of one job: more tell nothing new
EVERY = 5.0  # seconds between two lines of progress


class Job:
    """Runs inputs, tells how many, and saves what they find.

    Args:
        flags: Those of scripts/fuzz.py.

    Attributes:
        until: When to end, on the monotonic clock.
    """

    def __init__(self, flags: Namespace) -> None:
        self.runs = 0
        self.until = time.monotonic() + (flags.seconds or float("inf"))
        self._folder: Path = flags.job
        self._started = self._reported = time.monotonic()
        self._kinds: set[str] = set()

    def run(self, data: bytes) -> None:
        """Run one input."""
        self.runs += 1
        for found in check(data):
            if found.kind not in self._kinds and len(self._kinds) < ENOUGH:
                self._kinds.add(found.kind)
                self._save(found, data)
        if time.monotonic() - self._reported >= EVERY:
            self.report()

    def report(self) -> None:
        """Print how far this job is."""
        self._reported = time.monotonic()
        took = self._reported - self._started
        pace = f"{self.runs} runs, {self.runs / max(took, 0.1):.0f} runs/s"
        try:
            print(f"{took:5.0f} s: {pace}, {len(self._kinds)} findings", flush=True)
        except OSError:  # nobody listens any more
            os._exit(1)

    def _save(self, found: Finding, data: bytes) -> None:
        left = max(min(SHRINKING, self.until - time.monotonic()), 1)
        data = shrink(data, found.kind, left)
        digest = hashlib.sha256(data).hexdigest()[:8]
        path = self._folder / f"{found.slug}-{digest}.part"
        path.write_bytes(data)
        path.replace(path.with_suffix(".bin"))  # whole, where somebody looks for it


def by_coverage(flags: Namespace, atheris: Any) -> None:
    """Run inputs until the time or the number is used up, led by coverage."""
    job, known = Job(flags), seeds()
    corpus = flags.job / f"corpus-{flags.seed}"
    corpus.mkdir()
    # Named one by one: a folder is read in any order, and again as the clock tells.
    paths = [corpus / f"{number:04}" for number in range(len(known[: flags.runs]))]
    for path, data in zip(paths, known, strict=False):  # it runs all that are there
        path.write_bytes(data)
    listed = corpus / "list"
    listed.write_text(",".join(map(str, paths)))
    mutator = Mutator(known)

    def mutate(data: bytes, limit: int, seed: int) -> bytes:
        dice = random.Random(seed)
        if dice.random() < 0.1:  # noqa: PLR2004 - some changes are nobody's idea
            return bytes(atheris.Mutate(data, limit))
        return bytes(mutator.mutate(data, dice, limit))

    settings = [
        f"-seed={flags.seed}",
        f"-max_len={LONGEST}",
        f"-timeout={HANGS}",
        f"-report_slow_units={HANGS}",
        f"-artifact_prefix={flags.job}{os.sep}",
        f"-seed_inputs=@{listed}",
        "-len_control=0",
        "-rss_limit_mb=4096",
    ]
    if flags.runs:
        settings.append(f"-runs={flags.runs}")
    else:
        settings.append(f"-max_total_time={max(int(flags.seconds), 1)}")
    atheris.Setup([sys.argv[0], *settings], job.run, custom_mutator=mutate)
    atheris.Fuzz()  # ends the process


def by_chance(flags: Namespace) -> None:
    """Run inputs until the time or the number is used up, drawn by chance."""
    job, known = Job(flags), seeds()
    mutator = Mutator(known)
    dice = random.Random(flags.seed)
    for data in known[: flags.runs]:
        job.run(data)
    while time.monotonic() < job.until and job.runs < (flags.runs or sys.maxsize):
        data = dice.choice(known)
        for _ in range(dice.randint(1, 4)):
            data = mutator.mutate(data, dice)
        job.run(data)
    job.report()
