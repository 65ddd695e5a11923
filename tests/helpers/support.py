"""What the end-to-end tests stand on: a scripted provider, mitmdump, and clients.

The provider is in `scripted`, the clients in `blocking_clients`; here is the mitmdump of a test.

All of it is real (sockets, threads, TLS, a process) and stays on loopback; every port
is a free one. Order is proven with gates, never with sleeps: a provider that waits for
its gate has not sent what comes after it. Whatever waits gives up after `PATIENCE`, so
that a defect fails a test and does not hang it.
"""

import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import forked
from blocking_clients import (
    PATIENCE,
    BrokenEndError,
    Http1Client,
    Http1Reply,
    Http2Client,
    Http2Reply,
    Json,
    Reply,
    connect,
)
from forked import Forked
from scripted import Break, Framing, Part, Provider, Script, body_script, status_page
from workshop import ADDON, LOOPBACK, mitmdump
from workshop.certificates import client_context, make_ca, server_context
from workshop.child import ChildError
from workshop.traffic.http1 import Request
from workshop.traffic.server import Act

__all__ = [
    "ADDON",
    "LOOPBACK",
    "PATIENCE",
    "Act",
    "Break",
    "BrokenEndError",
    "Framing",
    "Http1Client",
    "Http1Reply",
    "Http2Client",
    "Http2Reply",
    "Json",
    "Mitmdump",
    "Part",
    "Provider",
    "Reply",
    "Request",
    "Script",
    "body_script",
    "client_context",
    "connect",
    "copied_addon",
    "forward_proxy",
    "make_ca",
    "server_context",
    "starting",
    "status_page",
    "to",
    "tunnelled",
]


_MARKS = itertools.count(1)


class Mitmdump(mitmdump.Mitmdump):
    """A mitmdump process with the addon; its output is part of a failed test's report.

    Args:
        folder: An empty folder for all its files.
        ca: Folder of mitmproxy's CA, so that not every process has to make one.
        args: More arguments.
        options: Values of options, a list for several.
        scripts: Texts of more scripts to load, after the addon.
        addon: The folder of the addon.
    """

    program = "mitmdump"
    forks = True
    """Whether it may be forked, which is quicker, but shows another command line."""

    def __init__(
        self,
        folder: Path,
        ca: Path,
        *args: str,
        options: mitmdump.Options | None = None,
        scripts: Sequence[str] = (),
        addon: Path = ADDON,
    ) -> None:
        self.confdir = folder / "conf"
        shutil.copytree(ca, self.confdir)
        self.ca = self.confdir / "mitmproxy-ca-cert.pem"
        paths = [addon / "normalize.py", mitmdump.CONTROL]
        for number, text in enumerate(scripts):
            path = folder / f"script{number}.py"
            path.write_text(text)
            paths.append(path)
        every = {"confdir": str(self.confdir), **(options or {})}
        command = mitmdump.command(paths, every, *args, program=self.program)
        super().__init__(self.program, command, folder)
        self._scripts = paths
        self._text: list[str] = []

    def spawn(self, env: Mapping[str, str], **more: Any) -> subprocess.Popen[str]:
        if not (self.forks and forked.available()):
            return super().spawn(env, **more)
        made = Forked(self.program, self.command[3:], self._folder, env)
        return cast("subprocess.Popen[str]", made)

    def hear(self, line: str) -> None:
        # To pytest's capture, which shows it with the test that fails; not to `sys.stdout`,
        # which may be what another test, of a proxy that is shared, is looking at.
        print(f"mitmdump {self.pid}: {line}", file=sys.__stdout__, flush=True)
        self._text.append(line + "\n")
        super().hear(line)

    def ready(self) -> None:
        for path in self._scripts:
            self.wait_for(f"Loading script {path}")
        try:
            super().ready()
        except ChildError as error:
            raise AssertionError(str(error)) from None

    @property
    def log(self) -> str:
        """What was read so far of what it prints; all of it, once it has ended."""
        return "".join(self._text)

    def printed(self) -> str:
        """Return all that it has printed up to now: what is not in it was not said."""
        mark = f"mark {next(_MARKS)}."
        self.control(say=mark)
        self.wait_for(mark)
        return self.log

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Wait until it has printed *text*."""
        try:
            self.until(lambda: self.log.count(text) >= times or None, PATIENCE)
        except ChildError:
            raise AssertionError(f"mitmdump never said {text!r}") from None

    def reload(self) -> None:
        """Touch the addon, as an update does, and wait until it is loaded anew."""
        script = self._scripts[0]
        text = f"Loading script {script}"
        times = self.log.count(text)
        later = script.stat().st_mtime + 10
        os.utime(script, (later, later))
        self.wait_for(text, times=times + 1)

    def terminate(self) -> int:
        """Ask it to end (SIGTERM), and return its exit code."""
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        """Wait until it has ended and all was read, and return its exit code."""
        assert self.process
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def ask(
        self,
        path: str,
        body: Json,
        headers: Mapping[str, str] | None = None,
        version: str = "1.1",
        host: str = "localhost",
    ) -> Http1Reply:
        """Ask on a connection of its own, and return the answer, whose body is in."""
        with Http1Client(connect(self.port), host) as client:
            reply = client.post(path, body, headers, version)
            reply.rest()
            return reply

    # -- what a user would do in the console ---------------------------------------

    def control(self, **what: Json) -> Json:
        """Ask the control script, and return its answer.

        Raises:
            ValueError: It refused; the message is the refusal.
        """
        answer = json.loads(self.ask(mitmdump.CONTROL_URL, what).body)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["answer"]

    def set(self, **options: Json) -> None:
        """Change options of the running process."""
        self.control(set=options)

    @contextlib.contextmanager
    def options(self, **options: Json) -> Iterator[None]:
        """Change options for a while."""
        old = {name: self.control(get=name) for name in options}
        self.set(**options)
        try:
            yield
        finally:
            self.set(**old)

    # -- the pairs log -------------------------------------------------------------

    @property
    def pairs_path(self) -> Path:
        """Where the pairs log lies if no option says otherwise."""
        return self.confdir / "normalize" / f"pairs-{self.port}.jsonl"

    def pairs(
        self, path: Path | None = None, having: str = ""
    ) -> list[dict[str, Json]]:
        """Return the records of the pairs log so far, all or those *having* a text."""
        try:
            text = (path or self.pairs_path).read_text("utf-8")
        except FileNotFoundError:  # not begun, or about to begin anew
            return []
        whole = text.split("\n")[:-1]  # the last may be half
        return [json.loads(line) for line in whole if having in line]

    def records(
        self, script: Script, path: Path | None = None
    ) -> list[dict[str, Json]]:
        """Return the records of the answer of *script*, once its flow has ended."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            # The log of a whole module is long: only what may count is parsed.
            for record in self.pairs(path, script.path):
                if record["type"] == "flow" and record["path"] == script.path:
                    flow = record["flow"]
                    found = self.pairs(path, flow)
                    whole = [each for each in found if each["flow"] == flow]
                    if whole:  # else the log has been renamed since
                        return whole
            time.sleep(0.01)
        raise AssertionError(f"no flow record for {script.path}")


