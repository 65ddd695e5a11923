"""What the service runs: mitmdump with its settings and the user's arguments."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ...text.network_address import LOCAL
from ..machine import Machine
from ..mitmproxy_program import program, script
from ..trust.authority import confdir_of
from . import unit

LONG_RUNNING = (
    # A model may be silent for long; mitmproxy's own 10 minutes would cut it off.
    "tcp_timeout=1800",
    # Of what is read to its end: requests, and answers that are no streams.
    "body_size_limit=64m",
    # What passes is in the pairs log; a URL's query may hold a key.
    "flow_detail=0",
)
"""What any mitmdump that runs unattended is started with."""
SETTINGS = (
    *LONG_RUNNING,
    # The log says what is wrong.
    "termlog_verbosity=warn",
)
"""What the service's mitmdump is started with, unless the user says otherwise."""
_SECRETS = ("proxyauth", "upstream_auth")


class ServiceError(Exception):
    """Why it was not done and what to do, as one sentence; `lines` say more."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


class ServiceCallError(ServiceError):
    """The command line is wrong, whatever this machine is like."""

    code = 2


class Plan(NamedTuple):
    """What is to run.

    Attributes:
        command: mitmdump and its arguments.
        environment: The file with variables for it.
        listens: Where it will listen.
    """

    command: list[str]
    environment: Path
    listens: unit.Listens


def _value(arguments: Sequence[str], *names: str) -> str:
    """The value of an option in *arguments*; of names with "=", by `--set`."""
    found = ""
    for place, argument in enumerate(arguments):
        word = argument.removeprefix("--set=")
        for name in names:
            if name.endswith("=") and word.startswith(name):
                found = word.removeprefix(name)
            elif argument == name:
                found = "".join(arguments[place + 1 : place + 2])
            elif argument.startswith(f"{name}="):
                found = argument.removeprefix(f"{name}=")
            elif name[1:2] != "-" and name[:1] == "-" and argument.startswith(name):
                found = argument.removeprefix(name)  # -mregular
    return found


def plan(machine: Machine, port: int, arguments: Sequence[str]) -> Plan:
    """The plan of a service with the user's *arguments*.

    Raises:
        ServiceCallError: One of them has no place in a unit.
    """
    for name in _SECRETS:
        if _value(arguments, f"--{name.replace('_', '-')}", f"{name}="):
            raise ServiceCallError(
                f"{name} is a secret, which every user can see on a command line: set "
                "it in mitmproxy's config.yaml instead."
            )
    if "@" in _value(arguments, "-m", "--mode", "mode=").rpartition("/")[2]:
        raise ServiceCallError("a mode with @ names a port of its own: use -p instead.")
    if _value(arguments, "listen_port="):
        raise ServiceCallError("set the port with -p.")
    host = _value(arguments, "--listen-host", "listen_host=") or LOCAL
    command = [str(program("mitmdump")), "-s", str(script())]
    # In one spelling, so that the unit can be asked for it.
    rest = _without(arguments, "--listen-host", "listen_host=")
    command += ["--listen-host", host, "--listen-port", str(port)]
    # mitmproxy refuses an option that is given twice: the user's word counts.
    given = {each.removeprefix("--set=").split("=")[0] for each in rest}
    for setting in SETTINGS:
        if setting.split("=")[0] not in given:
            command += ["--set", setting]
    confdir = _value(arguments, "confdir=") or str(confdir_of(machine))
    folder = machine.home / confdir[2:] if confdir.startswith("~/") else Path(confdir)
    if not folder.is_absolute():
        raise ServiceCallError(f"confdir={confdir}: a service needs the whole path.")
    environment = folder / "normalize" / "service.env"
    return Plan([*command, *rest], environment, unit.Listens(host, port))


def _without(arguments: Sequence[str], flag: str, option: str) -> list[str]:
    """*arguments* without a *flag*, and without a `--set` of its *option*."""
    remaining: list[str] = []
    is_value = False
    for argument in arguments:
        if is_value or argument == flag:
            is_value = not is_value
        elif argument.removeprefix("--set=").startswith(option):
            if remaining[-1:] == ["--set"]:
                remaining.pop()
        elif not argument.startswith(f"{flag}="):
            remaining.append(argument)
    return remaining
