"""The stores of a machine, and how each of them stands to mitmproxy's CA."""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..machine import Machine
from . import linux
from .authority import load
from .certificate import Certificate
from .nss import Database
from .record import Entry
from .store import Status, Store, StoreError

WHY = {
    "nss": "no database of Chrome found; start the browser once, then this again",
    "firefox": "Firefox has no profile yet; start it once, then this again",
}
"""Why a kind of browser has no store."""


@dataclass(frozen=True)
class _Idle:
    """A store while there is no CA."""

    name: str
    place: str

    def state(self) -> Status:
        return Status("not trusted", "mitmproxy has made no CA yet")


def stores(machine: Machine, confdir: Path) -> Sequence[Store | _Idle]:
    """The stores, which tell how they stand to the CA in *confdir*.

    Args:
        machine: The machine.
        confdir: mitmproxy's folder.

    Raises:
        AuthorityError: The CA cannot be read.
    """
    certificate = load(confdir)
    if certificate is not None:
        return of(machine, certificate, confdir)
    return [_Idle(name, place) for name, place in [("system", ""), *_places(machine)]]


def of(
    machine: Machine,
    certificate: Certificate,
    confdir: Path,
) -> list[Store]:
    """The stores, for *certificate*; the system's comes first."""
    own = linux.system(machine, certificate, confdir)
    return [own, *browsers(machine, certificate, confdir)]


def browsers(
    machine: Machine, certificate: Certificate, confdir: Path
) -> list[Database]:
    """The stores of browsers, for *certificate*."""
    return [
        Database(name, place, machine, certificate, confdir)
        for name, place in _places(machine)
    ]


def lacking(stores: Sequence[Store]) -> dict[str, str]:
    """The kinds of stores that are not among *stores*, and why."""
    there = {store.name for store in stores}
    return {name: why for name, why in WHY.items() if name not in there}


def _places(machine: Machine) -> list[tuple[str, str]]:
    if machine.system != "linux":  # which `check` may run on: browsers ask it there
        return []
    places = [("nss", str(place)) for place in databases(machine)]
    return places + [("firefox", str(place)) for place in profiles(machine)]


def of_entry(machine: Machine, entry: Entry, confdir: Path) -> Store:
    """The store that *entry* is about, for the certificate in it.

    Raises:
        StoreError: This machine has no such store. What root removes is named by the
            certificate, and not by what a file of the user says.
    """
    if entry.store == "system":
        store = linux.system(machine, entry.certificate, confdir)
        if store.place != entry.place:
            raise StoreError(f"this system keeps no certificate at {entry.place}")
        return store
    return Database(entry.store, entry.place, machine, entry.certificate, confdir)


# Where browsers keep what they trust

CHROMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "brave-browser",
    "microsoft-edge",
    "vivaldi",
)


def databases(machine: Machine) -> list[Path]:
    """The folders of Chrome's databases; one may have to be made.

    Chromium takes `~/.pki/nssdb` if it is there, else the one below XDG_DATA_HOME
    (seen with Chromium 156).
    """
    home = machine.home
    own = home / ".pki" / "nssdb"
    data = Path(machine.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    others = [data / "pki" / "nssdb"]
    for pattern in (
        "snap/*/current/.pki/nssdb",
        ".var/app/*/.pki/nssdb",
        ".var/app/*/data/pki/nssdb",
    ):
        others += sorted(home.glob(pattern))
    found = [each for each in (own, *others) if (each / "cert9.db").is_file()]
    if not {own, others[0]} & {*found} and any(map(machine.find, CHROMES)):
        found.insert(0, own)
    return found


def _roots(machine: Machine) -> Iterator[Path]:
    home = machine.home
    yield home / ".mozilla" / "firefox"
    # Newer ones, where the older folder is not there (seen with Firefox 153).
    config = machine.environ.get("XDG_CONFIG_HOME") or home / ".config"
    yield Path(config) / "mozilla" / "firefox"
    yield home / "snap" / "firefox" / "common" / ".mozilla" / "firefox"
    flatpak = home / ".var" / "app" / "org.mozilla.firefox"
    yield flatpak / ".mozilla" / "firefox"
    yield flatpak / "config" / "mozilla" / "firefox"


def profiles(machine: Machine) -> list[Path]:
    """The folders of Firefox's profiles that have a database.

    Source: profiles.ini; a path in it is relative to its folder if IsRelative is 1.
    """
    found: list[Path] = []
    for root in _roots(machine):
        listed = configparser.ConfigParser(interpolation=None, strict=False)
        try:
            listed.read(root / "profiles.ini", encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError, OSError):
            continue
        for name in listed.sections():
            path = listed[name].get("Path")
            if name.startswith("Profile") and path:
                relative = listed[name].get("IsRelative", "1") != "0"
                found.append(root / path if relative else Path(path))
    has_one = [each for each in found if (each / "cert9.db").is_file()]
    return list(dict.fromkeys(has_one))
