"""What the check finds: a line with its mark, what was seen, and the repair."""

import enum
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from ..desktop.machine import Machine
from ..desktop.trust import authority
from ..home import trust_advice
from ..text.command_line import command_line
from ..text.console import styled
from ..text.network_address import address, is_loopback
from ..text.printable import brief

DEFAULT = 8080  # mitmproxy's port
WIDTH = 14  # columns of a step's name
INDENT = " " * 5
CREDENTIALS = re.compile(r"^([\w+.-]+://)?.*@")
COLOURS = {"ok": "32", "FAIL": "1;31", "warn": "33", "skip": "2"}


class Mark(enum.StrEnum):
    """How a step went. Only `FAIL` makes the whole check fail."""

    OK = "ok"
    FAIL = "FAIL"
    WARN = "warn"
    SKIP = "skip"


@dataclass(frozen=True)
class Finding:
    """One line of the check.

    Attributes:
        mark: How it went.
        step: What was looked at, in a word or two.
        saw: What was seen.
        repair: A command or a setting that repairs it; empty where nothing is wrong.
    """

    mark: Mark
    step: str
    saw: str
    repair: str = ""


@dataclass(frozen=True)
class Way:
    """The proxy that the check is about, and what it is to open.

    Attributes:
        host: Where it listens, an address of this machine.
        port: Where it listens.
        hosts: What it opens, as `normalize_hosts` spells it.
    """

    host: str
    port: int
    hosts: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """The address as a setting has it."""
        return f"http://{address(self.host, self.port)}"

    def is_here(self, host: str, port: int) -> bool:
        """Tell whether a setting that says *host* and *port* means this proxy."""
        both = is_loopback(host) and is_loopback(self.host)
        return port == self.port and (both or host.strip("[]").lower() == self.host)


# Words


def masked(value: str) -> str:
    """Return a proxy's address without its name and password, and without a query."""
    place, mark, _ = CREDENTIALS.sub(r"\g<1>***@", value).partition("?")
    return brief(f"{place}{mark}***" if mark else place)


def variable(machine: Machine, name: str, value: str) -> str:
    """Return the command by which this system's shell sets a variable."""
    return trust_advice.setting({name: value}, system=machine.system)


def unset(machine: Machine, *names: str) -> str:
    """Return the command by which this system's shell forgets variables."""
    if machine.system == "windows":
        return "Remove-Item " + ", ".join(f"env:{name}" for name in names)
    return "unset " + " ".join(names)


def run(machine: Machine, port: int = DEFAULT, *words: str) -> str:
    """Return the command that starts the proxy on *port*, with more *words* for it."""
    at = [] if port == DEFAULT else ["-p", str(port)]
    return command_line("", *at, *words, system=machine.system)


def confdir_words(machine: Machine, confdir: Path) -> list[str]:
    """Return the words by which mitmproxy takes *confdir*, none if it does anyway."""
    usual = authority.confdir_of(machine)
    return [] if confdir == usual else ["--set", f"confdir={confdir}"]


def start(machine: Machine, port: int, confdir: Path) -> str:
    """Return the command that starts the proxy there."""
    return run(machine, port, *confdir_words(machine, confdir))


def install(machine: Machine, confdir: Path) -> str:
    """Return the command that has this machine trust the CA in *confdir*."""
    home = machine.home
    return trust_advice.command("install", confdir, system=machine.system, home=home)


# Lines


class Report:
    """Prints the findings, and sums them up.

    Attributes:
        findings: Those that were printed.
    """

    def __init__(self, out: TextIO | None = None, *, is_json: bool = False) -> None:
        self.findings: list[Finding] = []
        self._out = out or sys.stdout
        self._is_json = is_json

    def add(self, findings: Sequence[Finding]) -> None:
        """Print *findings*; those of one JSON object come at its end."""
        self.findings.extend(findings)
        for each in findings if not self._is_json else ():
            mark = styled(f"{each.mark:<4}", COLOURS[each.mark])
            self._say(f"{mark} {each.step:<{WIDTH}} {each.saw}")
            if each.repair:
                self._say(f"{INDENT}{'':<{WIDTH}} repair: {each.repair}")

    def end(self) -> int:
        """Print the sum and return the exit code."""
        count = len(self.findings)
        failed = [each for each in self.findings if each.mark is Mark.FAIL]
        if self._is_json:
            steps = [asdict(each) for each in self.findings]
            self._say(json.dumps({"failed": len(failed), "steps": steps}, indent=1))
            return int(bool(failed))
        warned = sum(each.mark is Mark.WARN for each in self.findings)
        skipped = sum(each.mark is Mark.SKIP for each in self.findings)
        if failed:
            first = failed[0]
            repair = first.repair or first.saw
            self._say(f"{len(failed)} of {count} failed; the first to repair: {repair}")
            return 1
        note = f" ({skipped} skipped)" if skipped else ""
        if warned:
            self._say(f"none of {count} failed, {warned} to look at{note}")
        else:
            self._say(f"all {count - skipped} steps ok{note}")
        return 0

    def _say(self, line: str) -> None:
        print(line, file=self._out, flush=True)
