"""A provider that answers as its scripts say, in a thread: for tests, and what they start.

Order is proven with gates, never with sleeps: a provider that waits for its gate has not
sent what comes after it.
"""

import asyncio
import contextlib
import enum
import itertools
import json
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from blocking_clients import PATIENCE
from workshop import LOOPBACK
from workshop.traffic.http1 import Request
from workshop.traffic.server import Act, Exchange, ServerThread


class Break(enum.Enum):
    """Ends of an answer that are none."""

    RESET = "reset the connection (HTTP/2: the stream)"
    CUT = "close the connection, though the answer is not complete"


type Part = bytes | float | threading.Event | Break | Act
"""What an answer consists of: an HTTP chunk (or DATA frame), a pause in seconds, a gate
that the test opens, a break, or an act."""

type Framing = Literal["chunked", "length", "close", "http10", "raw"]
"""What marks the end of an answer; "raw" leaves head and framing to the parts."""


@dataclass
class Script:
    """What the provider answers on one path, and what it was asked there."""

    path: str
    parts: Sequence[Part]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    framing: Framing = "chunked"
    silent: threading.Event | None = None
    """A gate before the headers."""
    turns: Sequence["Script"] = ()
    """What the first requests are answered instead, one after the other."""
    requests: list[Request] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    """Set when there has been a request."""

    def turn(self) -> "Script":
        """Return what the last request is answered."""
        past = len(self.requests) - 1
        return self.turns[past] if past < len(self.turns) else self

    @property
    def bytes(self) -> bytes:
        """The body of the answer."""
        return b"".join(each for each in self.parts if isinstance(each, bytes))

    def head(self) -> dict[str, str]:
        """Return the header fields."""
        fields = {"content-type": "text/event-stream", **self.headers}
        if self.framing == "length":
            fields["content-length"] = str(len(self.bytes))
        return fields

    async def play(self, exchange: Exchange) -> None:
        """Answer a request."""
        if self.silent is not None:
            await _opened(self.silent)
        if self.framing == "http10":
            exchange.head(self.status, self.head(), "close", "HTTP/1.0")
        elif self.framing != "raw":
            exchange.head(self.status, self.head(), self.framing)
        for part in self.parts:
            match part:
                case bytes():
                    exchange.send(part)
                    await exchange.drained()
                case float() | int():
                    await asyncio.sleep(part)
                case threading.Event() | Break():
                    if not await _goes_on(part, exchange):
                        return
                case _:
                    exchange.act(part)
        if self.framing != "raw":
            exchange.end()


def body_script(
    body: bytes, status: int = 200, content_type: str = "application/json", **more: str
) -> Script:
    """Return a script of one body; *more* header fields have `_` in place of `-`."""
    named = {name.replace("_", "-"): value for name, value in more.items()}
    return Script("", [body], status, {"content-type": content_type, **named}, "length")


def status_page(**facts: Any) -> "Provider":
    """Return a server whose only page is the status of an llm_normalize."""
    page = body_script(json.dumps({"name": "llm_normalize", **facts}).encode())
    none = body_script(b"", 404)
    return Provider(answer=lambda each: page if each.path == "/status.json" else none)


async def _goes_on(part: threading.Event | Break, exchange: Exchange) -> bool:
    """Wait for a gate, or break off; tell whether the answer goes on."""
    if part is Break.RESET:
        exchange.reset()
        return False
    if isinstance(part, threading.Event) and await _opened(part):
        return True
    await exchange.cut()
    return False


async def _opened(gate: threading.Event) -> bool:
    """Wait for a gate that another thread opens; tell whether it did."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[bool] = loop.create_future()

    def settle(is_open: bool) -> None:
        if not result.done():
            result.set_result(is_open)

    def wait() -> None:
        is_open = gate.wait(PATIENCE)
        with contextlib.suppress(RuntimeError):  # the provider has been closed
            loop.call_soon_threadsafe(settle, is_open)

    threading.Thread(target=wait, daemon=True).start()
    return await result


_UNKNOWN = Script("", [b"there is no script for this path"], status=500)
_NUMBERS = itertools.count(1)


class Provider(ServerThread):
    """A scripted upstream: HTTP/1.1 or HTTP/2 (by ALPN), plain or TLS.

    Args:
        context: TLS settings; None for plain TCP.
        port: Where to listen; any free one if 0.
        answer: What a request is answered, if not what the script of its path says.

    Attributes:
        requests: Every request, in order.
    """

    def __init__(
        self,
        context: ssl.SSLContext | None = None,
        port: int = 0,
        answer: Callable[[Request], Script] | None = None,
    ) -> None:
        self._scripts: dict[str, Script] = {}
        self._answer = answer or self._by_path
        self.requests: list[Request] = []
        super().__init__(self.play, context, port)
        self.url = f"http{'s' if context else ''}://{LOOPBACK}:{self.port}"

    def script(
        self, *parts: Part, path: str = "/v1/chat/completions", **more: Any
    ) -> Script:
        """Return a script for a path of its own, which ends in *path*."""
        path = f"/{next(_NUMBERS)}{path}"
        script = self._scripts[path] = Script(path, parts, **more)
        return script

    def alias(self, script: Script, path: str) -> None:
        """Answer with *script* on *path*, too."""
        self._scripts[path] = script

    def _by_path(self, request: Request) -> Script:
        return self._scripts.get(request.path, _UNKNOWN)

    async def play(self, exchange: Exchange) -> None:
        """Answer a request as its script says."""
        self.requests.append(exchange.request)
        script = self._answer(exchange.request)
        script.requests.append(exchange.request)
        script.asked.set()
        await script.turn().play(exchange)
