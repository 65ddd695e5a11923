"""Start mitmproxy, and lead this system's programs to it for as long as it runs.

Without that mitmproxy takes the place of this process, as if one had started it oneself,
and a process beside it says what to do next as soon as the addon answers. With it this
process stays: it switches when the port answers, and puts everything back when mitmproxy
ends, or when it is told to end itself, before it ends mitmproxy. What it cannot put back,
since it was killed itself, the next start does.
"""

import argparse
import contextlib
import errno
import os
import sys
import tempfile
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple, NoReturn

from . import ports as proxy_port
from ..desktop.proxy import state as proxy_state
from ..desktop.proxy import switch as proxy_switch
from . import upstream_proxy as proxy_upstream
from . import next_steps as proxy_words
import _bootstrap
from ..desktop.local_server import fetch
from ..desktop.machine import Machine
from .announcer import beside, until_serving
from .child import Child
from .mitmproxy_options import LOCAL, Plan, misspelled, plan
from ..desktop.proxy.settings import InForce, ProxyError, Target
from ..desktop.proxy.systems import choose
from .upstream_auth import VARIABLE

ADDON = _bootstrap.ROOT / "addon" / "normalize.py"
CA = "mitmproxy-ca.pem"
ROOM = 1 << 16  # bytes that mitmproxy's CA takes at most
AUTH = _bootstrap.ROOT / "scripts" / "_proxy_upstream_auth.py"


def say(text: str) -> None:
    """Print *text* to stderr, if that is still there: a terminal may have been closed."""
    with contextlib.suppress(OSError):
        _bootstrap.say(text)


def complain(text: object) -> None:
    """Print what is wrong."""
    say(f"llm_normalize: {text}")


class Start(NamedTuple):
    """What is to be started.

    Attributes:
        program: Its name.
        command: How.
        plan: What it is going to do, None if it says itself why it does not serve.
        flag: `--pac` or `--system-proxy` if the system is to be switched, else empty.
    """

    program: str
    command: list[str]
    plan: Plan | None
    flag: str


def main(flags: argparse.Namespace, arguments: list[str]) -> int:
    """Do what the flags of run.py ask for, and return its exit code, if it returns."""
    machine = Machine()
    try:
        # What was there is put back whatever is wrong with the options.
        nothing = Start("", [], None, "")
        start = nothing if flags.restore else prepared(flags, arguments, machine)
        if flags.check:
            return check(start.plan)
        return begin(flags, start, machine)
    except ProxyError as error:
        complain(error)
        return 1


def prepared(
    flags: argparse.Namespace, arguments: list[str], machine: Machine
) -> Start:
    """Return what is to be started.

    Raises:
        ProxyError: It makes no sense.
    """
    program = "mitmweb" if flags.web else "mitmproxy" if flags.console else "mitmdump"
    if flags.console and not (flags.check or sys.stdout.isatty()):
        raise ProxyError("--console needs a terminal: start it in one, or without it")
    given = ["-s", str(ADDON)]
    first = plan(program, [*given, *arguments])
    if first is None:
        own = ["--" + name.replace("_", "-") for name in vars(flags)]
        wrong = misspelled(program, arguments, own)
        if wrong:
            raise ProxyError(wrong)
    if first is None or not first.says_host:
        given += ["--listen-host", LOCAL]
    upstream = None
    if flags.upstream_proxy is not None:
        if first and any(each.mode != "regular" for each in first.listens):
            raise ProxyError("--upstream-proxy is a mode of its own: leave --mode out")
        upstream = proxy_upstream.upstream(flags.upstream_proxy, machine.environ)
        given += ["--mode", f"upstream:{upstream.url}"]
        if upstream.auth:
            given += ["-s", str(AUTH)]
            os.environ[VARIABLE] = upstream.auth
    planned = plan(program, [*given, *arguments])
    if planned is None and flags.check:  # which tells what is wrong with the file
        planned = plan(program, [*given, *arguments], configured=False)
    ours = planned.forward if planned else None
    if upstream and ours and upstream.url.partition("//")[2] in _own(ours.port):
        raise ProxyError("--upstream-proxy names this proxy itself")
    path = _bootstrap.program(Path(sys.prefix), program)
    flag = "--pac" if flags.pac else "--system-proxy" if flags.system_proxy else ""
    return Start(program, [str(path), *given, *arguments], planned, flag)


