"""The provider of the benchmark: it sends what a `Plan` says, at a given pace."""

import itertools
import time

from workshop.bench.traffic import HEADER, Plan, sent
from workshop.traffic.http1 import LAST_CHUNK, chunked
from workshop.traffic.server import Exchange, ticks

GAP = 0.01
"""Seconds between two events of a stream."""


async def answer(exchange: Exchange) -> None:
    """Send a stream."""
    try:
        events = sent(Plan.of_header(exchange.request.headers.get(HEADER, "")))
    except ValueError as error:
        exchange.head(400, framing="close")
        exchange.send(str(error).encode())
        exchange.end()
        return
    exchange.head()
    parts = [chunked(each) for each in events]
    parts[-1] += LAST_CHUNK  # one write
    due = ticks(time.monotonic(), itertools.repeat(GAP))
    for part in parts:
        await anext(due)
        exchange.write(part)
