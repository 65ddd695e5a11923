"""HAProxy with the shipped configuration, before instances on this machine."""

import os
import re
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import drain
from workshop import LOOPBACK, ROOT
from workshop.child import Child, ChildError

CONFIGURATION = ROOT / "scripts" / "deploy" / "haproxy.cfg"
BACKEND = "normalize"
_SERVERS = r"(?m)^ *# begin instances.*\n(?: *server .*\n)+ *# end instances$"
_READY = re.compile(r"Loading success")
_PATIENCE = 20  # seconds for a start and for a reload


def find() -> str:
    """Return HAProxy's program.

    Raises:
        ChildError: There is none.
    """
    # Debian has it where an ordinary user's PATH does not look.
    found = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if found is None:
        raise ChildError(
            "there is no haproxy: install it (Debian, Ubuntu: apt-get install haproxy)"
        )
    return found


def name_of(port: int) -> str:
    """Return what the shipped configuration calls the instance on *port*."""
    return f"{BACKEND}-{port}"


def configuration(ports: Sequence[int], bind: str, admin: Path) -> str:
    """Return the shipped configuration for instances on *ports* of this machine.

    Args:
        ports: The instances' ports.
        bind: What `bind` gets: an address, or an open socket.
        admin: The admin socket.
    """
    servers = "\n".join(f"    server {name_of(at)} {LOOPBACK}:{at}" for at in ports)
    text = CONFIGURATION.read_text(encoding="utf-8")
    for pattern, replacement in (
        (_SERVERS, servers),
        (r"(?m)^    bind \S+$", f"    bind {bind}"),
        (r"(?m)^(    stats socket) \S+ mode 660", rf"\1 {admin} mode 600"),
        # Who runs it may not change.
        (r"(?m)^    user haproxy\n    group haproxy\n", ""),
    ):
        text, count = re.subn(pattern, replacement, text)
        if count != 1:
            raise ChildError(
                f"{CONFIGURATION} has no place for {replacement.strip()!r}"
            )
    return text


class Haproxy:
    """HAProxy, and what is asked of it while it runs.

    Args:
        folder: Where its log goes.
        ports: The instances' ports.
        port: Where it listens on this machine; 0 for any.
    """

    def __init__(self, folder: Path, ports: Sequence[int], port: int = 0) -> None:
        self._program = find()
        self._folder = folder
        self._ports = ports
        self.port = port
        # Names of sockets are short, a test's folder is not.
        self._own = Path(tempfile.mkdtemp(prefix="llm-normalize-"))
        self.admin = self._own / "admin.sock"
        self._configuration = self._own / "haproxy.cfg"
        self.child = Child(
            "HAProxy",
            [self._program, "-W", "-f", str(self._configuration)],
            log=self._folder / "haproxy.log",
        )

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        # Bound here, so that any free port will do, and one that is taken says so.
        try:
            listener = socket.create_server((LOOPBACK, self.port), backlog=1024)
        except OSError as error:
            raise ChildError(f"port {self.port} cannot be had: {error}") from error
        with listener:
            self.port = listener.getsockname()[1]
            self._bind = f"fd@{listener.fileno()}"
            self._write(self._ports)
            self.child.start(pass_fds=[listener.fileno()])
            self.child.find(_READY)
            if not self._has_worker(_PATIENCE):
                raise ChildError("HAProxy has no worker", self.child.lines)

    def __exit__(self, *_: object) -> None:
        self.child.stop()
        shutil.rmtree(self._own, ignore_errors=True)

    def _write(self, ports: Sequence[int]) -> None:
        text = configuration(ports, self._bind, self.admin)
        self._configuration.write_text(text, encoding="utf-8")

    def ask(self, command: str) -> str:
        """Return what it answers to *command* on its admin socket."""
        return drain.ask(str(self.admin), command)

    @property
    def worker(self) -> str | None:
        """The process that takes new requests; None while there is none."""
        try:
            found = re.search(r"(?m)^Pid: (\d+)$", self.ask("show info"))
        except drain.DrainError:
            return None
        return found[1] if found else None

    def reload(self, ports: Sequence[int] | None = None) -> None:
        """Start a new worker, for instances on *ports*; the old one ends with its streams.

        Raises:
            ChildError: There is no new worker.
        """
        self._write(self._ports if ports is None else ports)
        old = self.worker
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            # A master that has only just started may miss it.
            os.kill(self.child.pid, signal.SIGUSR2)
            if self._has_worker(2, old):
                return
        raise ChildError("HAProxy does not reload", self.child.lines)

    def _has_worker(self, seconds: float, old: str | None = None) -> bool:
        """Wait for a worker that is not *old*; tell whether there is one."""
        deadline = time.monotonic() + seconds
        while self.worker in (None, old):
            if self.child.code is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def sessions(self, port: int) -> int:
        """Return how many requests the instance on *port* is answering."""
        return drain.sessions(str(self.admin), f"{BACKEND}/{name_of(port)}")
