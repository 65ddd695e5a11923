"""A Mac's proxy settings: each of its network services has its own (`networksetup`).

The commands and what they print are those of networksetup(8). What is in force is that of
the services in use, which scutil(8) prints.
"""

import re
from typing import override

from ...text.authority import bracketed
from ..machine import Result
from .settings import (
    InForce,
    ProxyError,
    Settings,
    Target,
    Values,
    bypassing,
)

WEB, SECURE, SCRIPT, SEARCH, BYPASS = (
    "webproxy",
    "securewebproxy",
    "autoproxy",
    "proxyautodiscovery",
    "proxybypassdomains",
)
KINDS = (WEB, SECURE, SCRIPT, SEARCH, BYPASS)
NOTE = "An asterisk (*)"
ASKS = "asks for a password"
_DYNAMIC = re.compile(r"^\s+(\w+) : (.*?)\s*$", re.MULTILINE)
_NO_DOMAINS = re.compile(r"^There aren't any bypass domains")


class MacOs(Settings):
    """A Mac's settings.

    A value's name is `KIND SERVICE`. Its text is `on HOST:PORT`, `off HOST:PORT`, `on URL`
    and the like, or one domain a line. None is what a service has that nobody has set up.
    """

    name = "macOS"

    def _run(self, *arguments: str) -> str:
        outcome = self.machine.run(["networksetup", *arguments])
        if outcome.out.startswith("**") and not outcome.code:  # it says 0 all the same
            outcome = Result(1, outcome.out)
        return self.ran(outcome)

    def _services(self) -> list[str]:
        # A service with an asterisk is switched off, and may be on again at any time.
        lines = self._run("-listallnetworkservices").splitlines()
        return [line.removeprefix("*") for line in lines if not line.startswith(NOTE)]

    @override
    def read(self) -> Values:
        return {
            f"{kind} {service}": self._value(kind, service)
            for service in self._services()
            for kind in KINDS
        }

    def _value(self, kind: str, service: str) -> str | None:
        if kind == BYPASS:
            out = self._run(f"-get{kind}", service).strip()
            return None if _NO_DOMAINS.match(out) else out
        if kind == SEARCH:
            out = self._run(f"-get{kind}", service)
            return "on" if out.strip().lower().endswith(": on") else None
        if kind == SCRIPT:
            settings = _fields(self._run("-getautoproxyurl", service))
            url = settings.get("URL", "").removeprefix("(null)")
            return _text(settings, url)
        settings = _fields(self._run(f"-get{kind}", service))
        if settings.get("Authenticated Proxy Enabled", "0") != "0":
            return ASKS
        server = settings.get("Server", "").removeprefix("(null)")
        return _text(
            settings, f"{server}:{settings.get('Port', '0')}" if server else ""
        )

    @override
    def wanted(self, target: Target, before: Values) -> Values:
        values: Values = {}
        for service in dict.fromkeys(name.partition(" ")[2] for name in before):
            if target.pac:
                values[f"{SEARCH} {service}"] = None
                values[f"{SCRIPT} {service}"] = f"on {target.url}"
                continue
            given = (before[f"{BYPASS} {service}"] or "").splitlines()
            values[f"{BYPASS} {service}"] = "\n".join(bypassing(given))
            # A script, or the search for one, would come before the proxy.
            values[f"{SEARCH} {service}"] = None
            script = before[f"{SCRIPT} {service}"]
            if script and script.startswith("on "):
                values[f"{SCRIPT} {service}"] = f"off {script[3:]}"
            for kind in (WEB, SECURE):
                if before[f"{kind} {service}"] == ASKS:
                    raise ProxyError(
                        f"macOS: the proxy of {service!r} asks for a password, which "
                        "networksetup does not show, so it could not be restored"
                    )
                values[f"{kind} {service}"] = f"on {target.place}"
        return values

    @override
    def write(self, values: Values) -> None:
        for name, value in values.items():
            kind, _, service = name.partition(" ")
            if kind == BYPASS:
                domains = ["Empty"] if value is None else value.splitlines()
                self._run(f"-set{kind}", service, *domains)
            elif kind == SEARCH:
                self._run(f"-set{kind}", service, value or "off")
            else:
                self._set(kind, service, value or "off ")

    def _set(self, kind: str, service: str, value: str) -> None:
        state, _, place = value.partition(" ")
        command = "-setautoproxyurl" if kind == SCRIPT else f"-set{kind}"
        parts = [place] if kind == SCRIPT else [*place.rpartition(":")[::2]]
        if place:
            self._run(command, service, *parts)
        else:  # whether an address can be emptied is no matter: it is off
            self.machine.run(["networksetup", command, service, *parts])
        # Setting an address turns it on, too.
        self._run(f"-set{kind}state", service, state)

    @override
    def in_force(self, values: Values) -> InForce:
        proxy = pac = ""
        is_searched = False
        for name, value in values.items():
            kind = name.partition(" ")[0]
            place = value[3:] if value and value.startswith("on ") else ""
            if kind == SEARCH:
                is_searched = is_searched or value == "on"
            elif kind == SCRIPT:
                pac = pac or place
            elif kind in {WEB, SECURE}:
                proxy = proxy or place
        return InForce(proxy, pac, is_searched)

    def current(self) -> InForce:
        """The setting in force: of the services, those in use count alone."""
        found = dict(
            _DYNAMIC.findall(self.ran(self.machine.run(["scutil", "--proxy"])))
        )
        proxy = pac = ""
        for kind in ("HTTP", "HTTPS"):
            if found.get(f"{kind}Enable") == "1" and found.get(f"{kind}Proxy"):
                port = found.get(f"{kind}Port", "80")
                proxy = f"{bracketed(found[f'{kind}Proxy'])}:{port}"
        if found.get("ProxyAutoConfigEnable") == "1":
            pac = found.get("ProxyAutoConfigURLString", "")
        return InForce(proxy, pac, found.get("ProxyAutoDiscoveryEnable") == "1")

    @override
    def off(self, found: InForce) -> str:
        kind = SCRIPT if found.pac else SECURE
        command = f"networksetup -set{kind}state Wi-Fi off"
        if not found.pac:
            command += f"; networksetup -set{WEB}state Wi-Fi off"
        return f"{command}  # or the service that you use"

    @override
    def agrees(self, wanted: str | None, found: str | None) -> bool:
        # An address that is off does nothing, and not every one can be emptied.
        off = [value is None or value.startswith("off") for value in (wanted, found)]
        return wanted == found or all(off)


def _fields(out: str) -> dict[str, str]:
    """Parse networksetup's lines `Name: value`."""
    lines = [line.partition(":") for line in out.splitlines()]
    return {name.strip(): value.strip() for name, _, value in lines}


def _text(settings: dict[str, str], place: str) -> str | None:
    if settings.get("Enabled") == "Yes":
        return f"on {place}"
    return f"off {place}" if place else None
