"""mitmproxy's CA: its files are there, complete, secret, in date and in use; browsers trust it."""

import datetime as dt
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..desktop.local_server import Status
from ..desktop.machine import Machine
from ..desktop.trust import authority
from ..desktop.trust import status as trust_status
from ..desktop.trust.authority import KEYS, AuthorityError
from ..desktop.trust.certificate import Certificate
from ..desktop.trust.nss import PACKAGES, Database
from ..home.trust_advice import CERTIFICATE
from ..text.command_line import command_line
from ..text.printable import brief, counted
from .finding import DEFAULT, Finding, Mark, install, start

STEP = "CA"
SOON = dt.timedelta(days=30)
BROWSERS = "CA in browsers"
_MOST = 400
"""Characters of what is wrong with one."""


class Authority(NamedTuple):
    """A CA that was read.

    Attributes:
        folder: mitmproxy's folder, where it is.
        certificate: Its certificate.
        error: Why the file with its key cannot be read.
    """

    folder: Path
    certificate: Certificate
    error: str = ""

    @property
    def path(self) -> Path:
        """The file for clients, which holds the certificate alone."""
        return self.folder / CERTIFICATE


def read(confdir: Path) -> Authority | None:
    """The CA that mitmproxy signs with, None without a readable one.

    Where another user's proxy runs, its certificate is what that user's folder publishes.
    """
    error = ""
    try:
        found = authority.load(confdir)
    except AuthorityError as refused:
        error = str(refused)
        found = authority.published(confdir)
    return None if found is None else Authority(confdir, found, error)


def judge(
    machine: Machine,
    port: int,
    confdir: Path,
    found: Authority | None,
    running: Status | None,
) -> list[Finding]:
    """Return the lines about the files.

    Args:
        machine: The machine.
        port: Where the proxy is to listen.
        confdir: mitmproxy's folder.
        found: The CA in it.
        running: The proxy that runs, if one does.
    """
    begin = start(machine, port, confdir)
    if found is None or found.error:
        return [_unreadable(confdir, begin)]
    anew = f"{_remove(machine, confdir)}, {begin}, then {install(machine, confdir)}"
    findings = [
        Finding(
            Mark.FAIL, STEP, f"{each.path} is {each.mode:04o}: {each.why}", each.repair
        )
        for each in authority.loose(machine, confdir)
    ]
    findings += _ill(found, anew)
    certificate = found.certificate
    if running is not None and running.ca_sha256.upper() != certificate.fingerprint:
        saw = f"the proxy uses another CA, that of {running.confdir}, not of {confdir}"
        words = [] if port == DEFAULT else ["-p", str(port)]
        words += ["--set", f"confdir={running.confdir}"]
        check = command_line("check", *words, system=machine.system)
        repair = f"stop that proxy and {begin}, or: {check}"
        findings.append(Finding(Mark.FAIL, STEP, saw, repair))
    if findings:
        return findings
    where = " and in use" if running is not None else ""
    secret = "" if machine.system == "windows" else ", its key yours alone"
    saw = f"{found.path} is there{where}{secret}, until {certificate.ends:%Y-%m-%d}, "
    return [Finding(Mark.OK, STEP, f"{saw}SHA-256 {certificate.fingerprint[:23]}…")]


def _unreadable(confdir: Path, begin: str) -> Finding:
    try:
        authority.load(confdir)
    except AuthorityError as error:
        return Finding(Mark.FAIL, STEP, str(error))
    saw = f"{confdir} has no CA: mitmproxy makes one at its first start"
    return Finding(Mark.FAIL, STEP, saw, begin)


def _ill(found: Authority, anew: str) -> Iterator[Finding]:
    """Yield what is wrong with the certificate, which *anew* repairs."""
    certificate = found.certificate
    if authority.published(found.folder) != certificate:
        saw = f"{CERTIFICATE}, which clients are given, is not the certificate of "
        yield Finding(Mark.FAIL, STEP, f"{saw}{KEYS[0]} beside it", anew)
    now = dt.datetime.now(dt.UTC)
    if not certificate.is_valid:
        saw = f"the CA has expired on {certificate.ends:%Y-%m-%d}"
        if certificate.begins > now:
            saw = f"the CA is valid from {certificate.begins:%Y-%m-%d} on only"
        yield Finding(Mark.FAIL, STEP, f"{saw}: no client trusts it", anew)
    elif certificate.ends - now < SOON:
        saw = f"the CA expires on {certificate.ends:%Y-%m-%d}"
        yield Finding(Mark.WARN, STEP, saw, anew)


def _remove(machine: Machine, confdir: Path) -> str:
    if machine.system == "windows":
        return f'del "{confdir}\\mitmproxy-ca*"'
    return f"rm {shlex.quote(str(confdir))}/mitmproxy-ca*"


def judge_browsers(machine: Machine, ca: Authority, *, must: bool) -> Finding:
    """Return the step's line.

    Args:
        machine: The machine.
        ca: The CA.
        must: Whether a browser's way leads to the proxy, so that lack of trust fails.
    """
    confdir = ca.folder
    found = trust_status.browsers(machine, ca.certificate, confdir)
    if not found:
        return Finding(Mark.SKIP, BROWSERS, "no database of Chrome or Firefox found")
    states = [(each, each.state()) for each in found]
    count = counted(len(states), "NSS database")
    if machine.find("certutil") is None and {each.state for _, each in states} == {
        "unknown"
    }:
        saw = f"certutil is not installed; {count} not looked at"
        return Finding(Mark.SKIP, BROWSERS, saw, PACKAGES)
    refused = []
    for each, (state, detail) in states:
        if state != "trusted":
            why = f"{state}: {detail}" if detail else state
            refused.append(f"{_short(machine, each)}: {why}")
    if not refused:
        verb = "trusts" if len(states) == 1 else "trust"
        return Finding(Mark.OK, BROWSERS, f"{count} {verb} it")
    rest = f" ({len(refused)} of {len(states)})" if len(states) > 1 else ""
    mark = Mark.FAIL if must else Mark.WARN
    return Finding(
        mark, BROWSERS, brief(refused[0], _MOST) + rest, install(machine, confdir)
    )


def _short(machine: Machine, store: Database) -> str:
    path = Path(store.place)
    return (
        f"~/{path.relative_to(machine.home)}"
        if machine.home in path.parents
        else str(path)
    )
