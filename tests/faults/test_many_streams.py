"""Many streams of one HTTP/2 client, which mitmproxy carries on by either protocol."""

import threading
import time
from pathlib import Path

import pytest
from h2.connection import H2Connection
from h2.errors import ErrorCodes

from faults.http2_frames import answer, reset
from faults.http2_streams import Http2Streams, Streamed
from faults.rig import ASKED, DUE, HTTP1, HTTP2, SENT, Rig, whole
from faults.scenario import ZIPPED, zipped
from support import PATIENCE, Http2Client, Mitmdump, Part, Provider, server_context
from workshop.traffic.http1 import chunked

MANY = 12
FEW = 4
AT_ONCE = 5
"""Connections to one server that mitmproxy has for one client (its `server.py`)."""


def ask(
    rig: Rig, client: object, count: int = MANY
) -> tuple[Http2Streams, list[Streamed], list[threading.Event]]:
    """Send many requests; each answer goes on after its first event with its gate."""
    assert isinstance(client, Http2Client)
    streams = Http2Streams(client)
    gates = [threading.Event() for _ in range(count)]
    asked = [
        streams.ask(rig.provider.script(SENT[0], gate, *SENT[1:]), ASKED)
        for gate in gates
    ]
    return streams, asked, gates


def begun(asked: list[Streamed]) -> list[Streamed]:
    return [each for each in asked if each.body]


@pytest.mark.fault("many-http1")
@pytest.mark.parametrize("leaves", [False, True], ids=["all stay", "some leave"])
def test_five_streams_run_and_the_others_wait_their_turn(
    explicit: Mitmdump, secure: dict[str, Provider], *, leaves: bool
) -> None:
    rig = Rig(explicit, secure[HTTP1], HTTP2, tunnelled=True)
    with rig.bystander(), rig.client() as client:
        streams, asked, gates = ask(rig, client)
        streams.read_until(lambda: len(begun(asked)) == AT_ONCE)
        rig.works()  # another client does not wait
        assert sum(each.script.asked.is_set() for each in asked) == AT_ONCE
        gone = [asked[0], asked[AT_ONCE]] if leaves else []
        for each in gone:  # one that runs, and one that waits
            streams.cancel(each)
        left = [each for each in asked if each not in gone]
        for number in range(1, len(left) + 1):
            first = next(each for each in begun(left) if not each.ended)
            gates[asked.index(first)].set()
            streams.read_until(lambda each=first: each.ended)  # type: ignore[misc]
            due = min(len(left), AT_ONCE + number)
            streams.read_until(lambda due=due: len(begun(left)) >= due)  # type: ignore[misc]
            assert len(begun(left)) == due
        assert [each.body for each in left] == [whole(DUE)] * len(left)
        for each in left:
            assert explicit.records(each.script)[-1]["end"] == "complete"
        for each, ended in zip(gone, ("client-left", "error"), strict=False):
            # The one that waited has been asked for all the same.
            assert each.script.asked.is_set()
            assert explicit.records(each.script)[-1]["end"] == ended


@pytest.mark.fault("many-http2")
@pytest.mark.parametrize("who", ["provider", "client"])
def test_other_streams_of_a_connection_do_not_notice_a_reset(
    explicit: Mitmdump, secure: dict[str, Provider], who: str
) -> None:
    rig = Rig(explicit, secure[HTTP2], HTTP2, tunnelled=True)
    with rig.bystander(), rig.client() as client:
        streams, asked, gates = ask(rig, client)
        gate = threading.Event()
        script = rig.provider.script(
            *(answer(), SENT[0], gate, reset(ErrorCodes.INTERNAL_ERROR)), framing="raw"
        )
        victim = streams.ask(script, ASKED)
        streams.read_until(lambda: len(begun(asked)) == MANY and bool(victim.body))
        if who == "provider":
            gate.set()
            streams.read_until(lambda: victim.broken)
        else:
            streams.cancel(victim)
        for opened in gates:
            opened.set()
        streams.read_until(lambda: all(each.ended for each in asked))
        assert [each.body for each in asked] == [whole(DUE)] * MANY
        assert victim.body == DUE[0]
        assert not victim.ended
        end_ = "upstream-broke" if who == "provider" else "client-left"
        assert explicit.records(victim.script)[-1]["end"] == end_
        gate.set()


