"""Which proxy settings this system has."""

from ..machine import Machine
from .gnome import USERS, Gnome
from .gnome import is_here as gnome_is_here
from .kde import Kde
from .kde import version as kde_version
from .macos import MacOs
from .settings import ProxyError, Settings
from .windows import Windows

KNOWN: tuple[type[Settings], ...] = (Gnome, Kde, MacOs, Windows)


def choose(machine: Machine) -> Settings | None:
    """Return the settings of *machine*, None where it has none that are known."""
    if machine.system == "macos":
        return MacOs(machine)
    if machine.system == "windows":
        return Windows(machine)
    desktops = set(machine.environ.get("XDG_CURRENT_DESKTOP", "").split(":"))
    if "KDE" in desktops and kde_version(machine):
        return Kde(machine)
    if desktops & USERS and gnome_is_here(machine):
        return Gnome(machine)
    return None


def named(name: str, machine: Machine) -> Settings:
    """Return the settings with that *name*.

    Raises:
        ProxyError: There are none.
    """
    for each in KNOWN:
        if each.name == name:
            return each(machine)
    raise ProxyError(f"nothing is known of {name[:40]!r}'s proxy settings")
