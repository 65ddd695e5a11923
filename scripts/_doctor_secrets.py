"""What must not be shown: the key, however it is spelled in an answer."""

import base64
import html
import json
from urllib.parse import quote

from mitmproxy import http

from llm_normalize.flows import secrets_of

MASK = "***"


class Secrets:
    """The key, and what else in the request must not be shown.

    Args:
        url: Where the request goes; its query may hold a key.
        headers: The request's headers.
    """

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        request = http.Request.make("POST", url, headers=fields)
        spelled = {each for found in secrets_of(request) for each in _spellings(found)}
        self._texts = sorted(spelled, key=len, reverse=True)
        self._bytes = [each.encode() for each in self._texts]

    def masked(self, text: str) -> str:
        """Return *text* without them."""
        for each in self._texts:
            text = text.replace(each, MASK)
        return text

    def masked_bytes(self, data: bytes) -> bytes:
        """Return *data* without them."""
        for each in self._bytes:
            data = data.replace(each, MASK.encode())
        return data


def _spellings(secret: str) -> set[str]:
    """Return *secret* as JSON, a page, a URL or Basic authentication would have it."""
    escaped = json.dumps(secret)[1:-1]
    return {
        secret,
        escaped,
        escaped.replace("/", "\\/"),
        html.escape(secret),
        quote(secret),
        quote(secret, safe=""),
        base64.b64encode(secret.encode()).decode(),
    }