def _own(port: int | None) -> set[str]:
    return {f"{host}:{port}" for host in (LOCAL, "localhost", "[::1]")}


def check(planned: Plan | None) -> int:
    """Walk the path like a client, and return the exit code."""
    listens = planned.forward if planned else None
    if planned is None or listens is None or not listens.port:
        raise ProxyError(
            "--check walks the way to a proxy (the regular mode, or --upstream-proxy) on "
            "a port of its own; scripts/doctor.py asks a reverse proxy, or a provider"
        )
    from ..desktop.check import command  # noqa: PLC0415 - it brings much, for this alone

    return command.check(LOCAL, listens.port, planned.confdir)


def begin(flags: argparse.Namespace, start: Start, machine: Machine) -> int:
    """Put back what an earlier start could not, then start.

    Raises:
        ProxyError: It could not be done.
    """
    folder = proxy_state.place(machine.home)
    # Not `Path.exists`: the folder may be one that nobody may look into.
    has_state = os.path.exists(folder / proxy_state.NAME)  # noqa: PTH110
    if start.plan is None and start.flag:
        complain(f"{start.flag} switches nothing: mitmproxy will say why")
    is_switch = bool(start.flag) and start.plan is not None
    if not (flags.restore or is_switch or has_state):
        return alone(start, machine)
    if flags.restore and not has_state:
        say("There is nothing to put back.")
        return 0
    with proxy_state.locked(folder) as is_mine:
        is_back = repair(machine, folder, is_mine=is_mine)
        if flags.restore:
            return 0 if is_back else 1
        if is_switch:
            if not is_back:
                return 1
            return switched(start, machine)
    return alone(start, machine)


