"""uv, with the settings of pip: what it needs to make and fill environments.

It is the uv on the PATH, or the pinned one, which pip installs. uv does not read pip's
configuration, where a company names its own index: what pip says about that is handed on
in environment variables, which no list of processes shows. Extra indexes are not handed
on: uv would ask them first, and whoever puts a package of a known name there would be
preferred (dependency confusion). Where uv finds no file, pip asks them for the same one.

Written for Python 3.8, as `_bootstrap` is.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator, NamedTuple, Sequence

OLDEST = [0, 8]
WINDOWS = os.name == "nt"
# For pip and uv alike: nothing that the file does not name, whoever needs it; no file with
# another hash; and nothing is built, for that would fetch tools that nobody pinned.
EXACTLY = ("--no-deps", "--require-hashes", "--only-binary", ":all:", "-r")
_HANDED_ON = {
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "find-links": "UV_FIND_LINKS",
    "index-url": "UV_DEFAULT_INDEX",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "trusted-host": "UV_INSECURE_HOST",
}
_ASTRAY = {
    "PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__", "PIP_TARGET",
    "UV_PYTHON", "UV_SYSTEM_PYTHON",
}  # fmt: skip
_QUIET = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_USER": "0",
}
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")
_MISMATCH = re.compile("(?i)hash mismatch|match the hashes|--require-hashes.? mode")


class SetupError(Exception):
    """What is missing and how to repair it, as one sentence.

    Attributes:
        lines: The last that a command printed that failed.
    """

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


class CommandError(SetupError):
    """A command failed."""

    @property
    def reason(self) -> str:
        """The last that it printed."""
        return self.lines[-1].strip() if self.lines else str(self)


class MismatchError(SetupError):
    """What is offered is not what was reviewed; no other program is to try it."""


class Uv(NamedTuple):
    """A uv that starts.

    Attributes:
        path: The program.
        flags: Settings of pip that are flags of `uv pip`.
        variables: The environment variables that it needs.
    """

    path: str
    flags: tuple[str, ...]
    variables: dict[str, str]

    def command(self, *arguments: str) -> list[str]:
        """Return what starts it."""
        return [self.path, "--color", "never", "--no-progress", *arguments]

    def install(self, python: str, *arguments: str) -> list[str]:
        """Return what installs packages in the environment of *python*."""
        install = ("pip", "install", "--python", python, *self.flags)
        return self.command(*install, *arguments)


def say(text: str, end: str = "\n") -> None:
    """Print *text* to stderr: stdout belongs to the script."""
    print(text, end=end, file=sys.stderr, flush=True)


def tell(error: Exception, who: str = "llm_normalize") -> None:
    """Print *error* to stderr, behind the lines that it has."""
    for line in getattr(error, "lines", ()):
        say("    " + line)
    say(f"{who}: {error}")


def masked(text: str) -> str:
    """Return *text* without what stands before the @ of a URL."""
    return _CREDENTIALS.sub("****@", text)


def program(folder: Path, name: str, windows: bool = WINDOWS) -> Path:
    """Return where the environment in *folder* keeps the program *name*."""
    if windows:
        return folder / "Scripts" / (name + ".exe")
    return folder / "bin" / name


def clean(**more: str) -> dict[str, str]:
    """Return the process environment without what would lead Python, pip or uv astray."""
    # A copy: where threads run, a variable may go meanwhile.
    kept = {
        name: text for name, text in dict(os.environ).items() if name not in _ASTRAY
    }
    return {**kept, **_QUIET, **more}


def run(title: str, command: Sequence[str], **more: str) -> str:
    """Run one step, say how long it took and return its output.

    Args:
        title: What the user reads while it runs.
        command: Program and arguments.
        more: Environment variables to add.

    Raises:
        MismatchError: It refused a file for its hash.
        CommandError: It did not start, or failed otherwise.
    """
    say(f"  {title} ... ", end="")
    start = time.monotonic()
    lines: collections.deque[str] = collections.deque(maxlen=500)
    try:
        with subprocess.Popen(
            command,
            cwd=Path(__file__)
            .resolve()
            .parents[1],  # the settings of another project do not count
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=clean(**more),
        ) as process:
            assert process.stdout is not None
            lines.extend(masked(line.rstrip()) for line in process.stdout)
        failed = process.returncode != 0
    except OSError as error:
        lines.append(str(error))
        failed = True
    say(f"{'failed after ' if failed else ''}{time.monotonic() - start:.1f} s")
    if failed:
        if any(map(_MISMATCH.search, lines)):
            named = [line for line in lines if "==" in line][:12]
            raise MismatchError(
                f"{title}: a package is not what was reviewed, so it was not installed: "
                "what was fetched has another hash than the lock names. Take back changes "
                "there; if there are none, the package index or a proxy on the way sends "
                "other files, so have pip ask another index (PIP_INDEX_URL).",
                named,
            )
        raise CommandError(f"{title} failed", [line for line in lines if line][-12:])
    return "\n".join(lines)


def answer(*command: str) -> str:
    """Return what *command* prints, "" if it does not start or fails."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=clean(),
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode(errors="replace")


