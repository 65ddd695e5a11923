"""What families are made of: requests, chunks, bodies, and OpenAI's own answers.

The wording is our own, the shapes are those that were seen; cuts are alike on both
sides, so that a client has to report the same, piece by piece.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

MODEL = "acme/wren-8b"
ID = "chatcmpl-5d0c1e"
CREATED = 1765000000
WORDS = ("Rain", " until", " noon", ".")
TEXT = "".join(WORDS)
OTHER_WORDS = ("Sun", " all", " day", "!")
THOUGHTS = ("Clouds", " in the west", ", so")
THOUGHT = "".join(THOUGHTS)
USAGE = {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25}
CALL = "call_w1"
OTHER_CALL = "call_w2"
NAME = "get_weather"
ARGUMENTS = ('{"city":', ' "Bergen"', "}")
ALL_ARGUMENTS = "".join(ARGUMENTS)
OTHER_ARGUMENTS = '{"city": "Oslo"}'

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


# ------------------------------------------------------------------------- requests


def ask(
    *, stream: bool = True, usage: bool = False, tools: bool = False, **more: Any
) -> Json:
    request: Json = {
        "model": MODEL,
        "messages": [{"role": "user", "content": "Will it rain?"}],
    }
    if stream:
        request["stream"] = True
    if usage:
        request["stream_options"] = {"include_usage": True}
    if tools:
        request["tools"] = [TOOL]
    return {**request, **more}


WHOLE = ask(stream=False)
TOOLS = ask(tools=True)
COUNTED = ask(usage=True)
WHOLE_TOOLS = ask(stream=False, tools=True)

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
        conforms: The form has nothing against the quirk: it is OpenAI's own, or lies in
            fields that OpenAI does not define.
        made_up: What of the reference the provider does not tell: the addon's own
            value counts for it.
        group: Where it stands in the tables.
    """

    name: str
    quirk: Answer
    openai: Answer
    request: Json = field(default_factory=ask)
    conforms: bool = field(default=False, kw_only=True)
    made_up: tuple[str | int, ...] = field(default=(), kw_only=True)
    group: str = field(default="", kw_only=True)


# --------------------------------------------------------------------------- chunks


def chunk(
    delta: Json | None, finish: str | None = None, index: int = 0, **more: Any
) -> Json:
    """Return a chunk of one choice; *more* goes beside `choices`."""
    choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
    return around([choice], **more)


def around(choices: list[Json] | None, **more: Any) -> Json:
    return {
        "id": ID,
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": MODEL,
        "choices": choices,
        **more,
    }


def opening(content: str | None = "", index: int = 0, **more: Any) -> Json:
    return chunk({"role": "assistant", "content": content}, None, index, **more)


def words(**more: Any) -> list[Json]:
    return [chunk({"content": word}, **more) for word in WORDS]


def thoughts(*keys: str) -> list[Json]:
    """Return reasoning, under each of *keys*."""
    return [chunk(dict.fromkeys(keys, thought)) for thought in THOUGHTS]


def head(index: int = 0, call: str = CALL, text: str = "") -> Json:
    function = {"name": NAME, "arguments": text}
    return fragment({"index": index, "id": call, "type": "function"}, function)


def arguments(text: str, index: int = 0) -> Json:
    return fragment({"index": index}, {"arguments": text})


def fragment(call: Json, function: Json) -> Json:
    return chunk({"tool_calls": [{**call, "function": function}]})


def whole_call(text: str = ALL_ARGUMENTS, call: str = CALL) -> Json:
    """Return a call as a body has it: all of it at once."""
    function = {"name": NAME, "arguments": text}
    return {"id": call, "type": "function", "function": function}


def finish(reason: str = "stop", index: int = 0, **more: Any) -> Json:
    return chunk({}, reason, index, **more)


def usage_chunk(usage: Json = USAGE) -> Json:
    return around([], usage=usage)


