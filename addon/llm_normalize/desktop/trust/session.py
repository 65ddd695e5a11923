"""One start of `llm-normalize trust`: its folder, its user, the lines it prints, and its lock.

The user's folder is locked, without a file that would stay in it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ...home import trust_advice
from ...records.private_file import lock
from ..machine import Machine
from .authority import KEYS, AuthorityError, confdir_of, loose
from .certificate import Certificate
from .record import TrustRecord

WIDTH = 14


class BusyError(Exception):
    """Another one is at work, as one sentence."""


class Refused(Exception):  # noqa: N818 - nothing went wrong
    """The user did not agree, or has to do it."""


class Session:
    """What every act needs of one start: questions, locks, lines for the user.

    Args:
        flags: What the command line says.
        machine: The machine.

    Attributes:
        confdir: mitmproxy's folder.
        record: What was installed, and where.
        failed: Whether anything has failed: the exit code says so.
    """

    def __init__(self, flags: argparse.Namespace, machine: Machine) -> None:
        self.flags = flags
        self.machine = machine
        confdir = flags.confdir or confdir_of(machine)
        self.confdir = Path(confdir).expanduser().absolute()
        self.record = TrustRecord(self.confdir)
        self.failed = False

    def command(self, act: str) -> str:
        """The command line for *act* on the same folder."""
        return trust_advice.command(
            act, self.confdir, system=self.machine.system, home=self.machine.home
        )

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other starts of this user from the record and the stores.

        Raises:
            BusyError: Another one is at work.
        """
        with contextlib.ExitStack() as stack:
            try:
                number = os.open(self.machine.home, os.O_RDONLY)
                stack.callback(os.close, number)
                lock(number)
            except BlockingIOError:
                raise BusyError(
                    "another `trust` is at work: wait until it has ended, or answer what "
                    "it asks, then start this again"
                ) from None
            except OSError:
                pass  # some network file systems have no locks
            yield

    def chosen(self, name: str) -> bool:
        """Tell whether it is about stores of that name."""
        return not self.flags.store or name in self.flags.store

    def ask(self, question: str) -> None:
        """Return if the user says yes.

        Raises:
            Refused: He does not, or cannot be asked.
        """
        if self.flags.yes:
            return
        if not sys.stdin.isatty():
            raise Refused("no terminal to ask on: add --yes to agree in advance")
        try:
            answer = input(f"{question} [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes"):
            raise Refused("nothing was done, as you did not agree")

    def sudo(self) -> None:
        """Tell who is root by sudo whose browsers and whose CA this is about.

        Raises:
            AuthorityError: That is hardly meant: no folder is named.
        """
        user = self.machine.environ.get("SUDO_USER", "")
        if not self.machine.is_root() or user in ("", "root"):
            return
        whose = (
            "you are root by sudo: this is about root's browsers and the CA in "
            f"{self.confdir}, while {user}'s programs have their own. Start it as {user}, "
            "without sudo, which it calls where it must"
        )
        if not self.flags.confdir:
            raise AuthorityError(
                f"{whose}. If the proxy itself runs as root, add --confdir {self.confdir}"
            )
        print(f"WARNING: {whose}.")

    def line(self, name: str, text: str, *, failed: bool = False) -> None:
        """Print one line about a store."""
        print(f"{name:{WIDTH}}{text}", flush=True)
        self.failed = self.failed or failed

    def show(self, certificate: Certificate) -> None:
        """Print what there is to know of the CA."""
        self.line("CA", str(self.confdir / KEYS[0]))
        self.line("subject", certificate.subject)
        valid = f"{certificate.begins:%Y-%m-%d} to {certificate.ends:%Y-%m-%d}"
        if not certificate.is_valid:
            valid += ": NOT VALID NOW"
        self.line("valid", valid)
        self.line("SHA-256", certificate.fingerprint)

    def warn_of_loose(self) -> None:
        """Tell what others could read or change, with the commands that repair it."""
        found = loose(self.machine, self.confdir)
        for each in found:
            print(f"WARNING: {each}")
        if found:
            print(
                "If somebody may have copied the key, move the CA away: another is made."
            )
