"""Start mitmproxy as this system's proxy for as long as it runs.

This process stays: it switches when the port answers, and puts everything back when
mitmproxy ends, or when this process has to end, before it ends mitmproxy. What it cannot
put back, since it was killed itself, the next start does.
"""

import os
from http import HTTPStatus
from pathlib import Path

from ..desktop.local_server import fetch
from ..desktop.machine import Machine
from ..desktop.processes import started
from ..desktop.proxy import state as proxy_state
from ..desktop.proxy import switch as proxy_switch
from ..desktop.proxy.settings import InForce, ProxyError, Target
from ..desktop.proxy.switch import choose
from ..text.command_line import command_line
from ..text.console import complain, say
from ..text.network_address import LOCAL
from . import startup_summary
from .child import Supervised
from .handover import awaited
from .mitmproxy_options import Plan
from .start import Start, alone, ensure_free, ensure_writable, hint
from .start_error import CallError, StartError
from .upstream_proxy import from_environment


def begin(start: Start, machine: Machine) -> int:
    """Put back what an earlier start could not, then start.

    Raises:
        StartError: mitmproxy would not start.
        ProxyError: The system's settings cannot be read or written.
        ProcessError: The process of an earlier start cannot be identified.
    """
    if start.plan is None and start.flag:
        complain(f"{start.flag} switches nothing: mitmproxy prints the reason")
    is_switch = bool(start.flag) and start.plan is not None
    if is_switch or _has_state(machine):
        folder = proxy_state.place(machine.home)
        with proxy_state.locked(folder) as is_mine:
            is_back = repair(machine, folder, is_mine=is_mine)
            if is_switch:
                return switched(start, machine) if is_back else 1
    return alone(start)


def restore(machine: Machine) -> int:
    """Put back what an earlier start could not, and return the exit code.

    Raises:
        ProxyError: It could not be done.
        ProcessError: The process of an earlier start cannot be identified.
    """
    if not _has_state(machine):
        say("There is nothing to restore.")
        return 0
    folder = proxy_state.place(machine.home)
    with proxy_state.locked(folder) as is_mine:
        return 0 if repair(machine, folder, is_mine=is_mine) else 1


def _has_state(machine: Machine) -> bool:
    # Not `Path.exists`: the folder may be one that nobody may look into.
    return os.path.exists(proxy_state.place(machine.home) / proxy_state.NAME)  # noqa: PTH110


def repair(machine: Machine, folder: Path, *, is_mine: bool) -> bool:
    """Put back what a start that was killed has changed; tell whether all is put back.

    Args:
        machine: Whose settings they are.
        folder: Where the state is.
        is_mine: Whether no other process holds the lock.
    """
    try:
        state = proxy_state.read(folder)
    except ProxyError as error:
        complain(error)
        return False
    if state is None:
        if not is_mine:
            complain("another start is about to switch the system's proxy")
        return is_mine
    # Where there are no locks, the process tells.
    if not is_mine or state.owner.is_running:
        complain(
            f"process {state.owner.pid} has set {state.settings}'s proxy to "
            f"{state.place}, and restores it on exit: end that process first"
        )
        return False
    is_back = put_back(machine, folder, state)
    if is_back and proxy_switch.end(state.proxy):
        say(
            f"Ended mitmproxy (process {state.proxy.pid}), which that start left running."
        )
    return is_back


def put_back(machine: Machine, folder: Path, state: proxy_state.State) -> bool:
    """Put back what was there, say so, and tell whether it could be done."""
    try:
        left = proxy_switch.restore(machine, folder, state)
    except ProxyError as error:
        complain(
            f"{error}: your system's proxy is still set to {state.place}; in a "
            f"session of your desktop, {command_line('', '--restore')} restores it"
        )
        return False
    say(f"{state.settings}'s proxy settings are as they were before.")
    if left:
        say(f"  But these were changed meanwhile, and stay: {', '.join(left)}")
    return True


def switched(start: Start, machine: Machine) -> int:
    """Run mitmproxy with the system switched to it, and return its exit code.

    Raises:
        StartError: Nothing was started, or it was ended again.
        ProxyError: The same, since the system's settings cannot be read or written.
        ProcessError: The same, since the process of an earlier start cannot be identified.
    """
    planned = start.plan
    assert planned is not None
    listens = planned.forward
    if listens is None or not listens.port:
        raise CallError(
            f"{start.flag} is for a proxy that clients are pointed to (the regular mode, or "
            "--upstream-proxy) on a port of its own: here nothing is switched"
        )
    if listens.host not in startup_summary.ANYWHERE | {LOCAL}:
        raise CallError(f"{start.flag} needs {LOCAL}: listen there, or everywhere")
    target = Target(LOCAL, listens.port, start.flag == "--pac")
    settings = choose(machine)
    if settings is None:
        raise StartError(startup_summary.refusal(start.flag, machine, target))
    ensure_free(planned)
    ensure_writable(planned.confdir)
    before = settings.current()
    folder = proxy_state.place(machine.home)
    owner = started(os.getpid())
    owns_terminal = start.program == "mitmproxy"
    with (
        awaited() as ready,
        Supervised(
            start.command,
            {**ready.variables, **start.variables},
            owns_terminal=owns_terminal,
        ) as child,
    ):
        try:
            try:
                child.wait_until(lambda: bool(ready.listens()))
                if target.pac:
                    ensure_pac(target)
                proxy = started(child.pid)
                proxy_switch.switch(settings, target, folder, owner, proxy)
                ways = startup_summary.Ways(machine.system, settings.name, is_on=True)
                for line in startup_summary.startup_summary(
                    start.program, planned, ways
                ):
                    say(line)
                advise(before, target, planned)
                child.wait()
            finally:
                child.ignore_signals()
        finally:  # also if a signal arrived meanwhile
            state = proxy_state.read(folder)
            is_back = state is None or put_back(machine, folder, state)
    return child.code if is_back else 1


def ensure_pac(target: Target) -> None:
    """Look whether the PAC address is answered.

    Raises:
        StartError: It is not.
    """
    answer = fetch(target.host, target.port, "/proxy.pac")
    if answer is None or answer.status != HTTPStatus.OK:
        answered = f"with {answer.status}" if answer else "nothing"
        raise StartError(f"{target.url} answers {answered}: nothing was switched")


def advise(before: InForce, target: Target, planned: Plan) -> None:
    """Say what there was *before*, if programs need it to get out of their network."""
    pac = "found by WPAD" if before.is_searched else before.pac
    is_on = any(each.mode == "upstream" for each in planned.listens)
    if pac and pac != target.url and not is_on:
        say(
            f"  A PAC address was set: {pac}; hosts that had a proxy by it are now "
            "reached directly, which your network may not let pass"
        )
    hint(before.proxy or from_environment(), planned)
