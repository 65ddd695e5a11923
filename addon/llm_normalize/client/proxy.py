"""The proxy that a program is to use: the one that runs, or one that ends with it."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple

from ..desktop import local_server
from ..desktop.machine import Machine
from ..desktop.proxy.variables import of_https, spelled, value
from ..home import ca_bundle
from ..home.trust_advice import CERTIFICATE
from ..run import command
from ..run.child import START, STEP, environ
from ..run.handover import ENDS_WITH_INPUT, awaited
from ..run.mitmproxy_options import FORWARD
from ..run.start import ensure_writable, prepared
from ..run.start_error import CallError, StartError
from ..text.command_line import command_line
from ..text.network_address import is_loopback

if sys.platform != "win32":
    import pwd

LOG = "exec.log"
_LAST = 5
"""Lines of the log that say why it did not start."""


class Proxy(NamedTuple):
    """A proxy for programs of this machine.

    Attributes:
        port: Where it listens.
        confdir: Its folder.
    """

    port: int
    confdir: Path


def running(port: int) -> Proxy | None:
    """Return the proxy that listens on *port*; None if none does, or something else.

    Raises:
        StartError: It cannot be trusted or used: any program that listens on a port may
            claim to be this proxy, and name a CA of its own.
    """
    _, found = local_server.on_port(port)
    if found is None:
        return None
    try:
        confdir = _own(found.confdir)
    except (OSError, ValueError) as error:
        other = command_line("", "-p", "8081" if port == 8080 else "8080")  # noqa: PLR2004
        raise StartError(
            f"what listens on port {port} is not a proxy to trust: {error}. Stop it and "
            f"start yours, or start yours on another port ({other}) and name that with -p"
        ) from None
    bundle = ca_bundle.path_of(confdir)
    if not bundle.is_file():
        raise StartError(
            f"the proxy on port {port} has not written {bundle}, with which programs "
            "would trust it: its log says why; start it again"
        )
    return Proxy(port, confdir)


def _own(named: str) -> Path:
    """Return the folder that a proxy names as its own, without links.

    Raises:
        ValueError: It is not this user's, nor root's: a sentence without its end.
        OSError: It cannot be looked at.
    """
    if not Path(named).is_absolute():
        raise ValueError("it does not say where its CA is")
    try:
        confdir = Path(named).resolve(strict=True)
        bundle = ca_bundle.path_of(confdir)
        # Who owns a folder can put another file into it later.
        for path in (confdir, bundle.parent, confdir / CERTIFICATE, bundle):
            if path == confdir / CERTIFICATE or path.exists():
                _ensure_own(path)
    except FileNotFoundError:
        raise ValueError(f"there is no CA in its folder {named}") from None
    except PermissionError:
        raise ValueError(f"its folder {named} is not yours to read") from None
    return confdir


def _ensure_own(path: Path) -> None:
    if sys.platform == "win32":
        path.stat()
        return
    owner = path.stat().st_uid
    if owner in (os.getuid(), 0):
        return
    try:
        name = pwd.getpwuid(owner).pw_name
    except KeyError:
        name = f"user {owner}"
    raise ValueError(f"{path} belongs to {name}, not to you")


def started(machine: Machine, arguments: Sequence[str]) -> Proxy:
    """Start a proxy on a free port, which ends when this process does.

    So does the program that this process becomes: both hold the pipe that is the proxy's
    input.

    Args:
        machine: The machine.
        arguments: Those of `run`.

    Raises:
        StartError: It did not start.
    """
    flags, rest = command.parse(arguments)
    if flags.upstream_proxy is None:
        flags.upstream_proxy = _of_the_network(machine)
    begun = prepared(flags, ["-p", "0", *rest], machine)
    if begun.plan is None:
        raise CallError("these arguments are not for a proxy that serves programs")
    confdir = begun.plan.confdir
    ensure_writable(confdir)
    log = log_of(confdir)
    log.parent.mkdir(mode=0o700, exist_ok=True)
    number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with awaited() as ready, os.fdopen(number, "ab") as output:
        at = output.tell()
        more = {ENDS_WITH_INPUT: "1", "PYTHONUNBUFFERED": "1"}
        more |= {**ready.variables, **begun.variables}
        child = _begin(begun.command, more, output)
        end = time.monotonic() + START
        while not (listens := ready.listens()):
            if child.poll() is not None or time.monotonic() > end:
                raise StartError(f"the proxy did not start: {_reason(log, at)} ({log})")
            time.sleep(STEP)
    port = listens[0].port
    if not port or listens[0].mode not in FORWARD:
        raise CallError("exec needs a proxy: leave --mode and --provider out")
    return Proxy(port, confdir)


def log_of(confdir: Path) -> Path:
    """Return where a proxy that was started for a program logs."""
    return confdir / ca_bundle.FOLDER / LOG


def _reason(log: Path, at: int) -> str:
    """The fault, from the proxy's log from byte *at* on."""
    lines = log.read_bytes()[at:].decode(errors="replace").splitlines()
    ours = [each.partition("normalize: ")[2] for each in lines if "normalize: " in each]
    return " ".join(ours or lines[-_LAST:]) or "it says nothing"


def _of_the_network(machine: Machine) -> str | None:
    """Return the network's own proxy as `--upstream-proxy` takes it, None without one."""
    found = of_https(machine.environ)
    if found is None or not found.is_http:
        return None
    if is_loopback(found.host) and (
        not local_server.listens(found.host, found.port)
        or local_server.on_port(found.port)[1]
    ):
        return None  # a proxy of ours, or what one has left in the shell
    name = "HTTPS_PROXY" if value(machine.environ, "HTTPS_PROXY") else "ALL_PROXY"
    return f"env:{spelled(machine.environ, name)}"


def _begin(
    words: Sequence[str], more: dict[str, str], output: IO[bytes]
) -> "subprocess.Popen[bytes]":
    """Start it out of reach of the terminal's signals, which are for the program."""
    child = subprocess.Popen(
        words,
        env=environ(more),
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )
    assert child.stdin is not None
    # Closed by nobody but the system, as the program ends.
    os.set_inheritable(os.dup(child.stdin.fileno()), True)
    return child
