"""Records of before/after logs."""

import json
from typing import Any

type Record = dict[str, Any]


def flow(**more: Any) -> Record:
    return {
        "type": "flow",
        "v": 1,
        "flow": "f",
        "time": "2026-11-21T10:00:00.000Z",
        "host": "api.acme.example",
        "path": "/v1/chat/completions",
        "status": 200,
        "model": "acme-1",
        "stream": True,
        "events": 5,
        "changed": 2,
        "fixes": {"role-null": 2},
        "bytes_in": 10,
        "bytes_out": 9,
        "first_ms": 10.0,
        "total_ms": 20.0,
        "end": "complete",
        **more,
    }


def pair(word: str = "Hi", **more: Any) -> Record:
    return {
        "type": "pair",
        "v": 1,
        "flow": "f",
        "n": 1,
        "ms": 2.5,
        "fixes": ["role-null"],
        "before": event({"role": None, "content": word}),
        "after": [event({"content": word})],
        **more,
    }


def event(delta: Record, **more: Any) -> str:
    chunk = {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta}], **more}
    return f"data: {json.dumps(chunk, separators=(',', ':'))}\n\n"


def lines(*records: Record) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)
