"""The provider of the benchmark: a process of its own that sends what a `Plan` says.

It has to be far cheaper than any proxy: bytes made beforehand and a thread for each
connection, which the kernel keeps busy; streams with a gap share one thread that sleeps
from one event to the next. Prints its port, and ends when its stdin does.
"""

import contextlib
import heapq
import itertools
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import BinaryIO

from workshop.bench.traffic import (
    ANSWERS,
    DONE,
    HOST,
    KINDS,
    Plan,
    dialect,
    http_chunk,
    in_turn,
    text_chunks,
    wire,
)

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)
REFUSED = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
NAP = 0.001  # seconds after which a sleeper sees who has come meanwhile


class Paced:
    """A stream that has a gap between its events.

    Args:
        connection: Where it goes; not blocking.
        plan: What it consists of.
    """

    def __init__(self, connection: socket.socket, plan: Plan) -> None:
        self.done = threading.Event()
        self.kept_up = True
        self._connection = connection
        self._gap = plan.gap_us * 1000
        # On a grid of gaps since the clock began, so that phases keep streams apart.
        grid = time.monotonic_ns() // self._gap + 1
        self.due = grid * self._gap + plan.phase_us * 1000
        self._events = self._in_order(plan)

    @staticmethod
    def _in_order(plan: Plan) -> Iterator[tuple[bytes, bytes]]:
        every = dialect(plan.kind, plan.answer)
        for place in in_turn(plan):
            yield every.events[place]
        yield every.finish, b""
        yield DONE, b""

    def send(self) -> bool:
        """Send the next event; tell whether there are more."""
        head, tail = next(self._events)
        event = b"%b@%019d%b" % (head, time.monotonic_ns(), tail) if tail else head
        last = event == DONE
        data = http_chunk(event) + (b"0\r\n\r\n" if last else b"")
        try:
            self.kept_up = self._connection.send(data) == len(data)
        except OSError:  # the proxy has left, or is far behind
            self.kept_up = False
        self.due += self._gap
        if last or not self.kept_up:
            self.done.set()
        return not self.done.is_set()


class Pacer:
    """The thread that sends all streams with a gap."""

    def __init__(self) -> None:
        self._streams: list[tuple[int, int, Paced]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, stream: Paced) -> None:
        """Take a stream on."""
        with self._changed:
            self._push(stream)
            self._changed.notify()

    def _push(self, stream: Paced) -> None:
        heapq.heappush(self._streams, (stream.due, next(self._numbers), stream))

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._streams:
                    self._changed.wait()
                left = self._streams[0][0] - time.monotonic_ns()
                stream = heapq.heappop(self._streams)[2] if left <= 0 else None
            if stream is None:
                time.sleep(min(left / 1e9, NAP))
            elif stream.send():
                with self._changed:
                    self._push(stream)


def serve(connection: socket.socket, pacer: Pacer) -> None:
    """Answer the requests of one connection."""
    # A proxy that hangs up is no news here: the client tells what is missing.
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection.makefile("rb") as stream:
            while (body := read_request(stream)) is not None:
                try:
                    plan = Plan.of_request(body)
                except ValueError:
                    connection.sendall(REFUSED)
                    continue
                if not answer(connection, plan, pacer):
                    return


def read_request(stream: BinaryIO) -> bytes | None:
    """Return the next request's body; None when no request comes any more."""
    if not stream.readline():
        return None
    size = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            size = int(value)
    return stream.read(size)


def answer(connection: socket.socket, plan: Plan, pacer: Pacer) -> bool:
    """Send a stream; tell whether all of it could be sent."""
    every = dialect(plan.kind, plan.answer)
    connection.sendall(HEAD + http_chunk(every.opening))
    if plan.gap_us:
        connection.setblocking(False)
        paced = Paced(connection, plan)
        pacer.add(paced)
        paced.done.wait()
        connection.setblocking(True)
        return paced.kept_up
    for part in text_chunks(plan):
        connection.sendall(part)
    connection.sendall(http_chunk(every.finish) + http_chunk(DONE) + b"0\r\n\r\n")
    return True


def main() -> None:
    """Serve until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the benchmark's end is ours
    listener = socket.create_server((HOST, 0), backlog=256)
    pacer = Pacer()
    for kind, number in itertools.product(KINDS, range(ANSWERS)):
        wire(kind, number)  # made now, so that no stream waits for it

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(
                target=serve, args=(connection, pacer), daemon=True
            ).start()

    threading.Thread(target=accept, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()
    os._exit(0)  # whatever its threads are sending


if __name__ == "__main__":
    main()
