"""Which server has proved which name by its certificate, before a key goes there.

mitmproxy verifies the name that its client gave in TLS (SNI), whatever host the client
asked to be connected to: who may choose the one may let a server of the other read what
is sent.
"""

from mitmproxy import connection, ctx, tls

_PROVEN = "llm_normalize_proven"
"""Where a connection holds the name that its server has proved."""


def demand(server: connection.Server, host: str) -> None:
    """Have *server* prove to be *host*, whatever its client says; before TLS starts.

    It is what mitmproxy verifies then (mitmproxy/addons/tlsconfig.py,
    `tls_start_server`).
    """
    server.sni = _spelled(host)


def remember(data: tls.TlsData) -> None:
    """Remember what a server has proved; nothing without verification."""
    verified = data.ssl_conn and data.ssl_conn.get_context().get_verify_mode()
    setattr(data.conn, _PROVEN, data.conn.sni if verified else None)


def has_proven(server: connection.Server) -> bool:
    """Tell whether *server* has proved any name."""
    return getattr(server, _PROVEN, None) is not None


def is_proven(server: connection.Server, host: str) -> bool:
    """Tell whether *server* has proved to be *host*, and certificates still count."""
    proven = getattr(server, _PROVEN, None)
    is_it = proven is not None and _spelled(proven) == _spelled(host)
    return is_it and not ctx.options.ssl_insecure


def _spelled(host: str) -> str:
    return host.rstrip(".").lower()
