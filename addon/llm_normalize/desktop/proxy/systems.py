"""The proxy settings of this machine's desktop."""

from ..machine import Machine
from .gnome import USERS, Gnome
from .gnome import is_here as gnome_is_here
from .kde import Kde
from .kde import version as kde_version
from .settings import ProxyError, Settings

KNOWN: tuple[type[Settings], ...] = (Gnome, Kde)


def choose(machine: Machine) -> Settings | None:
    """The settings of *machine*, None where it has none that are known."""
    desktops = set(machine.environ.get("XDG_CURRENT_DESKTOP", "").split(":"))
    if "KDE" in desktops and kde_version(machine):
        return Kde(machine)
    if desktops & USERS and gnome_is_here(machine):
        return Gnome(machine)
    return None


def named(name: str, machine: Machine) -> Settings:
    """The settings with that *name*.

    Raises:
        ProxyError: There are none.
    """
    for each in KNOWN:
        if each.name == name:
            return each(machine)
    raise ProxyError(f"nothing is known of {name[:40]!r}'s proxy settings")
