"""Addresses of machines, as URLs, resolvers and command lines have them.

No resolver is asked. Read on Python 3.8, too, before a checkout has its environment: see
scripts/run.py.
"""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import re
import socket

LOCAL = "127.0.0.1"
"""Where a server for programs on this machine listens."""
HOSTS = ("localhost", LOCAL, "::1")
"""What programs call this machine, as NO_PROXY lists it."""
_NAMES = ("localhost", "ip6-localhost", "ip6-loopback")


def is_loopback(host: str) -> bool:
    """Tell whether *host* is this machine's loopback, however it is spelled."""
    name = name_of(host)
    ip = ip_of(name)
    if ip is None:
        return name in _NAMES or name.endswith(".localhost")  # RFC 6761, 6.3
    return ip.is_loopback


def name_of(host: str) -> str:
    """Return *host* as a resolver reads it: lower case, in ASCII, without a last dot."""
    with contextlib.suppress(UnicodeError):
        host = host.encode("idna").decode()  # also digits and dots of other scripts
    return host.strip("[]").rstrip(".").lower()


def ip_of(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that *name* spells, in any form that a resolver takes.

    `127.1`, `2130706433`, `0x7f.1` and `0177.0.0.1` are one and the same, and so is
    what IPv6 has for an address of IPv4.
    """
    try:
        found = ipaddress.ip_address(name)
    except ValueError:
        try:  # what follows a space, `inet_aton` does not read
            return ipaddress.IPv4Address(socket.inet_aton(name.replace(" ", "?")))
        except (OSError, ValueError):
            return None
    if isinstance(found, ipaddress.IPv6Address):
        return found.ipv4_mapped or found
    return found


PORTS = {"http": 80, "https": 443}
"""The ports that a URL need not name."""


def bracketed(host: str) -> str:
    """Return *host* as a URL has it: an address of IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def address(host: str, port: int | None) -> str:
    """Return *host* with its *port*, if there is one."""
    return bracketed(host) if port is None else f"{bracketed(host)}:{port}"


def netloc(scheme: str, host: str, port: int) -> str:
    """Return *host* with its *port* where that is not the own one of *scheme*."""
    return address(host, None if PORTS.get(scheme) == port else port)


_DIGITS = re.compile("[0-9]{1,5}")


def port(text: str) -> int:
    """Return the port that an argument names.

    Raises:
        ArgumentTypeError: It is none; argparse says so, and ends with 2.
    """
    if not (_DIGITS.fullmatch(text) and 1 <= int(text) <= 65535):  # noqa: PLR2004
        raise argparse.ArgumentTypeError(f"{text}: a port is a number from 1 to 65535")
    return int(text)


def add_port(
    parser: argparse.ArgumentParser,
    does: str = "where the proxy listens on this machine (default: 8080)",
    *more: str,
) -> None:
    """Add the option for the port to *parser*.

    Args:
        parser: The parser.
        does: What the port is.
        more: Other names of the option.
    """
    parser.add_argument(
        "-p",
        "--port",
        *more,
        type=port,
        default=8080,
        help=does,
    )
