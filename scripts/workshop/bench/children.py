"""The processes that the benchmark starts; none of them outlives it."""

import collections
import contextlib
import json
import queue
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from workshop import module, variables
from workshop.bench import machine

START = 60.0  # seconds until a proxy listens; a loaded machine is slow
STOP = 5.0
KEPT = 40  # lines of output, for when something goes wrong
# What only a bug writes, be it mitmproxy's, an addon's or a peer's.
_BUG = re.compile(r"Traceback \(most recent call last\)|has crashed|repair failed")


class BenchError(Exception):
    """What went wrong, as one sentence; `lines` are the last that a process said."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


def _may_have(name: str, without: tuple[str, ...]) -> bool:
    # A proxy for all programs would come between us and our own machine.
    return not name.upper().startswith(without) and not name.upper().endswith("_PROXY")


class Child:
    """A process whose output is read to the end, since a full pipe would stop it.

    Args:
        name: What errors call it.
        command: How to start it.
        folder: Its working folder.
        env: More environment variables.
        without: How those begin that it must not have.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path | None = None,
        env: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.last: collections.deque[str] = collections.deque(maxlen=KEPT)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._bug = ""
        kept = {
            name: value
            for name, value in variables().items()
            if _may_have(name, without)
        }
        try:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env={**kept, **(env or {})},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as error:
            raise BenchError(f"{name} cannot be started: {error}.") from error
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):  # closed by `stop`
            for line in self._process.stdout:
                if _BUG.search(line):
                    self._bug = self._bug or line.strip()
                self.last.append(line.rstrip())
                self._lines.put(line.rstrip())
        self._lines.put(None)

    def line(self, patience: float) -> str:
        """Return the next line that it says.

        Raises:
            BenchError: It says nothing any more, or not in time.
        """
        try:
            line = self._lines.get(timeout=max(patience, 0))
        except queue.Empty:
            said = f"{self.name} said nothing for {patience:.0f} s."
            raise BenchError(said, self.last) from None
        if line is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP)
            code = self._process.poll()
            raise BenchError(f"{self.name} has ended (exit code {code}).", self.last)
        return line

    def find(self, pattern: re.Pattern[str]) -> str:
        """Return the first group of *pattern* in the first line that has it.

        Raises:
            BenchError: No line had it in time.
        """
        end = time.monotonic() + START
        while True:
            if found := pattern.search(self.line(end - time.monotonic())):
                return found[1]

    def check(self, *, bugs: bool = True) -> None:
        """See that it still runs, and, of *bugs*, that none has shown.

        Raises:
            BenchError: It does not, or one has.
        """
        code = self._process.poll()
        if code is not None:
            raise BenchError(f"{self.name} has ended (exit code {code}).", self.last)
        if self._bug and bugs:
            raise BenchError(f"{self.name} met a bug: {self._bug}.", self.last)
        with contextlib.suppress(queue.Empty):  # nobody asks for these lines
            while True:
                self._lines.get_nowait()

    def say(self, line: str) -> None:
        """Send it a line.

        Raises:
            BenchError: It has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise BenchError(f"{self.name} has ended.", self.last) from error

    def stop(self) -> None:
        """End it, by force where it does not follow."""
        try:
            self._process.terminate()
            self._process.wait(STOP)
        except subprocess.TimeoutExpired:
            pass
        finally:  # also when a second Ctrl-C cut the waiting short
            self._process.kill()
            self._process.wait()
        self._reader.join(STOP)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert pipe is not None
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def provider(cpus: frozenset[int]) -> Child:
    """Start the provider; the first line that it says is its port."""
    child = Child("the benchmark's provider", module("workshop.bench.provider"))
    machine.pin(child.pid, cpus)
    return child


def client(cpus: frozenset[int]) -> Child:
    """Start the client, which takes a load a line."""
    child = Child("the benchmark's client", module("workshop.bench.client"))
    machine.pin(child.pid, cpus)
    return child


def ask(worker: Child, line: str, patience: float) -> Any:
    """Return what the client answers to a load.

    Raises:
        BenchError: It does not, or could not do it.
    """
    worker.say(line)
    text = worker.line(patience)
    try:
        told = json.loads(text)
    except ValueError:
        raise BenchError(f"{worker.name} failed.", [text, *worker.last]) from None
    if "error" in told:
        raise BenchError(f"{worker.name} failed: {told['error']}.", worker.last)
    return told["parties"]
