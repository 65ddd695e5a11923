"""How many events a second pass HAProxy and N instances, from an embedded provider.

Provider and clients are processes of their own and cheap beside an instance: the one
sends what it has ready, the others count bytes and compare whole answers. On a machine
with few cores they still take their part, so each one's share of the CPU is reported.
"""

import asyncio
import hashlib
import http.client
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

import _bootstrap
from workshop import LOOPBACK
from workshop.bench import machine
from workshop.child import ChildError
from workshop.deploy import haproxy, instances
from workshop.traffic import http1, server

EVENTS = 200  # of one stream
AT_ONCE = 16  # streams, whatever the number of instances
PATH = "/v1/chat/completions"
WARM_UP = 1.0  # seconds that do not count
_READ = 256 * 1024
_SPAWN = multiprocessing.get_context("spawn")


class Result(NamedTuple):
    """What was measured with a number of instances.

    Attributes:
        number: How many.
        events: Events that clients got, a second.
        streams: Whole streams, a second.
        wrong: Streams that were not what they should be.
        cpu: Cores used by the instances, by HAProxy, and by provider and clients.
    """

    number: int
    events: float
    streams: float
    wrong: int
    cpu: tuple[float, float, float]


def main(counts: Sequence[int], seconds: float, arguments: Sequence[str]) -> int:
    """Measure with each of *counts* instances, print a table, return the exit code.

    Raises:
        ChildError: Something did not start, or no answer arrived.
    """
    haproxy.find()
    results = []
    for count in counts:
        _bootstrap.say(f"measuring {count} x mitmdump ... ", end="")
        with tempfile.TemporaryDirectory(prefix="llm-normalize-") as folder:
            results.append(_measure(count, seconds, Path(folder), arguments))
        _bootstrap.say(f"{results[-1].events:,.0f} events/s")
    for line in table(results):
        print(line)
    return int(any(each.wrong or not each.streams for each in results))


def table(results: Sequence[Result]) -> Iterator[str]:
    """Yield the table's lines."""
    yield (
        f"{os.cpu_count()} cores, {AT_ONCE} streams of {EVENTS} events at once, every "
        "event repaired"
    )
    yield (
        f"{'instances':>9} {'events/s':>10} {'ratio':>6} {'of a core':>10} {'wrong':>6}"
        "   cores used by instances, HAProxy, load"
    )
    base = results[0].events or 1
    for each in results:
        cpu = ", ".join(f"{share:.2f}" for share in each.cpu)
        core = each.events / each.cpu[0] if each.cpu[0] else 0
        yield (
            f"{each.number:>9} {each.events:>10,.0f} {each.events / base:>6.2f} "
            f"{core:>10,.0f} {each.wrong:>6}   {cpu}"
        )
    yield "of a core: events for each second of CPU that the instances had"


def _measure(
    count: int, seconds: float, folder: Path, arguments: Sequence[str]
) -> Result:
    with (
        _process(_provide) as (provider, port),
        instances.running(
            count, folder, f"http://{LOOPBACK}:{port.recv()}", arguments
        ) as made,
        haproxy.Haproxy(folder, [each.port for each in made]) as balancer,
    ):
        expected = _ask_once(made[0].port)
        with _process(_load, balancer.port, expected, seconds) as (load, answer):
            groups = (
                [each.process.pid for each in made if each.process],
                [int(balancer.worker or 0)],
                [provider, load],
            )
            answer.recv()  # it is warm
            before, begun = [_cpu(group) for group in groups], time.monotonic()
            if not answer.poll(seconds * 3 + 60):
                raise ChildError("the load does not come to its end")
            events, streams, wrong, lasted = answer.recv()
            spent = time.monotonic() - begun
            used = [
                (_cpu(group) - old) / spent
                for group, old in zip(groups, before, strict=True)
            ]
    shares = (used[0], used[1], used[2])
    return Result(count, events / lasted, streams / lasted, wrong, shares)


