"""What a client meets beyond the machine, on loopback: a NIM-like provider and others.

A mitmdump with the addon, as a user starts it, stands before two hosts whose names it
finds here instead of on the network: one that is a known provider, and one that is not
listed. Both have certificates of their own, which no client trusts.
"""

import json
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from nim_stream import DONE, FINISH, OPENING, word
from support import (
    LOOPBACK,
    PATIENCE,
    Mitmdump,
    Provider,
    Script,
    make_ca,
    server_context,
)
from workshop.child import Child

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
TOLD = [{"role": "assistant", "content": ""}, {"content": "Mill brook."}, {}]


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

    def ask(
        self, command: Sequence[str], variables: Mapping[str, str], home: Path
    ) -> list[str]:
        """Let a client ask both hosts; return what it printed of the provider's stream.

        Args:
            command: The client. `BASE` in it becomes the provider's base URL.
            variables: What a user sets.
            home: An empty folder.
        """
        lines = self._streamed(command, variables, home)
        self._refused(command, variables, home)
        return lines

    def _streamed(
        self, command: Sequence[str], variables: Mapping[str, str], home: Path
    ) -> list[str]:
        """See that the beginning of a stream comes at once, repaired.

        The provider says nothing more until the client has shown the first event.
        """
        gate = threading.Event()
        script = self.nim.script(OPENING, gate, WORD, FINISH, DONE)
        with _Client(command, NIM, script, self.environment(variables, home)) as client:
            assert client.until(client.deltas, 2 * PATIENCE, "a chunk") == TOLD[:1]
            gate.set()
            assert client.ended() == 0
        assert client.deltas() == TOLD
        assert len(script.requests) == 1
        return list(client.lines)

    def _refused(
        self, command: Sequence[str], variables: Mapping[str, str], home: Path
    ) -> None:
        """See that a client that trusts mitmproxy alone refuses the host not listed.

        It has to see that host's own certificate.
        """
        script = self.unlisted.script(OPENING, DONE)
        environment = self.environment(variables, home)
        with _Client(command, UNLISTED, script, environment) as client:
            assert client.ended() != 0
        said = "\n".join(client.lines)
        assert any(word in said for word in SAYS_NO)
        assert script.requests == []


class _Client(Child):
    def __init__(
        self, command: Sequence[str], host: str, script: Script, env: dict[str, str]
    ) -> None:
        base = f"https://{host}{script.path.removesuffix('/chat/completions')}"
        super().__init__(
            "it", [each.replace("BASE", base) for each in command], env=env
        )

    def hear(self, line: str) -> None:
        sys.stdout.write(f"{line}\n")  # for the report of a test that fails

    def deltas(self) -> list[Any] | None:
        """Return what it got so far, chunk by chunk; None for nothing."""
        data = (line.removeprefix("data: ") for line in self.lines)
        chunks = [json.loads(each) for each in data if each.startswith('{"')]
        return [each["choices"][0]["delta"] for each in chunks] or None

    def ended(self) -> int:
        """Wait for its end, and return its exit code."""
        assert self.process
        return self.process.wait(2 * PATIENCE)
