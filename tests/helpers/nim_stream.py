"""A stream as NVIDIA NIM sends it."""

import json
from typing import Any

ASKED = {
    "model": "acme/brook-8b",
    "stream": True,
    "messages": [{"role": "user", "content": "Name a stream."}],
}
DONE = b"data: [DONE]\n\n"


def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    envelope = {
        "id": "chatcmpl-brook",
        "object": "chat.completion.chunk",
        "created": 1790000000,
        "model": "acme/brook-8b",
        "choices": [choice],
        **more,
    }
    return f"data: {json.dumps(envelope, ensure_ascii=False)}\n\n".encode()


def word(text: str) -> bytes:
    return chunk({"role": None, "content": text})


OPENING = chunk({"role": "assistant", "content": None})
FINISH = chunk({"role": None, "content": ""}, "stop")
STREAM = (OPENING, word("Mill"), *[word(" brook")] * 40, word("."), FINISH, DONE)