@contextmanager
def _process(target: object, *values: object) -> Iterator[tuple[int, Connection]]:
    """Run *target* in a process, with one end of a pipe; give its id and the other end."""
    ours, theirs = _SPAWN.Pipe()
    made = _SPAWN.Process(target=target, args=(theirs, *values), daemon=True)  # type: ignore[arg-type]
    made.start()
    try:
        yield made.pid or 0, ours
    finally:
        made.terminate()
        made.join()


def _cpu(pids: Sequence[int]) -> float:
    """Return the seconds of CPU that *pids* have used."""
    seconds = 0.0
    for pid in pids:
        with suppress(machine.GoneError):
            seconds += machine.cpu_of(pid)
    return seconds


def _ask_once(port: int) -> bytes:
    """Return the answer of the instance on *port*, asked without HAProxy."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request("POST", PATH, _asked())
        answer = connection.getresponse().read()
    except (OSError, http.client.HTTPException) as error:
        raise ChildError(f"an instance does not answer: {error!r}") from error
    finally:
        connection.close()
    if not answer.endswith(b"data: [DONE]\n\n") or b'null,"content' in answer:
        raise ChildError(f"an instance repairs nothing: {answer[:300]!r}")
    return answer


def _asked() -> bytes:
    return json.dumps({"model": "m", "stream": True, "messages": []}).encode()


# -- the provider: one core's worth of events that all need a repair --------------------


def events() -> list[bytes]:
    """Return the events of an answer, in NIM's dialect."""
    frame = {
        "id": "chat-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
    }

    def event(delta: dict[str, object], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        text = json.dumps({**frame, "choices": [choice]}, separators=(",", ":"))
        return f"data: {text}\n\n".encode()

    words = [event({"role": None, "content": f" word{at}"}) for at in range(EVENTS - 3)]
    first = event({"role": "assistant", "content": None})
    return [
        first,
        *words,
        event({"role": None, "content": ""}, "stop"),
        b"data: [DONE]\n\n",
    ]


def _provide(answer: Connection) -> None:
    """Serve the same stream for ever; sends its port."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    chunks = [http1.chunked(each) for each in events()]
    # Each event is an HTTP chunk of its own; some leave together, as under load.
    parts = [b"".join(chunks[at : at + 8]) for at in range(0, len(chunks), 8)]
    parts[0], parts[-1] = head + parts[0], parts[-1] + http1.LAST_CHUNK

    async def serve(exchange: server.Exchange) -> None:
        for part in parts:
            exchange.write(part)
            await exchange.drained()
            await asyncio.sleep(0)  # the others' turn

    async def run() -> None:
        place = await server.listen(serve)
        answer.send(place.port)
        await place.server.serve_forever()

    asyncio.run(run())


# -- the clients --------------------------------------------------------------------------


def _load(answer: Connection, port: int, expected: bytes, seconds: float) -> None:
    """Ask for streams, `AT_ONCE` at a time; sends None when warm, then the figures."""
    asyncio.run(_ask_for(port, expected, WARM_UP))
    answer.send(None)
    begun = time.monotonic()
    outcomes = asyncio.run(_ask_for(port, expected, seconds))
    lasted = time.monotonic() - begun
    right = sum(outcomes)
    answer.send((right * EVENTS, right, len(outcomes) - right, lasted))


async def _ask_for(port: int, expected: bytes, seconds: float) -> list[bool]:
    """Return for each answer whether it was the right one."""
    end = time.monotonic() + seconds
    digest = hashlib.sha256(expected).digest()
    outcomes: list[bool] = []

    async def client() -> None:
        while time.monotonic() < end:
            try:
                body = await asyncio.wait_for(_answer(port), 60)
            except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError):
                outcomes.append(False)
                await asyncio.sleep(0.1)
            else:
                outcomes.append(hashlib.sha256(body).digest() == digest)

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))
    return outcomes


async def _answer(port: int) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, port, limit=_READ)
    try:
        body = _asked()
        head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        await reader.readuntil(b"\r\n\r\n")
        return _unchunked(await reader.read(-1))
    finally:
        writer.close()


def _unchunked(data: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while True:
        end = data.index(b"\r\n", at)
        size = int(data[at:end], 16)
        if not size:
            return b"".join(parts)
        parts.append(data[end + 2 : end + 2 + size])
        at = end + 4 + size
