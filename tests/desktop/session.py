"""A desktop's session with a home and a bus of its own, and run.py started in it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llm_normalize.desktop.machine import Machine

ROOT = Path(__file__).parents[2]
PATIENCE = 60


def until(what: Callable[[], object], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


class Session:
    """A session.

    Attributes:
        home: Its user's folder.
        environ: Its variables.
        machine: It, as the scripts see it.
    """

    def __init__(self, home: Path, desktop: str, variables: Mapping[str, str]) -> None:
        self.home = home
        compiled = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}
        kept = {"PATH", "LANG", "CI", *compiled}
        self.environ = {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(home / "run"),
            "XDG_CURRENT_DESKTOP": desktop,
            "PYTHONUNBUFFERED": "1",
            **variables,
        }
        (home / "run").mkdir(mode=0o700)
        self.machine = Machine("linux", self.environ, home)
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def state(self) -> Path:
        return self.home / ".mitmproxy" / "normalize" / "system-proxy.json"

    def read_state(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(self.state.read_text())
        return read

    def says(self, *command: str) -> str:
        done = self.machine.run(command)
        assert done.code == 0, done
        return done.out

    def start(self, *arguments: str, command: tuple[str, ...] = ()) -> "Started":
        return Started(self, [*command, *arguments])

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE)


class Started:
    """A run.py under way."""

    def __init__(self, session: Session, arguments: list[str]) -> None:
        self.session = session
        self.log = session.home / f"run-{len(session.started)}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(ROOT / "scripts" / "run.py"), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=session.environ,
                cwd=session.home,
            )
        session.started.append(self.process)

    def until_says(self, text: str) -> None:
        def has_said() -> bool:
            assert self.process.poll() is None or text in self.said, self.said
            return text in self.said

        until(has_said)

    def until_on(self) -> "Started":
        """Return when the settings lead to it, which it says when it has read them."""
        self.until_says("proxy is set to this server")
        return self

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def end(self, number: int | None = None) -> int:
        """Send it a signal, and return its exit code."""
        if number is not None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def session(
    folder: Path, desktop: str, variables: Mapping[str, str] | None = None
) -> Iterator[Session]:
    """Yield a session whose bus and programs end with the block."""
    home = folder / "home"
    home.mkdir()
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # which children inherit
        signal.signal(signal.SIGINT, signal.default_int_handler)
    made = Session(home, desktop, variables or {})
    says_address = 'echo "$DBUS_SESSION_BUS_ADDRESS"; exec cat'
    with subprocess.Popen(
        ["dbus-run-session", "--", "sh", "-c", says_address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=made.environ,
    ) as bus:
        assert bus.stdin is not None
        assert bus.stdout is not None
        made.environ["DBUS_SESSION_BUS_ADDRESS"] = (
            bus.stdout.readline().decode().strip()
        )
        try:
            yield made
        finally:
            made.close()
            for pid in _left(made):
                os.kill(pid, signal.SIGKILL)
            bus.stdin.close()
            bus.wait(PATIENCE)


def _left(session: Session) -> list[int]:
    """Return the proxies that outlived the run.py that a test has killed."""
    try:
        proxy = session.read_state()["proxy"]
    except (OSError, ValueError, KeyError):
        return []
    command = Path(f"/proc/{proxy['pid']}/cmdline")
    try:
        is_ours = b"mitmdump" in command.read_bytes()
    except OSError:
        return []
    return [proxy["pid"]] if is_ours else []
