"""What is left on a machine once llm-normalize was used there, and how it goes."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..demo import command as demo
from ..desktop import local_server, processes
from ..desktop.machine import Machine
from ..desktop.processes import ProcessError
from ..desktop.proxy import state as proxy_state
from ..desktop.proxy.settings import ProxyError
from ..desktop.service import actions
from ..desktop.service.plan import ServiceError
from ..desktop.trust import authority
from ..desktop.trust import command as trust
from ..desktop.trust.record import RecordError, TrustRecord
from ..records.private_file import lock
from ..run import system_proxy
from ..text.command_line import CHECKOUT
from ..text.console import complain
from ..text.network_address import LOCAL

_CA = (
    *authority.KEYS,
    f"{authority.NAME}-ca-cert.cer",
    f"{authority.NAME}-ca-cert.p12",
    f"{authority.NAME}-ca-cert.pem",
    f"{authority.NAME}-dhparam.pem",
)
"""The files that mitmproxy makes in its folder: what is named alike is somebody's own."""
_ENVIRONMENT = re.compile(r"\.venv(-py[0-9.]+|-mitmproxy-[0-9.]+)?")
"""What the scripts of a checkout name the environments that they make there."""
_BESIDE = (".venv-compiled", ".venv-uv")
"""Folders that they make beside, which are no environments."""
_PORT = re.compile(r"pairs-([0-9]{1,5})\b.*")


class Leftovers:
    """What is left; false if nothing is.

    Args:
        machine: The machine.
        port: Where a proxy may still listen.
    """

    def __init__(self, machine: Machine, port: int) -> None:
        self._machine = machine
        self._port = port
        self._confdir = authority.confdir_of(machine)
        self._is_switched = (
            proxy_state.place(machine.home) / proxy_state.NAME
        ).exists()
        self._has_service = (
            machine.system == "linux" and actions.path_of(machine).exists()
        )
        self._paths = [*self._found()]

    def __bool__(self) -> bool:
        return bool(self._is_switched or self._has_service or self._paths)

    def _found(self) -> Iterator[Path]:
        files = (self._confdir / name for name in sorted(_CA))
        yield from (each for each in files if each.is_file())
        folder = self._confdir / authority.FOLDER
        yield from [folder] if folder.is_dir() or _is_link(folder) else []
        demos = sorted(Path(tempfile.gettempdir()).glob(f"{demo.PREFIX}*"))
        yield from (each for each in demos if _is_demo(each))
        if CHECKOUT.exists():  # last: one of them is what runs this
            found = sorted(CHECKOUT.parents[1].glob(".venv*"))
            yield from (each for each in found if _is_environment(each))

    def lines(self) -> list[str]:
        """The leftovers, a line each."""
        if not self:
            return ["Nothing of llm-normalize is left."]
        said = []
        if self._is_switched:
            said.append("the system's proxy settings, to be restored")
        if self._has_service:
            said.append(f"the service {actions.path_of(self._machine)}")
        said += [str(each) for each in self._paths]
        said.append(self._package())
        return said

    def _package(self) -> str:
        if CHECKOUT.exists():
            return f"Stays, remove it yourself: {CHECKOUT.parents[1]}"
        return "Stays, remove it as it was installed: pip uninstall llm-normalize, or pipx, uv"

    def remove(self) -> bool:
        """Take it away, what others depend on first; tell whether all is gone."""
        is_gone = all([self._restored(), self._unserved()])
        # The service's own proxy has stopped by now.
        is_gone = self._stopped() and self._untrusted() and is_gone
        if not is_gone:  # the record of what is trusted is in there
            complain("the files stay until that is done")
            return False
        for path in self._paths:
            try:
                _remove(path)
            except OSError as error:
                is_gone = False
                # Below a folder, the error names what stays.
                place = error.filename or path
                reason = error.strerror or error.args[-1]
                complain(f"{place} cannot be removed: {reason}")
        if self._confdir.is_dir() and not any(self._confdir.iterdir()):
            self._confdir.rmdir()
        print("Removed." if is_gone else "Removed, but for what is named above.")
        return is_gone

    def _restored(self) -> bool:
        try:
            return not self._is_switched or system_proxy.restore(self._machine) == 0
        except (ProxyError, ProcessError) as error:
            complain(error)
            return False

    def _unserved(self) -> bool:
        try:
            if self._has_service:
                actions.remove(self._machine, force=False)
        except ServiceError as error:
            complain(error)
            return False
        return True

    def _stopped(self) -> bool:
        """Tell whether no proxy uses the folder; say what is to be stopped first."""
        running = [*_proxies(self._confdir, self._port)]
        for each in running:
            complain(f"a proxy still uses {self._confdir}: stop {each} first")
        return not running

    def _untrusted(self) -> bool:
        try:
            is_trusted = bool([*TrustRecord(self._confdir).entries()])
        except RecordError as error:
            complain(error)
            return False
        return not is_trusted or trust.main(["remove", "--yes"]) == 0


def _is_link(path: Path) -> bool:
    """Tell whether it only leads elsewhere: what is there was not made by this program."""
    return path.is_symlink() or path.is_junction()


def _is_demo(path: Path) -> bool:
    """Tell whether it is a demo's folder, and this user's: all users share /tmp."""
    if not (path.is_dir() or _is_link(path)):
        return False
    return sys.platform == "win32" or path.lstat().st_uid == os.getuid()


def _is_environment(path: Path) -> bool:
    """Tell whether the scripts made it: an environment, or what they need for these."""
    if path.name in _BESIDE:
        return path.is_dir()
    if path.name == ".venv.lock":
        return path.is_file()
    known = _ENVIRONMENT.fullmatch(path.name) is not None
    return known and (path / "pyvenv.cfg").is_file()


def _remove(path: Path) -> None:
    """Remove a file, a folder with all in it, or a link without what it leads to.

    Raises:
        OSError: It stays, or a part of it.
    """
    if path.is_dir() and not _is_link(path):
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _proxies(confdir: Path, port: int) -> Iterator[str]:
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
