"""The machine as the desktop's tools see it: its system, its folders, its commands.

Whatever changes a setting goes through `Machine.run`, so that a test can record it:
most systems that these tools know are not the one that a test runs on.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from . import processes

System = Literal["linux", "macos", "windows"]

PATIENCE = 3.0
"""Seconds for processes that were killed."""

TIMEOUT = 60
"""Seconds for a command that asks nobody anything."""

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where Linux has root's programs: not on an ordinary user's PATH, nor always on root's."""

HUNG = 124
NOT_STARTED = 127


class Result(NamedTuple):
    """How a command ended.

    Attributes:
        code: Its exit code; 127 where it could not be started, 124 where it hung.
        out: What it wrote to stdout.
        err: What it wrote to stderr.
    """

    code: int
    out: str = ""
    err: str = ""

    @property
    def last_line(self) -> str:
        """The last line of its output, to name in an error."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1] if lines else f"exit code {self.code}"


def _end(started: subprocess.Popen[str]) -> list[int]:
    """End a command and what it has started; return what may not be ended by this user.

    What hangs is mostly a child, such as a hook. What sudo has started is root's.
    """
    alive = processes.kill(started.pid)
    if started.pid not in alive:
        with contextlib.suppress(OSError):  # without psutil that is all that is known
            started.kill()
    for stream in (started.stdin, started.stdout, started.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    if started.pid in alive:
        started.returncode = HUNG  # nobody waits for it any more
    else:
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(PATIENCE)
    return alive


def _system() -> System:
    named: dict[str, System] = {"darwin": "macos", "win32": "windows"}
    return named.get(sys.platform, "linux")


@dataclass(frozen=True)
class Machine:
    """A machine.

    Attributes:
        system: Its kind.
        environ: Variables, which its commands get, too.
        home: The user's folder.
        root_folder: The folder that is "/".
    """

    system: System = field(default_factory=_system)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    home: Path = field(default_factory=Path.home)
    root_folder: Path = Path("/")

    @property
    def path(self) -> str:
        """The PATH of its commands, which call root's programs by their names."""
        given = self.environ.get("PATH") or os.defpath
        known = given.split(os.pathsep)
        more = SBIN if self.system == "linux" else ()
        return os.pathsep.join([given, *(each for each in more if each not in known)])

    def find(self, program: str) -> str | None:
        """Where *program* is, None if it is not installed."""
        return shutil.which(program, path=self.path)

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = TIMEOUT
    ) -> Result:
        """Run *command* to its end, with *text* as its input. Never raises."""
        program = self.find(command[0]) or command[0]
        try:
            started = subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env={**self.environ, "PATH": self.path},
            )
        except OSError as error:
            return Result(NOT_STARTED, err=f"{command[0]}: {error.strerror or error}")
        try:
            out, err = started.communicate(text, timeout)
        except subprocess.TimeoutExpired:
            last_line = f"{command[0]} did not end within {timeout:g} s"
            alive = _end(started)
            if alive:
                last_line += f" and runs still: sudo kill {' '.join(map(str, alive))}"
            return Result(HUNG, err=last_line)
        except BaseException:
            _end(started)
            raise
        return Result(started.returncode, out, err)

    def is_root(self) -> bool:
        """Tell whether this process may change what belongs to the system."""
        return hasattr(os, "geteuid") and os.geteuid() == 0
