"""The system's store on Linux: a folder of anchors, and a command that reads it.

Sources: update-ca-certificates(8) of Debian and openSUSE, update-ca-trust(8), trust(1).
"""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import override

from ...home import trust_advice
from ..machine import Machine, Result
from .certificate import Certificate, read
from .record import Entry
from .store import AGAIN, PartlyError, Status, Store, StoreError, stale

_HOOK = re.compile(r"^E: (?P<hook>.*) exited with code (?P<code>\d+)", re.MULTILINE)
"""What update-ca-certificates says of a hook that failed; it ends with 0 all the same."""
_LINK = re.compile(r"[0-9a-f]{8}\.\d+")
"""A link by which OpenSSL finds a certificate in a folder, see openssl-rehash(1)."""
_PLAIN = b"\xfe\xed\xfe\xed"
"""How a keystore of Java's own format begins; the certificates stand in it as they are."""
PASSWORD = "changeit"  # noqa: S105 - Java's own, and nothing is secret in there
UNKNOWN = "how to add a CA to this system is not known here"


@dataclass(frozen=True)
class _Bundled(Store):
    """A store that ends in one file of all trusted roots, and in others made beside it.

    Attributes:
        bundle: That file.
        java: Java's keystore, which may not be there.
    """

    bundle: Path
    java: Path

    def roots(self) -> list[Certificate]:
        try:
            return [*read(self.bundle.read_text(encoding="utf-8", errors="replace"))]
        except OSError as error:
            raise StoreError(f"{self.bundle}: {error.strerror}") from error

    def state(self) -> Status:
        try:
            roots = self.roots()
        except StoreError as error:
            return Status("unknown", str(error))
        others = self.namesakes(roots)
        faults = self.faults(wanted=self.certificate in roots)
        if self.certificate in roots:
            if faults:
                return Status("in part", f"in {self.bundle}, but {'; '.join(faults)}")
            more = ", and another CA of this name" if others else ""
            return Status("trusted", f"in {self.bundle}{more}")
        if faults:
            return Status("in part", f"not in {self.bundle}, but {'; '.join(faults)}")
        return stale(others) if others else Status("not trusted")

    def holds(self) -> bool:
        return self.certificate in self.roots()

    def faults(self, *, wanted: bool) -> list[str]:
        """The fault of Java's keystore beside the bundle, if any, with its repair.

        Args:
            wanted: Whether it should have it.
        """
        try:
            has = self.in_java()
        except StoreError as error:
            return [str(error)]
        if has is None or has == wanted:
            return []
        verb = "lacks the CA" if wanted else "still has the CA"
        return [
            f"Java's keystore {self.java} {verb}: {self.java_repair(wanted=wanted)}"
        ]

    def in_java(self) -> bool | None:
        """Tell whether Java's keystore has the certificate; None if it cannot be read.

        Raises:
            StoreError: It cannot be read.
        """
        if not self.java.exists():
            return None
        try:
            data = self.java.read_bytes()
        except OSError as error:
            raise StoreError(f"{self.java} cannot be read: {error.strerror}") from error
        if self.certificate.der in data:
            return True
        if self.machine.find("keytool") is None:
            return None
        if data.startswith(_PLAIN):
            return False
        command = ["keytool", "-list", "-rfc", "-keystore", str(self.java)]
        listed = self.machine.run([*command, "-storepass", PASSWORD])
        if listed.code:
            reported = (listed.out.strip() or listed.err.strip()).splitlines()[-1:]
            raise StoreError(
                f"Java's keystore {self.java} cannot be read ({''.join(reported)}): see the "
                f"output of `{shlex.join(command)}`"
            )
        return self.certificate in read(listed.out)

    def java_repair(self, *, wanted: bool) -> str:
        """The advice for Java's keystore, to put the certificate in or take it out."""
        verb = "in" if wanted else "out"
        return f"start this again, or take it {verb} with keytool"

    def act(self, command: Sequence[str]) -> Result:
        outcome = super().act(command)
        failed = [*_HOOK.finditer(outcome.out), *_HOOK.finditer(outcome.err)]
        if failed:
            hooks = ", ".join(f"{each['hook']} ({each['code']})" for each in failed)
            reported = [
                line for line in outcome.err.splitlines() if "error" in line.lower()
            ]
            why = f": {reported[0].strip()}" if reported else ""
            raise PartlyError(f"its hook failed: {hooks}{why}; {_repair(why)}")
        return outcome

    def why(self, outcome: Result) -> str:
        if "ead-only file system" not in outcome.last_line:
            return outcome.last_line
        instead = trust_advice.of(self.confdir).exports
        return (
            f"{outcome.last_line}: remount it writable, then start this again; single programs "
            f"trust the CA without it by {instead}"
        )

    def as_root(self, *commands: list[str]) -> list[list[str]]:
        """*commands* as this user runs them.

        Raises:
            StoreError: He cannot.
        """
        if self.machine.is_root():
            return [*commands]
        if self.machine.find("sudo") is None:
            lines = "; ".join(map(shlex.join, commands))
            raise StoreError(f"it needs root, and there is no sudo: as root, {lines}")
        return [["sudo", *command] for command in commands]


