"""A client that does not behave."""

import json
import os
import socket
import struct
import threading
import time
from dataclasses import replace

import pytest
from h2.errors import ErrorCodes

from faults.memory import bounded
from faults.rig import ASKED, DUE, HTTP1, HTTP2, SENT, Rig, whole
from faults.scenario import CHUNKED, zipped
from llm_normalize.repair import fix
from support import (
    PATIENCE,
    Break,
    Http1Client,
    Http1Reply,
    Http2Client,
    Mitmdump,
    Part,
    Provider,
    Script,
)
from workshop.traffic.http1 import LAST_CHUNK, chunked

NEVER = threading.Event()
"""A gate that stays shut: what the provider sends after it is of no matter."""


@pytest.fixture(autouse=True)
def provider_may_go_on() -> None:
    """Let what waited in the test before go on, and end."""
    global NEVER  # noqa: PLW0603 - a gate for each test
    NEVER.set()
    NEVER = threading.Event()


def leave(connection: socket.socket, how: str) -> None:
    """Close *connection*: with a FIN, with a RST, or only the half we send on."""
    if how == "half":
        connection.shutdown(socket.SHUT_WR)
        return
    if how == "reset":
        linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.close()


def end_of(rig: Rig, script: Script) -> tuple[str, int | None, int]:
    """Return how the flow record says that it ended: end, status, bytes out."""
    *_, flow = rig.mitmdump.records(script)
    return flow["end"], flow["status"], flow["bytes_out"]


WAYS = ["close", "reset", "half"]


@pytest.mark.fault("leaves-asking")
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("point", ["in the request", "before the headers"])
def test_client_that_leaves_while_it_asks_is_recorded(
    reverse: Rig, how: str, point: str
) -> None:
    script = reverse.provider.script(silent=NEVER)
    with reverse.bystander(), reverse.client() as client:
        assert isinstance(client, Http1Client)
        if point == "in the request":
            more = {"content-length": "1000", "expect": "100-continue"}
            assert client.post(script.path, ASKED, more).status == 100
        else:
            client.send(script.path, ASKED)
            assert script.asked.wait(5)
        leave(client.socket, how)
        assert end_of(reverse, script) == ("error", None, 0)


MOMENTS: dict[str, tuple[list[bytes], bytes]] = {
    "after the headers": ([], b""),
    "between events": ([*SENT[:2]], whole(DUE[:2])),
    "in an event": ([*SENT[:2], SENT[2][:30]], whole(DUE[:2])),
    "while the finish waits": ([*SENT[:4]], whole(DUE[:3])),
    "after [DONE]": ([*SENT], whole(DUE)),
}
"""What the provider has sent at that moment, and what the client has got."""


@pytest.mark.fault("leaves")
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_client_that_leaves_is_recorded(reverse: Rig, how: str, moment: str) -> None:
    sent, due = MOMENTS[moment]
    parts: list[Part] = [CHUNKED, chunked(*sent), NEVER]
    script = reverse.provider.script(*parts, framing="raw")
    with reverse.bystander(), reverse.client() as client:
        reply = client.post(script.path, ASKED)
        if due:
            assert reply.until(due) == due
        leave(client.socket, how)
        end, status, size = end_of(reverse, script)
    assert (end, status) == ("complete" if "DONE" in moment else "client-left", 200)
    sizes = {len(due)}
    if "waits" in moment:  # for 100 ms: a busy machine may see it leave later
        sizes.add(len(whole(DUE[:4])))
    assert size in sizes


@pytest.mark.fault("pipelines")
def test_pipelined_request_is_answered_in_its_turn(reverse: Rig) -> None:
    gate = threading.Event()
    scripts = [
        reverse.provider.script(SENT[0], gate, *SENT[1:]),
        reverse.provider.script(*SENT),
    ]
    with reverse.bystander(), reverse.client() as client:
        assert isinstance(client, Http1Client)
        client.send(scripts[0].path, ASKED)
        client.send(scripts[1].path, ASKED)
        first = Http1Reply(client)
        first.until(DUE[0])
        assert not scripts[1].asked.is_set()
        gate.set()
        assert first.rest() == whole(DUE)
        assert Http1Reply(client).rest() == whole(DUE)
        for script in scripts:
            assert end_of(reverse, script) == ("complete", 200, len(whole(DUE)))


