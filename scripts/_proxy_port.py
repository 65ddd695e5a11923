"""Whether a port is free, and who has it."""

import errno
import http.client
import json
import socket
import sys
from http import HTTPStatus
from typing import Any, NamedTuple

import psutil

from _proxy_options import LOCAL, Plan

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
    if plan.page and is_taken(LOCAL, plan.page):
        used = {each.port for each in plan.listens}
        free = _free(LOCAL, plan.page, used)
        return Taken(plan.page, _owner(plan.page), free, f"--web-port {free}")
    return None


def is_taken(host: str, port: int) -> bool:
    """Tell whether a server on *host* (empty: everywhere) could not have *port*."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        if sys.platform != "win32":  # there it would take what others have
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind((host, port))
        except PermissionError:
            # Below 1024 that is mitmproxy's to say; Windows means another program.
            return sys.platform == "win32"
        except socket.gaierror:
            return False  # mitmproxy's to say, too
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


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
    try:
        found = psutil.Process(pid)
        # On Windows mitmdump.exe starts Python.
        family = [found, *found.children(recursive=True)]
        connections = [each.net_connections("tcp") for each in family]
    except psutil.AccessDenied:
        return is_taken(host, port)
    except psutil.Error:
        return False
    return any(_is_listening(each, port) for own in connections for each in own)


def _is_listening(connection: Any, port: int) -> bool:
    return bool(
        connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and connection.laddr.port == port
    )


def instance(port: int) -> dict[str, Any] | None:
    """Return what an llm_normalize on *port* says of itself, None if none is there."""
    answer = ask(port, STATUS)
    try:
        status = (
            json.loads(answer[1]) if answer and answer[0] == HTTPStatus.OK else None
        )
    except ValueError:
        return None
    if isinstance(status, dict) and status.get("name") == "llm_normalize":
        return status
    return None


def ask(port: int, path: str) -> tuple[int, bytes] | None:
    """Return the status and the body of what this machine's *port* answers to a GET."""
    # http.client knows nothing of HTTPS_PROXY and the like, which is wanted here.
    connection = http.client.HTTPConnection(LOCAL, port, timeout=PATIENCE)
    try:
        connection.request("GET", path, headers={"accept": "*/*"})
        answer = connection.getresponse()
        return answer.status, answer.read(LARGEST)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
