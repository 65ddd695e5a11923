"""Clients that do not trust mitmproxy's CA: logged and counted."""

import logging
from collections import Counter
from pathlib import Path

from mitmproxy import connection, tls

from ..routing.routes import is_reverse
from ..text.network_address import address
from ..text.printable import brief
from . import trust_advice

logger = logging.getLogger(__name__)

_ALERTS = ("unknown ca", "bad certificate", "certificate unknown")
"""Alerts of a client that does not trust a certificate (mitmproxy's layers/tls.py)."""

HOSTS = 100
"""Hosts that are counted apart; clients choose their names."""

OTHERS = "other hosts"


class Distrust:
    """How often clients refused the connection to a host.

    Attributes:
        hosts: Counts by host, escaped and cut; a bounded number of them.
    """

    def __init__(self) -> None:
        self.hosts: Counter[str] = Counter()

    def failed(self, data: tls.TlsData, confdir: Path) -> None:
        """Count a client's refusal, and say what to do, once for each host.

        Args:
            data: What mitmproxy tells of a failed handshake.
            confdir: mitmproxy's folder, which has the certificate.
        """
        reason = data.conn.error or ""
        if not any(each in reason for each in _ALERTS):
            return  # it hung up, or speaks another TLS
        host = brief(data.conn.sni or (data.context.server.address or ("?",))[0])
        if host not in self.hosts and len(self.hosts) >= HOSTS:
            host = OTHERS
        self.hosts[host] += 1
        if self.hosts[host] > 1:
            return
        logger.warning(
            "normalize: a client refused the connection to %s: it does not trust "
            "mitmproxy's CA. To fix this: %s",
            host,
            _advice(data.context.client, confdir),
        )


def _advice(client: connection.Client, confdir: Path) -> str:
    """A sentence that says how to repair it."""
    if is_reverse(client.proxy_mode):
        here = f"http://{address(*client.sockname[:2])}"
        return (
            f"write http://, not https://, in its base URL: {here} needs no certificate"
        )
    return trust_advice.of(confdir, _proxy(client)).sentence


def _proxy(client: connection.Client) -> str:
    """Return the proxy's URL, empty where clients come without knowing of a proxy."""
    if client.proxy_mode.type_name not in ("regular", "upstream"):
        return ""
    host, port = client.sockname[:2]
    return f"http://{address(host, port)}"
