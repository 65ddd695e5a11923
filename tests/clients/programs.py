"""The clients' programs, each started in an environment of its own.

A client in Python is a file in `runners/` with `@client("name")` lines; beside it
`requirements-<file>.txt` pins everything that it imports. Without that it gets along
with the standard library, and the interpreter that runs the tests.

A client for Node is a file in `runners/` with `client("name", "what it is",` lines; the
folder of its name has the `package.json` and `package-lock.json` of what it imports,
and `engines` there says which Node it needs. If the PATH has none that is new enough,
CI fetches the one that `requirements-node.txt` pins.

`responses` or `messages` in the place of `client` names one that asks by that protocol.
"""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import environments
from clients import servers
from environments import EnvironmentLackingError

RUNNERS = Path(__file__).resolve().parent / "runners"
NODE = RUNNERS / "requirements-node.txt"
TIMEOUT = 300  # seconds for all cases of one program
AT_ONCE = 2  # programs; the proxy has one thread for all of them
_PYTHON_NAMES = re.compile(
    r'^@(client|responses|messages)\("([^"]+)"\)\ndef .*?^ +"""(.+?)\.?"""$',
    re.MULTILINE | re.DOTALL,
)
_NODE_NAMES = re.compile(
    r'^(client|responses|messages)\(\s*"([^"]+)",\s*"([^"]+)",', re.MULTILINE
)
_FETCHING = threading.Lock()  # runners may be started side by side
_SETTINGS = (
    "AI_SDK_", "ANTHROPIC_", "LANGCHAIN_", "LANGSMITH_", "LITELLM_", "LLM_", "NODE_",
    "NVIDIA_", "OPENAI_", "PYDANTIC_AI_",
)  # fmt: skip


@dataclass(frozen=True)
class Runner:
    """One client program; *clients* maps the ways it reads to what they are.

    Those of *translated* ask by another protocol than chat completions, which they are
    mapped to.
    """

    name: str
    clients: dict[str, str]
    translated: dict[str, str] = field(default_factory=dict)

    @property
    def lock(self) -> Path:
        """What pins what is installed for it; may be missing."""
        return RUNNERS / f"requirements-{self.name}.txt"

    @property
    def size(self) -> tuple[int, int]:
        """How long it runs, and how long its environment takes, put roughly."""
        pinned = self.lock.read_text("utf-8") if self.lock.exists() else ""
        return len(self.clients), len(pinned)

    def command(self) -> list[str]:
        """Return how to start it, its environment made if need be.

        Raises:
            EnvironmentLackingError: It cannot be made.
        """
        python = Path(sys.executable)
        if self.lock.exists():
            python = environments.make_python(self.name, self.lock)
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
        """What pins Node itself, a wheel; npm has its own lock."""
        return NODE

    @property
    def files(self) -> list[Path]:
        """What npm reads."""
        names = ("package.json", "package-lock.json")
        return [RUNNERS / self.name / name for name in names]

    @property
    def size(self) -> tuple[int, int]:
        """How long it runs, and how long its environment takes, put roughly."""
        return len(self.clients), self.files[1].stat().st_size

    def command(self) -> list[str]:
        """Return how to start it, its environment made if need be.

        Raises:
            EnvironmentLackingError: It cannot be made.
        """
        wanted = json.loads(self.files[0].read_text(encoding="utf-8"))
        least = re.fullmatch(r">=(\d+)", wanted["engines"]["node"])
        assert least is not None
        with _FETCHING:
            node, npm = _node(int(least[1]))
        texts = [path.read_text(encoding="utf-8") for path in self.files]
        folder = environments.folder_of(self.name, *texts)
        environments.make_node(folder, self.files, npm)
        # Node looks for packages from where the file is.
        for path in RUNNERS.glob("*.mjs"):
            copy = folder / f"{path.name}.{os.getpid()}"
            shutil.copyfile(path, copy)
            copy.replace(folder / path.name)
        return [node, str(folder / f"{self.name}.mjs")]


class Programs[T]:
    """Runs client programs, some at once and each of them once.

    Args:
        run: Runs a program, and returns its result.
    """

    def __init__(self, run: Callable[[Runner], T]) -> None:
        self._run = run
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._runs: dict[str, Future[T]] = {}

    def start(self, programs: Iterable[Runner]) -> None:
        """Start *programs*, but those that have been."""
        for runner in programs:
            if runner.name not in self._runs:
                self._runs[runner.name] = self._pool.submit(self._run, runner)

    def result(self, runner: Runner) -> T:
        """Return the result of a program, which is run once.

        Raises:
            EnvironmentLackingError: It has no environment.
        """
        self.start([runner])
        return self._runs[runner.name].result()

    def close(self) -> None:
        """Wait for those that run, and start no other."""
        self._pool.shutdown(cancel_futures=True)


def wanted_in(session: pytest.Session) -> set[object]:
    """Return the clients of the tests that are going to run."""
    specs = [getattr(item, "callspec", None) for item in session.items]
    return {spec.params.get("client") for spec in specs if spec is not None}


@functools.cache
def runners() -> tuple[Runner, ...]:
    """Return all client programs, newest version of a library first."""
    kinds = ((".py", Runner, _PYTHON_NAMES), (".mjs", NodeRunner, _NODE_NAMES))
    found = []
    for suffix, kind, names in kinds:
        for path in sorted(RUNNERS.glob(f"*{suffix}"), reverse=True):
            named = names.findall(path.read_text(encoding="utf-8"))
            clients = {name: what for by, name, what in named if by == "client"}
            translated = {name: by for by, name, _ in named if by != "client"}
            if named:
                found.append(kind(path.stem, clients, translated))
    return tuple(found)


@functools.cache
def _node(least: int) -> tuple[str, tuple[str, ...]]:
    """Return Node in version *least* or newer, and how to start npm."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and _major(node) >= least:
        return node, (npm,)
    folder = environments.python_folder("node", NODE)
    if os.environ.get("CI"):
        environments.make_python("node", NODE)
    found = environments.node_of(folder)
    if found is not None:
        return found
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