@pytest.mark.fault("reads-late")
def test_client_that_reads_late_gets_it_all(reverse: Rig) -> None:
    large = fix.wire([fix.chunk({"content": "x" * 64 * 1024})])
    times = 1000
    parts = [chunked(large)] * times
    script = reverse.provider.script(
        *(CHUNKED, chunked(SENT[0]), *parts, chunked(*SENT[3:]), LAST_CHUNK),
        framing="raw",
    )
    expected = whole([DUE[0], *[large] * times, *DUE[3:]])
    with reverse.bystander(), bounded(reverse.mitmdump.pid, len(expected) // 2):
        with reverse.client() as client:
            reply = client.post(script.path, ASKED)
            reply.until(DUE[0])
            reverse.works()  # meanwhile the buffers of all sockets are full
            time.sleep(1)
            assert [reply.next_part() for _ in range(times)] == [large] * times
            assert reply.rest() == whole([DUE[0], *DUE[3:]])
        assert end_of(reverse, script) == ("complete", 200, len(expected))


LARGE = [DUE[0], *[fix.wire([fix.chunk({"content": "x" * 12_000})])] * 60]
"""More than an HTTP/2 client takes without reading, and less than stops mitmproxy."""
CORRUPT = *zipped(LARGE)[:-1], b"\xff" * 64
BREAKS: dict[str, list[Part]] = {
    "closes": [*LARGE, Break.CUT],
    "is corrupt and stalls": [*CORRUPT],
    "is corrupt and goes on": [*CORRUPT, *[b"\xff" * 8000] * 100],
    "is corrupt and ends": [*CORRUPT, Break.CUT],
}


@pytest.mark.fault("reads-late-broken")
@pytest.mark.parametrize("how", [*BREAKS, "resets"])
@pytest.mark.parametrize("upstream", [HTTP1, HTTP2])
@pytest.mark.parametrize("protocol", [HTTP1, HTTP2])
def test_client_that_reads_late_gets_all_before_the_break(
    explicit: Mitmdump,
    secure: dict[str, Provider],
    protocol: str,
    upstream: str,
    how: str,
) -> None:
    rig = Rig(explicit, secure[upstream], protocol, tunnelled=True)
    # By HTTP/1, a reset throws away what mitmproxy has not read yet.
    resets = [*LARGE, Break.RESET if upstream == HTTP2 else Break.CUT]
    stalls = [NEVER] if how == "is corrupt and stalls" else []
    headers = {"content-encoding": "gzip"} if how.startswith("is corrupt") else {}
    parts = [*BREAKS.get(how, resets), *stalls]
    script = rig.provider.script(*parts, headers=headers)
    with rig.bystander(), rig.client() as client:
        reply = client.post(script.path, ASKED)
        assert end_of(rig, script) == ("upstream-broke", 200, len(whole(LARGE)))
        assert reply.broken() == whole(LARGE)


@pytest.mark.fault("garbage-asked")
def test_request_that_is_garbage_harms_nobody(reverse: Rig) -> None:
    error = b'{"error":{"message":"no JSON","type":"t","param":null,"code":null}}'
    script = reverse.provider.script(
        error, status=400, headers={"content-type": "application/json"}
    )
    with reverse.bystander():
        with reverse.client() as client:
            client.socket.sendall(b"hello\r\n\r\n")
            assert b" 400 Bad Request" in client.socket.recv(65536)
        for body in (b"\xff\xfe", b"[" * 100_000, b"null", b'{"stream":"yes"}'):
            with reverse.client() as client:
                reply = client.post(script.path, body)
                assert reply.status == 400
                assert json.loads(reply.rest()) == json.loads(error)


@pytest.mark.fault("asked-too-much")
@pytest.mark.parametrize("status", [413, 400])
def test_request_that_mitmproxy_refuses_has_the_status_that_it_got(
    reverse: Rig, status: int
) -> None:
    script = reverse.provider.script(*SENT)
    more = {"transfer-encoding": "chunked"} if status == 400 else {}
    options = {"body_size_limit": "1k"} if status == 413 else {}
    body = {**ASKED, "user": "x" * 2000}
    with reverse.bystander():
        with reverse.mitmdump.options(**options), reverse.client() as client:
            assert client.post(script.path, body, more).status == status
        *_, flow = reverse.mitmdump.records(script)
        assert (flow["end"], flow["status"]) == ("error", status)
        assert not script.requests


# -- HTTP/2 ----------------------------------------------------------------------------


@pytest.fixture(params=[HTTP1, HTTP2])
def http2(
    request: pytest.FixtureRequest, explicit: Mitmdump, secure: dict[str, Provider]
) -> Rig:
    """Clients with HTTP/2, and providers of both kinds."""
    return Rig(explicit, secure[request.param], HTTP2, tunnelled=True)


@pytest.mark.fault("http2-leaves")
@pytest.mark.parametrize("how", ["cancel", "fail", "goaway", "close", "reset"])
def test_http2_client_that_leaves_is_recorded(http2: Rig, how: str) -> None:
    script = http2.provider.script(*SENT[:2], NEVER)
    with http2.bystander(), http2.client() as client:
        assert isinstance(client, Http2Client)
        reply = client.post(script.path, ASKED)
        reply.until(whole(DUE[:2]))
        if how in ("cancel", "fail"):
            code = ErrorCodes.CANCEL if how == "cancel" else ErrorCodes.INTERNAL_ERROR
            client.h2.reset_stream(1, code)
            client.flush()
        elif how == "goaway":
            client.h2.close_connection()
            client.flush()
        else:
            leave(client.socket, how)
        assert end_of(http2, script) == ("client-left", 200, len(whole(DUE[:2])))


@pytest.mark.fault("leaves-waiting")
@pytest.mark.parametrize("protocol", [HTTP1, HTTP2])
def test_client_that_leaves_while_it_is_asked_again_is_recorded(
    http2: Rig, protocol: str
) -> None:
    rig = replace(http2, protocol=protocol)
    data = b'{"detail":"Unsupported parameter(s): `seed`"}'
    refusal = Script("", [data], 400, {"content-type": "application/json"}, "length")
    script = rig.provider.script(*SENT, silent=NEVER, turns=[refusal])
    with rig.bystander(), rig.client() as client:
        client.send(script.path, {**ASKED, "seed": 7})
        deadline = time.monotonic() + PATIENCE
        while len(script.requests) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        if isinstance(client, Http2Client):
            client.h2.reset_stream(1, ErrorCodes.CANCEL)
            client.flush()
        else:
            leave(client.socket, "close")
        end, status, sent = end_of(rig, script)
        assert (end, sent) == ("client-left", 0)
        assert status in (None, 200)
