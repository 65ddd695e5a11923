"""What families are made of, and the chunks and bodies of providers in sessions.

The wording is our own, the shapes are those that were seen; cuts are alike on both
sides, so that a client has to report the same, piece by piece.
"""

import json
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

MODEL = "acme/wren-8b"
ID = "chatcmpl-5d0c1e"
CREATED = 1765000000
WORDS = ("Rain", " until", " noon", ".")
TEXT = "".join(WORDS)
THOUGHTS = ("Clouds", " in the west", ", so")
THOUGHT = "".join(THOUGHTS)
USAGE = {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25}
CALL = "call_w1"
NAME = "get_weather"
ARGUMENTS = ('{"city":', ' "Bergen"', "}")

EVENTS = "text/event-stream"
JSON = "application/json"

TOOL = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": "Tell the weather.",
        "strict": True,  # the helpers refuse others
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


# ------------------------------------------------------------------------- families


@dataclass(frozen=True)
class Answer:
    """An HTTP response; each piece of the body is written by itself.

    Attributes:
        headers: What there is besides the content type.
        later: Of a 202, the answer that its status path gives in the end.
        polls: How often the status path says 202 before that.
        counted: What a client gets that asks for usage, where this has none to move.
    """

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = EVENTS
    headers: tuple[tuple[str, str], ...] = ()
    later: "Answer | None" = None
    polls: int = 0
    counted: "Answer | None" = None


@dataclass(frozen=True)
class Family:
    """A quirk: what comes, what OpenAI would have sent, and what was asked.

    Attributes:
        group: Where it stands in the tables.
        conforms: The form has nothing against the quirk: it is OpenAI's own, or lies in
            fields that OpenAI does not define.
        made_up: What of the reference the provider does not tell: the addon's own
            value counts for it.
    """

    name: str
    quirk: Answer
    openai: Answer
    request: Json
    group: str
    conforms: bool = field(default=False, kw_only=True)
    made_up: tuple[str | int, ...] = field(default=(), kw_only=True)


# --------------------------------------------------------------------------- chunks


def chunk(delta: Json, finish: str | None = None) -> Json:
    """Return a chunk of one choice."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return around([choice])


def around(choices: list[Json], **more: Any) -> Json:
    return {
        "id": ID,
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": MODEL,
        "choices": choices,
        **more,
    }


def opening(content: str | None = "") -> Json:
    return chunk({"role": "assistant", "content": content})


def words() -> list[Json]:
    return [chunk({"content": word}) for word in WORDS]


def thoughts(*keys: str) -> list[Json]:
    """Return reasoning, under each of *keys*."""
    return [chunk(dict.fromkeys(keys, thought)) for thought in THOUGHTS]


def arguments(text: str) -> Json:
    return fragment({"index": 0}, {"arguments": text})


def fragment(call: Json, function: Json) -> Json:
    return chunk({"tool_calls": [{**call, "function": function}]})


def finish(reason: str) -> Json:
    return chunk({}, reason)


def nim_finish(reason: str, delta: Json) -> Json:
    """Return NIM's last chunk: a delta that says nothing, and `stop_reason`."""
    value = chunk(delta, reason)
    value["choices"][0]["stop_reason"] = None
    return value


def usage_chunk() -> Json:
    return around([], usage=USAGE)


def in_delta(value: Json, **more: Any) -> Json:
    """Return the chunk with *more* in its deltas."""
    choices = [
        {**each, "delta": {**each["delta"], **more}} for each in value["choices"]
    ]
    return {**value, "choices": choices}


# --------------------------------------------------------------------------- bodies


def dumps(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def data(value: object) -> bytes:
    return b"data: " + dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def completion(message: Json, reason: str | None = "stop") -> Json:
    """Return a whole answer."""
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    return {
        "id": ID,
        "object": "chat.completion",
        "created": CREATED,
        "model": MODEL,
        "choices": [choice],
        "usage": USAGE,
    }


def message(content: Any = TEXT, **more: Any) -> Json:
    return {"role": "assistant", "content": content, **more}
