"""The stores of a machine, and how each of them stands to mitmproxy's CA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..machine import Machine
from . import linux
from .authority import load
from .browsers import databases, profiles
from .certificate import Certificate
from .nss import Database, database
from .record import Entry
from .store import Status, Store, StoreError

WHY = {
    "nss": "no database of Chrome found; start the browser once, then this again",
    "firefox": "Firefox has no profile yet; start it once, then this again",
}
"""Why a kind of browser has no store."""


class Stands(Protocol):
    """A store that tells how it stands to the CA."""

    @property
    def name(self) -> str:
        """`system`, `nss` or `firefox`."""

    @property
    def place(self) -> str:
        """Where it is."""

    def state(self) -> Status:
        """Tell how it stands. Never raises, never asks, changes nothing."""


@dataclass(frozen=True)
class _Idle:
    """A store while there is no CA."""

    name: str
    place: str

    def state(self) -> Status:
        return Status("not trusted", "mitmproxy has made no CA yet")


def stores(machine: Machine, confdir: Path) -> list[Stands]:
    """Return the stores, which tell how they stand to the CA in *confdir*.

    Args:
        machine: The machine.
        confdir: mitmproxy's folder.

    Raises:
        AuthorityError: The CA cannot be read.
    """
    certificate = load(confdir)
    if certificate is not None:
        return [*of(machine, certificate, confdir)]
    return [_Idle(name, place) for name, place in [("system", ""), *_places(machine)]]


def of(
    machine: Machine,
    certificate: Certificate,
    confdir: Path,
) -> list[Store]:
    """Return the stores, for *certificate*; the system's comes first."""
    own = linux.system(machine, certificate, confdir)
    return [own, *browsers(machine, certificate, confdir)]


def browsers(
    machine: Machine, certificate: Certificate, confdir: Path
) -> list[Database]:
    """Return the stores of browsers, for *certificate*."""
    return [
        database(name, machine, certificate, confdir, place)
        for name, place in _places(machine)
    ]


def lacking(stores: Sequence[Store]) -> dict[str, str]:
    """Return the kinds of stores that are not among *stores*, and why."""
    there = {store.name for store in stores}
    return {name: why for name, why in WHY.items() if name not in there}


def _places(machine: Machine) -> list[tuple[str, str]]:
    if machine.system != "linux":  # which `check` may run on: browsers ask it there
        return []
    places = [("nss", str(place)) for place in databases(machine)]
    return places + [("firefox", str(place)) for place in profiles(machine)]


def of_entry(machine: Machine, entry: Entry, confdir: Path) -> Store:
    """Return the store that *entry* is about, for the certificate in it.

    Raises:
        StoreError: This machine has no such store. What root removes is named by the
            certificate, and not by what a file of the user says.
    """
    if entry.store == "system":
        store = linux.system(machine, entry.certificate, confdir)
        if store.place != entry.place:
            raise StoreError(f"this system keeps no certificate at {entry.place}")
        return store
    return database(entry.store, machine, entry.certificate, confdir, entry.place)
