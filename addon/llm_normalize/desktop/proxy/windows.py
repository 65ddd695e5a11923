"""Windows' proxy settings: values of the user's registry, and a signal to the programs that use them.

WinINET reads them (learn.microsoft.com, "Internet Settings" and InternetSetOption); so do
Chrome, Edge, Electron and .NET, which read them again upon that signal.
"""

import re
import sys
from typing import override

from .settings import (
    InForce,
    ProxyError,
    Settings,
    Target,
    Values,
    bypassing,
)

KEY = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Internet Settings"
ENABLE, SERVER, OVERRIDE, SCRIPT = (
    "ProxyEnable",
    "ProxyServer",
    "ProxyOverride",
    "AutoConfigURL",
)
NAMES = (OVERRIDE, SCRIPT, SERVER, ENABLE)
BYPASS = ("localhost", "127.*", "[::1]")
TELL = """
import ctypes
for option in (39, 37):  # INTERNET_OPTION_SETTINGS_CHANGED, INTERNET_OPTION_REFRESH
    if not ctypes.windll.wininet.InternetSetOptionW(0, option, 0, 0):
        raise SystemExit(f"InternetSetOption({option}) failed")
"""


class Windows(Settings):
    """Windows' settings; a value is its type and its data, as `reg` prints them."""

    name = "Windows"

    @override
    def read(self) -> Values:
        out = self.ran(self.machine.run(["reg", "query", KEY]))
        if "\ufffd" in "".join(line for line in out.splitlines() if _is_ours(line)):
            raise ProxyError(
                "Windows' proxy settings have letters that reg cannot print"
            )
        return {name: _value(out, name) for name in NAMES}

    @override
    def wanted(self, target: Target, before: Values) -> Values:
        if target.pac:
            return {SCRIPT: f"REG_SZ {target.url}"}
        given = [each.strip() for each in _data(before[OVERRIDE]).split(";")]
        bypassed = bypassing([each for each in given if each], BYPASS)
        return {
            OVERRIDE: f"REG_SZ {';'.join(bypassed)}",
            SCRIPT: None,  # it would come before the proxy
            SERVER: f"REG_SZ {target.place}",
            ENABLE: "REG_DWORD 0x1",
        }

    @override
    def write(self, values: Values) -> None:
        for name, value in values.items():
            if value is None:
                # There may be none to delete: whether it is gone, the caller reads.
                self.machine.run(["reg", "delete", KEY, "/v", name, "/f"])
                continue
            kind, _, data = value.partition(" ")
            command = ["reg", "add", KEY, "/v", name, "/t", kind, "/d", data, "/f"]
            self.ran(self.machine.run(command))
        self.ran(self.machine.run([sys.executable, "-c", TELL]))

    @override
    def in_force(self, values: Values) -> InForce:
        proxy = ""
        if _data(values[ENABLE]) == "0x1":
            proxy = _data(values[SERVER])
            if "=" in proxy:  # one for each scheme: http=host:port;https=host:port
                parts = dict(each.partition("=")[::2] for each in proxy.split(";"))
                proxy = parts.get("https", parts.get("http", ""))
        return InForce(proxy.rpartition("//")[2], _data(values[SCRIPT]))

    @override
    def off(self, found: InForce) -> str:
        if found.pac:
            return f'reg delete "{KEY}" /v {SCRIPT} /f'
        return f'reg add "{KEY}" /v {ENABLE} /t REG_DWORD /d 0 /f'

    @override
    def belonging(self, changed: set[str]) -> set[str]:
        tied = {SERVER, ENABLE}
        return changed | (tied if changed & tied else set())


def _is_ours(line: str) -> bool:
    return any(line.strip().startswith(name) for name in NAMES)


def _value(out: str, name: str) -> str | None:
    found = re.search(rf"^ +{name} +(REG_\w+)(?: +(.*?))?\r?$", out, re.MULTILINE)
    return f"{found[1]} {found[2] or ''}" if found else None


def _data(value: str | None) -> str:
    return (value or "").partition(" ")[2]
