"""What load and soak stand on: reading HTTP, weighing, records, what was in force."""

import asyncio
import json
import random
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from workshop.certificates import client_context, make_ca, server_context
from workshop.soak.faults import decode, encode, timed_parts
from workshop.soak.history import History
from workshop.soak.records import Flow, Records
from workshop.traffic import memory
from workshop.traffic.client import connect, rest
from workshop.traffic.http1 import (
    LAST_CHUNK,
    FramingError,
    Request,
    RequestReader,
    ResponseReader,
    chunked,
)
from workshop.traffic.memory import A_STREAM, JUDGED, MIB, NOISE, WARM_UP, Sample, judge
from workshop.traffic.process import HOST, Mitmdump, ProviderProcess
from workshop.traffic.server import Exchange, ServerThread, listen, port_of

linux = pytest.mark.skipif(not memory.available(), reason="there is no /proc")


def cuts(data: bytes) -> Iterator[list[bytes]]:
    yield [data]
    yield [data[at : at + 1] for at in range(len(data))]
    for seed in range(10):
        dice = random.Random(seed)
        places = sorted(dice.choices(range(len(data) + 1), k=4))
        yield [
            data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)
        ]


# -- HTTP/1 ------------------------------------------------------------------------------

BODY = b"data: \xc3\xa9 1\r\n\r\n0\r\n\r\n"
CHUNKS = chunked(BODY[:3]) + chunked(BODY[3:4]) + chunked(BODY[4:]) + LAST_CHUNK
ANSWERS = {
    "chunked": b"transfer-encoding: chunked\r\n\r\n" + CHUNKS,
    "length": b"content-length: %d\r\n\r\n" % len(BODY) + BODY,
    "close": b"\r\n" + BODY,
}


@pytest.mark.parametrize("framing", ANSWERS)
def test_answer_is_read_in_any_cut(framing: str) -> None:
    for reads in cuts(b"HTTP/1.1 201 Created\r\nX-Y: z\r\n" + ANSWERS[framing]):
        reader = ResponseReader()
        assert b"".join(map(reader.feed, reads)) == BODY
        assert reader.status == 201
        assert reader.headers["x-y"] == "z"
        assert reader.framing == framing
        assert reader.done == (framing != "close")
        assert reader.end()
        assert reader.keeps == (framing != "close")


@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_answer_that_breaks_off_does_not_end_well(framing: str) -> None:
    data = b"HTTP/1.1 200 OK\r\n" + ANSWERS[framing]
    for at in range(len(data)):
        reader = ResponseReader()
        assert BODY.startswith(reader.feed(data[:at]))
        assert not reader.end()


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + CHUNKS + b"x",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nz\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\na: b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno field\r\n\r\n",
        b"SSH-2.0 hello\r\n\r\n",
        b"x" * 70_000,
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    for reads in ([data], [data[at : at + 1] for at in range(len(data))]):
        reader = ResponseReader()
        with pytest.raises(FramingError):
            list(map(reader.feed, reads))


def test_requests_are_read_in_any_cut_one_after_the_other() -> None:
    one = b"POST /a HTTP/1.1\r\nHost: y\r\nContent-Length: 2\r\n\r\nhi"
    two = b"GET /b HTTP/1.0\r\nHost: x\r\n\r\n"
    due = [
        Request("POST", "/a", "HTTP/1.1", {"host": "y", "content-length": "2"}, b"hi"),
        Request("GET", "/b", "HTTP/1.0", {"host": "x"}, b""),
    ]
    for reads in cuts(one + two):
        reader = RequestReader()
        assert [each for read in reads for each in reader.feed(read)] == due


def test_words_before_a_cut_are_read_though_the_client_goes_on_to_send() -> None:
    async def answer(exchange: Exchange) -> None:
        exchange.head(framing="close")
        exchange.send(b"words")
        await exchange.cut()

    async def talk() -> bytes:
        server = await listen(answer)
        port = port_of(server)
        async with server:
            loop = asyncio.get_running_loop()
            with socket.socket() as client:
                client.setblocking(False)
                await loop.sock_connect(client, (HOST, port))
                for _ in range(3):  # a closed socket replies to it with a reset
                    await loop.sock_sendall(
                        client, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
                    )
                    await asyncio.sleep(0.05)
                return await loop.sock_recv(client, 65536)

    assert asyncio.run(talk()).endswith(b"\r\n\r\nwords")