def _folders() -> list[Path]:
    """Return the folders of the PATH, then those of pyenv's Pythons, the newest first.

    A name on the PATH proves nothing: a shim of pyenv may be there without a Python.
    """
    folders = [Path(folder) for folder in os.get_exec_path() if folder]
    # With another HOME, its shims and an interpreter that is pyenv's tell where it is.
    roots = [folder.parent for folder in folders if folder.name == "shims"]
    roots.append(Path(sys.base_prefix).parent.parent)
    roots += [Path(root) for root in (os.environ.get("PYENV_ROOT"),) if root]
    with contextlib.suppress(RuntimeError):  # no home folder at all
        roots += [Path.home() / ".pyenv", Path.home() / ".pyenv" / "pyenv-win"]
    found = {
        tuple(map(int, version.name.split("."))): version
        for root in roots
        for version in root.glob("versions/3.*")
        if re.fullmatch(r"3(\.\d+)+", version.name)
    }
    versions = [found[number] for number in sorted(found, reverse=True)]
    return folders + [each if WINDOWS else each / "bin" for each in versions]


def programs(*names: str) -> Iterator[str]:
    """Yield the programs of these names, on the PATH and in pyenv's folder."""
    for name in names:
        for folder in _folders():
            path = folder / (name + ".exe" if WINDOWS else name)
            if path.is_file():
                yield str(path)


def pip() -> list[str]:
    """Return how to start a pip, nothing where there is none."""
    here = getattr(sys, "_base_executable", None) or sys.executable
    for python in (here, *programs("python3", "python")):
        if answer(python, "-m", "pip", "--version"):
            return [python, "-m", "pip"]
    return []


def settings(listing: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the flags and the variables that give uv the settings of pip.

    Args:
        listing: What `pip config list` printed.
    """
    found: dict[str, str] = {}
    for section in ("global", "install", ":env:"):  # the later one wins, as with pip
        pattern = rf"(?m)^{section}\.([\w-]+)=(.+)$"
        for name, value in re.findall(pattern, listing):
            words = str(ast.literal_eval(value)).split()
            if words:
                found[name] = ("," if name == "find-links" else " ").join(words)
    variables = {_HANDED_ON[name]: found[name] for name in _HANDED_ON if name in found}
    if not variables.get("UV_HTTP_TIMEOUT", "0").isdigit():
        del variables["UV_HTTP_TIMEOUT"]  # uv wants whole seconds
    no_index = found.get("no-index", "no").lower() not in ("0", "false", "no", "off")
    return (("--no-index",) if no_index else ()), variables


def _version(uv: str) -> list[int]:
    found = re.match(r"uv (\d+)\.(\d+)\.(\d+)", answer(uv, "--version"))
    return [int(number) for number in found.groups()] if found else []


def find(home: Path, requirement: str) -> Uv:
    """Return the uv on the PATH, or the pinned one, which is installed if need be.

    Args:
        home: Where the pinned one is, and what it fetches.
        requirement: What pins it.

    Raises:
        MismatchError: pip fetched another one than the pinned one.
        CommandError: pip cannot install it, or there is no pip.
    """
    own_pip = pip()
    flags, of_pip = settings(answer(*own_pip, "config", "list") if own_pip else "")
    variables = {
        "UV_HTTP_RETRIES": "2",
        # A company's network may have a certificate that the system trusts alone.
        "UV_SYSTEM_CERTS": "1",
        **of_pip,
        **{
            name: text
            for name, text in os.environ.items()
            if name in of_pip and "UV_" in name
        },
        "PATH": os.pathsep.join(map(str, _folders())),
    }
    found = shutil.which("uv")
    if found and _version(found) >= OLDEST:
        return Uv(found, flags, variables)
    target = home / "program"
    own = target / "bin" / ("uv.exe" if WINDOWS else "uv")
    version = ".".join(map(str, _version(str(own))))
    if not requirement.startswith(f"uv=={version} "):
        if not own_pip:
            raise CommandError("there is no pip to install uv with")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        file = home / "requirements.txt"
        file.write_text(requirement, encoding="utf-8")
        install = [*own_pip, "install", "--quiet", "--retries", "2", "--no-compile"]
        install += ["--target", str(target), *EXACTLY, str(file)]
        run("installing uv with pip", install)
    own_folders = {
        "UV_CACHE_DIR": str(home / "cache"),
        "UV_PYTHON_INSTALL_DIR": str(home / "pythons"),
        "UV_PYTHON_INSTALL_BIN": "0",
        "UV_PYTHON_INSTALL_REGISTRY": "0",
    }
    return Uv(str(own), flags, {**variables, **own_folders})
