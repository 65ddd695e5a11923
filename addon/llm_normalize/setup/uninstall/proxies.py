"""The proxies that still use a folder of mitmproxy's."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from ...desktop import local_server, processes
from ...desktop.trust import authority
from ...records.file_lock import lock
from ...text.network_address import LOCAL

_PORT = re.compile(r"pairs-([0-9]{1,5})\b.*")


def running(confdir: Path, port: int) -> Iterator[str]:
    """Yield what still runs with *confdir*, each as a sentence names it.

    That is who says so on *port*, and on those that pairs logs are named after;
    and who holds the lock of a pairs log, as a proxy does once it has written there.
    """
    folder = confdir / authority.FOLDER
    logs = sorted(folder.glob("pairs-*"))
    ports = {int(found[1]) for each in logs if (found := _PORT.fullmatch(each.name))}
    found_on = set[int]()
    for each in sorted({port, *ports}):
        if _serves(each, confdir):
            found_on.add(each)
            yield _named(each)
    for held in sorted(folder.glob(".pairs-*.lock")):
        log = held.name.removeprefix(".").removesuffix(".lock")
        found = _PORT.fullmatch(log)
        port = int(found[1]) if found else 0
        if port not in found_on and _is_held(held):
            found_on.add(port)
            yield (
                f"{_named(port)}, which writes {folder / log},"
                if port
                else (f"the program whose proxy writes {folder / log}")
            )


def _serves(port: int, confdir: Path) -> bool:
    """Tell whether a proxy on *port* says that this is its folder."""
    if not local_server.listens(LOCAL, port):
        return False
    _, found = local_server.on_port(port)
    return found is not None and Path(found.confdir).resolve() == confdir.resolve()


def _named(port: int) -> str:
    owner = processes.listener(port)
    if owner is None:
        return f"the one on port {port}"
    return f"process {owner.pid} (port {port})"


def _is_held(path: Path) -> bool:
    """Tell whether another process holds the lock."""
    try:
        number = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        lock(number)
    except BlockingIOError:
        return True
    except OSError:
        return False  # some network file systems have no locks
    finally:
        os.close(number)
    return False
