"""A provider that speaks NVIDIA NIM's dialect, on this machine, for the demo.

The shapes are NIM's: null roles and null content, `stop_reason`, a whole tool call in
one chunk with its finish reason, usage in every chunk that asked for it. The words are
made up, and the same for the same request, so that two answers can be compared.
"""

import contextlib
import http.server
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from mitmproxy import certs

from ..text.network_address import LOCAL
from ..wire.json_text import dumps, loads

HOST = LOCAL
NAME = "provider"
MODEL = "demo/nim-like-8b"
PAUSE = 0.04  # seconds between two events: slow enough to be seen streaming

WORDS = ("Streams", " are", " fun", " when", " they", " parse", ".")
ARGUMENTS = '{"city": "Lisbon"}'
CREATED = int(time.time())
_BITS = 2048


class Provider(NamedTuple):
    """A provider that is running.

    Attributes:
        port: Where it listens, on `HOST`.
        ca: The certificate that a client has to trust.
    """

    port: int
    ca: Path


def pause(_: int) -> None:
    """Wait a little after an event."""
    time.sleep(PAUSE)


@contextlib.contextmanager
def running(folder: Path, between: Callable[[int], None] = pause) -> Iterator[Provider]:
    """Run the provider.

    Args:
        folder: Where its certificates are written.
        between: Called after each event of a stream with how many were sent; the next
            one is sent when it returns.
    """
    ca = make_ca(folder, NAME)
    context = server_context(folder, NAME)
    server = _Server((HOST, 0), _Requests)
    server.between = between
    # Without the handshake: it is the business of each connection's own thread.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield Provider(server.server_address[1], ca)
    finally:
        server.shutdown()
        server.server_close()


# What it answers


def chunks(asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the chunks of a streamed answer to the request *asked*."""
    tools = bool(asked.get("tools"))
    counting = bool((asked.get("stream_options") or {}).get("include_usage"))
    spent = 0

    def chunk(*choices: dict[str, Any]) -> dict[str, Any]:
        made = {**_envelope(tools), "choices": [*choices]}
        return {**made, "usage": _usage(spent)} if counting else made

    if tools:
        yield chunk(_choice({"role": "assistant", "content": ""}))
        spent = 9
        delta = {"role": None, "content": None, "tool_calls": [_call()]}
        yield chunk(_last(delta, "tool_calls"))
    else:
        yield chunk(_choice({"role": "assistant", "content": None}))
        for word in WORDS:
            spent += 1
            yield chunk(_choice({"role": None, "content": word}))
        yield chunk(_last({"role": None, "content": ""}, "stop"))
    if counting:
        yield chunk()


def _envelope(tools: bool) -> dict[str, Any]:
    name = "chat-" + ("7001" if tools else "7e87") * 8
    kind = "chat.completion.chunk"
    return {"id": name, "object": kind, "created": CREATED, "model": MODEL}


def _choice(delta: dict[str, Any]) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}


def _last(delta: dict[str, Any], reason: str) -> dict[str, Any]:
    return {**_choice(delta), "finish_reason": reason, "stop_reason": None}


def _call() -> dict[str, Any]:
    return {
        "id": "chatcmpl-tool-" + "ca11" * 8,
        "type": "function",
        "function": {"name": "get_weather", "arguments": ARGUMENTS},
        "index": 0,
    }


def _usage(spent: int) -> dict[str, Any]:
    return {"prompt_tokens": 21, "total_tokens": 21 + spent, "completion_tokens": spent}


# How it answers


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    between: Callable[[int], None]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client may disconnect."""


class _Requests(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an event is sent when it is written
    timeout = 30

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing: the output is the demo's."""

    def do_GET(self) -> None:
        self.send_error(404)

    def do_POST(self) -> None:
        size = int(self.headers["content-length"])
        asked = loads(self.rfile.read(size))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        assert isinstance(self.server, _Server)
        events = (*map(dumps, chunks(asked)), b"[DONE]")
        for sent, data in enumerate(events, 1):
            event = b"data: %b\n\n" % data
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            self.server.between(sent)
        self.wfile.write(b"0\r\n\r\n")


def make_ca(folder: Path, name: str) -> Path:
    """Make a throw-away CA in *folder*, and return its certificate (PEM)."""
    certs.CertStore.create_store(folder, name, _BITS)
    return folder / f"{name}-ca-cert.pem"


def server_context(folder: Path, name: str, host: str = "") -> ssl.SSLContext:
    """Return TLS settings of a server with a certificate of the CA *name* in *folder*.

    It is for this machine's names, or for *host* alone.
    """
    store = certs.CertStore.from_store(folder, name, _BITS)
    here = [x509.DNSName("localhost"), x509.IPAddress(ip_address(LOCAL))]
    names = [x509.DNSName(host)] if host else here
    entry = store.get_cert(host or "localhost", names)
    key = entry.privatekey.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path = folder / f"{name}-{host or 'leaf'}.pem"
    path.write_bytes(key + entry.cert.to_pem())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
