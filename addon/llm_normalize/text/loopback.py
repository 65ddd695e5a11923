"""Names and addresses by which a machine reaches itself: no resolver is asked for them.

Read on Python 3.8, too, before a checkout has its environment: see scripts/run.py.
"""

from __future__ import annotations

import contextlib
import ipaddress
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
