"""What runs and what is set up, for programs."""

from typing import Any

from ..desktop import local_server, processes
from ..desktop.local_server import Status
from ..desktop.machine import Machine
from ..desktop.proxy import state as proxy_state
from ..desktop.proxy.settings import ProxyError
from ..desktop.service import actions
from ..desktop.service.plan import ServiceError
from ..desktop.trust import authority
from ..desktop.trust import status as trust_status
from ..desktop.trust.authority import AuthorityError
from ..home.trust_advice import CERTIFICATE
from ..text.network_address import LOCAL
from ..text.printable import brief


def facts(machine: Machine, port: int) -> dict[str, Any]:
    """The facts that `status` prints.

    Its keys: `proxy` (null without one on the port), `other` (what listens there instead),
    `ca` (the path), `trust` (stores), `system_proxy` (where it is set to), `service`.
    """
    owner, found = local_server.on_port(port)
    is_reverse = processes.is_reverse(owner)
    proxy = None if found is None else _proxy(port, found)
    other = ""
    if proxy is None and (owner is not None or local_server.listens(LOCAL, port)):
        other = brief(owner.name) if owner is not None and owner.name else "a program"
        other += " in reverse mode, for clients that have its base URL," * is_reverse
    confdir = authority.confdir_of(machine)
    if proxy is not None:
        confdir = type(confdir)(proxy["confdir"])
    path = confdir / CERTIFICATE
    try:
        stores = trust_status.stores(machine, confdir)
    except AuthorityError:
        stores = []
    return {
        "proxy": proxy,
        "other": other,
        "ca": str(path) if path.exists() else "",
        "trust": [
            {"name": each.name, "place": each.place, "state": each.state().state}
            for each in stores
        ],
        "system_proxy": _switched(machine),
        "service": _service(machine),
    }


def _proxy(port: int, found: Status) -> dict[str, Any]:
    return {
        "port": port,
        "version": found.version,
        "mode": found.mode,
        "pid": found.pid,
        "confdir": found.confdir,
        "hosts": len(found.hosts),
        "answers": found.answers,
        "repaired": found.repaired,
    }


def _switched(machine: Machine) -> str:
    try:
        state = proxy_state.read(proxy_state.place(machine.home))
    except ProxyError as error:
        return str(error)
    return "" if state is None else f"{state.settings}: {state.place}"


def _service(machine: Machine) -> dict[str, Any] | None:
    try:
        return actions.facts(machine)
    except ServiceError as error:
        return {"state": str(error)}
