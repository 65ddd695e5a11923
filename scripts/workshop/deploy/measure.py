"""How many events a second pass HAProxy and N instances, from an embedded provider.

Provider and clients are in this process, and cheap beside an instance: the one sends what
it has ready, the others compare whole answers. On a machine with few cores they still take
their part, so each one's share of the CPU is reported.
"""

import asyncio
import contextlib
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import _bootstrap
from workshop import LOOPBACK
from workshop.bench import machine, traffic
from workshop.child import ChildError
from workshop.deploy import haproxy, instances
from workshop.traffic import http1, server
from workshop.traffic.client import connect, rest

EVENTS = 200  # of one stream, in NIM's form: all of them need a repair
TOGETHER = 8  # that leave at once
AT_ONCE = 16  # streams, whatever the number of instances
ASKED = json.dumps({"model": "m", "stream": True, "messages": []}).encode()
WARM_UP = 1.0  # seconds that do not count
PATIENCE = 60.0  # seconds for an answer


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
        server.ServerThread(_provide) as provider,
        instances.running(
            count, folder, f"http://{LOOPBACK}:{provider.port}", arguments
        ) as made,
        haproxy.Haproxy(folder, [each.port for each in made]) as balancer,
    ):
        expected = asyncio.run(_ask_once(made[0].port))
        groups = (
            [each.pid for each in made],
            [int(balancer.worker or 0)],
            [os.getpid()],
        )
        asyncio.run(_load(balancer.port, expected, WARM_UP))
        before, begun = [_cpu(group) for group in groups], time.monotonic()
        outcomes = asyncio.run(_load(balancer.port, expected, seconds))
        lasted = time.monotonic() - begun
        used = [
            (_cpu(group) - old) / lasted
            for group, old in zip(groups, before, strict=True)
        ]
    right = sum(outcomes)
    wrong = len(outcomes) - right
    shares = (used[0], used[1], used[2])
    return Result(count, right * EVENTS / lasted, right / lasted, wrong, shares)


async def _provide(exchange: server.Exchange) -> None:
    """Send the same stream as fast as it is taken."""
    events = traffic.sent(traffic.Plan(traffic.NIM, EVENTS, 1))
    exchange.head()
    # Each event is an HTTP chunk of its own; some leave together, as under load.
    for each in itertools.batched(events, TOGETHER):
        exchange.write(http1.chunked(*each))
        await exchange.drained()
        await asyncio.sleep(0)  # the others' turn
    exchange.end()


def _cpu(pids: Sequence[int]) -> float:
    """Return the seconds of CPU that *pids* have used."""
    seconds = 0.0
    for pid in pids:
        with contextlib.suppress(machine.GoneError):
            seconds += machine.cpu_of(pid)
    return seconds


async def _ask_once(port: int) -> bytes:
    """Return the answer of the instance on *port*, asked without HAProxy."""
    try:
        answer = await _answer(port)
    except (OSError, http1.FramingError) as error:
        raise ChildError(f"an instance does not answer: {error!r}") from error
    if not answer.endswith(traffic.DONE) or b'null,"content' in answer:
        raise ChildError(f"an instance repairs nothing: {answer[:300]!r}")
    return answer


async def _load(port: int, expected: bytes, seconds: float) -> list[bool]:
    """Ask for streams, `AT_ONCE` at a time; return for each whether it was right."""
    end = time.monotonic() + seconds
    outcomes: list[bool] = []

    async def client() -> None:
        while time.monotonic() < end:
            try:
                outcomes.append(await _answer(port) == expected)
            except (OSError, http1.FramingError):
                outcomes.append(False)
                await asyncio.sleep(0.1)

    await asyncio.gather(*(client() for _ in range(AT_ONCE)))
    return outcomes


async def _answer(port: int) -> bytes:
    """Return an answer, empty if it is not complete.

    Raises:
        OSError: There is none, or it takes too long.
    """
    async with asyncio.timeout(PATIENCE), await connect((LOOPBACK, port)) as client:
        answer = await client.ask(traffic.PATH, ASKED, {"connection": "close"})
        body = await rest(answer)
        return body if answer.done else b""
