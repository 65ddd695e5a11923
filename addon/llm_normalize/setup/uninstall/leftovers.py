"""What is left on a machine once llm-normalize was used there, and how it goes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ...demo import command as demo
from ...desktop.machine import Machine
from ...desktop.proxy import state as proxy_state
from ...desktop.proxy.settings import ProxyError
from ...desktop.service import actions
from ...desktop.service.plan import ServiceError
from ...desktop.trust import authority
from ...desktop.trust import command as trust
from ...desktop.trust.record import RecordError, TrustRecord
from ...run import system_proxy
from ...text.command_line import CHECKOUT
from ...text.console import complain

_CA = ("mitmproxy-ca*", "mitmproxy-dhparam.pem")
"""The files that mitmproxy makes in its folder."""


class Leftovers:
    """What is left; false if nothing is."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
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
        for pattern in _CA:
            yield from sorted(self._confdir.glob(pattern))
        folder = self._confdir / authority.FOLDER
        yield from [folder] if folder.exists() else []
        demos = sorted(Path(tempfile.gettempdir()).glob(f"{demo.PREFIX}*"))
        yield from (each for each in demos if os.access(each, os.W_OK))  # not another's
        if CHECKOUT.exists():  # last: one of them is what runs this
            yield from sorted(CHECKOUT.parents[1].glob(".venv*"))

    def lines(self) -> list[str]:
        """Return what is left, a line each."""
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
        is_gone = all([self._restored(), self._unserved(), self._untrusted()])
        if not is_gone:  # the record of what is trusted is in there
            complain("the files stay until that is done")
            return False
        for path in self._paths:
            try:
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            except OSError as error:
                is_gone = False
                complain(f"{path}: {error.strerror or error}")
        if self._confdir.is_dir() and not any(self._confdir.iterdir()):
            self._confdir.rmdir()
        print("Removed." if is_gone else "Removed, but for what is named above.")
        return is_gone

    def _restored(self) -> bool:
        try:
            return not self._is_switched or system_proxy.restore(self._machine) == 0
        except ProxyError as error:
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

    def _untrusted(self) -> bool:
        try:
            is_trusted = bool([*TrustRecord(self._confdir).entries()])
        except RecordError as error:
            complain(error)
            return False
        return not is_trusted or trust.main(["remove", "--yes"]) == 0
