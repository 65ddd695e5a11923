"""What the end-to-end tests stand on: a scripted provider, mitmdump, and clients.

All of it is real (sockets, threads, TLS, a process) and stays on loopback; every port
is a free one. Order is proven with gates, never with sleeps: a provider that waits for
its gate has not sent what comes after it. Whatever waits gives up after `PATIENCE`, so
that a defect fails a test and does not hang it.
"""

import abc
import contextlib
import enum
import itertools
import json
import os
import shutil
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, Self

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions

from workshop import ADDON, LOOPBACK, forked, mitmdump
from workshop.certificates import client_context, make_ca, server_context
from workshop.child import ChildError, Process
from workshop.forked import Forked

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
    "client_context",
    "connect",
    "forward_proxy",
    "make_ca",
    "server_context",
]

PATIENCE = 20.0
"""Seconds after which whatever waits gives up."""

type Json = Any


# -- the provider ------------------------------------------------------------------


class Break(enum.Enum):
    """Ends of an answer that are none."""

    RESET = "reset the connection (HTTP/2: the stream)"
    CUT = "close the connection, though the answer is not complete"


type Act = Callable[[h2.connection.H2Connection, int], bytes | None]
"""What else an HTTP/2 provider does on a stream; may return bytes to be sent."""

type Part = bytes | float | threading.Event | Break | Act
"""What an answer consists of: an HTTP chunk (or DATA frame), a pause in seconds, a gate
that the test opens, a break, or an act."""

_NUMBERS = itertools.count(1)

type Framing = Literal["chunked", "length", "close", "http10", "raw"]
"""How the end of an answer is told; "raw" leaves head and framing to the parts."""


@dataclass
class Request:
    """A request as the provider got it."""

    headers: dict[str, str]
    body: bytes


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
    """Set when a request has come."""

    def turn(self) -> "Script":
        """Return what the request that came last is answered."""
        past = len(self.requests) - 1
        return self.turns[past] if past < len(self.turns) else self

    @property
    def bytes(self) -> bytes:
        """The body of the answer."""
        return b"".join(each for each in self.parts if isinstance(each, bytes))

    def head(self) -> list[tuple[str, str]]:
        """Return the header fields."""
        fields = {"content-type": "text/event-stream", **self.headers}
        if self.framing == "length":
            fields["content-length"] = str(len(self.bytes))
        return list(fields.items())


_UNKNOWN = Script("", [b"the test has no script for this path"], status=500)


class _Broken(Exception):  # noqa: N818 - nothing went wrong
    pass


