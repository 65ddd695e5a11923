"""The proxy and the client of the demo: a real mitmproxy, and what sends through it."""

import contextlib
import http.client
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..desktop.mitmproxy_program import program, script
from ..run.child import Child
from ..run.handover import awaited
from ..run.start import HOOKS
from ..run.start_error import StartError
from . import client
from .provider import HOST, Provider

PATIENCE = 30  # seconds for a start, and for a read
LINES = 8  # of its output that an error shows


class DemoError(Exception):
    """What went wrong, as one sentence; `lines` are the last that mitmproxy printed."""

    def __init__(self, message: str, lines: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


class Proxy(NamedTuple):
    """A proxy that listens.

    Attributes:
        port: Where, on `HOST`.
        ca: The certificate that a client has to trust.
        page: Where mitmweb shows its flows; empty for mitmdump.
        alive: Tells whether it still runs.
        output: The file that it prints to.
    """

    port: int
    ca: Path
    page: str
    alive: Callable[[], bool]
    output: Path

    @property
    def last(self) -> list[str]:
        """The last lines that it has printed so far."""
        return _last(self.output)


# The proxy


@contextlib.contextmanager
def running(
    folder: Path,
    pairs: Path | None,
    provider: Provider,
    *,
    web: bool,
    more: Sequence[str] = (),
) -> Iterator[Proxy]:
    """Run mitmproxy with the addon, and end it whatever happens.

    Args:
        folder: Its configuration.
        pairs: The pairs log, None for none.
        provider: Whose answers it is to repair.
        web: Whether to run mitmweb.
        more: Further arguments, for what is not set here.

    Raises:
        DemoError: It did not start.
    """
    name = "mitmweb" if web else "mitmdump"
    options = {
        "confdir": folder,
        "flow_detail": 0,
        "normalize_hosts": f"{HOST}:{provider.port}",
        "normalize_pairs": pairs or "",
        "ssl_verify_upstream_trusted_ca": provider.ca,
    }
    if web:
        options |= {"web_host": HOST, "web_port": _free_port()}
        options["web_open_browser"] = "false"
    # What the hooks do when mitmproxy serves is its last step.
    command = [str(program(name)), "-s", str(script()), "-s", str(HOOKS)]
    command += ["--listen-host", HOST, "--listen-port", "0"]
    for option, value in options.items():
        command += ["--set", f"{option}={value}"]
    command += more
    try:
        with awaited() as ready, _log() as log:
            output = Path(log.name)
            variables = {**ready.variables, "PYTHONUNBUFFERED": "1"}
            with Child(command, variables, log) as child:
                if not child.comes_up(PATIENCE, lambda: bool(ready.listens())):
                    why = f"listen within {PATIENCE} seconds"
                    if not child.is_running:
                        why = f"start: it ended with code {child.code}"
                    raise DemoError(f"{name} did not {why}.", _last(output))
                port, page = ready.listens()[0].port or 0, ready.page()
                ca = folder / "mitmproxy-ca-cert.pem"
                yield Proxy(port, ca, page, lambda: child.is_running, output)
    except StartError as error:
        raise DemoError(f"{error}.") from error


def _log() -> IO[bytes]:
    return tempfile.NamedTemporaryFile(prefix="llm-normalize-", delete_on_close=False)


def _last(output: Path) -> list[str]:
    lines = output.read_text(errors="replace").splitlines()
    return [line.rstrip() for line in lines[-LINES:]]


def _free_port() -> int:
    # mitmweb does not report which one it took when it is given 0.
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


# The client


def stream(asked: dict[str, Any], provider: Provider, proxy: Proxy) -> Iterator[str]:
    """Send a request and yield the events of the answer as they arrive.

    Args:
        asked: The request's body.
        provider: To whom.
        proxy: Through which.

    Raises:
        DemoError: There was no such answer.
    """
    place, target = (HOST, proxy.port), (HOST, provider.port)
    try:
        yield from client.events(asked, place, target, proxy.ca, timeout=PATIENCE)
    except client.RefusedError as error:
        sentence = f"the answer was {error.status}: {error.text}."
        raise DemoError(sentence, proxy.last) from error
    except (OSError, http.client.HTTPException) as error:
        raise DemoError(f"the answer broke off: {error!r}.", proxy.last) from error
