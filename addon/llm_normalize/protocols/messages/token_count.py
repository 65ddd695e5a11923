"""How many tokens a request has, estimated."""

from ...wire.json_text import Json, dumps
from ..protocol import JsonObject

_COUNTED = ("system", "messages", "tools", "tool_choice")
_ATTACHMENT = 1600
"""Tokens of an image at Anthropic's limit of its size; and of so much of a document:"""
_PAGE = 64 * 1024
"""Characters of base64."""
_BYTES, _TOKENS = 7, 2
_UNSEEN = {"cache_control", "signature"}


def count_tokens(body: JsonObject) -> JsonObject:
    """Return an estimate of the tokens that a request's input has.

    Which model will read it, and how that one cuts text, is unknown here. Two tokens for
    seven bytes of UTF-8 is a little much for English prose, about right for code and JSON,
    and fair to scripts that take more bytes a character: a client that trusts it
    shortens its conversation too early rather than too late. Attachments count by their
    size.

    Args:
        body: A request to `/messages/count_tokens`, or to `/messages`.
    """
    found = [_size(body[key]) for key in _COUNTED if key in body]
    size, attached = (sum(each) for each in zip((0, 0), *found, strict=True))
    return {"input_tokens": max(1, -(-size * _TOKENS // _BYTES) + attached)}


def _size(value: Json) -> tuple[int, int]:
    """Return the bytes of text in *value*, and the tokens of what is attached."""
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass")), 0
    if isinstance(value, dict):
        if _is_attached(value):
            is_image = value["type"] == "image"
            data = "" if is_image else str(value["source"].get("data", ""))
            return 0, _ATTACHMENT * max(1, -(-len(data) // _PAGE))
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


def _is_attached(value: JsonObject) -> bool:
    source = value.get("source")
    return (
        value.get("type") in ("image", "document")
        and isinstance(source, dict)
        and source.get("type") in ("base64", "url", "file")
    )
