"""What a store of trusted certificates is, whatever its system."""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ..machine import HUNG, Machine, Result
from .authority import file_of
from .certificate import Certificate
from .record import Entry

State = Literal["trusted", "in part", "not trusted", "stale", "unknown"]
"""`stale`: it trusts another CA of the same name, which looks right and is not."""

PATIENCE = 600
"""Seconds for a command that may ask the user for a password."""
ALONE = 180
"""Seconds for one that asks nobody: some hooks make Java's keystore anew."""
AGAIN = "once that is repaired, start this again"


class Status(NamedTuple):
    """How a store stands to a certificate.

    Attributes:
        state: In a word.
        detail: What there is to say besides; "" if nothing.
    """

    state: State
    detail: str = ""


class StoreError(Exception):
    """Why a store was not changed, or not wholly, as one sentence."""


class PartlyError(StoreError):
    """Why a part of it was not done: what was done stays, and stays written down."""


@dataclass(frozen=True)
class Store(ABC):
    """One store, and the certificate that it is to trust.

    Attributes:
        name: `system`, `nss` or `firefox`.
        place: Where it keeps that certificate: a file, a folder, a keychain.
        machine: Whose store it is.
        certificate: The certificate.
        confdir: mitmproxy's folder.
    """

    name: str
    place: str
    machine: Machine
    certificate: Certificate
    confdir: Path

    @abstractmethod
    def state(self) -> Status:
        """Tell how it stands. Never raises, never asks, changes nothing."""

    @abstractmethod
    def plan(self) -> list[list[str]]:
        """The commands that `install` runs.

        Raises:
            StoreError: It cannot be installed.
        """

    def begin(self) -> Entry:
        """The entry of the record, written before `install` does anything."""
        return Entry(self.name, self.place, self.certificate.pem)

    def install(self, entry: Entry) -> None:
        """Make it trust the certificate.

        Args:
            entry: What is written down; the first one, where a start was killed.

        Raises:
            StoreError: It does not.
        """
        for command in self.plan():
            self.act(command)

    @abstractmethod
    def remove(self, entry: Entry) -> str:
        """Undo what `install` did, also half of it, and return what the user should know.

        Raises:
            StoreError: It is there still.
        """

    @property
    def file(self) -> str:
        """The file that holds the certificate, for commands.

        Raises:
            StoreError: It cannot be written.
        """
        try:
            return str(file_of(self.certificate, self.confdir))
        except OSError as error:
            raise StoreError(f"{self.confdir}: {error.strerror or error}") from error

    def act(self, command: Sequence[str]) -> Result:
        """Run a command that changes something.

        Raises:
            StoreError: It failed.
            PartlyError: It hung; its effect is unknown.
        """
        patience = PATIENCE if command[0] == "sudo" else ALONE
        outcome = self.machine.run(command, timeout=patience)
        if outcome.code == HUNG:
            raise PartlyError(f"{outcome.last_line}; {AGAIN}")
        if outcome.code:
            shown = command[0] if command[0] != "sudo" else " ".join(command[:2])
            why = self.why(outcome)
            if outcome.last_line.startswith("sudo: "):  # it refuses, or cannot ask
                why += f"; as root: {shlex.join(command[1:])}"
            raise StoreError(f"{shown}: {why}")
        return outcome

    def why(self, outcome: Result) -> str:
        """Why a command failed, and the repair where it is known."""
        return outcome.last_line

    def namesakes(self, others: Iterable[Certificate]) -> list[Certificate]:
        """Return those of *others* that pass for the certificate by their name."""
        return [each for each in others if self.certificate.is_namesake(each)]


def stale(others: Sequence[Certificate]) -> Status:
    """The state of a store that trusts *others* of that name only."""
    shown = others[0].fingerprint[:11]
    return Status("stale", f"it has another CA of this name (SHA-256 {shown}…)")
