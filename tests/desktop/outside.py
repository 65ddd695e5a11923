"""What a client meets beyond the machine, on loopback: a NIM-like provider and others.

A mitmdump with the addon, as a user starts it, stands before two hosts whose names it
finds here instead of on the network: one that is a known provider, and one that is not
listed. Both have certificates of their own, which no client trusts.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from nim_stream import DONE, FINISH, OPENING, word
from support import LOOPBACK, PATIENCE, Mitmdump, Provider, make_ca, server_context

NIM = "integrate.api.nvidia.com"
UNLISTED = "example.org"

REDIRECT = '''\
"""Finds hosts on this machine instead of on the network."""

PORTS = {}


def server_connect(data):
    """Go to the stand-in; what is said to it (its name in TLS, too) stays."""
    host = data.server.address[0]
    # Nothing listens on port 1: what a client asks of others stays on this machine.
    if host != "127.0.0.1":
        data.server.address = ("127.0.0.1", PORTS.get(host, 1))
'''

SAYS_NO = ("certificate", "CERT", "PKIX", "x509", "SSL")
"""Words of an error that is about trust, by whoever is to say it."""


WORD = word("Mill brook.")


@dataclass(frozen=True)
class Ran:
    """How a client ended."""

    code: int
    out: str
    err: str

    @property
    def deltas(self) -> list[Any]:
        """What it got, chunk by chunk."""
        return [_delta(line) for line in self.out.splitlines() if _is_chunk(line)]


class Hosts:
    """A provider, and a host that is not listed.

    Attributes:
        nim: Stands for `NIM`.
        unlisted: Stands for `UNLISTED`.
        provider_ca: Their CA, which no client trusts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.provider_ca = make_ca(self._folder / "provider", "provider")
            folder = self.provider_ca.parent
            self.nim, self.unlisted = (
                stack.enter_context(
                    Provider(server_context(folder, "provider", ["http/1.1"], name))
                )
                for name in (NIM, UNLISTED)
            )
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def options(self) -> dict[str, str]:
        """The options of a mitmproxy that trusts them."""
        return {"ssl_verify_upstream_trusted_ca": str(self.provider_ca)}

    @property
    def script(self) -> str:
        """The script of a mitmproxy that finds them."""
        ports = {NIM: self.nim.port, UNLISTED: self.unlisted.port}
        return REDIRECT.replace("{}", repr(ports))


class Outside(Hosts):
    """These hosts, and mitmdump before them.

    Attributes:
        mitmdump: Listens on loopback; its CA is new.
    """

    def __enter__(self) -> Self:
        super().__enter__()
        with self._stack.pop_all() as stack:
            make_ca(self._folder / "ca", "mitmproxy")
            (self._folder / "run").mkdir()
            made = Mitmdump(
                self._folder / "run",
                self._folder / "ca",
                options=self.options,
                scripts=[self.script],
            )
            self.mitmdump = stack.enter_context(made)
            self._stack = stack.pop_all()
        return self

    @property
    def proxy(self) -> str:
        """The proxy's address, as variables and options take it."""
        return f"http://{LOOPBACK}:{self.mitmdump.port}"

    @property
    def ca(self) -> str:
        """The certificate that the client pages name `~/.mitmproxy/…`."""
        return str(self.mitmdump.ca)

    def environment(self, more: Mapping[str, str], home: Path) -> dict[str, str]:
        """Return variables for a client: what it needs to start, and *more*."""
        kept = ("PATH", "LANG", "SYSTEMROOT", "JAVA_HOME")
        plain = {name: os.environ[name] for name in kept if name in os.environ}
        return {"HOME": str(home), "PYTHONUTF8": "1"} | plain | dict(more)

    def stream(
        self, command: Sequence[str], variables: Mapping[str, str], home: Path
    ) -> Ran:
        """Let a client ask for a stream; see that its beginning comes at once, repaired.

        The provider says nothing more until the client has shown the first event.

        Args:
            command: The client. `BASE` in it becomes the provider's base URL.
            variables: What a user sets.
            home: An empty folder.
        """
        gate = threading.Event()
        script = self.nim.script(OPENING, gate, WORD, FINISH, DONE)
        base = f"https://{NIM}{script.path.removesuffix('/chat/completions')}"
        with _Client(command, base, self.environment(variables, home)) as client:
            first = client.first()
            shut = not gate.is_set()
            gate.set()
            ran = client.ended(first)
        assert first, ran.err
        assert shut
        assert _delta(first) == {"role": "assistant", "content": ""}
        assert ran.code == 0, ran.err
        assert len(script.requests) == 1
        return ran

    def refused(
        self, command: Sequence[str], variables: Mapping[str, str], home: Path
    ) -> Ran:
        """Let a client that trusts mitmproxy alone ask the host that is not listed.

        It has to see that host's own certificate, and so to refuse it.
        """
        script = self.unlisted.script(OPENING, DONE)
        base = f"https://{UNLISTED}{script.path.removesuffix('/chat/completions')}"
        with _Client(command, base, self.environment(variables, home)) as client:
            ran = client.ended("")
        assert ran.code != 0, ran.out
        assert any(word in ran.err for word in SAYS_NO), ran.err
        assert script.requests == []
        return ran


class _Client:
    def __init__(
        self, command: Sequence[str], base: str, environment: dict[str, str]
    ) -> None:
        self._process = subprocess.Popen(
            [each.replace("BASE", base) for each in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=environment,
        )
        self._err: list[str] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        # What hangs is ended, so that what waits for its output goes on.
        self._end = threading.Timer(2 * PATIENCE, self._process.kill)

    def __enter__(self) -> Self:
        self._reader.start()
        self._end.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.cancel()
        self._process.kill()
        self._process.wait()
        self._reader.join(PATIENCE)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._err.append(line)
            sys.stdout.write(line)  # for the report of a test that fails

    def first(self) -> str:
        """Return the first line that is a chunk; nothing if there is none."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if _is_chunk(line):
                return line
        return ""

    def ended(self, read: str) -> Ran:
        """Wait for its end; *read* has been read of its output."""
        assert self._process.stdout is not None
        out = read + self._process.stdout.read()
        code = self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return Ran(code, out, "".join(self._err))


def _is_chunk(line: str) -> bool:
    return line.removeprefix("data: ").startswith('{"')


def _delta(line: str) -> Any:
    return json.loads(line.removeprefix("data: "))["choices"][0]["delta"]
