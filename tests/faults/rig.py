"""What every fault happens to: a provider, mitmdump, a client, and a bystander.

The bystander is another stream through the same mitmdump at the same time. It must not
notice the fault, and afterwards a new request must work.
"""

import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from llm_normalize.repair.fix import DONE, chunk, wire
from support import (
    Http1Client,
    Http2Client,
    Mitmdump,
    Provider,
    Script,
    connect,
    tunnelled,
)

type Json = Any

ASKED = {"model": "acme-1", "stream": True, "messages": []}
WHOLE = {**ASKED, "stream": False}

SENT = (
    wire([chunk({"role": "assistant", "content": None})]),
    wire([chunk({"role": None, "content": "Der Mühl"})]),
    wire([chunk({"role": None, "content": "bach"})]),
    wire([chunk({"role": None, "content": ""}, finish="stop")]),
    DONE,
)
"""A stream as NVIDIA NIM sends it; every event but the last is repaired."""

DUE = (
    wire([chunk({"role": "assistant", "content": ""})]),
    wire([chunk({"content": "Der Mühl"})]),
    wire([chunk({"content": "bach"})]),
    wire([chunk({}, finish="stop")]),
    DONE,
)
"""What the client is due for it."""

HTTP1 = "http/1.1"
HTTP2 = "h2"

BUGS = ("Traceback", "has crashed", "Addon error")
"""What mitmproxy logs of a bug, its own or an addon's."""


def whole(events: Sequence[bytes]) -> bytes:
    """Return the bytes of *events*."""
    return b"".join(events)


@dataclass
class Rig:
    """Where a fault happens.

    Attributes:
        mitmdump: The process.
        provider: What it asks.
        protocol: What the client speaks.
        tunnelled: Whether the client reaches the provider by CONNECT and TLS.
    """

    mitmdump: Mitmdump
    provider: Provider
    protocol: str = HTTP1
    tunnelled: bool = False

    bystanders: ClassVar[int] = 0
    """How many there have been, in all tests of this process."""

    def client(self) -> Http1Client | Http2Client:
        """Return a client with a connection of its own."""
        if not self.tunnelled:
            return Http1Client(connect(self.mitmdump.port))
        target = f"localhost:{self.provider.port}"
        return tunnelled(self.mitmdump, target, self.protocol)

    def ask(self, script: Script, body: Json = ASKED) -> bytes:
        """Ask on a connection of its own, and return the whole body."""
        with self.client() as client:
            return client.post(script.path, body).rest()

    def works(self) -> None:
        """See that a new request is answered as ever."""
        assert self.ask(self.provider.script(*SENT)) == whole(DUE)

    @contextlib.contextmanager
    def bystander(
        self, *, recorded: bool = True, bugs: int | None = 0
    ) -> Iterator[None]:
        """Have another stream under way meanwhile, and a new request afterwards.

        Args:
            recorded: Whether the log can have it; not without a disk.
            bugs: How often mitmproxy's log tells of one; None for at least once.
        """
        Rig.bystanders += 1
        begun = len(self.mitmdump.printed())
        gate = threading.Event()
        script = self.provider.script(*SENT[:2], gate, *SENT[2:])
        try:
            with self.client() as client:
                reply = client.post(script.path, ASKED)
                reply.until(whole(DUE[:2]))
                yield
                gate.set()
                assert reply.rest() == whole(DUE), "the bystander noticed"
        finally:
            gate.set()
        if recorded:
            *pairs, flow = self.mitmdump.records(script)
            assert (flow["end"], flow["events"]) == ("complete", len(SENT))
            assert [pair["n"] for pair in pairs] == [0, 1, 2, 3]
        self.works()
        log = self.mitmdump.printed()[begun:]
        reported = sum(log.count(bug) for bug in BUGS)
        assert reported == bugs if bugs is not None else reported, log
