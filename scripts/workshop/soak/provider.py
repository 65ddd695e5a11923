"""The provider of a soak, in a process of its own: it answers as its plans say."""

import argparse
import asyncio
import json
import sys
import traceback
from pathlib import Path

from workshop.certificates import server_context
from workshop.soak.plan import KEY, Plan, plan
from workshop.traffic.http1 import Request
from workshop.traffic.server import Exchange, GoneError, listen


class Provider:
    """Answers as its plans say.

    Args:
        seed: Of the plans.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def answer(self, exchange: Exchange) -> None:
        """Answer one request."""
        try:
            number = int(exchange.request.path.split("/")[1])
            due = plan(self._seed, number)
            check(exchange.request, due)
            await play(due, exchange)
        except GoneError:
            raise
        except Exception:  # noqa: BLE001 - whoever started this reads it
            traceback.print_exc()
            sys.stderr.flush()
            exchange.reset()


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


async def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description="The provider of a soak.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--ca", type=Path, required=True)
    flags = parser.parse_args()
    provider = Provider(flags.seed)
    plain = await listen(provider.answer)
    tls = await listen(provider.answer, server_context(flags.ca, "up", ["http/1.1"]))
    h2 = await listen(provider.answer, server_context(flags.ca, "up", ["h2"]))
    ports = {"plain": plain.port, "tls": tls.port, "h2": h2.port}
    print("@" + json.dumps(ports), flush=True)
    await plain.server.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(130)
