"""KDE's proxy settings: the entries of `kioslaverc`, written as KDE's own dialog does.

KDE's programs read it anew at a signal on the session's bus, as
kde-cli-tools/kcms/ksaveioconfig.cpp sends it (`reparseSlaveConfiguration`).
"""

import base64
import os
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import override

from ..machine import Machine
from .settings import InForce, ProxyError, Settings, Target, Values, bypassing

FILE = "kioslaverc"
GROUP = "Proxy Settings"
TYPE = "ProxyType"
SCRIPT = "Proxy Config Script"
EXCEPT = "NoProxyFor"
REVERSED = "ReversedException"
PROXIES = ("httpProxy", "httpsProxy")
NAMES = (*PROXIES, EXCEPT, REVERSED, SCRIPT, TYPE)
NONE, MANUAL, PAC, WPAD = "0", "1", "2", "3"
UNSET = "(this entry is not there)"


def version(machine: Machine) -> str | None:
    """Return which of KDE's tools are here, the session's own first."""
    own = machine.environ.get("KDE_SESSION_VERSION", "6")
    for number in dict.fromkeys([own, "6", "5"]):
        if machine.find(f"kwriteconfig{number}") and machine.find(
            f"kreadconfig{number}"
        ):
            return number
    return None


class Kde(Settings):
    """KDE's settings; a value is the text of an entry."""

    name = "KDE"

    @override
    def read(self) -> Values:
        return {name: self._entry(name) for name in NAMES}

    def _tool(self, kind: str) -> list[str]:
        number = version(self.machine)
        if number is None:
            raise ProxyError("KDE's proxy settings: there is no kwriteconfig6 or 5")
        return [f"k{kind}config{number}", "--file", FILE, "--group", GROUP, "--key"]

    def _entry(self, name: str) -> str | None:
        command = [*self._tool("read"), name, "--default", UNSET]
        value = self.ran(self.machine.run(command)).removesuffix("\n")
        return None if value == UNSET else value

    @override
    def wanted(self, target: Target, before: Values) -> Values:
        if target.pac:
            return {SCRIPT: target.url, TYPE: PAC}
        # KDE parts the port by a blank (KProtocolManager takes both).
        values: Values = dict.fromkeys(PROXIES, f"http://{target.host} {target.port}")
        given = [each.strip() for each in (before[EXCEPT] or "").split(",")]
        if before[REVERSED] == "true":  # what is named then goes by the proxy alone
            values[REVERSED] = "false"
            given = []
        bypassed = ",".join(bypassing([each for each in given if each]))
        if bypassed != before[EXCEPT]:
            values[EXCEPT] = bypassed
        return values | {TYPE: MANUAL}

    @override
    def write(self, values: Values) -> None:
        for name, value in values.items():
            arguments = ["--delete"] if value is None else ["--", value]
            self.ran(self.machine.run([*self._tool("write"), name, *arguments]))
        self._notify()

    def _notify(self) -> None:
        # Programs that were started before only: those that start now read the file.
        signal = ["org.kde.KIO.Scheduler", "reparseSlaveConfiguration"]
        if self.machine.find("dbus-send"):
            command = ["dbus-send", "--session", "--type=signal", "/KIO/Scheduler"]
            self.machine.run([*command, ".".join(signal), "string:"])
        elif self.machine.find("gdbus"):
            command = ["gdbus", "emit", "--session", "--object-path", "/KIO/Scheduler"]
            self.machine.run([*command, "--signal", ".".join(signal), "''"])

    @override
    def in_force(self, values: Values) -> InForce:
        kind = values[TYPE]
        if kind == PAC:
            return InForce(pac=values[SCRIPT] or "")
        if kind == WPAD:
            return InForce(is_searched=True)
        if kind == MANUAL:
            proxy = values["httpsProxy"] or values["httpProxy"] or ""
            return InForce(
                proxy=proxy.rpartition("@")[2].rpartition("/")[2].replace(" ", ":")
            )
        return InForce()

    @override
    def off(self, found: InForce) -> str:
        return shlex.join([*self._tool("write"), TYPE, NONE])

    @override
    def belonging(self, changed: set[str]) -> set[str]:
        switch = {TYPE} if changed - {EXCEPT, REVERSED} else set()
        exceptions = {EXCEPT, REVERSED} if changed & {EXCEPT, REVERSED} else set()
        return changed | switch | exceptions

    # KDE's tools write the whole file anew, without comments and in their own order.

    @property
    def _file(self) -> Path:
        folder = (
            self.machine.environ.get("XDG_CONFIG_HOME") or self.machine.home / ".config"
        )
        return Path(folder) / FILE

    @override
    def keep(self) -> str | None:
        try:
            return base64.b64encode(self._file.read_bytes()).decode()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ProxyError(f"{self._file}: {error.strerror}") from error

    def put_back(self, backup: str | None, names: Sequence[str]) -> None:
        """Put the file back to the byte, unless another part of it has changed."""
        before = None if backup is None else base64.b64decode(backup)
        file = self._file.resolve()
        try:
            now = file.read_bytes()
            if before == now or _entries(now, names) != _entries(before or b"", names):
                return
            if before is None:
                file.unlink()
                return
            other = file.with_name(f"{FILE}.{os.getpid()}")
            other.write_bytes(before)
            shutil.copymode(file, other)
            other.replace(file)
        except FileNotFoundError:
            return
        except OSError as error:
            raise ProxyError(f"{file}: {error.strerror}") from error


def _entries(data: bytes, but: Sequence[str]) -> set[tuple[bytes, bytes]]:
    """The lines of a file of KConfig's with their groups, without some entries."""
    entries, group = set(), b""
    for line in data.splitlines():
        if line.startswith(b"["):
            group = line
        name = (
            line.partition(b"=")[0].partition(b"[")[0].strip().decode(errors="replace")
        )
        is_ours = group == f"[{GROUP}]".encode() and name in but
        if b"=" in line and not line.startswith(b"#") and not is_ours:
            entries.add((group, line.strip()))
    return entries
