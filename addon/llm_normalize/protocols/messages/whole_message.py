"""The events of a message that is right, as one body."""

from collections.abc import Iterable
from typing import Any

from ...wire.json_text import as_object, as_string
from ..calls import arguments_in
from ..protocol import JsonObject
from .native.parts import INPUT, WORDS

_CITATIONS = "citations"

type _Block = tuple[JsonObject, dict[str, list[Any]]]
"""A block as it began, and the pieces of what it says, by key."""


def message_in(events: Iterable[JsonObject]) -> JsonObject | None:
    """Return the message that *events* say, or the error; None if they break off."""
    message: JsonObject = {}
    blocks: list[_Block] = []
    for each in events:
        kind, delta = each.get("type"), as_object(each.get("delta"))
        if kind == "message_start":
            message = as_object(each.get("message"))
        elif kind == "content_block_start":
            blocks.append((as_object(each.get("content_block")), {}))
        elif kind == "content_block_delta" and blocks:
            _add(blocks[-1], delta)
        elif kind == "message_delta":
            usage = as_object(message.get("usage")) | as_object(each.get("usage"))
            message = {**message, **delta, "usage": usage}
        elif kind == "error":
            return each
        elif kind == "message_stop" and message:
            return {**message, "content": [*map(_read, blocks)]}
    return None


def _add(block: _Block, delta: JsonObject) -> None:
    _, pieces = block
    kind = as_string(delta.get("type"))
    if kind == "citations_delta":
        pieces.setdefault(_CITATIONS, []).append(delta.get("citation"))
    elif key := WORDS.get(kind):
        pieces.setdefault(key, []).append(as_string(delta.get(key)))


def _read(block: _Block) -> JsonObject:
    """A block that has ended."""
    begun, pieces = block
    made = {**begun}
    for key, found in pieces.items():
        if key == _CITATIONS:
            made[key] = [*(made.get(key) or ()), *found]
        else:
            made[key] = as_string(made.get(key)) + "".join(found)
    text = made.pop(WORDS[INPUT], "")
    return {**made, "input": arguments_in(text)} if text else made
