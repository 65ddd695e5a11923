"""How many tokens a request has, and what was written, estimated.

Which model reads it, and how that one cuts text, is unknown here. Two tokens for seven
bytes of UTF-8 is a little much for English prose, about right for code and JSON, and fair
to scripts that take more bytes a character: a client that trusts it shortens its
conversation too early rather than too late. Attachments count by their size.
"""

from ..wire.json_text import Json, dumps
from .json_values import as_object, as_string
from .protocol import JsonObject

_COUNTED = ("system", "messages", "tools", "tool_choice", "response_format")
_ATTACHMENT = 1600
"""Tokens of an image at Anthropic's limit of its size; and of so much of a document:"""
_PAGE = 64 * 1024
"""Characters of base64."""
_BYTES, _TOKENS = 7, 2
_UNSEEN = {"cache_control", "signature"}
_ATTACHED = ("base64", "url", "file")
"""Types of a source that is no text."""


def tokens_in(request: JsonObject) -> int:
    """Return an estimate of the tokens that a request's input has.

    Args:
        request: One for chat completions, or for a message.
    """
    found = [_size(request[key]) for key in _COUNTED if key in request]
    size = sum(text for text, _ in found)
    return max(1, tokens_for(size) + sum(attached for _, attached in found))


def tokens_for(size: int) -> int:
    """Return an estimate of the tokens that *size* bytes of text have."""
    return -(-size * _TOKENS // _BYTES)


def _size(value: Json) -> tuple[int, int]:
    """Return the bytes of text in *value*, and the tokens of what is attached."""
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass")), 0
    if isinstance(value, dict):
        if tokens := _attached(value):
            return 0, tokens
        keys = {key: each for key, each in value.items() if key not in _UNSEEN}
        return _sum([*keys, *keys.values()])
    if isinstance(value, list):
        return _sum(value)
    return len(dumps(value)), 0


def _sum(values: list[Json]) -> tuple[int, int]:
    size = attached = 0
    for each in values:
        more = _size(each)
        size += more[0] + 1  # what parts it from the next
        attached += more[1]
    return size, attached


def _attached(value: JsonObject) -> int:
    """Return the tokens of an image or a file; 0 for anything else."""
    kind = value.get("type")
    source = as_object(value.get("source"))
    is_attached = source.get("type") in _ATTACHED
    if kind == "image_url" or (kind == "image" and is_attached):
        return _ATTACHMENT
    if kind == "file":
        data = as_string(as_object(value.get("file")).get("file_data"))
    elif kind == "document" and is_attached:
        data = as_string(source.get("data"))
    else:
        return 0
    return _ATTACHMENT * max(1, -(-len(data) // _PAGE))