class Provider:
    """A scripted upstream: HTTP/1.1 or HTTP/2 (by ALPN), plain or TLS.

    Args:
        context: TLS settings; None for plain TCP.
        port: Where to listen; any free one if 0.
    """

    def __init__(self, context: ssl.SSLContext | None = None, port: int = 0) -> None:
        self._context = context
        self._scripts: dict[str, Script] = {}
        self._listener = socket.create_server((LOOPBACK, port))
        self.port: int = self._listener.getsockname()[1]
        self.protocols: list[str] = []
        """The protocol of each connection, in order."""
        self._open: set[socket.socket] = set()
        self._start(self._accept)

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

    def close(self) -> None:
        """Close every socket."""
        for each in (self._listener, *tuple(self._open)):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self, target: Any, *args: Any) -> None:
        threading.Thread(target=target, args=args, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        self._open.add(connection)
        # A peer that hangs up, at whatever point, is part of the game.
        with contextlib.suppress(OSError, _Broken, h2.exceptions.ProtocolError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                self._open.discard(connection)
                connection = self._context.wrap_socket(connection, server_side=True)
                self._open.add(connection)
            alpn = isinstance(connection, ssl.SSLSocket) and (
                connection.selected_alpn_protocol()
            )
            self.protocols.append(alpn or "http/1.1")
            if alpn == "h2":
                _Http2Answers(connection, self._scripts).run()
            else:
                _serve_http1(connection, self._scripts)
        self._open.discard(connection)
        connection.close()


def _play(script: Script) -> Iterator[bytes | Break | Act]:
    """Yield what is to be sent, each piece at its time."""
    for part in script.parts:
        match part:
            case threading.Event():
                if not part.wait(PATIENCE):
                    yield Break.CUT
            case float() | int():
                time.sleep(part)
            case _:
                yield part


def _serve_http1(connection: socket.socket, scripts: Mapping[str, Script]) -> None:
    with connection.makefile("rb") as stream:
        while line := stream.readline():
            path = line.split()[1].decode()
            headers: dict[str, str] = {}
            while field_line := stream.readline().strip():
                name, _, value = field_line.decode().partition(":")
                headers[name.lower()] = value.strip()
            body = stream.read(int(headers.get("content-length", "0")))
            script = scripts.get(path, _UNKNOWN)
            script.requests.append(Request(headers, body))
            script.asked.set()
            script = script.turn()
            _answer_http1(connection, script)
            if script.framing in ("close", "http10"):
                return


def _answer_http1(connection: socket.socket, script: Script) -> None:
    if script.silent is not None:
        script.silent.wait(PATIENCE)
    version = "1.0" if script.framing == "http10" else "1.1"
    lines = [f"HTTP/{version} {script.status} Whatever"]
    lines += [f"{name}: {value}" for name, value in script.head()]
    chunked = script.framing == "chunked"
    lines += ["transfer-encoding: chunked"] if chunked else []
    if script.framing != "raw":
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
    for piece in _play(script):
        assert not callable(piece), "an act is for HTTP/2"
        if isinstance(piece, Break):
            if piece is Break.RESET:
                # Zero seconds of lingering: the kernel sends RST instead of FIN.
                linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            raise _Broken
        connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
    if chunked:
        connection.sendall(b"0\r\n\r\n")


class _Http2Answers:
    """One HTTP/2 connection of a provider; its streams are answered side by side."""

    def __init__(
        self, connection: socket.socket, scripts: Mapping[str, Script]
    ) -> None:
        self._socket = connection
        self._scripts = scripts
        self._lock = threading.Lock()
        self._h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self._requests: dict[int, tuple[str, Request]] = {}

    def run(self) -> None:
        """Serve until the peer leaves."""
        with self._lock:
            self._h2.initiate_connection()
            self._flush()
        while data := self._socket.recv(65536):
            with self._lock:
                events = self._h2.receive_data(data)
                for event in events:
                    self._take(event)
                self._flush()

    def _flush(self) -> None:
        if data := self._h2.data_to_send():
            self._socket.sendall(data)

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.RequestReceived):
            assert event.stream_id
            headers = {_text(name): _text(value) for name, value in event.headers or ()}
            request = Request(headers, b"")
            self._requests[event.stream_id] = (headers[":path"], request)
        elif isinstance(event, h2.events.DataReceived):
            assert event.stream_id
            self._requests[event.stream_id][1].body += event.data or b""
            self._h2.acknowledge_received_data(
                event.flow_controlled_length or 0, event.stream_id
            )
        elif isinstance(event, h2.events.StreamEnded):
            assert event.stream_id
            path, request = self._requests.pop(event.stream_id)
            script = self._scripts.get(path, _UNKNOWN)
            script.requests.append(request)
            script.asked.set()
            threading.Thread(
                target=self._answer,
                args=(event.stream_id, script.turn()),
                daemon=True,
            ).start()

    def _answer(self, stream: int, script: Script) -> None:
        try:
            if script.framing != "raw":
                with self._lock:
                    head = [(":status", str(script.status)), *script.head()]
                    self._h2.send_headers(stream, head)
                    self._flush()
            for piece in _play(script):
                with self._lock:
                    if not isinstance(piece, bytes | Break):
                        data = piece(self._h2, stream)
                        self._flush()
                        self._socket.sendall(data or b"")
                        continue
                    if piece is Break.CUT:
                        self._socket.shutdown(socket.SHUT_RDWR)
                        return
                    if isinstance(piece, Break):
                        code = h2.errors.ErrorCodes.INTERNAL_ERROR
                        self._h2.reset_stream(stream, code)
                        self._flush()
                        return
                    self._h2.send_data(stream, piece)
                    self._flush()
            with self._lock:
                if script.framing != "raw":
                    self._h2.end_stream(stream)
                self._flush()
        except (OSError, h2.exceptions.ProtocolError):
            pass  # the peer has hung up


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


# -- mitmdump ----------------------------------------------------------------------


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
        paths = [addon / "normalize.py"]
        for number, text in enumerate((mitmdump.CONTROL, *scripts)):
            path = folder / f"script{number}.py"
            path.write_text(text)
            paths.append(path)
        every = {"confdir": str(self.confdir), **(options or {})}
        command = mitmdump.command(paths, every, *args, program=self.program)
        super().__init__(self.program, command, folder)
        self._scripts = paths
        self._text: list[str] = []

    def spawn(self, env: Mapping[str, str], **more: Any) -> Process:
        if not (self.forks and forked.available()):
            return super().spawn(env, **more)
        return Forked(self.program, self.command[3:], self._folder, env)

    def hear(self, line: str) -> None:
        # To pytest's capture, which shows it with the test that fails.
        sys.stdout.write(f"mitmdump {self.pid}: {line}\n")
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
        """What it has printed so far."""
        return "".join(self._text)

    def wait_for(self, text: str, *, times: int = 1) -> None:
        """Wait until it has printed *text*."""
        try:
            self.until(lambda: self.log.count(text) >= times or None, PATIENCE)
        except ChildError:
            raise AssertionError(f"mitmdump never said {text!r}") from None

    def terminate(self) -> int:
        """Ask it to end (SIGTERM), and return its exit code."""
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def ended(self) -> int:
        """Wait until it has ended, and return its exit code."""
        assert self.process
        return self.process.wait(PATIENCE)

    # -- what a user would do in the console ---------------------------------------

    def control(self, **what: Json) -> Json:
        """Ask the control script, and return its answer.

        Raises:
            ValueError: It refused; the message is the refusal.
        """
        client = Http1Client(connect(self.port))
        with client:
            reply = client.post(mitmdump.CONTROL_URL, what)
            answer = json.loads(reply.rest())
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
        path = path or self.pairs_path
        if not path.exists():
            return []
        whole = path.read_text("utf-8").split("\n")[:-1]  # the last may be half
        return [json.loads(line) for line in whole if having in line]

    def records(
        self, script: Script, path: Path | None = None
    ) -> list[dict[str, Json]]:
        """Return the records of the answer of *script*, once its flow has ended."""
        end = time.monotonic() + 5
        while time.monotonic() < end:
            # The log of a whole module is long: only what may count is parsed.
            for record in self.pairs(path, script.path):
                if record["type"] == "flow" and record["path"] == script.path:
                    flow = record["flow"]
                    found = self.pairs(path, flow)
                    return [each for each in found if each["flow"] == flow]
            time.sleep(0.01)
        raise AssertionError(f"no flow record for {script.path}")


# -- clients -----------------------------------------------------------------------


def forward_proxy(
    folder: Path, ca: Path, provider_ca: Path, scripts: Sequence[str] = ()
) -> Mitmdump:
    """Return a forward proxy for which `localhost`, but not 127.0.0.1, is a provider."""
    options = {
        "normalize_hosts": ["localhost"],
        "ssl_verify_upstream_trusted_ca": str(provider_ca),
    }
    return Mitmdump(folder, ca, options=options, scripts=scripts)


class BrokenEndError(Exception):
    """An answer broke off: its framing says that more should have come."""


class Reply(Protocol):
    """An answer as it arrives."""

    status: int
    headers: dict[str, str]

    def piece(self) -> bytes:
        """Return the next HTTP chunk, DATA frame or read; `b""` at a clean end."""
        ...

    def until(self, mark: bytes) -> bytes:
        """Return the body up to the piece that completes *mark*."""
        ...

    def rest(self) -> bytes:
        """Return the whole body, after a clean end."""
        ...

    def broken(self) -> bytes:
        """Return what came of the body, which must break off."""
        ...


class _Reply(abc.ABC):
    status: int
    headers: dict[str, str]

    def __init__(self) -> None:
        self.body = b""

    @abc.abstractmethod
    def piece(self) -> bytes:
        """Return the next bytes of the body; none at its clean end."""

    def until(self, mark: bytes) -> bytes:
        while mark not in self.body:
            piece = self.piece()
            assert piece, f"{mark!r} never came; the answer was {self.body!r}"
            self.body += piece
        return self.body

    def rest(self) -> bytes:
        while piece := self.piece():
            self.body += piece
        return self.body

    def broken(self) -> bytes:
        try:
            self.rest()
        except BrokenEndError:
            return self.body
        raise AssertionError(f"a clean end after {self.body!r}")


def connect(
    port: int,
    *,
    tunnel: str | None = None,
    ca: Path | None = None,
    alpn: Sequence[str] = ("http/1.1",),
    over_tls: str | None = None,
    sni: str | None = None,
) -> socket.socket:
    """Return a connection to the proxy on *port*, or through it.

    Args:
        port: The proxy's port.
        tunnel: `host:port` to CONNECT to, and to begin TLS with.
        ca: The CA that is trusted.
        alpn: Protocols to offer.
        over_tls: Speak TLS with the proxy itself, under this name; without a tunnel.
        sni: The name to ask for in TLS, if not the host of the tunnel.
    """
    raw: socket.socket = socket.create_connection((LOOPBACK, port), PATIENCE)
    raw.settimeout(PATIENCE)
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        if over_tls:
            context = client_context(ca, ["http/1.1"])
            raw = context.wrap_socket(raw, server_hostname=over_tls)
        if tunnel is None:
            return raw
        raw.sendall(f"CONNECT {tunnel} HTTP/1.1\r\nhost: {tunnel}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            # One byte at a time: what follows belongs to TLS.
            byte = raw.recv(1)
            assert byte, f"CONNECT was refused: {head!r}"
            head += byte
        assert b" 200 " in head.split(b"\r\n")[0], head
        host = sni or tunnel.rpartition(":")[0]
        return client_context(ca, alpn).wrap_socket(raw, server_hostname=host)
    except BaseException:
        raw.close()
        raise


def _head_and_body(
    body: Json, headers: Mapping[str, str] | None
) -> tuple[dict[str, str], bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {
        "content-type": "application/json",
        "content-length": str(len(data)),
        **(headers or {}),
    }
    return fields, data


class Http1Client:
    """HTTP/1.1 on a bare socket, so that chunks can be seen."""

    def __init__(self, connection: socket.socket, host: str = "localhost") -> None:
        self.socket = connection
        self._host = host
        self._buffer = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def post(
        self,
        path: str,
        body: Json,
        headers: Mapping[str, str] | None = None,
        version: str = "1.1",
    ) -> "Http1Reply":
        """Send a request, and return the answer once its headers are in."""
        self.send(path, body, headers, version)
        return Http1Reply(self)

    def send(
        self,
        path: str,
        body: Json,
        headers: Mapping[str, str] | None = None,
        version: str = "1.1",
    ) -> None:
        """Send a request."""
        fields, data = _head_and_body(body, headers)
        lines = [f"POST {path} HTTP/{version}", f"host: {self._host}"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + data)

    def line(self) -> bytes:
        """Return the next line, without its end."""
        while b"\r\n" not in self._buffer:
            self._more()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line

    def exactly(self, size: int) -> bytes:
        """Return the next *size* bytes."""
        while len(self._buffer) < size:
            self._more()
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data

    def some(self) -> bytes:
        """Return what is there; `b""` when the peer has closed."""
        if not self._buffer:
            return self._receive()
        data, self._buffer = self._buffer, b""
        return data

    def _more(self) -> None:
        data = self._receive()
        if not data:
            raise BrokenEndError
        self._buffer += data

    def _receive(self) -> bytes:
        try:
            return self.socket.recv(65536)
        except (ConnectionError, ssl.SSLEOFError) as error:
            raise BrokenEndError from error


class Http1Reply(_Reply):
    """An HTTP/1 answer; `framing` says how its end is told."""

    def __init__(self, client: Http1Client) -> None:
        super().__init__()
        self._client = client
        version, status, *_ = client.line().decode().split(" ")
        self.version = version
        self.status = int(status)
        self.headers = {}
        while line := client.line().decode():
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        self._left: int | None = None
        if "chunked" in self.headers.get("transfer-encoding", ""):
            self.framing = "chunked"
        elif "content-length" in self.headers:
            self.framing = "length"
            self._left = int(self.headers["content-length"])
        else:
            self.framing = "close"

    def piece(self) -> bytes:
        """Return the next chunk, or what is there; `b""` at a clean end."""
        if self.framing == "chunked":
            size = int(self._client.line(), 16)
            data = self._client.exactly(size)
            assert self._client.line() == b""
            return data
        if self._left is None:
            return self._client.some()
        if not self._left:
            return b""
        data = self._client.exactly(min(self._left, 65536))
        self._left -= len(data)
        return data


class Http2Client:
    """HTTP/2 on a TLS connection, one request at a time."""

    def __init__(self, connection: socket.socket, host: str = "localhost") -> None:
        self.socket = connection
        self._host = host
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(header_encoding="utf-8")
        )
        self.h2.initiate_connection()
        self.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def flush(self) -> None:
        """Send what is due."""
        if data := self.h2.data_to_send():
            self.socket.sendall(data)

    def post(
        self, path: str, body: Json, headers: Mapping[str, str] | None = None
    ) -> "Http2Reply":
        """Send a request, and return the answer once its headers are in."""
        return Http2Reply(self, self.send(path, body, headers))

    def send(
        self, path: str, body: Json, headers: Mapping[str, str] | None = None
    ) -> int:
        """Send a request, and return its stream."""
        fields, data = _head_and_body(body, headers)
        stream = self.h2.get_next_available_stream_id()
        head = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", self._host),
            (":path", path),
            *fields.items(),
        ]
        self.h2.send_headers(stream, head)
        self.h2.send_data(stream, data, end_stream=True)
        self.flush()
        return stream


class Http2Reply(_Reply):
    """An HTTP/2 answer."""

    def __init__(self, client: Http2Client, stream: int) -> None:
        super().__init__()
        self._client = client
        self._stream = stream
        self._pieces: list[bytes] = []
        self._ended = False
        self.headers = {}
        while not self.headers:
            self._read()
        self.status = int(self.headers[":status"])

    def piece(self) -> bytes:
        """Return the next DATA frame that is not empty; `b""` at a clean end."""
        while not self._pieces and not self._ended:
            self._read()
        return self._pieces.pop(0) if self._pieces else b""

    def leave(self) -> None:
        """Cancel the stream, as a client does that has read enough."""
        self._client.h2.reset_stream(self._stream, h2.errors.ErrorCodes.CANCEL)
        self._client.flush()

    def _read(self) -> None:
        try:
            data = self._client.socket.recv(65536)
        except (ConnectionError, ssl.SSLEOFError) as error:
            raise BrokenEndError from error
        if not data:
            raise BrokenEndError
        for event in self._client.h2.receive_data(data):
            self._take(event)
        self._client.flush()

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self.headers = {
                _text(name): _text(value) for name, value in event.headers or ()
            }
        elif isinstance(event, h2.events.DataReceived):
            if event.data:
                self._pieces.append(event.data)
            self._client.h2.acknowledge_received_data(
                event.flow_controlled_length or 0, self._stream
            )
        elif isinstance(event, h2.events.StreamEnded):
            self._ended = True
        elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
            raise BrokenEndError(repr(event))
