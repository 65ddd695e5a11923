"""The machine as the scripts for desktops see it: its system, its folders, its commands.

Whatever changes a setting goes through `Machine.run`, so that a test can record it:
most systems that these scripts know are not the one that a test runs on.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

System = Literal["linux", "macos", "windows"]

TIMEOUT = 60
"""Seconds for a command that asks nobody anything."""


class Outcome(NamedTuple):
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
    def said(self) -> str:
        """The last line that it said, to name in an error."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[-1] if lines else f"exit code {self.code}"


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
    """

    system: System = field(default_factory=_system)
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    home: Path = field(default_factory=Path.home)

    def find(self, program: str) -> str | None:
        """Return where *program* is, None if it is not installed."""
        path = self.environ.get("PATH", os.defpath)
        if self.system == "linux":
            path += os.pathsep + "/usr/sbin"  # not on an ordinary user's PATH
        return shutil.which(program, path=path)

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = TIMEOUT
    ) -> Outcome:
        """Run *command* to its end, with *text* as its input. Never raises."""
        program = self.find(command[0]) or command[0]
        try:
            done = subprocess.run(
                [program, *command[1:]],
                input=text,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                env=dict(self.environ),
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(124, err=f"{command[0]} did not end within {timeout:g} s")
        except OSError as error:
            return Outcome(127, err=f"{command[0]}: {error.strerror or error}")
        return Outcome(done.returncode, done.stdout, done.stderr)

    def is_root(self) -> bool:
        """Tell whether this process may change what belongs to the system."""
        return hasattr(os, "geteuid") and os.geteuid() == 0
