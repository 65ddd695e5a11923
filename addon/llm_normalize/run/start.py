"""Start mitmproxy, and say what to do next as soon as the addon answers.

mitmproxy takes the place of this process, as if one had started it oneself; where the
system's programs are to be led to it, `system_proxy` stays beside it.
"""

import argparse
import contextlib
import errno
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn
from urllib.parse import urlsplit

from ..desktop.machine import Machine
from ..desktop.mitmproxy_program import program, script
from ..routing import known_providers
from ..text.console import say
from ..text.network_address import HOSTS, LOCAL, address
from . import ports, upstream_proxy
from .child import become
from .handover import SAYS, UPSTREAM_AUTH
from .mitmproxy_options import Plan, plan, refusal
from .start_error import CallError, StartError

CA = "mitmproxy-ca.pem"
ROOM = 1 << 16  # bytes that mitmproxy's CA takes at most
HOOKS = Path(__file__).with_name("hooks.py")


class Start(NamedTuple):
    """What is to be started.

    Attributes:
        program: Its name.
        command: How.
        plan: What it is going to do, None if it prints why it does not serve.
        flag: `--pac` or `--system-proxy` if the system is to be switched, else empty.
        base: The base URL of the provider that `--provider` names, else empty.
        auth: The password of the upstream proxy, else empty.
    """

    program: str
    command: list[str]
    plan: Plan | None
    flag: str
    base: str = ""
    auth: str = ""

    @property
    def variables(self) -> dict[str, str]:
        """What `hooks` finds in the environment."""
        return {UPSTREAM_AUTH: self.auth} if self.auth else {}


def prepared(
    flags: argparse.Namespace, arguments: list[str], machine: Machine
) -> Start:
    """Prepare the start of mitmproxy.

    Raises:
        StartError: It makes no sense.
    """
    name = "mitmweb" if flags.web else "mitmproxy" if flags.console else "mitmdump"
    if flags.console and not (flags.check or sys.stdout.isatty()):
        raise CallError("--console needs a terminal: start it in one, or without it")
    given = ["-s", str(script())]
    first = plan(name, [*given, *arguments])
    if first is None or not first.says_host:
        given += ["--listen-host", LOCAL]
    leads = _leads(flags, machine)
    if leads.mode and first and any(each.mode != "regular" for each in first.listens):
        raise CallError(f"{leads.flag} is a mode of its own: leave --mode out")
    # Behind the addon: what it does when mitmproxy serves is its last step.
    given += [*leads.mode, "-s", str(HOOKS)]
    planned = plan(name, [*given, *arguments])
    own = ["--" + each.replace("_", "-") for each in vars(flags)]
    if planned is None and (why := refusal(name, [*given, *arguments], own)):
        raise CallError(why)
    if planned is None and flags.check:
        planned = _unconfigured(name, [*given, *arguments])
    ours = planned.forward if planned else None
    if ours and leads.place in _own(ours.port):
        raise CallError("--upstream-proxy names this proxy itself")
    flag = "--pac" if flags.pac else "--system-proxy" if flags.system_proxy else ""
    command = [str(program(name)), *given, *arguments]
    return Start(name, command, planned, flag, leads.base, leads.auth)


class _Leads(NamedTuple):
    """Where all requests go, if a flag of ours says so.

    Attributes:
        flag: The flag.
        mode: mitmproxy's arguments for it.
        place: The upstream proxy's host and port.
        auth: Its password.
        base: The provider's base URL.
    """

    flag: str = ""
    mode: Sequence[str] = ()
    place: str = ""
    auth: str = ""
    base: str = ""


def _leads(flags: argparse.Namespace, machine: Machine) -> _Leads:
    if flags.upstream_proxy is not None:
        url, auth = upstream_proxy.upstream(flags.upstream_proxy, machine.environ)
        mode = ["--mode", f"upstream:{url}"]
        return _Leads("--upstream-proxy", mode, url.partition("//")[2], auth)
    if flags.provider is None:
        return _Leads()
    base = known_providers.named(flags.provider)
    if not base:
        raise CallError(known_providers.unknown(flags.provider))
    parts = urlsplit(base)
    mode = ["--mode", f"reverse:{parts.scheme}://{parts.netloc}"]
    return _Leads("--provider", mode, base=base)


def _unconfigured(name: str, arguments: list[str]) -> Plan:
    """Return the plan without `config.yaml`: the check reports what is wrong with that."""
    planned = plan(name, arguments, configured=False)
    if planned is None:  # nothing is started that could say why
        raise CallError(f"{name} does not serve with these arguments")
    return planned


def _own(port: int | None) -> set[str]:
    return {address(host, port) for host in HOSTS}


def ensure_free(planned: Plan) -> None:
    """Look whether the ports are free.

    Raises:
        StartError: One is not.
    """
    if obstacle := ports.obstacle(planned):
        raise StartError(obstacle)


def ensure_writable(folder: Path) -> None:
    """Look whether mitmproxy finds its CA in *folder*, or can write it there.

    Raises:
        StartError: It can do neither.
    """
    try:
        with contextlib.suppress(FileNotFoundError), (folder / CA).open("rb") as file:
            if file.read(1):
                return
            raise StartError(f"{folder / CA} is empty: remove it, and start again")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        why = f"{error.strerror}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            why = f"the disk is full ({why})"
        raise StartError(
            f"mitmproxy cannot store its CA in {folder}: {why}; to use another folder: "
            "--set confdir=FOLDER"
        ) from error


def alone(start: Start) -> NoReturn:
    """Start mitmproxy, and switch nothing.

    Raises:
        StartError: It would not start.
    """
    if start.plan is not None:
        ensure_free(start.plan)
        ensure_writable(start.plan.confdir)
    # The console has the whole terminal.
    says = start.program if start.program != "mitmproxy" else ""
    become(start.command, {SAYS: f"{says} {start.base}", **start.variables})


def hint(proxy: str, planned: Plan) -> None:
    """Say how to go through a *proxy* that was set before, if that is not this one."""
    modes = {each.mode for each in planned.listens}
    ours = {place for each in planned.listens for place in _own(each.port)}
    if not proxy or proxy in ours or "upstream" in modes:
        return
    how = f"to go through it: --upstream-proxy http://{proxy}"
    if "reverse" in modes:
        how = "a base URL does not go through it; --upstream-proxy without one does"
    say(f"  A proxy was set: {proxy}; {how}")
