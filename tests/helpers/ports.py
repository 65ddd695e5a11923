"""A port for whoever cannot say which one it took."""

import contextlib
import random
import socket

from workshop import LOOPBACK

_NEVER_GIVEN = range(20_000, 32_000)
"""Ports that no system gives to whoever asks for any: nobody takes them in between."""


def free_port() -> int:
    """Return a port that can be listened at."""
    # Not Python's own numbers, which tests that draw make the same in several processes.
    drawn = random.SystemRandom()
    while True:
        port = drawn.choice(_NEVER_GIVEN)
        with contextlib.suppress(OSError), socket.create_server((LOOPBACK, port)):
            return port
