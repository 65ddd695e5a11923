"""The clients' programs, each started in an environment of its own.

A client is a file in `runners/` with `@client("name")` lines; beside it
`requirements-<file>.txt` pins everything that it imports. Without that it gets along
with the standard library, and the interpreter that runs the tests.
"""

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients import servers

RUNNERS = Path(__file__).resolve().parent / "runners"
CACHE = servers.ROOT / ".venv-clients"
TIMEOUT = 120  # seconds for all cases of one program
_NAMES = re.compile(
    r'^@client\("([^"]+)"\)\ndef .*?^ +"""(.+?)\.?"""$', re.MULTILINE | re.DOTALL
)


class EnvironmentLackingError(Exception):
    """A client's environment could not be made; says why."""


@dataclass(frozen=True)
class Runner:
    """One client program; *clients* maps the ways it reads to what they are."""

    name: str
    clients: dict[str, str]

    @property
    def lock(self) -> Path:
        return RUNNERS / f"requirements-{self.name}.txt"

    def python(self) -> Path:
        """Return the interpreter to start it with, its environment made if need be.

        Raises:
            EnvironmentLackingError: It cannot be made.
        """
        if not self.lock.exists():
            return Path(sys.executable)
        made_of = f"{self.lock.read_text()}{sys.version}{sysconfig.get_platform()}"
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:12]
        folder = CACHE / f"{self.name}-{digest}"
        if not _python_in(folder).exists():
            _make(folder, self.lock)
        return _python_in(folder)

    def run(self, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the report of each case.

        Raises:
            EnvironmentLackingError: It cannot be started.
            RuntimeError: It broke off.
        """
        done = subprocess.run(
            [str(self.python()), "-s", str(RUNNERS / f"{self.name}.py")],
            input=json.dumps(cases),
            capture_output=True,
            encoding="utf-8",
            env=servers.environment(),
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the program {self.name} failed:\n{done.stderr}")
        return list(json.loads(done.stdout))


@functools.cache
def runners() -> tuple[Runner, ...]:
    """Return all client programs, newest version of a library first."""
    found = []
    for path in sorted(RUNNERS.glob("*.py"), reverse=True):
        clients = dict(_NAMES.findall(path.read_text(encoding="utf-8")))
        if clients:
            found.append(Runner(path.stem, clients))
    return tuple(found)


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(folder: Path, lock: Path) -> None:
    """Make *folder*, which appears only when it is complete."""
    CACHE.mkdir(exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)  # its interpreter is gone
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        _run("making it", sys.executable, "-m", "venv", "--without-pip", str(part))
        # Nothing that is not in the lock, and no code run to build it.
        exactly = ("--no-deps", "--only-binary", ":all:", "--retries", "2")
        pip = (sys.executable, "-m", "pip", "--python", str(_python_in(part)))
        quiet = ("--disable-pip-version-check", "--no-input")
        _run("filling it with pip", *pip, "install", *quiet, *exactly, "-r", str(lock))
        try:
            part.rename(folder)
        except OSError:
            if not _python_in(folder).exists():  # else another run was faster
                raise
    except OSError as error:
        raise EnvironmentLackingError(f"{folder.name}: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _run(what: str, *command: str) -> None:
    kept = {name: os.environ[name] for name in os.environ if name != "PIP_TARGET"}
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**kept, "PIP_USER": "0"},
        check=False,
    )
    if done.returncode:
        last = " / ".join(done.stdout.strip().splitlines()[-2:])
        raise EnvironmentLackingError(f"{what} failed: {last}")
