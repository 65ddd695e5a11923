"""What a provider sends, and the same conversation as OpenAI would have sent it.

A family is one quirk. The wording is our own, the shapes are those that were seen; cuts
are alike on both sides, so that a client has to report the same, piece by piece.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

type Json = dict[str, Any]

MODEL = "acme/wren-8b"
ID = "chatcmpl-5d0c1e"
CREATED = 1765000000
WORDS = ("Rain", " until", " noon", ".")
TEXT = "".join(WORDS)
USAGE = {"prompt_tokens": 21, "completion_tokens": 4, "total_tokens": 25}
CALL = "call_w1"
OTHER_CALL = "call_w2"
NAME = "get_weather"
ARGUMENTS = ('{"city":', ' "Bergen"', "}")
OTHER_ARGUMENTS = '{"city": "Oslo"}'

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


@dataclass(frozen=True)
class Answer:
    """An HTTP response; each piece of the body is written by itself."""

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "text/event-stream"


@dataclass(frozen=True)
class Family:
    """A quirk: what was asked, what comes, and what OpenAI would have sent."""

    name: str
    request: Json
    quirk: Answer
    openai: Answer
    conforms: bool = field(default=False, kw_only=True)


# ------------------------------------------------------------------------- requests


def ask(*, stream: bool = True, usage: bool = False, tools: bool = False) -> Json:
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
    return request


# --------------------------------------------------------------------------- chunks


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    """Return a chunk of one choice; *more* goes beside `choices`."""
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return around([choice], **more)


def around(choices: list[Json], **more: Any) -> Json:
    return {
        "id": ID,
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": MODEL,
        "choices": choices,
        **more,
    }


def opening(content: str | None = "", **more: Any) -> Json:
    return chunk({"role": "assistant", "content": content}, **more)


def words(**more: Any) -> list[Json]:
    return [chunk({"content": word}, **more) for word in WORDS]


def head(index: int = 0, call: str = CALL) -> Json:
    function = {"name": NAME, "arguments": ""}
    return fragment({"index": index, "id": call, "type": "function"}, function)


def arguments(text: str, index: int = 0) -> Json:
    return fragment({"index": index}, {"arguments": text})


def fragment(call: Json, function: Json) -> Json:
    return chunk({"tool_calls": [{**call, "function": function}]})


def whole_call(text: str, call: str = CALL) -> Json:
    """Return a call as NIM sends it: all of it at once."""
    function = {"name": NAME, "arguments": text}
    return {"id": call, "type": "function", "function": function}


def finish(reason: str = "stop", **more: Any) -> Json:
    return chunk({}, reason, **more)


def usage_chunk() -> Json:
    return around([], usage=USAGE)


def with_usage_null(*chunks: Json) -> list[Json]:
    return [{**each, "usage": None} for each in chunks]


def nim_finish(reason: str, delta: Json, **more: Any) -> Json:
    """Return NIM's last chunk: a delta that says nothing, and `stop_reason`."""
    made = chunk(delta, reason, **more)
    made["choices"][0]["stop_reason"] = None
    return made


# --------------------------------------------------------------------------- bodies


def dumps(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def data(value: Json) -> bytes:
    return b"data: " + dumps(value) + b"\n\n"


DONE = b"data: [DONE]\n\n"


def stream(*chunks: Json, done: bool = True) -> Answer:
    return Answer((*map(data, chunks), *([DONE] if done else [])))


def reframed(frame: Callable[[bytes], bytes]) -> Answer:
    """Return the plain text stream, each event put through *frame*."""
    return Answer(tuple(map(frame, OPENAI_TEXT.pieces)))


def body(message: Json, finish_reason: str = "stop", usage: Json | None = None) -> Json:
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": finish_reason,
    }
    return {
        "id": ID,
        "object": "chat.completion",
        "created": CREATED,
        "model": MODEL,
        "choices": [choice],
        "usage": USAGE if usage is None else usage,
    }


def whole(value: Json, status: int = 200) -> Answer:
    return Answer((dumps(value),), status, "application/json")


def error(
    status: int, message: str, kind: str | None, code: str | None = None
) -> Answer:
    """Return an error in OpenAI's form."""
    said = {"message": message, "type": kind, "param": None, "code": code}
    return whole({"error": said}, status)


# ----------------------------------------------------------------- in OpenAI's shape

OPENAI_TEXT = stream(opening(), *words(), finish())
OPENAI_TEXT_USAGE = stream(
    *with_usage_null(opening(), *words(), finish()), usage_chunk()
)
# Nobody asked, but the provider counted: not lost, and no chunk without a choice.
OPENAI_TEXT_RIDING = stream(opening(), *words(), finish(usage=USAGE))
OPENAI_CALL = stream(
    opening(None), head(), *map(arguments, ARGUMENTS), finish("tool_calls")
)
OPENAI_CALL_AT_ONCE = stream(
    opening(), head(), arguments("".join(ARGUMENTS)), finish("tool_calls")
)
OPENAI_CALL_USAGE = stream(
    *with_usage_null(
        opening(), head(), arguments("".join(ARGUMENTS)), finish("tool_calls")
    ),
    usage_chunk(),
)
OPENAI_TWO_CALLS = stream(
    opening(),
    head(),
    arguments("".join(ARGUMENTS)),
    head(1, OTHER_CALL),
    arguments(OTHER_ARGUMENTS, 1),
    finish("tool_calls"),
)
OPENAI_BODY = whole(body({"role": "assistant", "content": TEXT}))
OPENAI_BODY_CALL = whole(
    body(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [whole_call("".join(ARGUMENTS))],
        },
        "tool_calls",
    )
)

