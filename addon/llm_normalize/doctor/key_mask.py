"""What must not be shown: the key, however it is spelled in an answer."""

import base64
import html
import re
from urllib.parse import urlsplit

from mitmproxy import http

from ..exchange.request_facts import secrets_of

MASK = "***"


class Secrets:
    """The key, and what else in the request must not be shown.

    Args:
        url: Where the request goes; its query may hold a key.
        headers: The request's headers.
    """

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        query = f"http://provider/?{urlsplit(url).query}"
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        found = secrets_of(http.Request.make("POST", query, headers=fields))
        pattern = "|".join(map(_pattern, found)) or "(?!)"
        self._text = re.compile(pattern)
        self._bytes = re.compile(pattern.encode())

    def masked(self, text: str) -> str:
        """Return *text* without them."""
        return self._text.sub(MASK, text)

    def masked_bytes(self, data: bytes) -> bytes:
        """Return *data* without them."""
        return self._bytes.sub(MASK.encode(), data)


def _pattern(secret: str) -> str:
    """Return an expression for *secret* as JSON, pages, URLs and base64 spell it."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return f"{''.join(map(_character, secret))}|{re.escape(encoded)}=*"


def _character(char: str) -> str:
    code = ord(char)
    plain = "|".join(map(re.escape, {char, html.escape(char)}))
    coded = rf"\\u{code:04x}|%{code:02x}|&#0*{code};|&#x0*{code:x};"
    return rf"(?:(?:\\)?(?:{plain})|(?i:{coded}))"
