"""The proxy and the client of the demo: a real mitmproxy, and what sends through it."""

import collections
import contextlib
import http.client
import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..desktop.mitmproxy_program import program, script
from ..run.child import Child
from ..run.start_error import StartError
from . import client
from .provider import HOST, Provider

LISTENS = re.compile(r"proxy listening at \S+?:(\d+)\.?$")
SERVES = re.compile(r"Web server listening at (\S+)")
PATIENCE = 30  # seconds for a start, and for a read


class DemoError(Exception):
    """What went wrong, as one sentence; `lines` are the last that mitmproxy printed."""

    def __init__(self, message: str, lines: Collection[str] = ()) -> None:
        super().__init__(message)
        self.lines = lines


class Proxy(NamedTuple):
    """A proxy that listens.

    Attributes:
        port: Where, on `HOST`.
        ca: The certificate that a client has to trust.
        page: Where mitmweb shows its flows; empty for mitmdump.
        last: The last lines that it printed.
        alive: Tells whether it still runs.
    """

    port: int
    ca: Path
    page: str
    last: Collection[str]
    alive: Callable[[], bool]


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
    command = [str(program(name)), "-s", str(script())]
    command += ["--listen-host", HOST, "--listen-port", "0"]
    for option, value in options.items():
        command += ["--set", f"{option}={value}"]
    command += more
    try:
        with Child(command, is_read=True) as child:
            output = _Output(name, child.output)
            port, page = _wait_until_it_listens(output, child, web=web)
            ca = folder / "mitmproxy-ca-cert.pem"
            yield Proxy(port, ca, page, output.last, lambda: child.is_running)
    except StartError as error:
        raise DemoError(f"{error}.") from error


def _wait_until_it_listens(
    output: "_Output", child: Child, *, web: bool
) -> tuple[int, str]:
    """The proxy's port, and mitmweb's page if that is wanted."""
    port, page = 0, ""
    end = time.monotonic() + PATIENCE
    while not port or (web and not page):
        try:
            line = output.lines.get(timeout=max(0, end - time.monotonic()))
        except queue.Empty:
            sentence = f"{output.name} did not listen within {PATIENCE} seconds."
            raise DemoError(sentence, output.last) from None
        if line is None:
            code = child.code if child.ends_within(3) else None
            sentence = f"{output.name} did not start: it ended with code {code}."
            raise DemoError(sentence, output.last)
        if found := LISTENS.search(line):
            port = int(found[1])
        elif found := SERVES.search(line):
            page = found[1]
    return port, page


class _Output:
    """What mitmproxy prints, read to the end: a full pipe would stop it."""

    def __init__(self, name: str, output: IO[str]) -> None:
        self.name = name
        self.lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.last: collections.deque[str] = collections.deque(maxlen=8)
        threading.Thread(target=self._read, args=(output,), daemon=True).start()

    def _read(self, output: IO[str]) -> None:
        with output:
            for line in output:
                self.last.append(line.rstrip())
                self.lines.put(line.rstrip())
        self.lines.put(None)


def _free_port() -> int:
    # mitmweb does not report which one it took when it is given 0.
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


# The client


def stream(
    asked: dict[str, Any], provider: Provider, proxy: Proxy | None
) -> Iterator[str]:
    """Send a request and yield the events of the answer as they arrive.

    Args:
        asked: The request's body.
        provider: To whom.
        proxy: Through which; None for straight.

    Raises:
        DemoError: There was no such answer.
    """
    straight = HOST, provider.port
    place, target = ((HOST, proxy.port), straight) if proxy else (straight, None)
    ca = (proxy or provider).ca
    last = proxy.last if proxy else ()
    via = "through the proxy" if proxy else "straight from the provider"
    try:
        yield from client.events(asked, place, target, ca, timeout=PATIENCE)
    except client.RefusedError as error:
        sentence = f"the answer {via} was {error.status}: {error.text}."
        raise DemoError(sentence, last) from error
    except (OSError, http.client.HTTPException) as error:
        sentence = f"the answer {via} broke off: {error!r}."
        raise DemoError(sentence, last) from error
