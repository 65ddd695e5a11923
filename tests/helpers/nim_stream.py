"""A stream as NVIDIA NIM sends it."""

from typing import Any

from llm_normalize.repair import fix
from llm_normalize.repair.fix import DONE

__all__ = ["ASKED", "DONE", "FINISH", "OPENING", "STREAM", "chunk", "word"]

ASKED = {
    "model": "acme/brook-8b",
    "stream": True,
    "messages": [{"role": "user", "content": "Name a stream."}],
}


def chunk(delta: Any, finish: str | None = None, **more: Any) -> bytes:
    named = {"model": "acme/brook-8b", **more}
    return fix.wire([fix.chunk(delta, finish=finish, **named)])


def word(text: str) -> bytes:
    return chunk({"role": None, "content": text})


OPENING = chunk({"role": "assistant", "content": None})
FINISH = chunk({"role": None, "content": ""}, "stop")
STREAM = (OPENING, word("Mill"), *[word(" brook")] * 40, word("."), FINISH, DONE)
