"""The certificate databases of Chrome and Firefox, read as scripts/trust.py reads them."""

from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding

from ..trust import status as trust_status
from .ca import Authority
from .finding import Finding, Mark, install, legible
from ..machine import Machine
from ..trust.certificate import Certificate
from ..trust.nss import PACKAGES, Database, certutil
from ..trust.store import Status

STEP = "CA in browsers"
ABSENT = Status("not trusted", "there is no database yet")


def judge(machine: Machine, ca: Authority, *, must: bool) -> Finding:
    """Return the step's line.

    Args:
        machine: The machine.
        ca: The CA.
        must: Whether a browser's way leads to the proxy, so that lack of trust fails.
    """
    if machine.system == "windows":
        saw = "Chrome follows the system's store; Firefox's own is not looked at"
        return Finding(Mark.SKIP, STEP, saw)
    confdir = ca.path.parent
    certificate = Certificate(ca.certificate.public_bytes(Encoding.DER))
    found = trust_status.browsers(machine, certificate, confdir)
    if not found:
        return Finding(Mark.SKIP, STEP, "there is no database of Chrome or Firefox")
    absent = [each for each in found if not each.exists]
    if certutil(machine) is None and not absent:
        saw = f"certutil is not installed; {_count(found)} not looked at"
        return Finding(Mark.SKIP, STEP, saw, PACKAGES)
    refused = []
    for each in found:
        state, detail = each.state() if each.exists else ABSENT
        if state != "trusted":
            why = f"{state}: {detail}" if detail else state
            refused.append(f"{_short(machine, each)}: {why}")
    if not refused:
        return Finding(Mark.OK, STEP, f"{_count(found)} trust{_s(found)} it")
    rest = f" ({len(refused)} of {len(found)})" if len(found) > 1 else ""
    mark = Mark.FAIL if must else Mark.WARN
    saw = legible(refused[0], limit=400) + rest
    return Finding(mark, STEP, saw, install(machine, confdir))


def _count(found: list[Database]) -> str:
    return f"{len(found)} NSS database{'' if len(found) == 1 else 's'}"


def _s(found: list[Database]) -> str:
    return "s" if len(found) == 1 else ""


def _short(machine: Machine, store: Database) -> str:
    path = Path(store.place)
    return (
        f"~/{path.relative_to(machine.home)}"
        if machine.home in path.parents
        else str(path)
    )
