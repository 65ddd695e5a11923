"""The provider of a soak, in a process of its own: it answers as its plans say."""

import argparse
import asyncio
import functools
from pathlib import Path

from workshop.certificates import server_context
from workshop.soak.plan import KEY, Plan, plan
from workshop.traffic.http1 import Request
from workshop.traffic.server import Exchange, serve


async def answer(seed: int, exchange: Exchange) -> None:
    """Answer one request as the plan of its number says."""
    due = plan(seed, int(exchange.request.path.split("/")[1]))
    check(exchange.request, due)
    await play(due, exchange)


def check(request: Request, due: Plan) -> None:
    """Print it if a request differs from what its client sent."""
    if request.body != due.body or request.path != due.path:
        print(f"the request of {due} arrived as {request}", flush=True)
    if request.headers.get("authorization") != f"Bearer {KEY}":
        print(f"the request of {due} arrived without its key", flush=True)


async def play(due: Plan, exchange: Exchange) -> None:
    """Send what is due, with all that goes wrong."""
    transfer = due.transfer
    if transfer.fault == "reset before the head":
        exchange.reset()
        return
    closes = transfer.framing == "close" and not exchange.shared
    more = {"connection": "close"} if closes else {}
    exchange.head(due.status, due.headers | more, transfer.framing)
    for part in due.parts:
        if part.pause:
            await asyncio.sleep(part.pause)
        exchange.send(part.data)
        await exchange.drained()
    if transfer.ending.startswith("end"):
        exchange.end()
    cuts = transfer.ending == "cut"
    if transfer.ending.endswith("reset") or (cuts and exchange.shared):
        exchange.reset()
    elif cuts:
        await exchange.cut()


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="The provider of a soak.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--ca", type=Path, required=True)
    flags = parser.parse_args()
    tls, h2 = (server_context(flags.ca, "up", [each]) for each in ("http/1.1", "h2"))
    serve(functools.partial(answer, flags.seed), plain=None, tls=tls, h2=h2)


if __name__ == "__main__":
    main()
