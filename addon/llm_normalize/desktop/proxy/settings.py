"""The proxy settings of a system, whatever keeps them: what there is to know of them.

A desktop keeps them as values by name: keys of GNOME's, entries of KDE's. None is a
value that is not set, which is something else than a default that somebody has set.
"""

import abc
from collections.abc import Sequence
from typing import NamedTuple

from ..machine import Machine, Result

Values = dict[str, str | None]

BYPASS = ("localhost", "127.0.0.0/8", "::1")
"""What never goes through a proxy that listens on this machine."""


class ProxyError(Exception):
    """Why the system's proxy settings cannot be used, and the repair, as one sentence."""


class Target(NamedTuple):
    """Where programs are to be sent.

    Attributes:
        host: Where the proxy listens.
        port: Its port.
        pac: Whether by a PAC address, so that listed hosts alone go there.
    """

    host: str
    port: int
    pac: bool

    @property
    def url(self) -> str:
        """The PAC address."""
        return f"http://{self.host}:{self.port}/proxy.pac"

    @property
    def place(self) -> str:
        """The proxy as host:port."""
        return f"{self.host}:{self.port}"


class InForce(NamedTuple):
    """What settings make programs do.

    Attributes:
        proxy: host:port of the proxy for HTTPS; empty for none.
        pac: The PAC address, which comes before the proxy; empty for none.
        is_searched: Whether they search the network for a PAC address (WPAD).
    """

    proxy: str = ""
    pac: str = ""
    is_searched: bool = False


class Settings(abc.ABC):
    """The proxy settings of one system.

    Attributes:
        name: Whose they are, for people.
        machine: Where they are.
    """

    name: str

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @abc.abstractmethod
    def read(self) -> Values:
        """All values that `wanted` may change.

        Raises:
            ProxyError: They cannot be read.
        """

    @abc.abstractmethod
    def wanted(self, target: Target, before: Values) -> Values:
        """The values to set for *target*: addresses first, the switches last.

        Args:
            target: Where to.
            before: What is set, of which the user's exceptions stay.

        Raises:
            ProxyError: The user's exceptions cannot be read.
        """

    @abc.abstractmethod
    def write(self, values: Values) -> None:
        """Set *values*, in their order, and tell the programs that run.

        Raises:
            ProxyError: The system refuses.
        """

    @abc.abstractmethod
    def in_force(self, values: Values) -> InForce:
        """The setting that *values* put in force."""

    def effective(self) -> Values:
        """The values in effect for programs, of those that `read` returns.

        Raises:
            ProxyError: They cannot be read.
        """
        return self.read()

    def current(self) -> InForce:
        """The setting now in force on this system.

        Raises:
            ProxyError: It cannot be read.
        """
        return self.in_force(self.effective())

    @abc.abstractmethod
    def off(self, found: InForce) -> str:
        """The command that turns off what was *found* in force, for people."""

    def belonging(self, changed: set[str]) -> set[str]:
        """The names that make no sense without the *changed* ones."""
        return changed

    def keep(self) -> str | None:
        """Further data for a restore to the byte, if the values alone are too little."""
        return None

    def put_back(self, backup: str | None, names: Sequence[str]) -> None:  # noqa: B027 - most have nothing else
        """Put back what `keep` returned, after the values of these *names*."""

    def ran(self, outcome: Result) -> str:
        """The output of a command.

        Raises:
            ProxyError: It failed.
        """
        if outcome.code:
            raise ProxyError(f"{self.name}'s proxy settings: {outcome.last_line}")
        return outcome.out


def bypassing(given: Sequence[str]) -> list[str]:
    """The exceptions in *given*, and those of BYPASS that are not among them."""
    return [*given, *(each for each in BYPASS if each not in given)]
