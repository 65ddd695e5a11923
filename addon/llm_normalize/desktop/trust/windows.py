"""The user's trusted roots on Windows, by its certutil (NSS has one of that name, too).

It has been asserted by its commands, and has not run on a Windows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import override

from ...home.trust_advice import WINDOWS
from ..machine import Machine
from .certificate import Certificate
from .record import Entry
from .store import Status, Store, StoreError

# In the user's language, but for the digits; some versions put blanks between them.
_SHA1 = re.compile(
    r"(?<![0-9a-f])(?:[0-9a-f]{2} ?){19}[0-9a-f]{2}(?![0-9a-f])", re.IGNORECASE
)


def system_root(machine: Machine) -> str:
    """Return Windows' own folder."""
    return machine.environ.get("SystemRoot", r"C:\Windows")


@dataclass(frozen=True)
class Roots(Store):
    """The user's roots; Windows asks in a window of its own."""

    def _certutil(self, *arguments: str) -> list[str]:
        return [self._program(), "-user", *arguments]

    def _program(self) -> str:
        return system_root(self.machine) + r"\System32\certutil.exe"

    @override
    def state(self) -> Status:
        mine = self._certutil("-store", "Root", self.certificate.sha1)
        asked = self.machine.run(mine)
        if asked.code in (124, 127):
            return Status("unknown", asked.last_line)
        if asked.code == 0:
            return Status("trusted", "among the roots that Windows trusts")
        named = self._certutil("-store", "Root", self.certificate.common_name)
        for found in _SHA1.findall(self.machine.run(named).out):
            shown = found.replace(" ", "").upper()
            if shown != self.certificate.sha1:
                return Status(
                    "stale", f"it has another CA of this name (SHA-1 {shown})"
                )
        return Status("not trusted")

    @override
    def plan(self) -> list[list[str]]:
        return [[self._program(), *WINDOWS, self.file]]

    @override
    def remove(self, entry: Entry) -> str:
        status = self.state()
        if status.state == "unknown":
            raise StoreError(status.detail)
        if status.state != "trusted":
            return "was gone already"
        self.act(self._certutil("-delstore", "Root", self.certificate.sha1))
        if self.state().state == "trusted":
            raise StoreError(
                "Windows trusts it still: all users' roots may have it, too"
            )
        return "removed from your trusted roots"


def system(machine: Machine, certificate: Certificate, confdir: Path) -> Store:
    """Return the user's roots."""
    return Roots("system", "your trusted roots", machine, certificate, confdir)
