"""The first step: who listens on the port."""

import re
from collections.abc import Sequence
from pathlib import Path

from ..desktop import local_server, processes
from ..desktop.local_server import NAME, Status
from ..desktop.machine import Machine
from ..desktop.processes import Listener
from ..text.command_line import command_line
from ..text.printable import brief, counted
from .finding import DEFAULT, Finding, Mark, Way, start

STEP = "port"
SET = re.compile(r"normalize_(?:mode|only|skip|strict)=.*")


def unknown() -> list[Finding]:
    """Return the line about what is not known without psutil, none with it."""
    if processes.IS_COMPLETE:
        return []
    saw = f"{processes.MISSING}: who listens, and with what options, is not known"
    return [Finding(Mark.SKIP, STEP, saw, processes.INSTALL)]


def judge(
    machine: Machine,
    way: Way,
    confdir: Path,
    found: Status | None,
    owner: Listener | None,
) -> Finding:
    """Return the step's line.

    Args:
        machine: The machine.
        way: Where the proxy is to listen.
        confdir: mitmproxy's folder.
        found: What llm_normalize reported there.
        owner: Who listens there.
    """
    where = f"{way.host}:{way.port}"
    if found is not None:
        pid = f", pid {found.pid}" if found.pid else ""
        opens = counted(len(found.hosts), "host")
        saw = f"{where} is llm_normalize {found.version} ({found.mode}{pid}), {opens}"
        return Finding(Mark.OK, STEP, saw)
    begin = start(machine, way.port, confdir)
    if owner is None and not local_server.listens(way.host, way.port):
        saw = f"nothing listens on {where}; the check uses a proxy of its own"
        return Finding(Mark.FAIL, STEP, saw, begin)
    if owner is None:
        who = "another program, which the system does not name,"
    else:
        who = f"{brief(owner.name) or 'a program'} (pid {owner.pid})"
    if owner and any(NAME in each or "normalize.py" in each for each in owner.command):
        reverse = processes.is_reverse(owner)
        why = "in reverse mode, which this check does not walk"
        if not reverse:
            why = "which does not answer /status.json"
        saw = f"{who} has {where}: llm_normalize, {why}"
        if reverse:
            repair = f"{begin}, or ask the reverse proxy: "
            repair += command_line("doctor", f"{way.url}/v1", system=machine.system)
        else:
            repair = f"stop it, then {begin}"
        return Finding(Mark.FAIL, STEP, saw, repair)
    saw = f"{who} has {where}, not llm_normalize; the check uses a proxy of its own"
    free = way.port + 1 if way.port < 65535 else DEFAULT  # noqa: PLR2004
    return Finding(Mark.FAIL, STEP, saw, start(machine, free, confdir))


# What its command line says


def options(command: Sequence[str]) -> list[str]:
    """Return the options in a command line that change what the check is about.

    They are given to the check's own proxy, so that it does what the running one does.
    """
    found = []
    for before, each in zip(["", *command], command, strict=False):
        text = each.removeprefix("--set=")
        if (before == "--set" or text != each) and SET.fullmatch(text):
            found.append(text)
    return found


def skips(command: Sequence[str]) -> list[str]:
    """The values of `normalize_skip` on a command line."""
    name = "normalize_skip="
    given = [each.removeprefix(name) for each in options(command) if name in each]
    return [each for each in given if each]


def is_upstream(command: Sequence[str]) -> bool:
    """Tell whether a command line sends all requests on to another proxy."""
    return any("upstream:" in each for each in command)