def repair(machine: Machine, folder: Path, *, is_mine: bool) -> bool:
    """Put back what a start that was killed has left; tell whether nothing is left now.

    Args:
        machine: Whose settings they are.
        folder: Where the state is.
        is_mine: Whether nobody else holds the lock.
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
            f"process {state.owner.pid} has led {state.settings}'s proxy settings to "
            f"{state.place}, and puts them back when it ends: end that one first"
        )
        return False
    is_back = put_back(machine, folder, state)
    if is_back and proxy_switch.end(state.proxy):
        say(
            f"Ended mitmproxy (process {state.proxy.pid}), which was left by that start."
        )
    return is_back


def put_back(machine: Machine, folder: Path, state: proxy_state.State) -> bool:
    """Put back what was there, say so, and tell whether it could be done."""
    try:
        left = proxy_switch.restore(machine, folder, state)
    except ProxyError as error:
        complain(
            f"{error}: your system's proxy settings still lead to {state.place}; in a "
            "session of your desktop, run.py --restore puts them back"
        )
        return False
    say(f"{state.settings}'s proxy settings are as they were before.")
    if left:
        say(f"  But these were changed meanwhile, and stay: {', '.join(left)}")
    return True


def ensure_free(planned: Plan) -> None:
    """Look whether the ports can be had.

    Raises:
        ProxyError: One cannot.
    """
    obstacle = proxy_port.obstacle(planned)
    if obstacle:
        raise ProxyError(obstacle)
    taken = proxy_port.first_taken(planned)
    if taken:
        mend = f"; to take another: {taken.mend}" if taken.free else ""
        raise ProxyError(f"port {taken.port} is taken: {taken.by}{mend}")


def ensure_writable(folder: Path) -> None:
    """Look whether mitmproxy finds its CA in *folder*, or can write it there.

    Raises:
        ProxyError: It can do neither.
    """
    try:
        with contextlib.suppress(FileNotFoundError), (folder / CA).open("rb") as file:
            if file.read(1):
                return
            raise ProxyError(f"{folder / CA} is empty: remove it, and start again")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(ROOM))
    except OSError as error:
        why = f"{error.strerror}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            why = f"the disk is full ({why})"
        raise ProxyError(
            f"mitmproxy cannot keep its CA in {folder}: {why}; to use another folder: "
            "--set confdir=FOLDER"
        ) from error


def alone(start: Start, machine: Machine) -> int:
    """Start mitmproxy, and switch nothing.

    Raises:
        ProxyError: It would not start.
    """
    if start.plan is None:
        become(start)
    ensure_free(start.plan)
    ensure_writable(start.plan.confdir)
    settings = choose(machine)
    ways = proxy_words.Ways(machine.system, settings.name if settings else "")
    own = os.getpid()
    # The console has the whole terminal.
    if start.plan.listens and start.program != "mitmproxy":
        beside(lambda: say_next(own, start, machine, ways))
    become(start)


def say_next(pid: int, start: Start, machine: Machine, ways: proxy_words.Ways) -> None:
    """Say what to do next as soon as mitmproxy, process *pid*, serves."""
    assert start.plan is not None
    first, *others = start.plan.listens
    try:
        found = until_serving(pid, first)
    except ProxyError as error:
        complain(error)
        return
    if found is None:  # it has said why
        return
    planned = start.plan._replace(listens=(found, *others))
    say("\n".join(proxy_words.next_steps(start.program, planned, ways)))
    ours = planned.forward
    if ours and not _goes_on(planned):
        hint(proxy_upstream.from_environment(machine.environ), ours.port)


def become(start: Start) -> NoReturn:
    """Let mitmproxy take the place of this process."""
    _bootstrap.become(start.command)


def _goes_on(planned: Plan) -> bool:
    return any(each.mode == "upstream" for each in planned.listens)


def hint(proxy: str, port: int | None) -> None:
    """Say how to go through a *proxy* that was set before, if that is not this one."""
    if proxy and proxy not in _own(port):
        say(
            f"  A proxy was set: {proxy}; to go through it: --upstream-proxy http://{proxy}"
        )


def switched(start: Start, machine: Machine) -> int:
    """Run mitmproxy with the system switched to it, and return its exit code.

    Raises:
        ProxyError: Nothing was started, or it was ended again.
    """
    planned = start.plan
    assert planned is not None
    listens = planned.forward
    if listens is None or not listens.port:
        raise ProxyError(
            f"{start.flag} is for a proxy that clients are told of (the regular mode, or "
            "--upstream-proxy) on a port of its own: here nothing is switched"
        )
    if listens.host not in proxy_words.ANYWHERE | {LOCAL}:
        raise ProxyError(f"{start.flag} leads to {LOCAL}: listen there, or everywhere")
    settings = choose(machine)
    if settings is None:
        desktop = machine.environ.get("XDG_CURRENT_DESKTOP", "")
        url = f"http://{LOCAL}:{listens.port}"
        raise ProxyError(proxy_words.refusal(start.flag, desktop, url))
    ensure_free(planned)
    ensure_writable(planned.confdir)
    before = settings.current()
    target = Target(LOCAL, listens.port, start.flag == "--pac")
    folder = proxy_state.place(machine.home)
    with Child(start.command, owns_terminal=start.program == "mitmproxy") as child:
        try:
            try:
                child.wait_until(lambda: bool(proxy_port.serving(child.pid, listens)))
                if target.pac:
                    ensure_pac(target)
                owner = proxy_state.started(os.getpid())
                proxy = proxy_state.started(child.pid)
                proxy_switch.switch(settings, target, folder, owner, proxy)
                ways = proxy_words.Ways(machine.system, settings.name, is_on=True)
                for line in proxy_words.next_steps(start.program, planned, ways):
                    say(line)
                if not _goes_on(planned):
                    advise(before, target)
                child.wait()
            finally:
                child.ignore_signals()
        finally:  # also if a signal came while that was done
            state = proxy_state.read(folder)
            is_back = state is None or put_back(machine, folder, state)
    return child.code if is_back else 1


def ensure_pac(target: Target) -> None:
    """Look whether the PAC address is answered.

    Raises:
        ProxyError: It is not.
    """
    answer = fetch(target.host, target.port, "/proxy.pac")
    if answer is None or answer.status != HTTPStatus.OK:
        said = f"with {answer.status}" if answer else "nothing"
        raise ProxyError(f"{target.url} answers {said}: nothing was switched")


def advise(before: InForce, target: Target) -> None:
    """Say what there was *before*, if programs need it to get out of their network."""
    pac = "found by WPAD" if before.is_searched else before.pac
    if pac and pac != target.url:
        say(
            f"  A PAC address was set: {pac}; what it led through a proxy now goes "
            "straight, which your network may not let pass"
        )
    hint(before.proxy or proxy_upstream.from_environment(), target.port)
