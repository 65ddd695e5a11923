"""The proxy setting of the desktop, read and never written."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from . import tunnel as check_wire
from .finding import (
    DEFAULT,
    Finding,
    Mark,
    Way,
    address,
    is_loopback,
    legible,
    masked,
    script,
    variable,
)
from ..machine import Machine
from ..proxy.gnome import Gnome
from ..proxy.kde import Kde
from ..proxy.kde import version as kde_version
from ..proxy.macos import MacOs
from ..proxy.settings import Settings
from ..proxy.systems import choose
from ..proxy.windows import Windows

STEP = "system proxy"
TIMEOUT = 3
GNOME = "org.gnome.system.proxy"
WINDOWS = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings"


@dataclass(frozen=True)
class Desktop:
    """What a desktop says.

    Attributes:
        name: Which desktop.
        kind: Nothing, one address, a PAC file's address, or found by the network.
        value: The proxy for https://, or where the PAC file is.
        off: The command that turns it off.
    """

    name: str
    kind: Literal["none", "manual", "pac", "auto"]
    value: str = ""
    off: str = ""


# Readers


def read(machine: Machine) -> Desktop | None:
    """Return the setting, None if there is no desktop that run.py could switch."""
    settings = choose(machine)
    return None if settings is None else READERS[type(settings)](machine)


def _gnome(machine: Machine) -> Desktop | None:
    def get(schema: str, key: str) -> str:
        outcome = machine.run(["gsettings", "get", schema, key], timeout=TIMEOUT)
        return "" if outcome.code else outcome.out.strip().strip("'\"")

    mode = get(GNOME, "mode")
    off = f"gsettings set {GNOME} mode none"
    if mode == "manual":
        for scheme in ("https", "http"):
            host = get(f"{GNOME}.{scheme}", "host")
            port = get(f"{GNOME}.{scheme}", "port")
            if host:
                return Desktop("GNOME", "manual", f"{host}:{port}", off)
        return Desktop("GNOME", "none")
    if mode == "auto":
        url = get(GNOME, "autoconfig-url")
        return Desktop("GNOME", "pac" if url else "auto", url, off)
    return Desktop("GNOME", "none") if mode == "none" else None


def _kde(machine: Machine) -> Desktop | None:
    program = f"kreadconfig{kde_version(machine)}"

    def get(key: str) -> str:
        command = [program, "--file", "kioslaverc", "--group", "Proxy Settings"]
        outcome = machine.run([*command, "--key", key], timeout=TIMEOUT)
        return "" if outcome.code else outcome.out.strip()

    writer = program.replace("read", "write")
    off = f"{writer} --file kioslaverc --group 'Proxy Settings' --key ProxyType 0"
    kind = get("ProxyType")
    if kind == "1":
        # KDE puts a blank between address and port.
        value = (get("httpsProxy") or get("httpProxy")).replace(" ", ":")
        return Desktop("KDE", "manual" if value else "none", value, off)
    if kind == "2":
        return Desktop("KDE", "pac", get("Proxy Config Script"), off)
    return Desktop("KDE", "auto" if kind == "3" else "none", "", off)


def _macos(machine: Machine) -> Desktop | None:
    outcome = machine.run(["scutil", "--proxy"], timeout=TIMEOUT)
    if outcome.code:
        return None
    told = dict(re.findall(r"^\s+(\w+) : (.*?)\s*$", outcome.out, re.MULTILINE))
    service = "networksetup -set{}state Wi-Fi off  # or the service that you use"
    if told.get("ProxyAutoConfigEnable") == "1":
        url = told.get("ProxyAutoConfigURLString", "")
        return Desktop("macOS", "pac", url, service.format("autoproxy"))
    for kind in ("HTTPS", "HTTP"):
        if told.get(f"{kind}Enable") == "1":
            value = f"{told.get(f'{kind}Proxy', '')}:{told.get(f'{kind}Port', '80')}"
            which = "securewebproxy" if kind == "HTTPS" else "webproxy"
            return Desktop("macOS", "manual", value, service.format(which))
    is_auto = told.get("ProxyAutoDiscoveryEnable") == "1"
    return Desktop("macOS", "auto" if is_auto else "none")


def _windows(machine: Machine) -> Desktop | None:
    outcome = machine.run(["reg", "query", WINDOWS], timeout=TIMEOUT)
    if outcome.code:
        return None
    told = dict(
        re.findall(r"^\s+(\w+)\s+REG_\w+ +(.*?)\s*$", outcome.out, re.MULTILINE)
    )
    if told.get("AutoConfigURL"):
        off = f'reg delete "{WINDOWS}" /v AutoConfigURL /f'
        return Desktop("Windows", "pac", told["AutoConfigURL"], off)
    if int(told.get("ProxyEnable", "0"), 16) and told.get("ProxyServer"):
        # Either one for all, or `http=HOST:PORT;https=HOST:PORT`.
        each = dict(re.findall(r"(\w+)=([^;]+)", told["ProxyServer"]))
        value = each.get("https") or each.get("http") or told["ProxyServer"]
        off = f'reg add "{WINDOWS}" /v ProxyEnable /t REG_DWORD /d 0 /f'
        return Desktop("Windows", "manual", value, off)
    return Desktop("Windows", "none")


READERS: dict[type[Settings], Callable[[Machine], Desktop | None]] = {
    Gnome: _gnome,
    Kde: _kde,
    MacOs: _macos,
    Windows: _windows,
}


# What it means


def leads_here(desktop: Desktop | None, way: Way) -> bool:
    """Tell whether programs that follow the desktop come to the proxy."""
    if desktop is None:
        return False
    found = address(desktop.value) if desktop.kind in ("manual", "pac") else None
    return found is not None and way.is_here(found[1], found[2])


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
    if desktop is None or desktop.kind in ("none", "auto"):
        return _none(machine, way, desktop, has_variables=has_variables)
    what = "PAC file " if desktop.kind == "pac" else ""
    says = f"{desktop.name}: {what}{masked(desktop.value)}"
    found = address(desktop.value)
    if found is None:
        return Finding(Mark.FAIL, STEP, f"{says} is no address", desktop.off)
    _, host, port = found
    if is_loopback(host) and not check_wire.listens(host, port):
        saw = f"{says}: nothing listens there, programs that follow it are cut off "
        saw += "or go past the proxy"
        start = script(machine, "run.py", *([] if port == 8080 else ["-p", str(port)]))  # noqa: PLR2004
        return Finding(Mark.FAIL, STEP, saw, f"{desktop.off}, or: {start}")
    if leads_here(desktop, way):
        return Finding(Mark.OK, STEP, f"{says} leads here")
    mend = f"{_run(machine, way)} --system-proxy"
    if desktop.kind == "pac":
        mend = f"{_run(machine, way)} --pac"
    elif not is_loopback(host):
        mend += f" --upstream-proxy http://{host}:{port}"
    return Finding(Mark.WARN, STEP, f"{says} leads to another proxy", mend)


def _none(
    machine: Machine, way: Way, desktop: Desktop | None, *, has_variables: bool
) -> Finding:
    """Return the line where no address is set."""
    if desktop is None:
        saw = "there is no desktop here whose setting could be read"
        if machine.system == "linux":
            named = machine.environ.get("XDG_CURRENT_DESKTOP", "")
            saw += f" (XDG_CURRENT_DESKTOP is {legible(named) or 'not set'})"
    elif desktop.kind == "none":
        saw = f"{desktop.name} sets none"
    else:
        saw = f"{desktop.name} asks the network for one"
    if has_variables:
        mark = Mark.SKIP if desktop is None else Mark.OK
        return Finding(mark, STEP, f"{saw}; this shell's variables lead here")
    saw += ", and no variable leads here: programs come only if set one by one"
    mend = variable(machine, "HTTPS_PROXY", way.url)
    if choose(machine) is not None:  # whose settings run.py knows to switch
        mend = f"{_run(machine, way)} --pac, or: {mend}"
    return Finding(Mark.WARN, STEP, saw, mend)


def _run(machine: Machine, way: Way) -> str:
    """Return the command that starts the proxy on its port."""
    port = [] if way.port == DEFAULT else ["-p", str(way.port)]
    return script(machine, "run.py", *port)
