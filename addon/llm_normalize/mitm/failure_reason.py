"""Why a provider gave no answer, by what mitmproxy and the operating systems report."""

import errno
import re

from mitmproxy import connection

_FAILED = "the connection failed"
_INVALID = "it answered with invalid HTTP"
_REFUSED = "refused while validate_inbound_headers is on"  # mitmproxy's option
_UNKNOWN_CA = (
    r"its certificate is from an unknown CA (\1). Add that CA to the system's store, or "
    "to a file that SSL_CERT_FILE names, and start llm-normalize again; a mitmproxy that "
    "it has not started takes a file with all CAs to be trusted as its option "
    "ssl_verify_upstream_trusted_ca"
)
_REFUSED_CONNECT = "refused HTTP CONNECT request:"


def _numbered(*numbers: int) -> str:
    """Return the pattern of an error of the operating system."""
    return rf"\[(?:Errno|WinError) (?:{'|'.join(map(str, numbers))})\]"


# What the reports of mitmproxy and of the operating systems mean. They are not quoted:
# they have local addresses and the provider's bytes.
type _Reasons = tuple[tuple[str, str], ...]
# Of the peer of the connection: an upstream proxy, if there is one.
_UNCONNECTED: _Reasons = (
    (_numbered(errno.ECONNREFUSED, 1225, 10061), "it refused the connection"),
    (_numbered(errno.ETIMEDOUT, 121, 10060), "the connection timed out"),
    (
        _numbered(errno.EHOSTUNREACH, errno.ENETUNREACH, 1231, 1232, 10051, 10065),
        "there is no network route to it",
    ),
    (
        r"getaddrinfo|nodename|name or service|name resolution|no address",
        "its name cannot be resolved",
    ),
    (r"^error connecting to ", _INVALID),  # an upstream proxy's answer to CONNECT
)
_REASONS = tuple(
    (re.compile(pattern, re.IGNORECASE), reason)
    for pattern, reason in (
        (
            r"^cannot parse .*: invalid content-length header: .\d+,",
            f"{_INVALID}: more than one content-length",
        ),
        (r"^unexpected server response|^cannot parse", _INVALID),
        (
            r"^received message with both transfer-encoding and content-length",
            f"{_INVALID}: both content-length and transfer-encoding, {_REFUSED}",
        ),
        (
            r"^received multiple (content-length|transfer-encoding) headers",
            rf"{_INVALID}: more than one \1, {_REFUSED}",
        ),
        (r"\bvalidate_inbound_headers\b", f"{_INVALID}, {_REFUSED}"),
        *_UNCONNECTED,
        (rf"{_REFUSED_CONNECT} (\d+)", r"the upstream proxy refused (\1)"),
        (
            # OpenSSL's words for a chain that ends at a CA which is not trusted.
            r"verify failed: (self.signed[\w ]+|unable to (?:get|verify)[\w ]+certificate)",
            _UNKNOWN_CA,
        ),
        (r"certificate verify failed: ([\w ,.-]+)", r"its certificate is invalid (\1)"),
        (r"does not speak TLS", "it does not speak TLS on this port"),
        (r"TLS version", "it supports no TLS version that the proxy does"),
        (r"\bOpenSSL\b|\balert\b|\bTLS\b", "the TLS handshake failed"),
        (r"body_size_limit", "its answer is larger than body_size_limit allows"),
        (r"reset by client|ConnectionTerminated", "it aborted the request"),
        (r"closed|disconnect", "it closed the connection before its answer was whole"),
        (r"protocol error|unexpected HTTP|invalid HTTP|refusing to", _INVALID),
    )
)


_IS_UNCONNECTED = re.compile(
    "|".join(pattern for pattern, _ in _UNCONNECTED), re.IGNORECASE
)
_IS_TLS = re.compile(r"\b(?:TLS|OpenSSL|alert)\b|verify failed", re.IGNORECASE)


def reason_of(message: str) -> str:
    """The meaning of mitmproxy's *message*, in words for a client."""
    found = ((pattern.search(message), reason) for pattern, reason in _REASONS)
    return next((each.expand(reason) for each, reason in found if each), _FAILED)


def failing(host: str, message: str, server: connection.Server) -> str:
    """Return who does not answer: *host*, or an upstream proxy on the way to it.

    Args:
        host: The host.
        message: What mitmproxy reports.
        server: The connection, also one that was not opened.
    """
    if server.via is None or _REFUSED_CONNECT in message:
        return host  # or the reason names the proxy
    if _IS_UNCONNECTED.search(message):
        return f"the upstream proxy (for {host})"
    if server.via[0] == "https" and _IS_TLS.search(message):
        return (
            f"the upstream proxy, or from {host} through it"  # mitmproxy names neither
        )
    return f"{host} through the upstream proxy"
