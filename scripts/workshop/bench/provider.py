"""The provider of the benchmark: threads of this process that send what a `Plan` says."""

import contextlib
import http.server
import ssl
import threading
import time
from collections.abc import Iterator

from workshop import LOOPBACK
from workshop.bench.traffic import HEADER, Plan, sent

GAP = 0.01
"""Seconds between two events of a stream."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Send a stream."""
        self.rfile.read(int(self.headers["content-length"]))
        try:
            events = sent(Plan.of_header(self.headers.get(HEADER, "")))
        except ValueError as error:
            self.send_error(400, str(error))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        due = time.monotonic()
        for number, event in enumerate(events, 1):
            last = b"0\r\n\r\n" if number == len(events) else b""
            time.sleep(max(0, due - time.monotonic()))
            self.wfile.write(b"%x\r\n%b\r\n%b" % (len(event), event, last))
            due += GAP

    def log_message(self, *_: object) -> None:
        """Say nothing: the client tells what is missing."""


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, *_: object) -> None:
        """Say nothing: a proxy that hangs up is no news here."""


@contextlib.contextmanager
def running(context: ssl.SSLContext | None = None) -> Iterator[int]:
    """Have a provider while this is entered, with TLS of *context*; yield its port."""
    with _Server((LOOPBACK, 0), _Handler) as server:
        if context:
            # The handshake belongs to the thread of the connection.
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
