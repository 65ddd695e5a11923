"""The system's store on Linux: a folder of anchors, and a command that reads it.

Sources: update-ca-certificates(8) of Debian and openSUSE, update-ca-trust(8), trust(1).
"""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _machine import Machine
from _trust_certificate import Certificate, read
from _trust_record import Entry
from _trust_store import Status, Store, StoreError, stale


@dataclass(frozen=True)
class _Bundled(Store):
    """A store that ends in one file of all trusted roots, which tells its state.

    Attributes:
        bundle: That file.
    """

    bundle: Path

    @property
    def roots_file(self) -> Path:
        return self.bundle

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
        if self.certificate in roots:
            more = ", and another CA of this name" if others else ""
            return Status("trusted", f"in {self.bundle}{more}")
        return stale(others) if others else Status("not trusted")

    def holds(self) -> bool:
        return self.certificate in self.roots()

    def as_root(self, *commands: list[str]) -> list[list[str]]:
        """Return *commands* as this user runs them.

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

    def plan(self) -> list[list[str]]:
        copy = ["install", "-m", "0644", self.file, self.place]
        return self.as_root(copy, [*self.update])

    def install(self, entry: Entry) -> None:
        path = Path(self.place)
        if path.exists() and self.there() != [self.certificate]:
            raise StoreError(f"{path} is there, and another: it is left as it is")
        super().install(entry)

    def there(self) -> list[Certificate]:
        """Return what lies where ours is put."""
        try:
            return [*read(Path(self.place).read_text(encoding="ascii"))]
        except (OSError, ValueError):
            return []

    def remove(self, entry: Entry) -> str:
        path = Path(self.place)
        if path.exists() and self.there() != [self.certificate]:
            return f"{path} is another than the one installed: left as it is"
        if not path.exists() and not self.holds():
            return "was gone already"
        with self.updating() as update:
            # The file may be gone, where a removal was killed before its second step.
            for command in self.as_root(["rm", "-f", self.place], update):
                self.act(command)
        if path.exists():
            raise StoreError(f"{path} is there still")
        if self.holds():
            return f"{path} removed; somebody else's copy of it is trusted still"
        return f"{path} removed"

    @contextmanager
    def updating(self) -> Iterator[list[str]]:
        """Lend the command that reads the folder once our file is gone."""
        yield [*self.update]


@dataclass(frozen=True)
class Debian(Anchors):
    """Debian, Ubuntu and what is made of them.

    Their update-ca-certificates overlooks a file that is gone: links to it stay, and
    its hooks (Java's keystore) are not told. Or, with --fresh, the links go and the
    hooks still are not told. What it is told to leave out by a line with "!" in its
    configuration it removes properly, so it gets a copy with such a line.
    """

    conf: Path

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

    def plan(self) -> list[list[str]]:
        return self.as_root(["trust", "anchor", "--store", self.file])

    def remove(self, entry: Entry) -> str:
        if not self.holds():
            return "was gone already"
        for command in self.as_root(["trust", "anchor", "--remove", self.file]):
            self.act(command)
        if self.holds():
            raise StoreError(f"it is in {self.bundle} still")
        return "removed by `trust anchor`"


@dataclass(frozen=True)
class Other(Store):
    """A system whose way is not known here."""

    def state(self) -> Status:
        return Status("unknown", "how this system is told of a CA is not known here")

    def plan(self) -> list[list[str]]:
        raise StoreError(
            "how this system is told of a CA is not known here; mitmproxy's page: "
            "https://docs.mitmproxy.org/stable/concepts/certificates/"
        )

    def remove(self, entry: Entry) -> str:
        raise StoreError("how this system is told of a CA is not known here")


def system(
    machine: Machine, certificate: Certificate, confdir: Path, root: Path
) -> Store:
    """Return the system's store.

    Args:
        machine: The machine, a Linux.
        certificate: What it is to trust.
        confdir: mitmproxy's folder.
        root: The folder that is "/".
    """
    common = ("system",)
    etc = root / "etc"

    def anchors(
        folder: str, suffix: str
    ) -> tuple[str, str, Machine, Certificate, Path]:
        place = str(root / folder / f"{certificate.name}{suffix}")
        return (*common, place, machine, certificate, confdir)

    if machine.find("update-ca-certificates") and (etc / "debian_version").exists():
        return Debian(
            *anchors("usr/local/share/ca-certificates", ".crt"),
            bundle=etc / "ssl/certs/ca-certificates.crt",
            update=("update-ca-certificates",),
            conf=etc / "ca-certificates.conf",
        )
    if machine.find("update-ca-trust") and (etc / "pki/ca-trust/source").is_dir():
        return Anchors(
            *anchors("etc/pki/ca-trust/source/anchors", ".pem"),
            bundle=etc / "pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
            update=("update-ca-trust", "extract"),
        )
    if machine.find("trust") and (etc / "ca-certificates/trust-source").is_dir():
        bundle = etc / "ca-certificates/extracted/tls-ca-bundle.pem"
        place = str(etc / "ca-certificates/trust-source")
        return Arch(*common, place, machine, certificate, confdir, bundle=bundle)
    if machine.find("update-ca-certificates") and (etc / "pki/trust/anchors").is_dir():
        return Anchors(
            *anchors("etc/pki/trust/anchors", ".pem"),
            bundle=root / "var/lib/ca-certificates/ca-bundle.pem",
            update=("update-ca-certificates",),
        )
    return Other(*common, str(root), machine, certificate, confdir)
