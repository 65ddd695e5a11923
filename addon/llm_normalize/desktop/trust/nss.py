"""NSS databases, which Chrome (on Linux) and Firefox read, by NSS's certutil.

A certificate is found by its fingerprint, since a nickname stands for all certificates
of its subject: `-L -n` shows an older CA of mitmproxy under the nickname of the newer.
`-D` and `-M` act on the one that has the nickname itself (NSS 3.87).
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import override

from ..machine import Result
from .certificate import read
from .record import Entry
from .store import Status, Store, StoreError, stale

FLAGS = "C,,"
"""A CA for TLS servers; not for mail, nor for code."""
ABSENT = "absent"
FILES = ("cert9.db", "key4.db", "pkcs11.txt")
PACKAGES = (
    "Debian, Ubuntu: apt-get install libnss3-tools; Fedora: dnf install nss-tools; "
    "Arch: pacman -S nss; openSUSE: zypper install mozilla-nss-tools"
)
_BUSY = ("BAD_DATABASE", "PKCS11_GENERAL_ERROR", "LOCKED", "BUSY")
"""What certutil says where another program has the database locked (NSS 3.87)."""
_LINE = re.compile(r"^(.+?) +([a-zA-Z]*,[a-zA-Z]*,[a-zA-Z]*) *$", re.MULTILINE)
_SHOWN = re.compile(
    r"Fingerprint \(SHA-256\):\s+([0-9A-F:]{95})(.*?)(?=\n\s*Fingerprint \(SHA-256\)|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Database(Store):
    """A database in the folder `place`, which is made if it is not there."""

    def command(self, *arguments: str) -> list[str]:
        """A command for NSS's certutil.

        Raises:
            StoreError: It is not installed.
        """
        program = self.machine.find("certutil")
        if program is None:
            raise StoreError(f"NSS's certutil is not installed ({PACKAGES})")
        first, *rest = arguments
        return [program, first, "-d", f"sql:{self.place}", *rest]

    @property
    def exists(self) -> bool:
        """Whether there is a database."""
        return (Path(self.place) / FILES[0]).exists()

    def nicknames(self) -> dict[str, str]:
        """The trust flags of each nickname.

        Raises:
            StoreError: The database cannot be read.
        """
        listed = self.machine.run(self.command("-L"))
        if listed.code:
            raise StoreError(f"certutil: {self.why(listed)}")
        return dict(_LINE.findall(listed.out.partition("SSL,S/MIME")[2]))

    @override
    def why(self, outcome: Result) -> str:
        text = outcome.last_line
        if "READ_ONLY" in text:
            return f"{self.place} cannot be written to: {self._own()} ({text})"
        if any(word in text for word in _BUSY):
            return (
                f"{self.place} is locked by another program, or is damaged, or not yours "
                f"to read: close the browser, then start this again; {self._own()} ({text})"
            )
        if "BAD_PASSWORD" in text:
            by_hand = self.command("-A", "-n", self.certificate.name, "-t", FLAGS)
            return (
                "it has a primary password: in Firefox import the CA itself (Settings, "
                f"Privacy & Security, View Certificates, Import: {self.file}), else give "
                f"it to {shlex.join([*by_hand, '-i', self.file])}"
            )
        return text

    def _own(self) -> str:
        place = shlex.quote(self.place)
        return f"`ls -la {place}` shows whose it is, `chmod -R u+rwX {place}` opens it"

    def mine(self) -> dict[str, bool]:
        """The nicknames that the certificate may have, and if TLS trusts it."""
        found = {}
        for nickname in self.nicknames():
            shown = self.machine.run(self.command("-L", "-n", nickname))
            if shown.code and "could not find" not in shown.last_line.lower():
                raise StoreError(f"certutil: {self.why(shown)}")
            for fingerprint, rest in _SHOWN.findall(shown.out):
                if fingerprint == self.certificate.fingerprint:
                    tls = rest.partition("SSL Flags:")[2].partition("Email Flags:")[0]
                    found[nickname] = "Trusted CA" in map(str.strip, tls.splitlines())
        return found

    def nickname(self, entry: Entry) -> str | None:
        """The certificate's nickname, None if it is not there.

        Raises:
            StoreError: The database cannot be read.
        """
        found = self.mine()
        if entry.nickname in found:
            return entry.nickname
        if len(found) > 1:
            raise StoreError(
                f"{', '.join(found)} share its subject: remove the stale ones first "
                f"(certutil -D -d sql:{self.place} -n NICKNAME)"
            )
        return next(iter(found), None)

    @override
    def state(self) -> Status:
        try:
            if not self.exists:
                return Status("not trusted", "there is no database yet")
            found = self.mine()
            if found:
                return self._held(is_trusted=any(found.values()))
            others = []
            for nickname, flags in self.nicknames().items():
                if "C" in flags.partition(",")[0]:
                    export = self.command("-L", "-n", nickname, "-a")
                    others += self.namesakes(read(self.machine.run(export).out))
        except StoreError as error:
            return Status("unknown", str(error))
        return stale(others) if others else Status("not trusted")

    def _held(self, *, is_trusted: bool) -> Status:
        if not is_trusted:
            return Status("not trusted", "it is there, without trust")
        if self.certificate.is_valid:
            return Status("trusted", f"in {self.place}")
        valid = (
            f"{self.certificate.begins:%Y-%m-%d} to {self.certificate.ends:%Y-%m-%d}"
        )
        return Status("not trusted", f"it is there, but is not valid now ({valid})")

    @override
    def begin(self) -> Entry:
        entry = replace(super().begin(), nickname=self.certificate.name)
        folder = Path(self.place)
        if not self.exists:
            missing = [each for each in (folder, *folder.parents) if not each.exists()]
            created = tuple(str(each) for each in reversed(missing))
            return replace(entry, before=ABSENT, created=created)
        there = self.nickname(replace(entry, nickname=""))
        if there is None:
            return entry
        return replace(entry, before=self.nicknames()[there], nickname=there)

    @override
    def plan(self) -> list[list[str]]:
        quiet = ("-f", os.devnull)  # or it would ask the terminal for a password
        commands = []
        if not self.exists:
            commands.append(self.command("-N", "--empty-password"))
        name = ("-n", self.certificate.name, "-t", FLAGS, "-i", self.file)
        return [*commands, self.command("-A", *name, *quiet)]

    @override
    def install(self, entry: Entry) -> None:
        try:
            Path(self.place).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"{self.place} cannot be made ({error.strerror}): make the folder above "
                "it writable for yourself, then start this again"
            ) from error
        super().install(entry)

    @override
    def remove(self, entry: Entry) -> str:
        text = "the database is gone already"
        if self.exists:
            text = self._take_out(entry)
        if entry.before == ABSENT:
            text += self._unmake(entry)
        return text

    def _take_out(self, entry: Entry) -> str:
        name = self.nickname(entry)
        if name is None:
            return "was gone already"
        if entry.before in ("", ABSENT):
            self.act(self.command("-D", "-n", name))
            if self.mine():
                raise StoreError(f"it is still in {self.place}")
            return "removed"
        quiet = ("-f", os.devnull)
        self.act(self.command("-M", "-n", name, "-t", entry.before, *quiet))
        if self.nicknames().get(name) != entry.before:
            raise StoreError(f"its trust in {self.place} is not {entry.before} again")
        return f"its trust is as it was ({entry.before})"

    def _unmake(self, entry: Entry) -> str:
        """Remove the database that was made, unless it is in use by now."""
        folder = Path(self.place)
        try:
            if self.exists:
                if self._is_used():
                    return "; the database stays: others have put something into it"
                for name in FILES:
                    (folder / name).unlink(missing_ok=True)
            for each in reversed(entry.created):
                path = Path(each)
                if path.is_dir() and not any(path.iterdir()):
                    path.rmdir()
        except OSError as error:
            raise StoreError(f"{self.place}: {error.strerror}") from error
        return "; the database that was made for it, too"

    def _is_used(self) -> bool:
        if self.nicknames():
            return True
        # With a password that somebody has set, this cannot be found out.
        keys = self.machine.run(self.command("-K", "-f", os.devnull))
        if keys.code == 0 or "no keys found" not in keys.out + keys.err:
            return True
        modules = (Path(self.place) / FILES[2]).read_text(errors="replace")
        return len(re.findall(r"^library=", modules, re.MULTILINE)) > 1
