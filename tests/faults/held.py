"""What takes long in mitmdump, for as long as a test wants: it asks for that by a model."""

from pathlib import Path

from faults.rig import Json
from support import Mitmdump

SCRIPT = '''\
"""Holds up what is done for requests whose model is `held until FILE`."""

import asyncio
import importlib
import logging
import time
from pathlib import Path

PREFIX = "held until "
running = importlib.import_module("llm_normalize.exchange.state.running_answer")
whole = importlib.import_module("llm_normalize.exchange.delivery.buffered_answer")
repair_body, slow_down = whole.repair_body, running.slow_down
files = {}  # by a client's id: that, and how often its provider was slowed down


def request(flow):
    model = flow.request.json().get("model", "") if flow.request.content else ""
    if model.startswith(PREFIX):
        files[flow.client_conn.id] = [Path(model.removeprefix(PREFIX)), 0]


def held_body(content, status, asked, *more):
    if asked.model.startswith(PREFIX):
        logging.info("repair is %s", asked.model)
        path, end = Path(asked.model.removeprefix(PREFIX)), time.monotonic() + 20
        while not path.exists() and time.monotonic() < end:
            time.sleep(0.01)
    return repair_body(content, status, asked, *more)


def held_turn(client, at_end):
    if client.id not in files:
        return slow_down(client, at_end)
    files[client.id][1] += 1
    path, times = files[client.id]
    if times == 1:  # as it begins
        return slow_down(client, at_end)
    if times == 2:
        logging.info("turn is %s%s", PREFIX, path)

    def at_held_end(act):
        def look():
            if path.exists():
                act()
            else:
                asyncio.get_running_loop().call_later(0.01, look)

        at_end(look)

    return slow_down(client, at_held_end)


whole.repair_body, running.slow_down = held_body, held_turn
'''


class Held:
    """Something that goes on when the test says so.

    Args:
        path: A file that is not there yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def asked(self, body: Json) -> Json:
        """Return the request *body* as one that is held up."""
        return {**body, "model": f"held until {self._path}"}

    def wait(self, mitmdump: Mitmdump, what: str) -> None:
        """Wait until it has begun: "repair" of a body, or a "turn" of other streams."""
        mitmdump.wait_for(f"{what} is held until {self._path}")

    def go_on(self) -> None:
        """Let it go on."""
        self._path.touch()
