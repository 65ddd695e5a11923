"""This machine's processes, and who listens on a port: all that psutil knows.

psutil comes with the wheel, but not with a folder that is unpacked beside a mitmproxy.
Without it nothing fails here: what cannot be looked up is not known,
as on a Mac whose system tells root alone. Who cannot do without asks `needed`.
"""

import contextlib
import hashlib
from dataclasses import dataclass
from typing import NamedTuple

try:
    import psutil
except ImportError:
    IS_COMPLETE = False
else:
    IS_COMPLETE = True
"""Whether psutil is there."""

INSTALL = "pip install psutil"
MISSING = "psutil is not installed, by which processes are looked up"
SLACK = 2.0
"""Seconds by which one start may seem to differ: the clock is set, and counts in ticks."""


class ProcessError(Exception):
    """Why a process cannot be identified, as one sentence."""


class Listener(NamedTuple):
    """A program that listens.

    Attributes:
        pid: Its number.
        name: Its name; empty where it ended meanwhile, or this user may not read it.
        command: Its command line, likewise.
    """

    pid: int
    name: str
    command: tuple[str, ...]


@dataclass(frozen=True)
class Started:
    """A process, so that it is not taken for another one that has its number later.

    Attributes:
        pid: Its number.
        created: When it started, in seconds since 1970.
        command: A hash of its command line, which may have a password in it.
    """

    pid: int
    created: float
    command: str

    @property
    def is_running(self) -> bool:
        """Whether it still runs; False where that is not known."""
        if not IS_COMPLETE:
            return False
        with contextlib.suppress(psutil.Error):
            found = psutil.Process(self.pid)
            return (
                abs(found.create_time() - self.created) < SLACK
                and _hash(found.cmdline()) == self.command
                and found.status() != psutil.STATUS_ZOMBIE
            )
        return False

    def end(self, patience: float) -> bool:
        """End it, by force after so many seconds; tell whether it ran and ended."""
        if not self.is_running:
            return False
        try:
            found = psutil.Process(self.pid)
            found.terminate()
            try:
                found.wait(patience)
            except psutil.TimeoutExpired:
                found.kill()
                found.wait(patience)
        except psutil.Error:
            return not self.is_running
        return True


def needed() -> None:
    """Raise ProcessError, which says what to do, where processes cannot be looked up."""
    if not IS_COMPLETE:
        raise ProcessError(f"{MISSING}: {INSTALL}")


def started(pid: int) -> Started:
    """The process with that number.

    Raises:
        ProcessError: It is gone, or cannot be looked up.
    """
    needed()
    try:
        found = psutil.Process(pid)
        return Started(pid, found.create_time(), _hash(found.cmdline()))
    except psutil.Error:
        raise ProcessError(f"process {pid} has ended") from None


def _hash(command: list[str]) -> str:
    return hashlib.sha256("\0".join(command).encode(errors="replace")).hexdigest()


def _family(pid: int) -> "list[psutil.Process]":
    try:
        found = psutil.Process(pid)
        # On Windows mitmdump.exe starts Python.
        return [found, *found.children(recursive=True)]
    except psutil.Error:
        return []


def kill(pid: int) -> list[int]:
    """End a process and what it has started; return those that this user may not end."""
    alive = []
    for each in _family(pid) if IS_COMPLETE else ():
        try:
            each.kill()
        except psutil.AccessDenied:
            alive.append(each.pid)
        except psutil.Error:
            continue
    return alive


def listener(port: int) -> Listener | None:
    """Who listens on *port* of this machine, None if the system does not tell."""
    try:
        found = psutil.net_connections("tcp") if IS_COMPLETE else []
    except (psutil.Error, OSError):
        return None  # macOS tells root alone
    for each in found:
        place = each.laddr if each.status == psutil.CONN_LISTEN else None
        # Without a pid it is another user's.
        if getattr(place, "port", 0) == port and each.pid:
            try:
                process = psutil.Process(each.pid)
                return Listener(each.pid, process.name(), tuple(process.cmdline()))
            except psutil.Error:
                return Listener(each.pid, "", ())
    return None


def is_reverse(owner: Listener | None) -> bool:
    """Tell whether a listener is a reverse proxy."""
    return owner is not None and any("reverse:" in each for each in owner.command)