@dataclass(frozen=True)
class Anchors(_Bundled):
    """A folder of anchors: a file of ours in it, then its command."""

    update: tuple[str, ...]

    @override
    def plan(self) -> list[list[str]]:
        copy = ["install", "-m", "0644", self.file, self.place]
        return self.as_root(copy, [*self.update])

    @override
    def install(self, entry: Entry) -> None:
        path = Path(self.place)
        if path.exists() and self.there() != [self.certificate]:
            raise StoreError(f"{path} has another certificate, and stays as it is")
        super().install(entry)

    def there(self) -> list[Certificate]:
        """The certificates in the file at `place`; none if it cannot be read."""
        try:
            return [*read(Path(self.place).read_text(encoding="ascii"))]
        except (OSError, ValueError):
            return []

    @override
    def remove(self, entry: Entry) -> str:
        path = Path(self.place)
        if path.exists() and self.there() != [self.certificate]:
            return f"{path} is another than the one installed: it stays"
        faults = self.faults(wanted=False)
        if not path.exists() and not self.holds() and not faults:
            return "was gone already"
        failed = []
        with self.updating() as update:
            # The file may be gone, where a removal was killed before its second step.
            for command in self.as_root(["rm", "-f", self.place], update):
                try:
                    self.act(command)
                except PartlyError as error:
                    failed.append(str(error))
        if path.exists():
            raise StoreError("; ".join([f"{path} is there still", *failed]))
        if self.holds():
            copy = next(self.copies(), None)
            if copy is not None:
                return f"{path} removed; it is trusted still, by {copy}"
            failed.append(f"{path} is removed, but {self.bundle} still has the CA")
        failed += self.faults(wanted=False)
        if failed:
            raise StoreError("; ".join(failed))
        return f"{path} removed"

    def copies(self) -> Iterator[Path]:
        """Yield files with the certificate, put there by others."""
        for folder in self.sources:
            for path in sorted(folder.rglob(f"*{Path(self.place).suffix}")):
                with suppress(OSError):
                    text = path.read_text(encoding="utf-8", errors="replace")
                    if self.certificate in read(text):
                        yield path

    @property
    def sources(self) -> Iterable[Path]:
        """The folders from which the bundle is made."""
        return [Path(self.place).parent]

    @contextmanager
    def updating(self) -> Iterator[list[str]]:
        """Lend the command that reads the folder once our file is gone."""
        yield [*self.update]


@dataclass(frozen=True)
class Debian(Anchors):
    """Debian, Ubuntu and what is made of them.

    Their update-ca-certificates overlooks a file that is gone: links to it stay, and
    its hooks (Java's keystore) hear nothing of it. Or, with --fresh, the links go and
    the hooks still hear nothing. It removes properly what a line with "!" in its
    configuration excludes, so it gets a copy with such a line.
    """

    conf: Path

    @property
    @override
    def sources(self) -> Iterable[Path]:
        return [*super().sources, self.conf.parents[1] / "usr/share/ca-certificates"]

    @override
    def faults(self, *, wanted: bool) -> list[str]:
        found = super().faults(wanted=wanted)
        links = self.linked()
        if links is None or links == wanted:
            return found
        verb = "no link points to it" if wanted else "a link still points to it"
        command = [*self.update, "--fresh"]
        if not self.machine.is_root():
            command = ["sudo", *command]
        fault = f"{verb} in {self.bundle.parent}, where OpenSSL looks"
        return [f"{fault}: {shlex.join(command)}", *found]

    @override
    def java_repair(self, *, wanted: bool) -> str:
        # The name that the hook of ca-certificates-java gives it.
        where = ["-alias", f"debian:{self.certificate.name}.pem"]
        where += ["-keystore", str(self.java), "-storepass", PASSWORD]
        file = str(self.confdir / trust_advice.CERTIFICATE)
        act = ["-importcert", "-noprompt", "-file", file] if wanted else ["-delete"]
        keytool = ["keytool", *act, *where]
        return shlex.join(keytool if self.machine.is_root() else ["sudo", *keytool])

    def linked(self) -> bool | None:
        """Tell whether OpenSSL finds it in the bundle's folder; None without links."""
        folder = self.bundle.parent
        links = [each for each in folder.glob("*.*") if _LINK.fullmatch(each.name)]
        for link in links:
            with suppress(OSError):
                text = link.read_text(encoding="utf-8", errors="replace")
                if self.certificate in read(text):
                    return True
        return False if links else None

    @override
    @contextmanager
    def updating(self) -> Iterator[list[str]]:
        # Not in the user's home, which root need not be able to read (NFS, FUSE): the
        # command would clear all links then, and fail.
        with tempfile.TemporaryDirectory(prefix="llm_normalize-") as made:
            path = Path(made) / self.conf.name
            try:
                held = self.conf.read_bytes()
                ends = b"" if held.endswith(b"\n") else b"\n"
                path.write_bytes(held + ends + f"!{Path(self.place).name}\n".encode())
            except OSError as error:
                raise StoreError(f"{self.conf}: {error.strerror}") from error
            yield [*self.update, "--certsconf", str(path)]