# -- the client ------------------------------------------------------------------------

PARTS = [b"data: %d\n\n" % at for at in range(300)]


async def in_parts(exchange: Exchange) -> None:
    status = 405 if exchange.request.method == "CONNECT" else 200
    exchange.head(status)
    for part in PARTS:
        exchange.send(part)
        await exchange.drained()
    if exchange.request.path != "/cut":
        exchange.end()
    elif exchange.shared:
        exchange.reset()
    else:
        await exchange.cut()


@pytest.mark.parametrize("protocol", ["plain", "http/1.1", "h2"])
@pytest.mark.parametrize(("path", "done"), [("/whole", True), ("/cut", False)])
def test_client_tells_a_whole_answer_from_one_that_breaks_off(
    tmp_path: Path, protocol: str, path: str, done: bool
) -> None:
    theirs = ours = None
    if protocol != "plain":
        ours = client_context(make_ca(tmp_path, "up"), [protocol])
        theirs = server_context(tmp_path, "up", [protocol])

    async def talk(port: int) -> tuple[bytes, int, bool]:
        async with await connect((HOST, port), context=ours) as client:
            answer = await client.ask(path, b"{}", pause=0.001)
            body = await rest(answer)
            assert await answer.read() == b""
            assert client.taken >= len(body)
            answer.leave()
            return body, answer.status, answer.done

    with ServerThread(in_parts, theirs) as server:
        body, status, is_done = asyncio.run(talk(server.port))
        assert server.protocols == [protocol.replace("plain", "http/1.1")]
    assert (status, is_done) == (200, done)
    whole = b"".join(PARTS)
    # A reset may overtake what was sent before it.
    assert body == whole if done or protocol != "h2" else whole.startswith(body)


# -- processes ---------------------------------------------------------------------------


async def write_to_one_that_has_gone() -> None:
    async def leave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = await asyncio.start_server(leave, HOST, 0)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(0.05)
        for _ in range(10):
            writer.write(b"x")
        writer.close()