# --------------------------------------------------------------------- NIM's shapes


def nim_text() -> Answer:
    return stream(
        opening(None),
        *(chunk({"role": None, "content": word}) for word in WORDS),
        nim_finish("stop", {"role": None, "content": ""}),
    )


def nim_usage_everywhere() -> Answer:
    """Return a text that counts along, as recorded."""
    prompt = USAGE["prompt_tokens"]

    def count(tokens: int) -> Json:
        return {
            "prompt_tokens": prompt,
            "total_tokens": prompt + tokens,
            "completion_tokens": tokens,
        }

    return stream(
        opening(usage=count(0)),
        *(
            chunk({"role": None, "content": word}, usage=count(tokens))
            for tokens, word in enumerate(WORDS, 1)
        ),
        nim_finish("stop", {"role": None, "content": ""}, usage=USAGE),
        usage_chunk(),
    )


def nim_call(**call: Any) -> Json:
    calls = [{**whole_call("".join(ARGUMENTS)), **call}]
    delta = {"role": None, "content": None, "tool_calls": calls}
    return nim_finish("tool_calls", delta)


def nim_call_usage() -> Answer:
    start = {"prompt_tokens": 21, "total_tokens": 21, "completion_tokens": 0}
    call = {**nim_call(index=0), "usage": USAGE}
    return stream(opening(usage=start), call, usage_chunk())


def nim_two_calls() -> Answer:
    calls = [
        whole_call("".join(ARGUMENTS)),
        whole_call(OTHER_ARGUMENTS, OTHER_CALL),
    ]
    delta = {"role": None, "content": None, "tool_calls": calls}
    return stream(opening(), nim_finish("tool_calls", delta))


def repeated_head() -> Answer:
    """Return MiniMax on NIM: id, type and name on every fragment."""
    call = {"index": 0, "id": CALL, "type": "function"}
    return stream(
        opening(None),
        *(
            fragment(call, {"name": NAME, "arguments": text})
            for text in ("", *ARGUMENTS)
        ),
        finish("tool_calls"),
    )


def sglang(delta: Json, reason: str | None = None, stop: int | None = None) -> Json:
    nulls = {
        "role": None,
        "content": None,
        "reasoning_content": None,
        "tool_calls": None,
    }
    made = chunk({**nulls, **delta}, reason, usage=None)
    made["choices"][0]["matched_stop"] = stop
    return made


def sglang_text() -> Answer:
    return stream(
        sglang({"role": "assistant", "content": ""}),
        *(sglang({"content": word}) for word in WORDS),
        sglang({}, "stop"),
    )


def sglang_call() -> Answer:
    """Return a call whose later fragments have null for what its head said."""

    def call(first: bool, text: str) -> Json:
        function = {"name": NAME if first else None, "arguments": text}
        return {
            "id": CALL if first else None,
            "index": 0,
            "type": "function" if first else None,
            "function": function,
        }

    return stream(
        sglang({"role": "assistant", "content": None}),
        sglang({"tool_calls": [call(True, "")]}),
        *(sglang({"tool_calls": [call(False, text)]}) for text in ARGUMENTS),
        sglang({}, "tool_calls"),
    )


def nim_families() -> Iterator[Family]:
    yield Family("nim-text", ask(), nim_text(), OPENAI_TEXT)
    yield Family(
        "nim-usage-each-asked",
        ask(usage=True),
        nim_usage_everywhere(),
        OPENAI_TEXT_USAGE,
    )
    yield Family(
        "nim-usage-each-unasked", ask(), nim_usage_everywhere(), OPENAI_TEXT_RIDING
    )
    yield Family(
        "nim-call-whole",
        ask(tools=True),
        stream(opening(), nim_call(index=0)),
        OPENAI_CALL_AT_ONCE,
    )
    yield Family(
        "nim-call-whole-usage",
        ask(tools=True, usage=True),
        nim_call_usage(),
        OPENAI_CALL_USAGE,
    )
    yield Family(
        "nim-call-no-index",
        ask(tools=True),
        stream(opening(), nim_call()),
        OPENAI_CALL_AT_ONCE,
    )
    yield Family(
        "nim-two-calls-no-index", ask(tools=True), nim_two_calls(), OPENAI_TWO_CALLS
    )
    yield Family("nim-head-repeated", ask(tools=True), repeated_head(), OPENAI_CALL)
    yield Family("sglang-nulls", ask(), sglang_text(), OPENAI_TEXT)
    yield Family("sglang-call-nulls", ask(tools=True), sglang_call(), OPENAI_CALL)


