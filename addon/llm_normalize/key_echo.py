"""A key that a provider echoes: it is taken out of all that is saved with a flow."""

from typing import Any
from urllib.parse import quote

from mitmproxy import http

from .decoding import CorruptBodyError, decoder_for
from .kept import unpacked
from .keys import MASK
from .record import KEY as RECORD

_MOST = 64 * 1024 * 1024  # bytes of a body that is decoded


def without(data: bytes, key: bytes) -> bytes:
    """Return *data* without *key*, also as a URL or JSON spells it."""
    quoted = quote(key, safe="").encode()
    spelled = {key, quoted, quoted.lower(), key.replace(b"/", b"\\/")}
    for each in sorted(spelled, key=len, reverse=True):
        data = data.replace(each, MASK.encode())
    return data


def hide_in_head(response: http.Response, key: bytes) -> None:
    """Take *key* out of the headers, the trailers and the reason of *response*."""
    response.headers = _without(response.headers, key)
    if response.trailers is not None:
        response.trailers = _without(response.trailers, key)
    response.data.reason = without(response.data.reason, key)


def _without(headers: http.Headers, key: bytes) -> http.Headers:
    fields = (
        (without(without(name, key), key.lower()), without(value, key))
        for name, value in headers.fields
    )
    return http.Headers(fields)


def hide(flow: http.HTTPFlow, key: bytes) -> None:
    """Take *key* out of what is saved with *flow*; what has not left leaves without it."""
    if flow.error is not None:
        flow.error.msg = without(flow.error.msg.encode(), key).decode()
    found = False
    if flow.response is not None:
        hide_in_head(flow.response, key)
        found = _hide_in_body(flow.response, key)
    record = flow.metadata.get(RECORD)
    if isinstance(record, dict) and (found or _is_in(record, key)):
        left_out = record.get("changed", 0)
        record.update(pairs=[], came=None, left_out=left_out, left_out_at=0)


def _hide_in_body(response: http.Response, key: bytes) -> bool:
    """Take *key* out of a body; tell whether it was there."""
    body = response.raw_content or b""
    masked = without(body, key)
    encoding = response.headers.get("content-encoding", "")
    if masked == body and encoding:
        body = _decoded(body, encoding)
        masked = without(body, key)
    if masked == body:
        return False
    response.headers.pop("content-encoding", None)
    response.data.content = masked
    if "content-length" in response.headers:
        response.headers["content-length"] = str(len(masked))
    return True


def _decoded(body: bytes, encoding: str) -> bytes:
    """Return the beginning of *body*, decoded; nothing if it cannot be."""
    decoder = decoder_for(encoding)
    found = bytearray()
    try:
        for part in decoder.feed(body) if decoder else ():
            found += part
            if len(found) > _MOST:
                break
    except CorruptBodyError:
        return b""
    return bytes(found)


def _is_in(record: dict[str, Any], key: bytes) -> bool:
    """Tell whether *key* is, or may be, in what is shown of an answer."""
    shown = repr(record.get("pairs")).encode()
    try:
        shown += unpacked(record.get("came") or ())
    except ValueError:
        return True  # a file that was loaded can hold anything
    return without(shown, key) != shown
