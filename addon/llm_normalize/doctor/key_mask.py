"""What must not be shown: the key, however it is spelled in an answer."""

from urllib.parse import urlsplit

from mitmproxy import http

from ..exchange.message.request_facts import secrets_of
from ..routing.key_echo import SEARCHED, without


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
        self._found = [each.encode("utf-8", "surrogateescape") for each in found]

    def masked(self, text: str) -> str:
        """Return *text* without them."""
        data = self.masked_bytes(text.encode("utf-8", "surrogatepass"))
        return data.decode("utf-8", "surrogatepass")

    def masked_bytes(self, data: bytes) -> bytes:
        """Return *data* without them."""
        for secret in self._found:
            data = without(data, secret, is_thorough=False)  # also what spans two parts
            parts = range(0, len(data), SEARCHED)
            data = b"".join(without(data[at : at + SEARCHED], secret) for at in parts)
        return data
