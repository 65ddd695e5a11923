"""Start mitmproxy, and say what to do next as soon as the addon answers.

mitmproxy takes the place of this process, as if one had started it oneself; where the
system's programs are to be led to it, `system_proxy` stays beside it.
"""

import argparse
import contextlib
import errno
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple, NoReturn

from ..desktop.machine import Machine
from ..desktop.mitmproxy_program import program, script
from ..desktop.proxy.systems import choose
from ..text.authority import address
from ..text.console import complain, say
from ..text.loopback import HOSTS, LOCAL
from . import next_steps, ports, upstream_proxy
from .announcer import beside, until_serving
from .child import become
from .mitmproxy_options import Plan, misspelled, plan, refusal
from .start_error import StartError
from .upstream_auth import VARIABLE

CA = "mitmproxy-ca.pem"
ROOM = 1 << 16  # bytes that mitmproxy's CA takes at most
AUTH = Path(__file__).with_name("upstream_auth.py")


class Start(NamedTuple):
    """What is to be started.

    Attributes:
        program: Its name.
        command: How.
        plan: What it is going to do, None if it prints why it does not serve.
        flag: `--pac` or `--system-proxy` if the system is to be switched, else empty.
    """

    program: str
    command: list[str]
    plan: Plan | None
    flag: str


def prepared(
    flags: argparse.Namespace, arguments: list[str], machine: Machine
) -> Start:
    """Prepare the start of mitmproxy.

    Raises:
        StartError: It makes no sense.
    """
    name = "mitmweb" if flags.web else "mitmproxy" if flags.console else "mitmdump"
    if flags.console and not (flags.check or sys.stdout.isatty()):
        raise StartError("--console needs a terminal: start it in one, or without it")
    given = ["-s", str(script())]
    first = plan(name, [*given, *arguments])
    if first is None:
        own = ["--" + name.replace("_", "-") for name in vars(flags)]
        wrong = misspelled(name, arguments, own)
        if wrong:
            raise StartError(wrong)
    if first is None or not first.says_host:
        given += ["--listen-host", LOCAL]
    upstream = None
    if flags.upstream_proxy is not None:
        if first and any(each.mode != "regular" for each in first.listens):
            raise StartError("--upstream-proxy is a mode of its own: leave --mode out")
        upstream = upstream_proxy.upstream(flags.upstream_proxy, machine.environ)
        given += ["--mode", f"upstream:{upstream.url}"]
        if upstream.auth:
            given += ["-s", str(AUTH)]
            os.environ[VARIABLE] = upstream.auth
    planned = plan(name, [*given, *arguments])
    if planned is None and flags.check:
        planned = _unconfigured(name, [*given, *arguments])
    ours = planned.forward if planned else None
    if upstream and ours and upstream.url.partition("//")[2] in _own(ours.port):
        raise StartError("--upstream-proxy names this proxy itself")
    flag = "--pac" if flags.pac else "--system-proxy" if flags.system_proxy else ""
    return Start(name, [str(program(name)), *given, *arguments], planned, flag)


def _unconfigured(name: str, arguments: list[str]) -> Plan:
    """Return the plan without `config.yaml`: the check reports what is wrong with that."""
    planned = plan(name, arguments, configured=False)
    if planned is None:  # nothing is started that could say why
        raise StartError(refusal(name, arguments))
    return planned


def _own(port: int | None) -> set[str]:
    return {address(host, port) for host in HOSTS}


def ensure_free(planned: Plan) -> None:
    """Look whether the ports are free.

    Raises:
        StartError: One is not.
    """
    obstacle = ports.obstacle(planned)
    if obstacle:
        raise StartError(obstacle)
    taken = ports.first_taken(planned)
    if taken:
        hint = f"; to take another: {taken.repair}" if taken.free else ""
        raise StartError(f"port {taken.port} is taken: {taken.by}{hint}")


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


def alone(start: Start, machine: Machine) -> NoReturn:
    """Start mitmproxy, and switch nothing.

    Raises:
        StartError: It would not start.
    """
    if start.plan is None:
        become(start.command)
    ensure_free(start.plan)
    ensure_writable(start.plan.confdir)
    settings = choose(machine)
    ways = next_steps.Ways(machine.system, settings.name if settings else "")
    own = os.getpid()
    # The console has the whole terminal.
    if start.plan.listens and start.program != "mitmproxy":
        beside(lambda: say_next(own, start, machine, ways))
    become(start.command)


def say_next(pid: int, start: Start, machine: Machine, ways: next_steps.Ways) -> None:
    """Say what to do next as soon as mitmproxy, process *pid*, serves."""
    assert start.plan is not None
    first, *others = start.plan.listens
    try:
        found = until_serving(pid, first)
    except StartError as error:
        complain(error)
        return
    if found is None:  # it has printed why
        return
    planned = start.plan._replace(listens=(found, *others))
    say("\n".join(next_steps.next_steps(start.program, planned, ways)))
    ours = planned.forward
    if ours and not goes_on(planned):
        hint(upstream_proxy.from_environment(machine.environ), ours.port)


def goes_on(planned: Plan) -> bool:
    """Tell whether it goes through a proxy of the network."""
    return any(each.mode == "upstream" for each in planned.listens)


def hint(proxy: str, port: int | None) -> None:
    """Say how to go through a *proxy* that was set before, if that is not this one."""
    if proxy and proxy not in _own(port):
        say(
            f"  A proxy was set: {proxy}; to go through it: --upstream-proxy http://{proxy}"
        )
