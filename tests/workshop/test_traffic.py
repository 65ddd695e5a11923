"""What load and soak stand on: reading HTTP, weighing, records, what was in force."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from workshop import LOOPBACK
from workshop.certificates import client_context, make_ca, server_context
from workshop.soak.records import Records
from workshop.traffic.client import connect, rest
from workshop.traffic.http1 import LAST_CHUNK, FramingError, ResponseReader, chunked
from workshop.traffic.memory import A_STREAM, JUDGED, MIB, NOISE, WARM_UP, Sample, judge
from workshop.traffic.server import Exchange, ServerThread

# -- HTTP/1 ------------------------------------------------------------------------------

BODY = b"data: \xc3\xa9 1\r\n\r\n0\r\n\r\n"
CHUNKS = chunked(BODY[:3]) + chunked(BODY[3:4]) + chunked(BODY[4:]) + LAST_CHUNK
ANSWERS = {
    "chunked": b"transfer-encoding: chunked\r\n\r\n" + CHUNKS,
    "length": b"content-length: %d\r\n\r\n" % len(BODY) + BODY,
    "close": b"\r\n" + BODY,
}


@pytest.mark.parametrize(
    "data",
    [
        b"content-length: 2\r\n\r\nabc",
        ANSWERS["chunked"] + b"x",
        b"transfer-encoding: chunked\r\n\r\n0\r\na: b\r\n\r\n",
        b"no field\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(FramingError):
        ResponseReader().feed(b"HTTP/1.1 200 OK\r\n" + data)


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
        async with await connect((LOOPBACK, port), context=ours) as client:
            answer = client.ask(path, b"{}")
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


PAIR = b'{"type":"pair","v":1,"flow":"f1","before":"' + b"x" * 200 + b'"}\n'


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
