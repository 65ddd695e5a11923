"""Lead a system's programs to the proxy, and put back what was there, no less and no more."""

from pathlib import Path

from ..machine import Machine
from ..processes import Started
from . import state as proxy_state
from .gnome import USERS, Gnome
from .gnome import is_here as gnome_is_here
from .kde import Kde
from .kde import version as kde_version
from .settings import ProxyError, Settings, Target, Values
from .state import State

PATIENCE = 5  # seconds that a proxy which nobody owns has to end
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


def switch(
    settings: Settings, target: Target, folder: Path, owner: Started, proxy: Started
) -> State:
    """Lead *settings* to *target*, after what is set has been saved in *folder*.

    Raises:
        ProxyError: It could not be done. If a state is in *folder* then, some of it was.
    """
    before = settings.read()
    ours = settings.wanted(target, before)
    # Whose own state was lost finds itself there: that is not what was before.
    is_own = (target.url if target.pac else target.place) in settings.in_force(before)
    if is_own:
        before = {
            name: None if ours.get(name) == value else value
            for name, value in before.items()
        }
    changed = {name: value for name, value in ours.items() if before[name] != value}
    state = State(
        settings.name,
        target.place,
        owner,
        proxy,
        {name: before[name] for name in changed},
        changed,
        None if is_own else settings.keep(),
    )
    proxy_state.write(folder, state)
    settings.write(changed)
    found = settings.read()
    for name, value in changed.items():
        if found[name] != value:
            raise ProxyError(f"{settings.name} did not take the proxy setting {name}")
    return state


def restore(machine: Machine, folder: Path, state: State) -> list[str]:
    """Put back what was there before, and forget it.

    Returns:
        The settings that were changed meanwhile, and stay.

    Raises:
        ProxyError: It could not be done; the state stays.
    """
    settings = named(state.settings, machine)
    now = settings.read()
    changed = {
        name
        for name, value in state.ours.items()
        if now[name] not in (value, state.before[name])
    }
    left = settings.belonging(changed) if changed else changed
    back: Values = {
        name: state.before[name]
        for name in reversed(state.ours)  # what turns it on comes first
        if name not in left and now[name] != state.before[name]
    }
    if back:
        settings.write(back)
        found = settings.read()
        for name, value in back.items():
            if found[name] != value:
                raise ProxyError(f"{settings.name} did not take back {name}")
    if not changed:
        settings.put_back(state.kept, list(state.ours))
    proxy_state.remove(folder)
    return sorted(changed)


def end(proxy: Started) -> bool:
    """End a proxy that lost its owner; tell whether there was one."""
    return proxy.end(PATIENCE)