def copied_addon(folder: Path) -> Path:
    """Copy the addon into *folder*, with what is compiled of it: that takes seconds."""
    copy = folder / "addon"
    unfinished = shutil.ignore_patterns("*.pyc.*")
    shutil.copytree(ADDON, copy, ignore=unfinished)
    if sys.pycache_prefix:
        here, there = (
            Path(sys.pycache_prefix, *each.parts[1:]) for each in (ADDON, copy)
        )
        if here.exists():
            shutil.copytree(here, there, ignore=unfinished)
    return copy


@contextlib.contextmanager
def starting(
    folder: Path,
    ca: Path,
    *,
    scripts: Sequence[str] = (),
    addon: Path = ADDON,
    **always: str | Sequence[str],
) -> Iterator[Callable[..., Mitmdump]]:
    """Yield what starts mitmdumps, each in its own folder below; they end with this.

    It takes options by their names, or in a dictionary.
    """
    with contextlib.ExitStack() as opened:

        def start(
            *args: str,
            scripts: Sequence[str] = scripts,
            addon: Path = addon,
            options: mitmdump.Options | None = None,
            **named: str | Sequence[str],
        ) -> Mitmdump:
            own = Path(tempfile.mkdtemp(prefix="mitmdump-", dir=folder))
            every = {**always, **(options or {}), **named}
            made = Mitmdump(own, ca, *args, options=every, scripts=scripts, addon=addon)
            return opened.enter_context(made)

        yield start


def to(provider: Provider) -> tuple[str, str]:
    """Return the arguments of a reverse proxy."""
    return "--mode", f"reverse:http://{LOOPBACK}:{provider.port}"


def tunnelled(
    mitmdump: Mitmdump,
    target: str,
    protocol: str = "http/1.1",
    *,
    host: str = "",
    sni: str | None = None,
) -> Http1Client | Http2Client:
    """Return a client behind CONNECT and TLS that speaks *protocol*.

    It names *host* in its requests and *sni* in its TLS, each *target* unless given.
    """
    ca, alpn = mitmdump.ca, [protocol]
    raw = connect(mitmdump.port, tunnel=target, ca=ca, alpn=alpn, sni=sni)
    kind = Http2Client if protocol == "h2" else Http1Client
    return kind(raw, host or target)


def forward_proxy(
    folder: Path, ca: Path, provider_ca: Path, scripts: Sequence[str] = ()
) -> Mitmdump:
    """Return a forward proxy for which `localhost`, but not 127.0.0.1, is a provider."""
    options = {
        "normalize_hosts": ["localhost"],
        "ssl_verify_upstream_trusted_ca": str(provider_ca),
    }
    return Mitmdump(folder, ca, options=options, scripts=scripts)
