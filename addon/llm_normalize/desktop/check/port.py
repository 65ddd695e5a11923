"""The first step: who listens on the port."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from . import tunnel as check_wire
from .finding import DEFAULT, Finding, Mark, Way, legible, script, start
from ..machine import Machine

STEP = "port"
NAME = "llm_normalize"
SET = re.compile(r"normalize_(?:mode|only|skip|strict)=.*")
PROBE = re.compile(r"[a-z0-9.-]+\.invalid/[A-Za-z0-9_-]+")


class Listener(NamedTuple):
    """A program that listens.

    Attributes:
        pid: Its number.
        name: Its name.
        command: Its command line, empty where this user may not read it.
    """

    pid: int
    name: str
    command: tuple[str, ...]


class Status(NamedTuple):
    """What llm_normalize tells of itself (GET /status.json).

    Attributes:
        version: Its version.
        pid: Its process.
        confdir: Where its CA lies.
        mode: `normalize_mode`.
        opens: Whose TLS is opened: `listed`, `all`, or `allowed` (by `allow_hosts`).
        hosts: What it opens.
        ca_sha256: Its CA's fingerprint, `AA:BB:…`.
        probe: `HOST/TOKEN` whose `.svg` it answers by itself; empty if it has none.
    """

    version: str
    pid: int
    confdir: str
    mode: str
    opens: str
    hosts: tuple[str, ...]
    ca_sha256: str
    probe: str


def listener(port: int) -> Listener | None:
    """Return who listens on *port* of this machine, None if the system does not tell."""
    try:
        found = psutil.net_connections("tcp")
    except (psutil.Error, OSError):
        return None  # macOS tells root alone
    for each in found:
        at = each.laddr.port if each.laddr else 0
        if each.status == psutil.CONN_LISTEN and at == port and each.pid:
            try:
                process = psutil.Process(each.pid)
                return Listener(each.pid, process.name(), tuple(process.cmdline()))
            except psutil.Error:
                return Listener(each.pid, "?", ())
    return None


def status(host: str, port: int) -> Status | None:
    """Ask llm_normalize what it is; None if something else listens, or nothing."""
    answer = check_wire.fetch(host, port, "/status.json")
    told = answer.json() if answer is not None else {}
    if told.get("name") != NAME:
        return None
    hosts = told.get("hosts")
    named = hosts if isinstance(hosts, list) else []
    pid, probe = told.get("pid"), _text(told, "probe")
    return Status(
        version=_text(told, "version"),
        pid=pid if isinstance(pid, int) else 0,
        confdir=_text(told, "confdir"),
        mode=_text(told, "mode"),
        opens=_text(told, "opens"),
        hosts=tuple(legible(each) for each in named if isinstance(each, str)),
        ca_sha256=_text(told, "ca_sha256"),
        probe=probe if PROBE.fullmatch(probe) else "",
    )


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return legible(value) if isinstance(value, str) else ""


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
        found: What llm_normalize said there.
        owner: Who listens there.
    """
    where = f"{way.host}:{way.port}"
    if found is not None:
        pid = f", pid {found.pid}" if found.pid else ""
        opens = f"{len(found.hosts)} host{'' if len(found.hosts) == 1 else 's'}"
        saw = f"{where} is llm_normalize {found.version} ({found.mode}{pid}), {opens}"
        return Finding(Mark.OK, STEP, saw)
    begin = start(machine, way.port, confdir)
    if owner is None and not check_wire.listens(way.host, way.port):
        saw = f"nothing listens on {where}; a proxy of the check's own stands in"
        return Finding(Mark.FAIL, STEP, saw, begin)
    if owner is None:
        who = "another program, which the system does not name,"
    else:
        who = f"{legible(owner.name)} (pid {owner.pid})"
    if owner and any(NAME in each or "normalize.py" in each for each in owner.command):
        reverse = is_reverse(owner)
        why = "in reverse mode, which this check does not walk"
        if not reverse:
            why = "which does not answer /status.json"
        saw = f"{who} has {where}: llm_normalize, {why}"
        if reverse:
            mend = f"{begin}, or ask the reverse proxy: "
            mend += script(machine, "doctor.py", f"{way.url}/v1")
        else:
            mend = f"stop it, then {begin}"
        return Finding(Mark.FAIL, STEP, saw, mend)
    saw = f"{who} has {where}, not llm_normalize; a proxy of the check's own stands in"
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
    """Return what a command line says not to repair."""
    name = "normalize_skip="
    given = [each.removeprefix(name) for each in options(command) if name in each]
    return [each for each in given if each]


def is_reverse(owner: Listener | None) -> bool:
    """Tell whether a listener is a reverse proxy."""
    return owner is not None and any("reverse:" in each for each in owner.command)


def is_upstream(command: Sequence[str]) -> bool:
    """Tell whether a command line sends all requests on to another proxy."""
    return any("upstream:" in each for each in command)
