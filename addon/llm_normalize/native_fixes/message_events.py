"""Events of a message, for examples and tests."""

from typing import Any

from ..protocols.protocol import JsonObject

FIGURES: JsonObject = {"input_tokens": 5, "output_tokens": 1}


def start(**more: Any) -> JsonObject:
    """Return a `message_start`; *more* goes into its message."""
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "acme-1",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": dict(FIGURES),
        **more,
    }
    return {"type": "message_start", "message": message}


def block(kind: str, index: int = 0, **more: Any) -> JsonObject:
    """Return a `content_block_start`; *more* goes into its block."""
    empty: dict[str, JsonObject] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"id": f"toolu_{index}", "name": "f", "input": {}},
    }
    made = {"type": kind, **empty[kind], **more}
    return {"type": "content_block_start", "index": index, "content_block": made}


def delta(kind: str, text: str, index: int = 0) -> JsonObject:
    """Return a `content_block_delta`."""
    keys = {
        "text_delta": "text",
        "thinking_delta": "thinking",
        "signature_delta": "signature",
        "input_json_delta": "partial_json",
    }
    said = {"type": kind, keys[kind]: text}
    return {"type": "content_block_delta", "index": index, "delta": said}


def stop(index: int = 0) -> JsonObject:
    """Return a `content_block_stop`."""
    return {"type": "content_block_stop", "index": index}


def end(reason: str = "end_turn", **more: Any) -> JsonObject:
    """Return a `message_delta`."""
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": 2},
        **more,
    }


def message(*content: JsonObject, **more: Any) -> JsonObject:
    """Return a whole message."""
    whole = {**start()["message"], "content": [*content], "stop_reason": "end_turn"}
    return {**whole, **more}


MADE_ID = "msg_ab27b729d9cc4cb1c009607004469241"
"""What the reader makes of the exchange of examples."""
STOP: JsonObject = {"type": "message_stop"}
