"""Peers that cannot run here: their bytes, served by a provider that has a script."""

import json
from pathlib import Path

from peers.asking import Json

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
HEAD = {"object": "chat.completion.chunk", "created": 1790000000, "model": "qwen-plus"}


def capture(name: str) -> tuple[list[bytes], bool]:
    """Return an answer from the captures event by event, and whether it is a stream."""
    folder = CAPTURES / name
    stream = folder / "response.sse"
    if not stream.exists():
        return [(folder / "response.json").read_bytes()], False
    events = stream.read_bytes().split(b"\n\n")
    return [event + b"\n\n" for event in events if event], True


def webflux(*deltas: Json | str) -> tuple[list[bytes], bool]:
    """Return what Spring WebFlux writes for a stream of server-sent events.

    As its ServerSentEventHttpMessageWriter does: `id`, then `event`, then a comment, then
    `data`, each with a colon and no space; prefix, JSON and line ends as buffers of their
    own. A text is a comment alone. The chunks themselves are as OpenAI has them.
    """
    parts = []
    for number, delta in enumerate(deltas):
        if isinstance(delta, str):
            parts.append(f":{delta}\n\n".encode())
            continue
        finish = delta.get("finish")
        choice = {"index": 0, "delta": {} if finish else delta, "finish_reason": finish}
        chunk = {"id": "chatcmpl-7f0a", **HEAD, "choices": [choice]}
        parts.append(f"id:{number}\nevent:message\ndata:".encode())
        parts.append(json.dumps(chunk, separators=(",", ":")).encode())
        parts.append(b"\n\n")
    return [*parts, b"data:[DONE]\n\n"], True
