"""Streams through HAProxy and instances: what is sent, what has to come, and a crowd."""

import csv
import io
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import support
from llm_normalize.repair.fix import DONE, chunk, wire
from support import BrokenEndError, Http1Client, Provider, Script
from workshop.deploy.haproxy import Haproxy, name_of
from workshop.deploy.instances import Instance

BODY = {"model": "m", "stream": True, "messages": []}
FIRST = chunk({"role": "assistant", "content": ""})
WORDS = tuple(chunk({"content": f" word {at}"}) for at in range(40))
LAST = chunk({}, finish="stop")
ANSWER = wire([FIRST, *WORDS, LAST, DONE])
"""What a client gets: OpenAI's own form."""


def broken(data: bytes) -> bytes:
    """Return the events of *data* as no provider should send them."""
    return data.replace(b"data: ", b"data:")


HEAD, TAIL = wire([FIRST]), ANSWER.removeprefix(wire([FIRST]))


class Stream(threading.Thread):
    """One client with one stream."""

    def __init__(self, port: int, path: str) -> None:
        super().__init__(daemon=True)
        self.begun = threading.Event()
        """Set once its first event is in."""
        self.body = b""
        self.failure = ""
        self._port = port
        self._path = path
        self.start()

    @property
    def is_exact(self) -> bool:
        return self.body == ANSWER and not self.failure

    def run(self) -> None:
        try:
            with Http1Client(support.connect(self._port)) as client:
                reply = client.post(self._path, BODY)
                self.body = reply.until(b"\n\n")
                self.begun.set()
                if reply.status != 200:
                    self.failure = f"status {reply.status}"
                self.body = reply.rest()
        except (BrokenEndError, OSError, AssertionError) as error:
            self.failure = repr(error)
            self.begun.set()


@dataclass
class Rig:
    """A provider, instances of it, and HAProxy before some of them."""

    provider: Provider
    instances: list[Instance]
    haproxy: Haproxy
    whole: Script = field(init=False)
    """An answer that comes at once."""

    def __post_init__(self) -> None:
        self.whole = self.provider.script(*map(broken, (HEAD, TAIL)))

    def use(self, count: int) -> list[Instance]:
        """Let HAProxy have the first *count* instances, and return them."""
        used = self.instances[:count]
        self.haproxy.reload([each.port for each in used])
        self.wait_until(lambda: all(self.status(each) == "UP L7OK" for each in used))
        return used

    @contextmanager
    def halfway(self, count: int) -> Iterator[tuple[list[Stream], threading.Event]]:
        """Give *count* streams that wait after their first event, and their gate."""
        gate = threading.Event()
        script = self.provider.script(broken(HEAD), gate, broken(TAIL))
        streams = self.ask(count, script)
        for each in streams:
            assert each.begun.wait(support.PATIENCE)
            assert not each.failure
            assert each.body == HEAD
        try:
            yield streams, gate
        finally:
            gate.set()

    def ask(self, count: int, script: Script | None = None) -> list[Stream]:
        """Return *count* streams that have been asked for."""
        path = (script or self.whole).path
        return [Stream(self.haproxy.port, path) for _ in range(count)]

    @contextmanager
    def asking(self) -> Iterator[list[Stream]]:
        """Ask for one stream after another, from two clients, as long as it lasts."""
        over = threading.Event()
        done: list[Stream] = []

        def ask() -> None:
            while not over.is_set():
                (stream,) = self.ask(1)
                stream.join(support.PATIENCE)
                done.append(stream)

        askers = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
        for each in askers:
            each.start()
        try:
            yield done
        finally:
            over.set()
            for each in askers:
                each.join(support.PATIENCE)

    def stat(self, instance: Instance) -> dict[str, str]:
        """Return what HAProxy's table says of *instance*."""
        table = self.haproxy.ask("show stat").lstrip("# ")
        rows = csv.DictReader(io.StringIO(table))
        return next(row for row in rows if row["svname"] == name_of(instance.port))

    def status(self, instance: Instance) -> str:
        """Return whether HAProxy uses *instance*, and what its last check said."""
        row = self.stat(instance)
        return f"{row['status'].split()[0]} {row['check_status'].lstrip('* ')}"

    @staticmethod
    def wait_until(holds: Callable[[], bool]) -> None:
        """Wait until *holds* does."""
        end = time.monotonic() + support.PATIENCE
        while not holds():
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.02)


def finish(streams: Sequence[Stream]) -> list[Stream]:
    """Wait for *streams*, and return those that are not what they should be."""
    for each in streams:
        each.join(support.PATIENCE)
        assert not each.is_alive()
    return [each for each in streams if not each.is_exact]
