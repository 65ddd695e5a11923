"""Many streams of one HTTP/2 client, which mitmproxy carries on by either protocol."""

import threading

import pytest
from h2.errors import ErrorCodes

from faults.acts import answer, reset
from faults.http2_streams import Http2Streams, Streamed
from faults.stage import ASKED, DUE, HTTP1, HTTP2, SENT, Stage, whole
from faults.table import fault
from support import Http2Client, Mitmdump, Provider

MANY = 12
AT_ONCE = 5
"""Connections to one server that mitmproxy has for one client (its `server.py`)."""


def ask(
    stage: Stage, client: object
) -> tuple[Http2Streams, list[Streamed], list[threading.Event]]:
    """Send many requests; each answer goes on after its first event with its gate."""
    assert isinstance(client, Http2Client)
    streams = Http2Streams(client)
    gates = [threading.Event() for _ in range(MANY)]
    asked = [
        streams.ask(stage.provider.script(SENT[0], gate, *SENT[1:]), ASKED)
        for gate in gates
    ]
    return streams, asked, gates


def begun(asked: list[Streamed]) -> list[Streamed]:
    return [each for each in asked if each.body]


@fault(
    "many-http1",
    happens="one HTTP/2 client has twelve streams at once, the provider speaks HTTP/1.1",
    client="five at once; each of the others begins when one of these ends, as with "
    "mitmproxy alone",
    log="`complete`, each; its waiting is in `first_ms`",
)
@pytest.mark.parametrize("leaves", [False, True], ids=["all stay", "some leave"])
def test_five_streams_run_and_the_others_wait_their_turn(
    explicit: Mitmdump, secure: dict[str, Provider], *, leaves: bool
) -> None:
    stage = Stage(explicit, secure[HTTP1], HTTP2, tunnelled=True)
    with stage.bystander(), stage.client() as client:
        streams, asked, gates = ask(stage, client)
        streams.read_until(lambda: len(begun(asked)) == AT_ONCE)
        stage.works()  # another client does not wait
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


@fault(
    "many-http2",
    happens="one of twelve streams over one HTTP/2 connection is reset, or cancelled "
    "by its client",
    client="the others, whole",
    log="`upstream-broke` or `client-left` for that one",
)
@pytest.mark.parametrize("who", ["provider", "client"])
def test_other_streams_of_a_connection_do_not_notice_a_reset(
    explicit: Mitmdump, secure: dict[str, Provider], who: str
) -> None:
    stage = Stage(explicit, secure[HTTP2], HTTP2, tunnelled=True)
    with stage.bystander(), stage.client() as client:
        streams, asked, gates = ask(stage, client)
        gate = threading.Event()
        script = stage.provider.script(
            *(answer(), SENT[0], gate, reset(ErrorCodes.INTERNAL_ERROR)),
            framing="raw",
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
