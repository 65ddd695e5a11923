"""mitmproxy's certificate authority in its folder: making, reading and protecting it."""

from __future__ import annotations

import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from mitmproxy import exceptions, options, optmanager
from mitmproxy.certs import CertStore

from ...home.trust_advice import CERTIFICATE
from ..machine import Machine
from .certificate import Certificate, read

NAME = options.CONF_BASENAME
KEYS = (f"{NAME}-ca.pem", f"{NAME}-ca.p12")
"""The files that hold its key; mitmproxy makes them 0600 (CertStore.create_store)."""
FOLDER = "normalize"


class AuthorityError(Exception):
    """Why there is no certificate to trust, as one sentence."""


@dataclass(frozen=True)
class Loose:
    """What others could read or change, and how to repair it.

    Attributes:
        path: The file or folder.
        mode: Its permissions now.
        wanted: What they should be.
        why: What others can do now.
    """

    path: Path
    mode: int
    wanted: int
    why: str

    @property
    def repair(self) -> str:
        """The command that repairs it."""
        return f"chmod {self.wanted:o} {shlex.quote(str(self.path))}"

    def __str__(self) -> str:
        return f"{self.path} is {self.mode:04o}: {self.why} ({self.repair})"


def confdir_of(machine: Machine) -> Path:
    """Return mitmproxy's folder where nothing names another."""
    return machine.home / ".mitmproxy"


def load(confdir: Path) -> Certificate | None:
    """The certificate that mitmproxy signs with, None if none was made yet.

    It is the first one in the file with the key, as in `CertStore.from_files`.

    Raises:
        AuthorityError: The file cannot be read, or holds none.
    """
    path = confdir / KEYS[0]
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise AuthorityError(
            f"{path} is not yours to read: was mitmproxy started by root? Then give "
            "the folder back to yourself (chown), or remove it and start again."
        ) from error
    except OSError as error:
        raise AuthorityError(f"{path} cannot be read: {error.strerror}") from error
    found = next(read(text), None)
    if found is None or not found.is_readable:
        raise AuthorityError(
            f"{path} holds no certificate: move it away, and mitmproxy makes another."
        )
    return found


def published(confdir: Path) -> Certificate | None:
    """The certificate for clients, None without a readable one.

    mitmproxy writes it once, beside the file that it signs with, and never again.
    """
    return next((each for each in _published(confdir) if each.is_readable), None)


def _published(confdir: Path) -> list[Certificate]:
    try:
        text = (confdir / CERTIFICATE).read_text(encoding="ascii", errors="replace")
    except OSError:
        return []
    return [*read(text)]


def make(confdir: Path) -> Certificate:
    """The certificate, made by mitmproxy's own code if there is none yet.

    Raises:
        AuthorityError: It cannot be made or read.
    """
    found = load(confdir)
    if found is not None:
        return found
    defaults = options.Options()
    try:
        # As mitmproxy's own start does, for its key_size.
        for name in ("config.yaml", "config.yml"):
            optmanager.load_paths(defaults, str(confdir / name))
        CertStore.from_store(confdir, NAME, defaults.key_size)
    except (OSError, TypeError, ValueError, exceptions.OptionsError) as error:
        raise AuthorityError(f"no CA can be made in {confdir}: {error}") from error
    made = load(confdir)
    if made is None:
        raise AuthorityError(f"mitmproxy made no CA in {confdir}")
    return made


def file_of(certificate: Certificate, confdir: Path) -> Path:
    """A file that holds *certificate* alone, for a command to read.

    That is mitmproxy's own where it holds it, else one that is written.

    Raises:
        OSError: It cannot be written.
    """
    if _published(confdir) == [certificate]:
        return confdir / CERTIFICATE
    path = folder(confdir) / f"{certificate.name}.pem"
    path.write_text(certificate.pem, encoding="ascii")
    return path


def folder(confdir: Path) -> Path:
    """The folder of what the scripts remember, made if need be."""
    made = confdir / FOLDER
    made.mkdir(mode=0o700, parents=True, exist_ok=True)
    return made


def loose(machine: Machine, confdir: Path) -> list[Loose]:
    """The paths open to other users of the machine; none on Windows.

    There the folder is in the user's own, whose rights it inherits.
    """
    if machine.system == "windows":
        return []
    found = []
    for path in (confdir, *(confdir / name for name in KEYS)):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue
        if path == confdir:
            if mode & 0o022:
                why = "others can put a CA of theirs in its place"
                found.append(Loose(path, mode, mode & ~0o022, why))
        elif mode & 0o077:
            why = "others can read the key, and with it the traffic of who trusts it"
            found.append(Loose(path, mode, 0o600, why))
    return found