def nim_errors() -> Iterator[Family]:
    detail = "Function '0f3a': Not found for account 'a9'"
    problem = {"status": 404, "title": "Not Found", "detail": detail}
    yield Family(
        "nim-error-404",
        ask(),
        whole(problem, 404),
        error(404, f"Not Found: {detail}", "invalid_request_error"),
    )
    yield Family(
        "nim-error-404-body",
        ask(stream=False),
        whole(problem, 404),
        error(404, f"Not Found: {detail}", "invalid_request_error"),
    )
    yield Family(
        "nim-error-404-plain",
        ask(),
        Answer((b"404 page not found\n",), 404, "text/plain; charset=utf-8"),
        error(404, "404 page not found", "invalid_request_error"),
    )
    yield Family(
        "nim-error-429",
        ask(),
        whole({"status": 429, "title": "Too Many Requests"}, 429),
        error(429, "Too Many Requests", "rate_limit_error"),
    )
    message = "ResourceExhausted: all 8 places of the worker are taken"
    said = {"message": message, "type": "Service Unavailable", "code": 503}
    yield Family(
        "nim-error-503",
        ask(),
        whole({"error": said}, 503),
        error(503, message, "Service Unavailable", "503"),
    )


# ------------------------------------------------------------------ framing, endings


def _lines_apart(event: bytes) -> bytes:
    """Return *event* with its JSON cut over two data lines."""
    return event.replace(b',"choices"', b',\ndata: "choices"')


def framing_families() -> Iterator[Family]:
    frames: dict[str, Callable[[bytes], bytes]] = {
        "data-no-space": lambda event: event.replace(b"data: ", b"data:", 1),
        "line-end-crlf": lambda event: event.replace(b"\n", b"\r\n"),
        "comments": lambda event: (
            b": ping - 2026-01-05\n\n" + event + b": PROCESSING\n"
        ),
        "fields-event-id": lambda event: b"id: 7\nevent: message\n" + event,
        "data-several-lines": _lines_apart,
    }
    for name, frame in frames.items():
        yield Family(name, ask(), reframed(frame), OPENAI_TEXT)


def ending_families() -> Iterator[Family]:
    *most, last = words()
    last_word = last["choices"][0]["delta"]
    yield Family("role-missing", ask(), stream(*words(), finish()), ROLE_WITH_TEXT)
    yield Family("finish-missing", ask(), stream(opening(), *words()), OPENAI_TEXT)
    yield Family(
        "finish-missing-call",
        ask(tools=True),
        stream(opening(None), head(), *map(arguments, ARGUMENTS)),
        OPENAI_CALL,
    )
    yield Family(
        "finish-with-text",
        ask(),
        stream(opening(), *most, chunk(last_word, "stop")),
        OPENAI_TEXT,
    )
    yield Family(
        "done-missing",
        ask(),
        stream(opening(), *words(), finish(), done=False),
        OPENAI_TEXT,
    )
    yield Family(
        "usage-unasked",
        ask(),
        stream(opening(), *words(), finish(), usage_chunk()),
        OPENAI_TEXT_RIDING,
    )


# The role comes with the first word: OpenAI's role chunk would be an event more.
ROLE_WITH_TEXT = stream(
    chunk({"role": "assistant", "content": WORDS[0]}), *words()[1:], finish()
)

# --------------------------------------------------------------------- whole answers


def body_families() -> Iterator[Family]:
    request = ask(stream=False)
    empty = {"role": "assistant", "content": ""}
    yield Family(
        "body-content-null",
        request,
        whole(body({**empty, "content": None})),
        whole(body(empty)),
    )
    yield Family(
        "body-role-missing", request, whole(body({"content": TEXT})), OPENAI_BODY
    )
    without = body({"role": "assistant", "content": TEXT})
    del without["usage"]
    zeros = dict.fromkeys(USAGE, 0)
    yield Family(
        "body-usage-missing",
        request,
        whole(without),
        whole(body({"role": "assistant", "content": TEXT}, usage=zeros)),
    )


def conforming() -> Iterator[Family]:
    """Yield what OpenAI sends: it has to pass as it is."""
    for name, request, answer in (
        ("openai-text", ask(), OPENAI_TEXT),
        ("openai-usage", ask(usage=True), OPENAI_TEXT_USAGE),
        ("openai-call", ask(tools=True), OPENAI_CALL),
        ("openai-two-calls", ask(tools=True), OPENAI_TWO_CALLS),
        ("openai-body", ask(stream=False), OPENAI_BODY),
        ("openai-body-call", ask(stream=False, tools=True), OPENAI_BODY_CALL),
        (
            "openai-error",
            ask(),
            error(401, "Bad key", "invalid_request_error", "invalid_api_key"),
        ),
    ):
        yield Family(name, request, answer, answer, conforms=True)


FAMILIES = {
    family.name: family
    for part in (
        nim_families(),
        nim_errors(),
        framing_families(),
        ending_families(),
        body_families(),
        conforming(),
    )
    for family in part
}
