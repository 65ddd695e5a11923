"""The processes that the benchmark starts; none of them outlives it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from workshop import MODULES, mitmdump, module, variables
from workshop.bench import machine
from workshop.child import Child, ChildError

# What only a bug writes: in mitmproxy, an addon or a peer.
_BUG = re.compile(r"Traceback \(most recent call last\)|has crashed|repair failed")


def _may_have(name: str, without: tuple[str, ...]) -> bool:
    # A proxy for all programs would come between us and our own machine.
    return not name.upper().startswith(without) and not name.upper().endswith("_PROXY")


def _environment(without: tuple[str, ...], more: Mapping[str, str]) -> dict[str, str]:
    inherited = {
        name: value for name, value in variables().items() if _may_have(name, without)
    }
    return {**inherited, **more}


class Worker(Child):
    """A process of the benchmark, which is watched for bugs.

    Args:
        name: What errors call it.
        command: How to start it.
        folder: Its working folder.
        more: More environment variables.
        without: How those begin that it must not have.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path | None = None,
        more: Mapping[str, str] | None = None,
        without: tuple[str, ...] = (),
    ) -> None:
        env = _environment(without, more or {})
        super().__init__(name, command, folder, env=env)
        self._bug = ""

    def hear(self, line: str) -> None:
        """Take a line: it may tell of a bug."""
        if not self._bug and _BUG.search(line):
            self._bug = line.strip()

    def check(self, *, bugs: bool = True) -> None:
        """See that it still runs, and, of *bugs*, that none has shown.

        Raises:
            ChildError: It does not, or one has.
        """
        super().check()
        if self._bug and bugs:
            raise ChildError(f"{self.name} met a bug: {self._bug}.", self.lines)


class BenchMitmdump(mitmdump.Mitmdump, Worker):
    """A mitmdump of the benchmark."""

    def hear(self, line: str) -> None:
        """Take a line, as both do."""
        super().hear(line)
        Worker.hear(self, line)


@contextmanager
def _working(name: str, module_name: str, cpus: frozenset[int]) -> Iterator[Worker]:
    with Worker(name, module(module_name), more=MODULES) as worker:
        machine.pin(worker.pid, cpus)
        yield worker


def provider(cpus: frozenset[int]) -> AbstractContextManager[Worker]:
    """Run the provider; the first line that it prints is its port."""
    return _working("the benchmark's provider", "workshop.bench.provider", cpus)


def client(cpus: frozenset[int]) -> AbstractContextManager[Worker]:
    """Run the client, which takes a load a line."""
    return _working("the benchmark's client", "workshop.bench.client", cpus)


def ask(worker: Child, line: str, patience: float) -> Any:
    """Return what the client answers to a load.

    Raises:
        ChildError: It does not, or could not do it.
    """
    worker.say(line)
    text = worker.line(patience)
    try:
        reported = json.loads(text)
    except ValueError:
        raise ChildError(f"{worker.name} failed.", [text, *worker.lines]) from None
    if "error" in reported:
        raise ChildError(f"{worker.name} failed: {reported['error']}.", worker.lines)
    return reported["parties"]
