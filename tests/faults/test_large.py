"""A provider that sends more than anybody can want."""

import contextlib
import sys
import threading
import zlib
from collections.abc import Iterator

import pytest

from faults.memory import bounded
from faults.rig import ASKED, DUE, SENT, WHOLE, Rig, whole
from faults.scenario import CHUNKED, ZIPPED, head
from support import Http1Client, Script, connect
from workshop.traffic.http1 import LAST_CHUNK, chunked
from workshop.traffic.memory import MIB

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is measured with /proc"
)

LIMIT = 8 * MIB
"""Bytes of one event that are kept."""


@contextlib.contextmanager
def raw_answer(rig: Rig, script: Script, body: object) -> Iterator[Http1Client]:
    """Ask, and leave the answer to be read from the socket: it is large."""
    with Http1Client(connect(rig.mitmdump.port)) as client:
        client.send(script.path, body)
        yield client


def read(client: Http1Client, mark: bytes) -> int:
    """Read until *mark* comes; return the bytes up to there, HTTP's own included."""
    count, tail = 0, b""
    while mark not in tail:
        data = client.socket.recv(MIB)
        assert data, f"{mark!r} never came; the last was {tail!r}"
        count += len(data)
        tail = (tail + data)[-4096:]
    return count


@pytest.mark.fault("endless-event")
def test_event_without_an_end_passes_and_repair_goes_on(reverse: Rig) -> None:
    large = b"data: " + b"x" * (LIMIT + 1 - len(b"data: "))
    script = reverse.provider.script(
        *(CHUNKED, chunked(*SENT[:2], large), chunked(b"\n\n", *SENT[2:]), LAST_CHUNK),
        framing="raw",
    )
    with reverse.bystander(), bounded(reverse.mitmdump.pid, 6 * LIMIT):
        with raw_answer(reverse, script, ASKED) as client:
            assert read(client, DUE[-1]) >= len(large)
        *pairs, flow = reverse.mitmdump.records(script)
        body = [*DUE[:2], large, b"\n\n", *DUE[2:]]
        assert flow["bytes_out"] == len(whole(body))
        assert (flow["end"], flow["events"]) == ("complete", 6)
        assert [pair["n"] for pair in pairs] == [0, 1, 3, 4]
        reverse.mitmdump.wait_for("1 events passed unread (too-large 1)")


@pytest.mark.fault("endless-line")
def test_what_never_ends_is_not_kept(reverse: Rig) -> None:
    piece = b"x" * MIB
    gate = threading.Event()
    script = reverse.provider.script(
        *(
            CHUNKED,
            chunked(*[piece] * 20),
            gate,
            chunked(*[piece] * 19, b"end"),
            LAST_CHUNK,
        ),
        framing="raw",
    )
    with reverse.bystander(), bounded(reverse.mitmdump.pid, 6 * LIMIT):
        with raw_answer(reverse, script, ASKED) as client:
            count = 0
            while count < 19 * MIB:  # what is sent before the gate, nearly
                count += len(client.socket.recv(MIB))
            gate.set()
            read(client, b"end")
        *_, flow = reverse.mitmdump.records(script)
        assert (flow["end"], flow["events"]) == ("complete", 1)
        assert flow["bytes_out"] == 39 * MIB + len(b"end")


@pytest.mark.fault("gzip-bomb")
def test_what_a_bomb_inflates_to_is_not_kept(reverse: Rig) -> None:
    deflate = zlib.compressobj(9, wbits=31)
    flush = zlib.Z_SYNC_FLUSH

    def bang(data: bytes) -> bytes:
        return chunked(deflate.compress(data) + deflate.flush(flush))

    size, times = 4 * MIB, 24
    gates = [threading.Event() for _ in range(times)]
    # Each goes off alone: one read may inflate to 64 MiB, but not all of them.
    bombs = [bang(b"x" * size) for _ in gates]
    played = [part for pair in zip(bombs, gates, strict=True) for part in pair]
    last = bang(b"\n\n" + whole(SENT)) + chunked(deflate.flush())
    script = reverse.provider.script(ZIPPED, *played, last, LAST_CHUNK, framing="raw")
    with reverse.bystander(), bounded(reverse.mitmdump.pid, size * times * 2 // 3):
        with raw_answer(reverse, script, ASKED) as client:
            count = 0
            for number, gate in enumerate(gates):
                # What is kept until it is too large an event comes with the third.
                while number > 2 and count < (number - 1) * size:
                    count += len(client.socket.recv(MIB))
                gate.set()
            read(client, DUE[-1])
        *_, flow = reverse.mitmdump.records(script)
        assert flow["end"] == "complete"
        assert flow["bytes_out"] == size * times + len(b"\n\n" + whole(DUE))
        assert flow["bytes_in"] < MIB


@pytest.mark.fault("gzip-bomb-body")
@pytest.mark.parametrize("status", ["200 OK", "500 Internal Server Error"])
def test_body_that_is_a_bomb_passes_unread(reverse: Rig, status: str) -> None:
    deflate = zlib.compressobj(9, wbits=31)
    data = deflate.compress(b'{"choices":[{"index":0,"message":{"content":"')
    data += b"".join(deflate.compress(b"x" * MIB) for _ in range(200))
    data += deflate.compress(b'"}}]}') + deflate.flush()
    fields = "content-encoding: gzip", f"content-length: {len(data)}"
    first = head(*fields, status=status).replace(b"text/event-stream", b"text/json")
    script = reverse.provider.script(first, data, framing="raw")
    with reverse.bystander(), bounded(reverse.mitmdump.pid, 100 * MIB):
        with reverse.client() as client:
            reply = client.post(script.path, WHOLE)
            assert reply.status == int(status.split(maxsplit=1)[0])
            assert reply.headers["content-encoding"] == "gzip"
            assert reply.rest() == data
        *others, flow = reverse.mitmdump.records(script)
        assert not [each for each in others if each["type"] == "pair"]
        assert (flow["end"], flow["bytes_out"]) == ("complete", len(data))