CORRUPT = *zipped(SENT)[:2], b"\xff" * 64


@pytest.mark.fault("many-corrupt")
@pytest.mark.parametrize("stalls", [False, True], ids=["ends", "stalls"])
@pytest.mark.parametrize("upstream", [HTTP1, HTTP2])
def test_other_streams_of_a_client_do_not_notice_a_corrupt_one(
    explicit: Mitmdump, secure: dict[str, Provider], upstream: str, *, stalls: bool
) -> None:
    rig = Rig(explicit, secure[upstream], HTTP2, tunnelled=True)
    with rig.bystander(), rig.client() as client:
        streams, asked, gates = ask(rig, client, FEW)
        corrupt, over = threading.Event(), threading.Event()
        parts: list[Part] = [*CORRUPT[:2], corrupt, CORRUPT[2]]
        parts += [over] if stalls else []
        gzip = {"content-encoding": "gzip"}
        script = rig.provider.script(*parts, headers=gzip)
        victim = streams.ask(script, ASKED)
        due = whole(DUE[:2])
        streams.read_until(lambda: len(begun(asked)) == FEW and victim.body == due)
        corrupt.set()
        streams.read_until(lambda: victim.broken or victim.ended)
        assert victim.broken
        for opened in gates:
            opened.set()
        streams.read_until(lambda: all(each.ended or each.broken for each in asked))
        assert [each.body for each in asked] == [whole(DUE)] * FEW
        assert victim.body == due
        for each in asked:
            assert explicit.records(each.script)[-1]["end"] == "complete"
        assert explicit.records(script)[-1]["end"] == "upstream-broke"
        over.set()


@pytest.mark.fault("many-corrupt-closed")
def test_provider_of_a_corrupt_stream_is_hung_up_on(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    rig = Rig(explicit, secure[HTTP1], HTTP2, tunnelled=True)
    context = server_context(provider_ca.parent, "provider", [HTTP1])
    more = [chunked(b"\xff" * 60_000)] * 5000
    with rig.bystander(), Provider(context) as flood:
        begin = ZIPPED + chunked(whole(CORRUPT), b"\xff" * 300_000)
        script = flood.script(begin, *more, framing="raw")
        with Rig(explicit, flood, HTTP2, tunnelled=True).client() as client:
            assert isinstance(client, Http2Client)
            streams = Http2Streams(client)
            victim = streams.ask(script, ASKED)
            streams.read_until(lambda: victim.broken)
            assert victim.body == whole(DUE[:2])
            end = time.monotonic() + PATIENCE
            while flood.connections and time.monotonic() < end:
                time.sleep(0.01)
            assert not flood.connections, "the provider is still connected"
            again = streams.ask(flood.script(*SENT), ASKED)
            streams.read_until(lambda: again.ended)
            assert again.body == whole(DUE)
        assert explicit.records(script)[-1]["end"] == "upstream-broke"


@pytest.mark.fault("many-corrupt-cancelled")
def test_provider_is_told_to_stop_a_corrupt_stream(
    explicit: Mitmdump, secure: dict[str, Provider]
) -> None:
    rig = Rig(explicit, secure[HTTP2], HTTP2, tunnelled=True)
    over, seen = threading.Event(), threading.Event()
    closed: list[bool] = []

    def look(connection: H2Connection, stream: int) -> None:
        closed.append(stream not in connection.streams)
        seen.set()

    with rig.bystander(), rig.client() as client:
        assert isinstance(client, Http2Client)
        streams = Http2Streams(client)
        head = answer([("content-encoding", "gzip")])
        script = rig.provider.script(head, *CORRUPT, over, look, framing="raw")
        victim = streams.ask(script, ASKED)
        streams.read_until(lambda: victim.broken)
        before = len(rig.provider.protocols)
        # Asked on the same connection, so that the reset has come when this has.
        again = streams.ask(rig.provider.script(*SENT), ASKED)
        streams.read_until(lambda: again.ended)
        assert len(rig.provider.protocols) == before
        over.set()
        assert seen.wait(PATIENCE)
        assert closed == [True]
        assert explicit.records(script)[-1]["end"] == "upstream-broke"
