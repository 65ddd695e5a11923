"""The proxy setting of the desktop, as run switches it; nothing is written."""

from typing import NamedTuple
from urllib.parse import urlsplit

from ..desktop import local_server
from ..desktop.machine import Machine
from ..desktop.proxy.settings import InForce, ProxyError, Settings
from ..desktop.proxy.switch import choose
from ..desktop.proxy.variables import Address, parse
from ..text.network_address import is_loopback
from ..text.printable import brief
from .finding import Finding, Mark, Way, masked, run, variable

STEP = "system proxy"


class Desktop(NamedTuple):
    """A desktop's settings.

    Attributes:
        settings: Whose.
        found: What is in force, None if it cannot be read.
        error: Why it cannot be.
    """

    settings: Settings
    found: InForce | None
    error: str = ""

    @property
    def value(self) -> str:
        """Where programs look: the PAC file's address, or the proxy; empty for neither."""
        return (self.found.pac or self.found.proxy) if self.found else ""


def read(machine: Machine) -> Desktop | None:
    """The desktop's setting; None without a desktop that `run` can switch."""
    settings = choose(machine)
    if settings is None:
        return None
    try:
        return Desktop(settings, settings.current())
    except ProxyError as error:
        return Desktop(settings, None, str(error))


def leads_here(desktop: Desktop | None, way: Way) -> bool:
    """Tell whether programs that follow the desktop come to the proxy."""
    if desktop is None:
        return False
    found = _address(desktop.value)
    return found is not None and way.is_here(found.host, found.port)


def _address(value: str) -> Address | None:
    """Return where a setting's proxy, or the server of its PAC file, listens."""
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
    except ValueError:
        return None
    return parse(f"{parts.scheme}://{parts.netloc}")


def judge(
    machine: Machine, way: Way, desktop: Desktop | None, *, has_variables: bool
) -> Finding:
    """Return the step's line.

    Args:
        machine: The machine.
        way: The proxy.
        desktop: Its setting.
        has_variables: Whether this shell's variables lead to the proxy.
    """
    if desktop is None or desktop.found is None or not desktop.value:
        return _none(machine, way, desktop, has_variables=has_variables)
    is_pac = bool(desktop.found.pac)
    says = f"{desktop.settings.name}: {'PAC file ' * is_pac}{masked(desktop.value)}"
    off = desktop.settings.off(desktop.found)
    found = _address(desktop.value)
    if found is None:
        return Finding(Mark.FAIL, STEP, f"{says} is not an address", off)
    if is_loopback(found.host) and not local_server.listens(found.host, found.port):
        saw = f"{says}: nothing listens there, programs that follow it are cut off "
        saw += "or go past the proxy"
        return Finding(Mark.FAIL, STEP, saw, f"{off}, or: {run(machine, found.port)}")
    if leads_here(desktop, way):
        return Finding(Mark.OK, STEP, f"{says} points to this proxy")
    repair = run(machine, way.port, "--pac" if is_pac else "--system-proxy")
    if not is_pac and not is_loopback(found.host):
        repair += f" --upstream-proxy {found.url}"
    return Finding(Mark.WARN, STEP, f"{says} points to another proxy", repair)


def _none(
    machine: Machine, way: Way, desktop: Desktop | None, *, has_variables: bool
) -> Finding:
    """Return the line where no address is set."""
    if desktop is None:
        saw = "no desktop found whose setting can be read"
        if machine.system == "linux":
            named = machine.environ.get("XDG_CURRENT_DESKTOP", "")
            saw += f" (XDG_CURRENT_DESKTOP is {brief(named) or 'not set'})"
    elif desktop.found is None:
        saw = brief(desktop.error)
    elif desktop.found.is_searched:
        saw = f"{desktop.settings.name} asks the network for one"
    else:
        saw = f"{desktop.settings.name} sets none"
    if has_variables:
        is_known = desktop is not None and desktop.found is not None
        mark = Mark.OK if is_known else Mark.SKIP
        return Finding(mark, STEP, f"{saw}; this shell's variables name this proxy")
    saw += ", and no variable names this proxy: set each program by itself"
    repair = variable(machine, "HTTPS_PROXY", way.url)
    if desktop is not None and desktop.found is not None:  # which run can switch
        repair = f"{run(machine, way.port, '--pac')}, or: {repair}"
    return Finding(Mark.WARN, STEP, saw, repair)
