"""A key that a provider echoes: it is taken out of all that is saved with a flow."""

import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

from mitmproxy import http

from ..records.snapshot import KEY as RECORD
from ..records.snapshot import unpacked
from ..text.echo import MASK
from ..text.folded_text import may_pack, places_of, spellings
from ..wire.content_encoding import beginning
from ..wire.limits import MAX_BODY
from .keys import Secret

_LEAST = 6  # characters of what is a key
_GOOD = range(200, 300)
SEARCHED = 64 * 1024
"""Bytes of a text, at its beginning, that are searched for other spellings."""

type Field = tuple[bytes, bytes]


def without(data: bytes, key: bytes, *, is_thorough: bool = True) -> bytes:
    """Return *data* without *key*.

    Args:
        data: The data.
        key: The key.
        is_thorough: Whether it is found at the beginning however it is spelled. That takes
            long; else its usual spellings are found, and what packs it as it is.
    """
    if len(key) < _LEAST:
        return data  # a placeholder, such as "none", which would garble the text
    mask = MASK.encode()
    secret = key.decode("latin-1")
    for each in spellings(secret):
        data = data.replace(each.encode("latin-1"), mask)
    # Byte by byte, so that places in the text are places in the data.
    text = data[:SEARCHED].decode("latin-1")
    if not (is_thorough or may_pack(text, secret)):
        return data
    end = len(data)
    for start, stop in reversed(places_of(secret, text)):
        data = data[:start] + mask + data[min(stop, end) :]
        end = start
    return data


class LogFilter(logging.Filter):
    """Takes secrets out of the bytes that mitmproxy logs with its option `proxy_debug`.

    Args:
        secrets: Returns them as they are by now.
    """

    logger = logging.getLogger("mitmproxy.proxy.server")

    def __init__(self, secrets: Callable[[], Iterable[Secret]]) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Let *record* pass without them."""
        if record.levelno <= logging.DEBUG:
            text = record.getMessage().encode("utf-8", "surrogatepass")
            for each in self._secrets():
                with contextlib.suppress(ValueError):  # there is none by now
                    for key in each.lines():
                        text = without(text, key.encode())
            record.msg, record.args = text.decode("utf-8", "surrogatepass"), ()
        return True


def hide_in_head(
    response: http.Response, key: bytes, clean: set[Field] | None = None
) -> None:
    """Take *key* out of the headers, the trailers and the reason of *response*.

    Args:
        response: The response.
        key: The key.
        clean: Fields that are known not to have it; those of *response* are added.
    """
    clean = set() if clean is None else clean
    response.headers = _without(response.headers, key, clean)
    if response.trailers is not None:
        response.trailers = _without(response.trailers, key, clean)
    response.data.reason = without(response.data.reason, key)


def _without(headers: http.Headers, key: bytes, clean: set[Field]) -> http.Headers:
    fields = [
        each if each in clean else (without(each[0], key), without(each[1], key))
        for each in headers.fields
    ]
    clean.update(fields)
    return http.Headers(fields)


def hide(flow: http.HTTPFlow, key: bytes, clean: set[Field] | None = None) -> None:
    """Take *key* out of what is saved with *flow*; what has not been sent is sent without it.

    Args:
        flow: The flow.
        key: The key.
        clean: Fields of its answer that are known not to have it.
    """
    if flow.error is not None:
        flow.error.msg = without(flow.error.msg.encode(), key).decode()
    found = False
    # What a model says is long, and repeats no key; what refuses a key is short.
    is_refusal = flow.response is None or flow.response.status_code not in _GOOD
    if flow.response is not None:
        hide_in_head(flow.response, key, clean)
        found = _hide_in_body(flow.response, key, is_thorough=is_refusal)
    record = flow.metadata.get(RECORD)
    if isinstance(record, dict) and (
        found or _is_in(record, key, is_thorough=is_refusal)
    ):
        left_out = record.get("changed", 0)
        record.update(pairs=[], received=None, left_out=left_out, left_out_at=0)


def _hide_in_body(response: http.Response, key: bytes, *, is_thorough: bool) -> bool:
    """Take *key* out of a body; tell whether it was there."""
    body = response.raw_content or b""
    masked = without(body, key, is_thorough=is_thorough)
    encoding = response.headers.get("content-encoding", "")
    if masked == body and encoding:
        body = beginning(body, encoding, MAX_BODY)
        masked = without(body, key, is_thorough=is_thorough)
    if masked == body:
        return False
    response.headers.pop("content-encoding", None)
    response.data.content = masked
    if "content-length" in response.headers:
        response.headers["content-length"] = str(len(masked))
    return True


def _is_in(record: dict[str, Any], key: bytes, *, is_thorough: bool) -> bool:
    """Tell whether *key* is, or may be, in what is shown of an answer."""
    shown = repr(record.get("pairs")).encode().replace(rb"\\", b"\\")
    try:
        shown += unpacked(record.get("received") or ())
    except ValueError:
        return True  # a file that was loaded can hold anything
    return without(shown, key, is_thorough=is_thorough) != shown
