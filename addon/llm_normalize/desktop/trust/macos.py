"""The user's login keychain on macOS, by security(1).

The trust is for TLS servers (`ssl`) and chains in general (`basic`), as on mitmproxy's
page about certificates. It has been asserted by its commands, and has not run on a Mac.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import override

from ...home.trust_advice import KEYCHAIN, MACOS
from ..machine import Machine
from .certificate import Certificate, read
from .record import Entry
from .store import Status, Store, StoreError, stale

PRESENT = "present"


@dataclass(frozen=True)
class Keychain(Store):
    """The login keychain; macOS asks for the user's password in a window."""

    @override
    def state(self) -> Status:
        try:
            verify = ["verify-cert", "-c", self.file, "-p", "basic", "-l", "-L"]
        except StoreError as error:
            return Status("unknown", str(error))
        verified = self.machine.run(["security", *verify])
        if verified.code == 0:
            return Status("trusted", "by macOS")
        if verified.code in (124, 127):
            return Status("unknown", verified.last_line)
        found = self.found()
        others = self.namesakes(found)
        if self.certificate in found:
            return Status("not trusted", "it is in a keychain, without trust")
        return stale(others) if others else Status("not trusted")

    def found(self, *keychain: str) -> list[Certificate]:
        """Return the certificates of that name, in all keychains or the one given."""
        find = ["find-certificate", "-a", "-p", "-c", self.certificate.common_name]
        return [*read(self.machine.run(["security", *find, *keychain]).out)]

    @override
    def begin(self) -> Entry:
        before = PRESENT if self.certificate in self.found(self.place) else ""
        return replace(super().begin(), before=before)

    @override
    def plan(self) -> list[list[str]]:
        return [[*MACOS, self.place, self.file]]

    @override
    def remove(self, entry: Entry) -> str:
        if self.certificate not in self.found(self.place):
            return "was gone already"
        # Where a start was killed there may be no trust to take back.
        taken = self.machine.run(["security", "remove-trusted-cert", self.file])
        if entry.before != PRESENT:
            name = ["-Z", self.certificate.sha1]
            self.act(["security", "delete-certificate", *name, self.place])
            if self.certificate in self.found(self.place):
                raise StoreError(f"it is still in {self.place}")
        elif taken.code and self.state().state == "trusted":
            raise StoreError(f"security: {taken.last_line}")
        return "removed from the login keychain"


def system(machine: Machine, certificate: Certificate, confdir: Path) -> Store:
    """Return the user's keychain."""
    place = machine.home.joinpath(*KEYCHAIN)
    return Keychain("system", str(place), machine, certificate, confdir)
