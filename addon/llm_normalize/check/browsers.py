"""The certificate databases of Chrome and Firefox, as `trust` reads them."""

from pathlib import Path

from ..desktop.machine import Machine
from ..desktop.trust import status as trust_status
from ..desktop.trust.nss import PACKAGES, Database
from ..text.printable import brief, counted
from .ca import Authority
from .finding import Finding, Mark, install

STEP = "CA in browsers"
MOST = 400
"""Characters of what is wrong with one."""


def judge(machine: Machine, ca: Authority, *, must: bool) -> Finding:
    """Return the step's line.

    Args:
        machine: The machine.
        ca: The CA.
        must: Whether a browser's way leads to the proxy, so that lack of trust fails.
    """
    confdir = ca.folder
    found = trust_status.browsers(machine, ca.certificate, confdir)
    if not found:
        return Finding(Mark.SKIP, STEP, "no database of Chrome or Firefox found")
    states = [(each, each.state()) for each in found]
    count = counted(len(states), "NSS database")
    if machine.find("certutil") is None and {each.state for _, each in states} == {
        "unknown"
    }:
        saw = f"certutil is not installed; {count} not looked at"
        return Finding(Mark.SKIP, STEP, saw, PACKAGES)
    refused = []
    for each, (state, detail) in states:
        if state != "trusted":
            why = f"{state}: {detail}" if detail else state
            refused.append(f"{_short(machine, each)}: {why}")
    if not refused:
        verb = "trusts" if len(states) == 1 else "trust"
        return Finding(Mark.OK, STEP, f"{count} {verb} it")
    rest = f" ({len(refused)} of {len(states)})" if len(states) > 1 else ""
    mark = Mark.FAIL if must else Mark.WARN
    return Finding(
        mark, STEP, brief(refused[0], MOST) + rest, install(machine, confdir)
    )


def _short(machine: Machine, store: Database) -> str:
    path = Path(store.place)
    return (
        f"~/{path.relative_to(machine.home)}"
        if machine.home in path.parents
        else str(path)
    )
