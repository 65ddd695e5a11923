"""The steps, in their order, and what they share: the proxies, and the demo's provider."""

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ..demo import provider as demo_provider
from ..demo.provider import HOST
from ..demo.proxy import DemoError
from ..desktop import local_server
from ..desktop.local_server import Status
from ..desktop.machine import Machine
from ..text.command_line import command_line
from . import (
    ca,
    other_hosts,
    own_proxy,
    pac,
    programs,
    provider_leg,
    system_proxy,
    variables,
)
from . import ca as check_ca
from . import port as check_port
from . import stream as check_stream
from .ca import Authority
from .finding import Finding, Mark, Way
from .programs import Led

PREFIX = "llm-normalize-check-"


def walk(
    machine: Machine, host: str, port: int, confdir: Path, base: str = ""
) -> Iterator[Sequence[Finding]]:
    """Yield the findings of each step, as they are made.

    Args:
        machine: The machine.
        host: Where the proxy listens.
        port: Where it listens.
        confdir: mitmproxy's folder.
        base: The base URL of a provider that is to be asked; empty for none.
    """
    with contextlib.ExitStack() as stack:
        path = _Path(machine, Way(host, port), confdir, stack)
        yield [
            check_port.judge(machine, path.way, confdir, path.found, path.owner),
            *check_port.unknown(),
        ]
        yield variables.judge(machine, path.way)
        desktop = system_proxy.read(machine)
        led = Led(
            shell=variables.lead_here(machine, path.way),
            desktop=system_proxy.leads_here(desktop, path.way),
        )
        yield [system_proxy.judge(machine, path.way, desktop, has_variables=led.shell)]
        try:
            through = path.through()
        except DemoError as error:
            yield check_ca.judge(machine, port, confdir, check_ca.read(confdir), None)
            yield [own_proxy.failed(machine, confdir, error)]
            return
        yield [pac.judge(machine, through.way)]
        yield from path.authority(through, led)
        try:
            here = path.here(through)
        except DemoError as error:
            yield [own_proxy.failed(machine, confdir, error)]
            return
        folder = path.folder / "unlisted"
        folder.mkdir()
        yield [other_hosts.judge(here.way, folder, through.status.opens)]
        yield [path.stream()]
        if base:
            way = path.way if path.found is not None else None
            yield [provider_leg.judge(way, base, through.ca)]


class _Through(NamedTuple):
    """A proxy that steps go through.

    Attributes:
        way: Where it is.
        status: What it says of itself.
        ca: The certificate of its CA.
    """

    way: Way
    status: Status
    ca: Path


class _Path:
    """What the steps share.

    Attributes:
        machine: The machine.
        way: The proxy that is asked about, and what it opens.
        confdir: mitmproxy's folder.
        owner: Who listens there.
        found: What llm_normalize says there, None if it is not there.
        folder: A folder of the check's own.
    """

    def __init__(
        self, machine: Machine, way: Way, confdir: Path, stack: contextlib.ExitStack
    ) -> None:
        self.machine = machine
        self.confdir = confdir
        self.owner, self.found = local_server.on_port(way.port, way.host)
        hosts = self.found.hosts if self.found else own_proxy.hosts(confdir)
        self.way = replace(way, hosts=hosts)
        made = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
        self.folder = Path(stack.enter_context(made))
        self._gate = check_stream.Gate()
        self._stack = stack
        self._provider = stack.enter_context(
            demo_provider.running(self.folder, self._gate.between)
        )
        self._own: _Through | None = None

    def through(self) -> _Through:
        """Return the proxy that runs, or the check's own.

        Raises:
            DemoError: None runs, and the own one does not start.
        """
        if self.found is None:
            return self._start()
        ca = self._used() or check_ca.read(self.confdir)
        path = self.folder / "ca.pem"
        path.write_text(ca.certificate.pem if ca else "", encoding="ascii")
        return _Through(self.way, self.found, path)

    def _used(self) -> Authority | None:
        """Return the CA of the proxy that runs, None if it cannot be read."""
        return check_ca.read(Path(self.found.confdir)) if self.found else None

    def _start(self) -> _Through:
        """Return the check's own proxy, started once.

        Raises:
            DemoError: It does not start.
        """
        if self._own is None:
            options = [f"normalize_hosts={each}" for each in self.way.hosts]
            if self.found is not None and self.owner is not None:
                options += check_port.options(self.owner.command)
                options.append(f"normalize_mode={self.found.mode}")
            running = own_proxy.running(
                self.confdir, self.folder, self._provider, options
            )
            proxy = self._stack.enter_context(running)
            status = local_server.status(HOST, proxy.port)
            if status is None:
                raise DemoError("The addon did not load.", proxy.last)
            way = Way(HOST, proxy.port, status.hosts)
            self._own = _Through(way, status, proxy.ca)
        return self._own

    def here(self, through: _Through) -> _Through:
        """Return a proxy that reaches servers of this machine: not by another proxy.

        Raises:
            DemoError: That is the check's own, and it does not start.
        """
        command = self.owner.command if self.owner is not None else ()
        return self._start() if check_port.is_upstream(command) else through

    def authority(self, through: _Through, led: Led) -> Iterator[Sequence[Finding]]:
        """Yield the lines about the CA, and who trusts it."""
        mine = check_ca.read(self.confdir)
        yield check_ca.judge(
            self.machine, self.way.port, self.confdir, mine, self.found
        )
        used = mine if self.found is None else self._used() or mine
        if used is None:
            saw = "no CA yet"
            yield [Finding(Mark.SKIP, "CA trusted", saw)]
            return
        if through.status.opens == "allowed":
            # What is allowed is hardly the probe: its TLS stays closed there.
            with contextlib.suppress(DemoError):
                through = self._start()
        if through.status.probe:
            probe = programs.Probe(through.way, through.status.probe, used, self.way)
            for finding in programs.judge(self.machine, probe, led):
                yield [finding]
        else:
            saw = "the proxy answers no probe, so that no program can be asked"
            yield [Finding(Mark.FAIL, "CA trusted", saw, "start this project's addon")]
        yield [ca.judge_browsers(self.machine, used, must=led.shell or led.desktop)]

    def stream(self) -> Finding:
        """Return the line about a stream: no other proxy trusts the demo's provider."""
        try:
            own = self._start()
            got = check_stream.ask(own.way, self._provider, self._gate, own.ca)
        except DemoError as error:
            return own_proxy.failed(self.machine, self.confdir, error)
        except check_stream.Refused as error:
            demo = command_line("demo", system=self.machine.system)
            repair = f"what failed above; then {demo}"
            return Finding(
                Mark.FAIL, check_stream.STEP, f"none arrived: {error}", repair
            )
        through = f"through a proxy of the check's own ({HOST}:{own.way.port})"
        skips = check_port.skips(self.owner.command if self.owner else ())
        observes = own.status.mode == "observe"
        return check_stream.judge(got, through, is_observing=observes, skips=skips)
