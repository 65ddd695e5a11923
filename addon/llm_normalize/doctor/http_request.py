"""One HTTP request by the proxy and the certificates that the environment names.

No redirect is followed, and no content encoding is undone.
"""

import base64
import contextlib
import http.client
import os
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from urllib.parse import quote, urlsplit

import certifi

from ..run.upstream_proxy import Upstream, UpstreamProxyError, upstream
from ..text.network_address import PORTS, address, netloc

_READ = 64 * 1024
_SAFE = "%/:?#[]@!$&'()*+,;=~"  # what stands in a URL as it is


class ConnectError(Exception):
    """There is no connection; says why, and quotes nothing of the request."""


class DisconnectedError(Exception):
    """The connection ended before the answer did, or the bytes are not HTTP."""


@contextlib.contextmanager
def posted(
    url: str, headers: Mapping[str, str], body: bytes, *, may_use_proxy: bool
) -> Iterator[HTTPResponse]:
    """Give the answer to a POST of *body* to *url* once its head is there.

    Raises:
        ConnectError: There is no connection.
        DisconnectedError: The connection ended before the answer did.
        ValueError: No request can be made of *url* or *headers*.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").encode("idna").decode()
    port = parts.port or PORTS[parts.scheme]
    proxy = _proxy(parts.scheme, host, port) if may_use_proxy else None
    way = urlsplit(proxy.url) if proxy else parts
    at = (way.hostname or "", way.port or port)
    sent = dict(headers)
    target = quote(parts._replace(scheme="", netloc="", fragment="").geturl(), _SAFE)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(*at, context=trusted())
        if proxy:
            connection.set_tunnel(host, port, _proxy_auth(proxy))
    else:
        connection = http.client.HTTPConnection(*at)
        if proxy:  # RFC 9112, 3.2.2: it wants the whole URL
            target = f"http://{netloc(parts.scheme, host, port)}{target}"
            sent |= _proxy_auth(proxy)
    with contextlib.closing(connection):
        place = address(host, port)
        try:
            connection.connect()
        except (OSError, HTTPException) as error:
            raise ConnectError(_reason(error, place, proxy)) from None
        try:
            connection.request("POST", target, body, sent)
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            raise DisconnectedError(str(error) or type(error).__name__) from None
        yield response


def reads(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the bytes of a body as they arrive.

    Raises:
        DisconnectedError: The connection ended before the body did.
    """
    try:
        while data := response.read1(_READ):
            yield data
    except (OSError, HTTPException) as error:
        raise DisconnectedError(str(error)) from None
    if response.length:
        raise DisconnectedError(f"{response.length} bytes are missing")


def _reason(error: Exception, place: str, proxy: Upstream | None) -> str:
    """Why there is no connection to *place*."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"{place} shows a certificate that is not trusted ({error.verify_message}); "
            "SSL_CERT_FILE names others"
        )
    if isinstance(error, ssl.SSLError):
        return f"{place}: TLS failed ({error.reason or 'for no stated reason'})"
    if isinstance(error, OSError) and error.strerror:
        at = f"the proxy {proxy.url.partition('//')[2]}" if proxy else place
        return f"{at} cannot be reached: {error.strerror}"
    why = str(error).removeprefix("Tunnel connection failed: ")
    return f"the proxy does not let through to {place}: {why}"


def trusted() -> ssl.SSLContext:
    """The context of TLS: the certificates of SSL_CERT_FILE, or the system's.

    Raises:
        ConnectError: They cannot be read.
    """
    file = os.environ.get("SSL_CERT_FILE")
    folder = None if file else os.environ.get("SSL_CERT_DIR")
    try:
        context = ssl.create_default_context(cafile=file, capath=folder)
        if not file and not folder:  # there are Pythons that find no system's
            context.load_verify_locations(certifi.where())
    except OSError as error:
        where = file or folder or certifi.where()
        raise ConnectError(
            f"no certificates can be read from {where}: {error.strerror or error}"
        ) from None
    context.set_alpn_protocols(["http/1.1"])
    return context


def _proxy(scheme: str, host: str, port: int) -> Upstream | None:
    """The proxy that the environment names for a host, if any."""
    named = urllib.request.getproxies()
    found = next((each for each in (scheme, "all") if named.get(each)), None)
    spared = (address(host, port), host)
    if found is None or any(map(urllib.request.proxy_bypass, spared)):
        return None
    variable = f"{found}_proxy"
    try:
        proxy = upstream(f"env:{variable}", {variable: named[found]})
    except UpstreamProxyError as error:
        raise ConnectError(str(error)) from None
    if not proxy.url.startswith("http://"):
        raise ConnectError(f"the doctor goes by http:// proxies only: {variable}")
    return proxy


def _proxy_auth(proxy: Upstream) -> dict[str, str]:
    if not proxy.auth:
        return {}
    word = base64.b64encode(proxy.auth.encode()).decode()
    return {"Proxy-Authorization": f"Basic {word}"}
