"""The events of a message that is right, as one body."""

from collections.abc import Iterable

from ..call_arguments import arguments_in
from ..json_values import as_object, as_string
from ..protocol import JsonObject
from .native_parts import INPUT, WORDS


def message_in(events: Iterable[JsonObject]) -> JsonObject | None:
    """Return the message that *events* say, or the error; None if they break off."""
    message: JsonObject = {}
    blocks: list[JsonObject] = []
    for each in events:
        kind, delta = each.get("type"), as_object(each.get("delta"))
        if kind == "message_start":
            message = as_object(each.get("message"))
        elif kind == "content_block_start":
            blocks.append({**as_object(each.get("content_block"))})
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


def _add(block: JsonObject, delta: JsonObject) -> None:
    kind = as_string(delta.get("type"))
    if kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        return
    # The text of an input is read at its end.
    key = WORDS.get(kind, "")
    block[key] = as_string(block.get(key)) + as_string(delta.get(key))


def _read(block: JsonObject) -> JsonObject:
    """A block that has ended."""
    text = block.pop(WORDS[INPUT], "")
    block.pop("", None)  # of a delta of another kind
    return {**block, "input": arguments_in(text)} if text else block
