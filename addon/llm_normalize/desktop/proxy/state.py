"""What was there before the system's proxy was switched, on disk before anything is changed.

The file lives as long as the switch does. Who has switched holds a lock beside it to its
end, however that comes: a state without a lock is one that nobody has put back.
"""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...records import private_file
from ...records.private_file import lock
from .. import processes
from ..processes import Started
from .settings import ProxyError, Values

NAME = "system-proxy.json"
LOCK = "system-proxy.lock"
VERSION = 1


@dataclasses.dataclass(frozen=True)
class State:
    """A switch that has to be taken back.

    Attributes:
        settings: Whose settings they are: the name of a `Settings`.
        place: Where they lead to, as host:port.
        owner: Who has switched.
        proxy: The proxy it runs.
        before: What was set, by name.
        ours: What has been set, by the same names, in that order.
        kept: What else the settings need to be restored.
    """

    settings: str
    place: str
    owner: Started
    proxy: Started
    before: Values
    ours: Values
    kept: str | None = None


def place(home: Path) -> Path:
    """The folder where the state of a user is.

    The settings are the user's, so that is one, whatever folder a mitmproxy has.
    """
    return home / ".mitmproxy" / "normalize"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Hold the lock in *folder*, or tell that another process has it.

    Raises:
        ProxyError: The folder cannot be written to.
        ProcessError: The process that has switched could not be identified.
    """
    try:
        processes.needed()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        number = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ProxyError(f"cannot write to {folder}: {error.strerror}") from error
    is_mine = True
    try:
        lock(number)
    except BlockingIOError:
        is_mine = False
    except OSError:
        pass  # some network file systems have no locks: better unlocked than stuck
    try:
        yield is_mine
    finally:
        os.close(number)


def read(folder: Path) -> State | None:
    """The state in *folder*; None without one.

    Raises:
        ProxyError: It cannot be read.
    """
    path = folder / NAME
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        return _state(given)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ProxyError(f"cannot read {path}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError):
        # It is written whole before it gets its name.
        raise ProxyError(
            f"{path} was not written by this program: check your system's proxy "
            "settings, and remove that file"
        ) from None


def _state(given: dict[str, Any]) -> State:
    if given.pop("v") != VERSION:
        raise ValueError
    for name in ("owner", "proxy"):
        part = given[name]
        created = float(part["created"])
        given[name] = Started(int(part["pid"]), created, str(part["command"]))
    state = State(**given)
    if list(state.before) != list(state.ours):
        raise ValueError
    return state


def write(folder: Path, state: State) -> None:
    """Put *state* on disk, readable by its owner only; return when it is there.

    Raises:
        ProxyError: It cannot be written.
    """
    path = folder / NAME
    text = json.dumps({"v": VERSION, **dataclasses.asdict(state)}, indent=1)
    try:
        private_file.write(path, text + "\n")
    except OSError as error:
        raise ProxyError(f"cannot write {path}: {error.strerror}") from error


def remove(folder: Path) -> None:
    """Remove the state in *folder*: what was there is there again."""
    with contextlib.suppress(OSError):
        (folder / NAME).unlink()
        private_file.sync(folder)
