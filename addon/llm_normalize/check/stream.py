"""A stream through the proxy: repaired, and not held back.

The provider is the demo's. It sends its second event only after the client has the
first, so that no clock decides whether the proxy lets events pass as they come.
"""

import http.client
import threading
from pathlib import Path
from typing import NamedTuple

from ..demo import client
from ..demo.provider import HOST, MODEL, Provider
from ..desktop.local_server import PATIENCE
from ..text.printable import brief
from .finding import Finding, Mark, Way

STEP = "stream"
HOLD = 5.0
"""Seconds that the provider waits for the client to have its first event."""
ASKED = {
    "model": MODEL,
    "stream": True,
    "messages": [{"role": "user", "content": "What are streams?"}],
}


class Gate:
    """Between the provider's first event and its second.

    Attributes:
        seen: Set once the client has an event.
        held: Whether the provider waited in vain.
    """

    def __init__(self) -> None:
        self.seen = threading.Event()
        self.held = False

    def between(self, sent: int) -> None:
        """Wait, after the first event."""
        if sent == 1 and not self.seen.wait(HOLD):
            self.held = True


class Refused(Exception):  # noqa: N818 - it is an answer
    """The proxy got no stream for us; the message says what it answered."""


class Got(NamedTuple):
    """What the check received through the proxy.

    Attributes:
        events: The events, without their blank lines.
        is_late: Whether the first arrived only after the provider had given up waiting.
    """

    events: list[str]
    is_late: bool


def ask(way: Way, provider: Provider, gate: Gate, ca: Path) -> Got:
    """Send the request by HTTPS through the proxy.

    Args:
        way: The proxy.
        provider: Whom it asks.
        gate: The provider's.
        ca: What the client trusts.

    Raises:
        Refused: There was no stream.
    """
    events: list[str] = []
    late = False
    try:
        target = HOST, provider.port
        for event in client.events(
            ASKED, (way.host, way.port), target, ca, timeout=HOLD + PATIENCE
        ):
            if not events:
                late = gate.held
                gate.seen.set()
            events.append(event)
    except client.RefusedError as error:
        raise Refused(f"status {error.status}: {brief(error.text)}") from error
    except (OSError, http.client.HTTPException) as error:
        raise Refused(brief(str(error) or repr(error))) from error
    finally:
        gate.seen.set()
    return Got(events, late)


def judge(got: Got, through: str, *, is_observing: bool, skips: list[str]) -> Finding:
    """Return the step's line.

    Args:
        got: What arrived.
        through: Which proxy it passed through, as a phrase.
        is_observing: Whether `normalize_mode` says to change nothing.
        skips: What `normalize_skip` says not to repair.
    """
    faults = _faults(got.events)
    if faults and is_observing:
        saw = f"{through}, unrepaired, since normalize_mode is observe: {faults[0]}"
        repair = "start the proxy with --set normalize_mode=repair"
        return Finding(Mark.FAIL, STEP, saw, repair)
    if faults:
        repair = "start the proxy with this project's own addon/normalize.py"
        if skips:
            repair = (
                f"start the proxy without normalize_skip ({brief(', '.join(skips))})"
            )
        return Finding(Mark.FAIL, STEP, f"{through}, unrepaired: {faults[0]}", repair)
    if got.is_late:
        saw = f"{through}, repaired but held back: nothing arrived before its end"
        repair = "start the proxy without stream_large_bodies"
        return Finding(Mark.FAIL, STEP, saw, repair)
    saw = f"{through}, repaired as it passes: the first event was here before the "
    saw += f"second was sent, {len(got.events)} events to [DONE]"
    return Finding(Mark.OK, STEP, saw)


def _faults(events: list[str]) -> list[str]:
    try:
        return client.faults(events, ASKED)
    except (KeyError, TypeError, AttributeError):
        return ["it is not a chat completion"]