def test_what_asyncio_says_of_a_peer_that_has_gone_is_no_alarm(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(write_to_one_that_has_gone())
    words = {record.getMessage() for record in caplog.records}
    assert len(words) == 1, "asyncio says something else now"
    provider = ProviderProcess("workshop.soak.provider", tmp_path)
    proxy = Mitmdump(tmp_path / "mitmdump", ["regular"], [])
    for line in words:
        proxy.hear(f"[10:00:00.000] {line}")
        provider.hear(line)
    assert proxy.alarms == provider.alarms == []
    raised = ["Traceback (most recent call last):", "OSError"]
    for each in (raised[0], *words, raised[1]):
        proxy.hear(each)
        provider.hear(each)
    assert proxy.alarms == provider.alarms == raised


# -- memory ------------------------------------------------------------------------------


SECONDS = int(WARM_UP + 4 * JUDGED)


def samples(seed: int, a_stream: float, *, noise: int = 2 * MIB) -> Sequence[Sample]:
    """Return a run of 50 streams a second that warms up, wavers and leaks so much."""
    dice = random.Random(seed)
    found = []
    for at in range(SECONDS):
        warm = 60 * MIB * min(at / (WARM_UP - 10), 1)
        rss = 90 * MIB + warm + dice.uniform(-noise, noise) + a_stream * at * 50
        found.append(Sample(1000.0 + at, int(rss), at * 50))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_memory_that_wavers_is_flat(seed: int) -> None:
    verdict = judge(samples(seed, 0))
    assert verdict is not None
    assert verdict.flat
    assert abs(verdict.growth) < NOISE
    assert verdict.streams == pytest.approx(4 * JUDGED * 50, rel=0.02)
    assert str(verdict).startswith("flat: ")


@pytest.mark.parametrize("seed", range(5))
def test_leak_is_distinguished_from_wavering(seed: int) -> None:
    a_stream = A_STREAM + NOISE / (3 * JUDGED * 50)
    verdict = judge(samples(seed, a_stream))
    assert verdict is not None
    assert not verdict.flat
    assert verdict.per_10_000 == pytest.approx(a_stream * 10_000, rel=0.3)
    assert str(verdict).startswith("NOT FLAT: ")


# -- the pairs log -------------------------------------------------------------------------


def line(n: int, end: str = "complete", **more: str) -> bytes:
    flow = {"type": "flow", "v": 1, "flow": f"f{n}", "path": f"/{n}/v1", "end": end}
    return json.dumps(flow | more, separators=(",", ":")).encode() + b"\n"


PAIR = b'{"type":"pair","v":1,"flow":"f1","before":"' + b"x" * 200 + b'"}\n'


def test_records_are_read_once_while_files_rotate_and_names_change(
    tmp_path: Path,
) -> None:
    records = Records(tmp_path, "sk-secret")
    log = tmp_path / "pairs-1.jsonl"
    log.write_bytes(line(1) + PAIR + line(2)[:9])
    records.poll()
    with log.open("ab") as file:
        file.write(line(2)[9:] + line(3, "client-left"))
    log.rename(tmp_path / "pairs-1.jsonl.1")
    log.write_bytes(line(4) + PAIR)
    (tmp_path / "pairs-1-2.jsonl").write_bytes(line(5, mode="observe"))
    records.poll()
    records.poll()
    assert 5 not in records.flows  # too short yet to be told from another
    records.poll(last=True)
    assert records.pairs == 2
    assert records.faults == []
    assert dict(records.flows) == {
        1: [Flow("complete", observed=False)],
        2: [Flow("complete", observed=False)],
        3: [Flow("client-left", observed=False)],
        4: [Flow("complete", observed=False)],
        5: [Flow("complete", observed=True)],
    }


def test_lost_records_half_lines_and_secrets_are_faults(tmp_path: Path) -> None:
    records = Records(tmp_path, "sk-secret")
    text = (
        b'{"type":"lost","count":3}\n' + PAIR[20:] + PAIR.replace(b"xxx", b"sk-secret")
    )
    (tmp_path / "pairs-1.jsonl").write_bytes(text)
    records.poll(last=True)
    assert len(records.faults) > 2
    assert "lost" in records.faults[0]
    assert any("has the key" in each for each in records.faults)


# -- what was in force -----------------------------------------------------------------------


def test_history_says_what_may_have_counted() -> None:
    history = History()
    history.mode.begin("observe", 10)
    history.mode.settle(11)
    history.mode.begin("repair", 20)
    history.mode.settle(21)
    history.addon.begin("loading", 30)
    history.addon.begin("loaded", 31)
    history.addon.settle(32)
    assert (history.may(1, 2).repair, history.may(1, 2).observe) == (True, False)
    assert (history.may(12, 13).repair, history.may(12, 13).observe) == (False, True)
    assert history.may(19, 22).repair
    assert not history.may(22, 29).reload
    assert history.may(29, 31).reload
    assert not history.may(33, 34).reload


# -- content encodings and cuts ----------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate", "br"])
def test_encoded_body_decodes_to_what_it_was(encoding: str) -> None:
    data = bytes(range(256)) * 9
    whole = encode(data, encoding)
    assert decode(whole, encoding) == data
    if encoding != "br":  # which is not flushed here
        assert data.startswith(decode(whole[:-40], encoding))
        assert decode(whole[:-40], encoding)


def test_corrupt_body_decodes_to_what_comes_before() -> None:
    start = encode(b"Hi there", "gzip", ended=False)
    assert decode(start + b"\xff" * 40, "gzip") == b"Hi there"


def test_pieces_are_the_whole_and_take_a_few_seconds_at_most() -> None:
    data = b"data: {}\n\n" * 300
    for seed in range(50):
        cut = timed_parts(data, random.Random(seed), stalls=seed % 2 == 0)
        assert b"".join(each.data for each in cut) == data
        assert all(each.data for each in cut)
        assert sum(each.pause for each in cut) < 20
