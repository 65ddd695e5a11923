"""Whether a port is free, and who has it."""

import contextlib
import errno
import http.client
import json
import socket
import sys
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import psutil

from .mitmproxy_options import LOCAL, Listens, Plan

STATUS = "/status.json"
PATIENCE = 2  # seconds, for an answer of a program on this machine
LARGEST = 1 << 20


class Taken(NamedTuple):
    """A port that cannot be had.

    Attributes:
        port: Its number.
        by: Who has it, as a clause.
        free: One that can be had instead.
        mend: How to ask for that one.
    """

    port: int
    by: str
    free: int
    mend: str


def first_taken(plan: Plan) -> Taken | None:
    """Return the first port of *plan* that another program has."""
    for each in plan.listens:
        if each.port and is_taken(each.host, each.port):
            free = _free(each.host, each.port, {plan.page})
            mend = f"-p {free}"
            if each.is_own:
                mend = f"--mode {each.mode}{each.data and ':' + each.data}@{free}"
            return Taken(each.port, _owner(each.port), free, mend)
    if plan.page and is_taken(plan.page_host, plan.page):
        used = {each.port for each in plan.listens}
        free = _free(plan.page_host, plan.page, used)
        return Taken(plan.page, _owner(plan.page), free, f"--web-port {free}")
    return None


def obstacle(plan: Plan) -> str:
    """Return why nobody could listen where *plan* does, as a clause; empty if one could."""
    places = [(each.host, each.port, "-p 8080") for each in plan.listens]
    for host, port, mend in [*places, (plan.page_host, plan.page, "--web-port 8081")]:
        error = _bound(host, port) if port else None
        if isinstance(error, PermissionError) and sys.platform != "win32":
            return (
                f"this user may not listen on port {port}: that takes root's rights; to "
                f"take another: {mend}"
            )
        if error is not None and not _means_taken(error):
            return (
                f"nothing can listen on {host or '*'}:{port}: {error.strerror}; give an "
                f"address of this machine, such as {LOCAL}"
            )
    used = [each for each in plan.listens if each.port == plan.page]
    if plan.page and any(asked(each.host) == asked(plan.page_host) for each in used):
        free = _free(plan.page_host, plan.page, set())
        return (
            f"port {plan.page} is mitmweb's page here, and cannot be the proxy's, too; "
            f"to give the page another: --web-port {free}"
        )
    return ""


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


def _free(host: str, port: int, avoided: set[int | None]) -> int:
    for number in range(port + 1, min(port + 100, 65536)):
        if number not in avoided and not is_taken(host, number):
            return number
    return 0


def _owner(port: int) -> str:
    status = instance(port)
    who = _listener(port)
    if status is None:
        return f"{who or 'another program'} listens there"
    named = f" {version}" if isinstance(version := status.get("version"), str) else ""
    pid = status.get("pid")
    number = f" (process {pid})" if isinstance(pid, int) else ""
    return f"llm_normalize{named[:20]} is running there already{number}"


def _listener(port: int) -> str:
    """Return the program that listens on *port*; empty if it is not to be known."""
    try:
        # On macOS that is for root only.
        connections = psutil.net_connections("tcp")
    except (psutil.Error, OSError):
        return ""
    for each in connections:
        if _is_listening(each, port):
            try:
                return f"{psutil.Process(each.pid).name()} (process {each.pid})"
            except psutil.Error:
                return f"process {each.pid}"
    return ""


def has(pid: int, host: str, port: int) -> bool:
    """Tell whether a process, or one that it started, listens on *port* (of *host*)."""
    found = _listening(_family(pid))
    return is_taken(host, port) if found is None else port in found


def serving(pid: int, listens: Listens) -> int:
    """Return the port where a process answers as llm_normalize; 0 as long as it does not.

    Args:
        pid: The process; or one that it started.
        listens: A mode of it in which it is a server, too.
    """
    family = _family(pid)
    host = asked(listens.host)
    for port in [listens.port] if listens.port else (_listening(family) or ()):
        status = instance(port, host)
        if status is not None and status.get("pid") in [each.pid for each in family]:
            return port
        # Who asks from another address gets no status, and with a password nobody does.
        answer = ask(port, "/proxy.pac", host) if has(pid, host, port) else None
        if status is None and answer and answer[0] in _SERVED:
            return port
    return 0


def has_any(pid: int, listens: Listens) -> int:
    """Return the port where a process listens: that of a mode, or any; 0 for none."""
    if listens.port:
        return listens.port if has(pid, listens.host, listens.port) else 0
    return next(iter(_listening(_family(pid)) or ()), 0)


_SERVED = (
    HTTPStatus.OK,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
)


def asked(host: str) -> str:
    """Return the address at which a server that listens on *host* can be asked."""
    return {"": LOCAL, "0.0.0.0": LOCAL, "::": "::1"}.get(host, host)  # noqa: S104 - a name


def _family(pid: int) -> list[psutil.Process]:
    try:
        found = psutil.Process(pid)
        # On Windows mitmdump.exe starts Python.
        return [found, *found.children(recursive=True)]
    except psutil.Error:
        return []


def work(pid: int) -> float:
    """Return the seconds that a process, and what it started, has worked so far."""
    seconds = 0.0
    for each in _family(pid):
        with contextlib.suppress(psutil.Error):
            times = each.cpu_times()
            seconds += times.user + times.system
    return seconds


def _listening(family: Sequence[psutil.Process]) -> list[int] | None:
    """Return the ports of *family*; None where they are not to be known."""
    ports = []
    for each in family:
        try:
            connections = each.net_connections("tcp")
        except psutil.AccessDenied:
            return None
        except psutil.Error:
            continue
        ports += [
            found.laddr.port
            for found in connections
            if found.status == psutil.CONN_LISTEN and found.laddr
        ]
    return ports


def _is_listening(connection: Any, port: int) -> bool:
    return bool(
        connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port == port
    )


def instance(port: int, host: str = LOCAL) -> dict[str, Any] | None:
    """Return what an llm_normalize on *port* says of itself, None if none is there."""
    answer = ask(port, STATUS, host)
    try:
        status = (
            json.loads(answer[1]) if answer and answer[0] == HTTPStatus.OK else None
        )
    except ValueError:
        return None
    if isinstance(status, dict) and status.get("name") == "llm_normalize":
        return status
    return None


def ask(port: int, path: str, host: str = LOCAL) -> tuple[int, bytes] | None:
    """Return the status and the body of what this machine's *port* answers to a GET."""
    # http.client knows nothing of HTTPS_PROXY and the like, which is wanted here.
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"accept": "*/*"})
        answer = connection.getresponse()
        return answer.status, answer.read(LARGEST)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