@dataclass(frozen=True)
class Arch(_Bundled):
    """Arch: p11-kit's `trust` names the file itself."""

    @override
    def plan(self) -> list[list[str]]:
        return self.as_root([*trust_advice.ARCH.update, self.file])

    @override
    def remove(self, entry: Entry) -> str:
        if not self.holds():
            return "was gone already"
        for command in self.as_root(["trust", "anchor", "--remove", self.file]):
            self.act(command)
        if self.holds():
            raise StoreError(f"it is still in {self.bundle}")
        if faults := self.faults(wanted=False):
            raise StoreError("; ".join(faults))
        return "removed by `trust anchor`"


def _repair(why: str) -> str:
    """The repair of a failed hook."""
    if "interrupted" in why:
        return f"sudo dpkg --configure -a; {AGAIN}"
    if "lock" in why:
        return "wait until apt or dpkg has ended, then start this again"
    return AGAIN


@dataclass(frozen=True)
class Other(Store):
    """A system whose way is not known here."""

    @override
    def state(self) -> Status:
        return Status("unknown", UNKNOWN)

    @override
    def plan(self) -> list[list[str]]:
        if (Path(self.place) / "etc/debian_version").exists():
            raise StoreError(
                "update-ca-certificates is not installed: apt-get install ca-certificates"
            )
        raise StoreError(
            f"{UNKNOWN}; mitmproxy's page: "
            "https://docs.mitmproxy.org/stable/concepts/certificates/; or let single "
            f"programs trust the CA: {trust_advice.of(self.confdir).exports}"
        )

    @override
    def remove(self, entry: Entry) -> str:
        raise StoreError(UNKNOWN)


def system(machine: Machine, certificate: Certificate, confdir: Path) -> Store:
    """The system's store.

    Args:
        machine: The machine, a Linux.
        certificate: What it is to trust.
        confdir: mitmproxy's folder.
    """
    root = machine.root_folder
    etc = root / "etc"

    def store(
        known: trust_advice.Anchors,
    ) -> tuple[str, str, Machine, Certificate, Path]:
        folder = _below(root, known.folder)
        place = folder / f"{certificate.name}{known.suffix}" if known.suffix else folder
        return "system", str(place), machine, certificate, confdir

    def is_here(known: trust_advice.Anchors) -> bool:
        has_folder = _below(root, known.folder).is_dir()
        return has_folder and machine.find(known.update[0]) is not None

    debian = trust_advice.DEBIAN
    if machine.find(debian.update[0]) and (etc / "debian_version").exists():
        return Debian(
            *store(debian),
            bundle=etc / "ssl/certs/ca-certificates.crt",
            java=etc / "ssl/certs/java/cacerts",
            update=debian.update,
            conf=etc / "ca-certificates.conf",
        )
    if is_here(trust_advice.FEDORA):
        return Anchors(
            *store(trust_advice.FEDORA),
            bundle=etc / "pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
            java=etc / "pki/ca-trust/extracted/java/cacerts",
            update=trust_advice.FEDORA.update,
        )
    if is_here(trust_advice.ARCH):
        return Arch(
            *store(trust_advice.ARCH),
            bundle=etc / "ca-certificates/extracted/tls-ca-bundle.pem",
            java=etc / "ssl/certs/java/cacerts",
        )
    if is_here(trust_advice.SUSE):
        return Anchors(
            *store(trust_advice.SUSE),
            bundle=root / "var/lib/ca-certificates/ca-bundle.pem",
            java=root / "var/lib/ca-certificates/java-cacerts",
            update=trust_advice.SUSE.update,
        )
    return Other("system", str(root), machine, certificate, confdir)


def _below(root: Path, folder: str) -> Path:
    return root / folder.removeprefix("/")
