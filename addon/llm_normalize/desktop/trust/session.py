"""One start of `llm-normalize trust`: its folder, its user, the lines it prints, and its lock.

Folders are locked, without a file that would stay in them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...home import trust_advice
from ...records.private_file import lock
from ..machine import Machine
from .authority import KEYS, AuthorityError, confdir_of, loose
from .certificate import Certificate
from .record import TrustRecord

WIDTH = 14
_STEP = 0.1  # seconds between looks


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
        """Keep other starts from this folder, this user's browsers and this system.

        Raises:
            BusyError: Another one is at work.
        """
        system = self.machine.root_folder / "etc" / "ssl" / "certs"
        own = [each for each in (self.confdir, self.machine.home) if each.is_dir()]
        shared = [system] if system.is_dir() and self.chosen("system") else []
        with locked(own, shared) as warnings:
            for warning in warnings:
                print(f"WARNING: {warning}")
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

    def sudo(self, *, unused: bool = False) -> None:
        """Tell who is root by sudo whose browsers and whose CA this is about.

        Args:
            unused: Whether root's folder has not been used so far.

        Raises:
            AuthorityError: That cannot be meant: a CA that no proxy uses, or files of
                root's in the user's own folder.
        """
        user = self.machine.environ.get("SUDO_USER", "")
        if not self.machine.is_root() or user in ("", "root"):
            return
        whose = (
            "you are root by sudo: this is about root's browsers and the CA in "
            f"{self.confdir}, while {user}'s programs have their own. Start it as {user}, "
            "without sudo, which it calls where it must"
        )
        is_theirs = unused or self.machine.home.stat().st_uid != 0
        if is_theirs and not self.flags.confdir:
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

    def repair_permissions(self) -> None:
        """Report what others could read, and repair it if the user agrees."""
        found = loose(self.machine, self.confdir)
        for each in found:
            print(f"WARNING: {each}")
        if not found:
            return
        print("If somebody may have copied the key, move the CA away: another is made.")
        try:
            self.ask("Repair that?")
        except Refused as refused:
            if not sys.stdin.isatty():
                raise
            print(f"Not repaired: {refused}.")
            return
        for each in found:
            try:
                each.path.chmod(each.wanted)
            except OSError as error:
                print(f"{each.path}: {error.strerror}: not repaired")
                self.failed = True


@contextlib.contextmanager
def locked(
    folders: Iterable[Path], shared: Iterable[Path] = (), seconds: float = 30
) -> Iterator[list[str]]:
    """Hold *folders*, which are there, against other starts; lend what could not be locked.

    Args:
        folders: What is this user's.
        shared: What other users' starts hold, too, for a moment.
        seconds: How long to wait for one of those.

    Raises:
        BusyError: Another start holds one of them.
    """
    warnings = []
    waits = {**dict.fromkeys(folders, 0.0), **dict.fromkeys(shared, seconds)}
    with contextlib.ExitStack() as stack:
        for folder, wait in waits.items():
            try:
                _lock(folder, stack, time.monotonic() + wait)
            except BlockingIOError:
                raise BusyError(
                    f"another `trust` is at work (it holds {folder}): wait until it has "
                    "ended, or answer what it asks, then start this again"
                ) from None
            except OSError as error:
                warnings.append(
                    f"{folder} cannot be locked ({error.strerror}): start no second "
                    "`trust` until this one has ended"
                )
        yield warnings


def _lock(folder: Path, stack: contextlib.ExitStack, until: float) -> None:
    number = os.open(folder, os.O_RDONLY)
    stack.callback(os.close, number)
    while True:
        try:
            lock(number)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(_STEP)
        else:
            return