def with_usage_null(*chunks: Json) -> list[Json]:
    return [{**each, "usage": None} for each in chunks]


def without(value: Json, *keys: str) -> Json:
    return {key: value[key] for key in value if key not in keys}


def in_choice(value: Json, **more: Any) -> Json:
    """Return the chunk or body with *more* in its choices."""
    return {**value, "choices": [{**each, **more} for each in value["choices"]]}


def in_delta(value: Json, **more: Any) -> Json:
    """Return the chunk with *more* in its deltas."""
    choices = [
        {**each, "delta": {**each["delta"], **more}} for each in value["choices"]
    ]
    return {**value, "choices": choices}


def text_chunks() -> list[Json]:
    return [opening(), *words(), finish()]


def call_chunks(content: str | None = None) -> list[Json]:
    return [
        opening(content),
        head(),
        *map(arguments, ARGUMENTS),
        finish("tool_calls"),
    ]


# --------------------------------------------------------------------------- bodies


def dumps(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def data(value: object) -> bytes:
    return b"data: " + dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def stream(*chunks: Json, done: bool = True) -> Answer:
    return Answer((*map(data, chunks), *([DONE] if done else [])))


def reframed(frame: Callable[[bytes], bytes]) -> Answer:
    """Return the plain text stream, each event put through *frame*."""
    return Answer(tuple(map(frame, OPENAI_TEXT.pieces)))


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


def whole(value: object, status: int = 200, content_type: str = JSON) -> Answer:
    return Answer((dumps(value),), status, content_type)


def error_of(
    words: str, kind: str | None, code: str | None = None, **more: Any
) -> Json:
    """Return an error in OpenAI's form."""
    said = {"message": words, "type": kind, "param": None, "code": code}
    return {"error": {**said, **more}}


def error(
    status: int, words: str, kind: str | None, code: str | None = None, /, **more: Any
) -> Answer:
    return whole(error_of(words, kind, code, **more), status)


def after_words(event: bytes) -> Answer:
    """Return a stream that has begun when *event* comes, and ends with it."""
    return Answer((data(opening()), *map(data, words()[:2]), event))


# ----------------------------------------------------------------- in OpenAI's shape

OPENAI_TEXT = stream(*text_chunks())
OPENAI_TEXT_USAGE = stream(*with_usage_null(*text_chunks()), usage_chunk())
# Nobody asked, but the provider counted: not lost, and no chunk without a choice.
OPENAI_TEXT_RIDING = stream(opening(), *words(), finish(usage=USAGE))
# The role comes with the first word: OpenAI's role chunk would be an event more.
FIRST_WORD = chunk({"role": "assistant", "content": WORDS[0]})
ROLE_WITH_TEXT = stream(FIRST_WORD, *words()[1:], finish())
ROLE_WITH_TEXT_RIDING = stream(FIRST_WORD, *words()[1:], finish(usage=USAGE))
OPENAI_CALL = stream(*call_chunks())
OPENAI_CALL_AFTER_TEXT = stream(*call_chunks(""))
CALL_AT_ONCE = (opening(), head(), arguments(ALL_ARGUMENTS), finish("tool_calls"))
OPENAI_CALL_AT_ONCE = stream(*CALL_AT_ONCE)
OPENAI_CALL_USAGE = stream(*with_usage_null(*CALL_AT_ONCE), usage_chunk())
OPENAI_TWO_CALLS = stream(
    opening(),
    head(),
    arguments(ALL_ARGUMENTS),
    head(1, OTHER_CALL),
    arguments(OTHER_ARGUMENTS, 1),
    finish("tool_calls"),
)
OPENAI_BODY = whole(completion(message()))
OPENAI_BODY_CALL = whole(
    completion(message(None, tool_calls=[whole_call()]), "tool_calls")
)


def changed(chunks: Sequence[Json], change: Callable[[Json], Json]) -> Answer:
    """Return the stream with each of *chunks* put through *change*."""
    return stream(*map(change, chunks))
