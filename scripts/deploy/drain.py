"""Take an instance out of HAProxy's turn and wait until its streams have ended.

Needs nothing but Python: the systemd unit runs it as it is. What it sets is HAProxy's
state at run time, which a reload of HAProxy forgets.
"""

from __future__ import annotations

import argparse
import csv
import io
import socket
import sys
import time
from pathlib import Path

SOCKET = "/run/haproxy/admin.sock"
SECONDS = 1800
_EVERY = 0.5  # seconds between two looks
_PATIENCE = 10  # seconds for an answer of HAProxy's


class DrainError(Exception):
    """What went wrong, as one sentence."""


def ask(path: str, command: str) -> str:
    """Return what HAProxy answers to *command* on its admin socket.

    Raises:
        DrainError: There is no HAProxy.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(path)
            connection.sendall(command.encode() + b"\n")
            parts = iter(lambda: connection.recv(65536), b"")
            return b"".join(parts).decode(errors="replace").strip()
    except OSError as error:
        raise DrainError(f"no HAProxy answers at {path}: {error}") from error


def set_state(path: str, server: str, state: str) -> None:
    """Set the administrative state of *server* (`backend/name`): ready or drain.

    Raises:
        DrainError: HAProxy refuses, or does not answer.
    """
    answer = ask(path, f"set server {server} state {state}")
    if answer:
        raise DrainError(f"HAProxy says of {server}: {answer}")


def sessions(path: str, server: str) -> int:
    """Return how many requests *server* is answering.

    Raises:
        DrainError: HAProxy does not know it, or does not answer.
    """
    backend, _, name = server.partition("/")
    table = ask(path, "show stat").lstrip("# ")
    for row in csv.DictReader(io.StringIO(table)):
        if (row["pxname"], row["svname"]) == (backend, name):
            return int(row["scur"])
    raise DrainError(f"HAProxy knows no server {server}")


def drain(path: str, server: str, seconds: float) -> int:
    """Let *server* get nothing new, and return how many streams are left at the end.

    Args:
        path: HAProxy's admin socket.
        server: `backend/name`.
        seconds: How long to wait for its streams.

    Raises:
        DrainError: HAProxy refuses, or does not answer.
    """
    set_state(path, server, "drain")
    end = time.monotonic() + seconds
    printed = -1
    while True:
        left = sessions(path, server)
        if not left or time.monotonic() >= end:
            return left
        if left != printed:
            printed = left
            print(f"{server}: {left} under way", file=sys.stderr, flush=True)
        time.sleep(_EVERY)


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Take an instance out of HAProxy's turn, and wait until its streams "
        "have ended.",
        epilog="Ends with exit code 1 if streams are left, 2 if HAProxy cannot be asked.",
    )
    parser.add_argument(
        "server",
        metavar="BACKEND/NAME",
        help="as in haproxy.cfg, for instance normalize/normalize-8081",
    )
    parser.add_argument(
        "--ready", action="store_true", help="put it back, without waiting for anything"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        metavar="N",
        help=f"how long to wait (default: {SECONDS})",
    )
    parser.add_argument(
        "--socket",
        default=SOCKET,
        metavar="PATH",
        help=f"HAProxy's admin socket (default: {SOCKET})",
    )
    flags = parser.parse_args(given)
    if not all(flags.server.partition("/")):
        parser.error(f"{flags.server!r} is no BACKEND/NAME")
    return flags


def main() -> int:
    """Do what was asked for and return the exit code."""
    flags = parse(sys.argv[1:])
    try:
        if flags.ready:
            set_state(flags.socket, flags.server, "ready")
            return 0
        left = drain(flags.socket, flags.server, flags.seconds)
    except DrainError as error:
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(f"{flags.server}: {left or 'no'} streams are left", file=sys.stderr)
    return int(left > 0)


if __name__ == "__main__":
    sys.exit(main())
