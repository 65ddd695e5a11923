"""Macs and Windows machines that are not here: their commands, with what they change."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from llm_normalize.desktop.machine import Machine, Result
from llm_normalize.desktop.proxy.windows import KEY

_DOMAINS = "There aren't any bypass domains set on {}."


@dataclass
class Service:
    """A network service of a Mac, as System Settings shows it."""

    web: tuple[bool, str, str] = (False, "", "0")
    secure: tuple[bool, str, str] = (False, "", "0")
    script: tuple[bool, str] = (False, "(null)")
    search: bool = False
    domains: tuple[str, ...] = ("*.local", "169.254/16")
    login: bool = False


@dataclass(frozen=True)
class Mac(Machine):
    """A machine with networksetup, in the words of its manual page.

    Attributes:
        services: By name; one that begins with an asterisk is switched off.
        ran: The commands, without the program.
    """

    services: dict[str, Service] = field(default_factory=dict)
    ran: list[list[str]] = field(default_factory=list)

    def find(self, program: str) -> str | None:
        return f"/usr/sbin/{program}" if program == "networksetup" else None

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        program, verb, *given = command
        assert program == "networksetup"
        self.ran.append([verb, *given])
        if verb == "-listallnetworkservices":
            note = "An asterisk (*) denotes that a network service is disabled."
            return Result(0, "\n".join([note, *self.services, ""]))
        named = {name.removeprefix("*"): each for name, each in self.services.items()}
        if given[0] not in named:
            # It ends with 0 here, as it does.
            return Result(0, "** Error: The parameters were not valid.\n")
        return Result(0, _networksetup(named[given[0]], verb, given))


def _networksetup(service: Service, verb: str, given: list[str]) -> str:
    name, *values = given
    kinds = {"webproxy": "web", "securewebproxy": "secure"}
    kind = kinds.get(verb[4:].removesuffix("state"))
    if kind:
        return _proxy(service, kind, verb, values)
    match verb:
        case "-getautoproxyurl":
            is_on, url = service.script
            return f"URL: {url}\nEnabled: {'Yes' if is_on else 'No'}\n"
        case "-setautoproxyurl":
            service.script = (True, values[0] or "(null)")
        case "-setautoproxystate":
            service.script = (values[0] == "on", service.script[1])
        case "-getproxyautodiscovery":
            return f"Auto Proxy Discovery: {'On' if service.search else 'Off'}\n"
        case "-setproxyautodiscovery":
            service.search = values[0] == "on"
        case "-getproxybypassdomains":
            return "\n".join(service.domains or [_DOMAINS.format(name)]) + "\n"
        case "-setproxybypassdomains":
            service.domains = () if values == ["Empty"] else tuple(values)
        case _:
            raise AssertionError(f"networksetup has no {verb}")
    return ""


def _proxy(service: Service, kind: str, verb: str, values: list[str]) -> str:
    is_on, server, port = getattr(service, kind)
    if verb.startswith("-get"):
        return (
            f"Enabled: {'Yes' if is_on else 'No'}\nServer: {server}\nPort: {port}\n"
            f"Authenticated Proxy Enabled: {int(service.login)}\n"
        )
    if verb.endswith("state"):
        setattr(service, kind, (values[0] == "on", server, port))
    else:
        setattr(service, kind, (True, values[0], values[1] or "0"))
    return ""


@dataclass(frozen=True)
class Registry(Machine):
    """A machine with reg.exe and a key of values.

    Attributes:
        values: Type and data by name.
        ran: The commands.
        told: How often WinINET was told.
    """

    values: dict[str, tuple[str, str]] = field(default_factory=dict)
    ran: list[list[str]] = field(default_factory=list)

    def find(self, program: str) -> str | None:
        return rf"C:\Windows\System32\{program}.exe" if program == "reg" else None

    @property
    def reported(self) -> int:
        return sum("InternetSetOptionW" in command[-1] for command in self.ran)

    def run(
        self, command: Sequence[str], *, text: str = "", timeout: float = 60
    ) -> Result:
        self.ran.append(list(command))
        program, *given = command
        if program != "reg":
            assert "InternetSetOptionW" in given[-1]
            return Result(0)
        assert given[1] == KEY
        if given[0] == "query":
            lines = [
                f"    {name}    {kind}    {data}"
                for name, (kind, data) in self.values.items()
            ]
            below = rf"{KEY.replace('HKCU', 'HKEY_CURRENT_USER')}\Connections"
            return Result(0, "\r\n".join(["", KEY, *lines, "", below, ""]))
        name = given[given.index("/v") + 1]
        assert given[-1] == "/f"
        if given[0] == "delete":
            if self.values.pop(name, None) is None:
                return Result(1, err="ERROR: The system was unable to find it.")
            return Result(0)
        assert given[0] == "add"
        kind, data = given[given.index("/t") + 1], given[given.index("/d") + 1]
        assert re.fullmatch(r"REG_(SZ|DWORD|EXPAND_SZ)", kind)
        self.values[name] = (kind, data)
        return Result(0)
