"""Whether a port is free, and who has it."""

import errno
import socket
import sys

from ..desktop import processes
from ..desktop.local_server import reachable, status
from ..text.network_address import LOCAL
from .mitmproxy_options import Listens, Plan

_PAGE = "--web-port "
"""The argument that names another port for mitmweb's page."""


def obstacle(plan: Plan) -> str:
    """The obstacle to listening where *plan* does, with its repair; empty without one."""
    places = [(each.host, each.port or 0, _flag(each)) for each in plan.listens]
    places += [(plan.page_host, plan.page or 0, _PAGE)]
    places = [each for each in places if each[1]]
    for host, port, flag in places:
        error = _bound(host, port)
        if isinstance(error, PermissionError) and sys.platform != "win32":
            return (
                f"this user may not listen on port {port}: that takes root's rights; to "
                f"take another: {'--web-port 8081' if flag == _PAGE else '-p 8080'}"
            )
        if error is not None and not _means_taken(error):
            return (
                f"cannot listen on {host or '*'}:{port}: {error.strerror}; use an "
                f"address of this machine, such as {LOCAL}"
            )
    used = [each for each in plan.listens if each.port == plan.page]
    if plan.page and any(
        reachable(each.host) == reachable(plan.page_host) for each in used
    ):
        free = _free(plan.page_host, plan.page, set())
        return (
            f"port {plan.page} is mitmweb's page here, and cannot be the proxy's, too; "
            f"to give the page another: --web-port {free}"
        )
    for host, port, flag in places:
        if is_taken(host, port):
            free = _free(host, port, {each for _, each, _ in places})
            hint = f"; to take another: {flag}{free}" if free else ""
            return f"port {port} is taken: {_owner(port)}{hint}"
    return ""


def _flag(listens: Listens) -> str:
    """The beginning of the argument that names another port for a mode."""
    if not listens.is_own:
        return "-p "
    return f"--mode {listens.mode}{listens.data and ':' + listens.data}@"


def is_taken(host: str, port: int) -> bool:
    """Tell whether a server on *host* (empty: everywhere) could not have *port*."""
    error = _bound(host, port)
    return error is not None and _means_taken(error)


def _means_taken(error: OSError) -> bool:
    if isinstance(error, PermissionError):  # Windows means another program
        return sys.platform == "win32"
    return error.errno == errno.EADDRINUSE


def _bound(host: str, port: int) -> OSError | None:
    """Return why a server on *host* (empty: everywhere) could not have *port*."""
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)  # noqa: S104 - it is tried
        family, kind, _, _, address = found[0]
        with socket.socket(family, kind) as tried:
            if sys.platform != "win32":  # there it would take what others have
                tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        return error
    return None


def _free(host: str, port: int, avoided: set[int]) -> int:
    for number in range(port + 1, min(port + 100, 65536)):
        if number not in avoided and not is_taken(host, number):
            return number
    return 0


def _owner(port: int) -> str:
    found = status(LOCAL, port)
    if found is None:
        who = processes.listener(port)
        if who is None:
            return "another program listens there"
        named = f"{who.name} (process {who.pid})" if who.name else f"process {who.pid}"
        return f"{named} listens there"
    version = f" {found.version}" if found.version else ""
    number = f" (process {found.pid})" if found.pid else ""
    return f"llm_normalize{version[:20]} is running there already{number}"
