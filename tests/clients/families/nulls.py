"""Null, empty and additional fields in deltas and messages."""

from collections.abc import Iterator
from typing import Any

from clients.families.shapes import (
    OPENAI_BODY,
    OPENAI_TEXT,
    ROLE_WITH_TEXT,
    WHOLE,
    WORDS,
    Answer,
    Family,
    Json,
    changed,
    chunk,
    completion,
    finish,
    in_choice,
    in_delta,
    message,
    opening,
    stream,
    text_chunks,
    whole,
    words,
)


def nim_finish(reason: str, delta: Json, **more: Any) -> Json:
    """Return NIM's last chunk: a delta that says nothing, and `stop_reason`."""
    return in_choice(chunk(delta, reason, **more), stop_reason=None)


def nim_text() -> Answer:
    return stream(
        opening(None),
        *(chunk({"role": None, "content": word}) for word in WORDS),
        nim_finish("stop", {"role": None, "content": ""}),
    )


def sglang(delta: Json, reason: str | None = None) -> Json:
    keys = ("role", "content", "reasoning_content", "tool_calls")
    made = chunk({**dict.fromkeys(keys), **delta}, reason, usage=None)
    return in_choice(made, matched_stop=None)


def sglang_text() -> Answer:
    return stream(
        sglang({"role": "assistant", "content": ""}),
        *(sglang({"content": word}) for word in WORDS),
        sglang({}, "stop"),
    )


def exo(value: Json) -> Json:
    """Return the chunk with all that a message may hold spelled out as null."""
    keys = ("tool_calls", "function_call", "name", "tool_call_id")
    return in_delta(value, **dict.fromkeys(keys))


def roles(first: str | None, later: str | None) -> Answer:
    """Return a text whose role is *first*, then *later* on every chunk."""
    return stream(
        in_delta(opening(), role=first),
        *(in_delta(each, role=later) for each in words()),
        in_delta(finish(), role=later),
    )


def families() -> Iterator[Family]:
    yield Family("nim-text", nim_text(), OPENAI_TEXT)
    yield Family("sglang-nulls", sglang_text(), OPENAI_TEXT)
    nothing = chunk({"content": None})
    yield Family(
        "content-null-around",
        stream(opening(), nothing, *words(), nothing, finish()),
        OPENAI_TEXT,
    )
    yield Family("calls-null", changed(text_chunks(), exo), OPENAI_TEXT)
    yield Family(
        "calls-empty",
        changed(text_chunks(), lambda each: in_delta(each, tool_calls=[])),
        OPENAI_TEXT,
    )
    yield Family("role-empty", roles("assistant", ""), OPENAI_TEXT)
    yield Family("role-repeated", roles("assistant", "assistant"), OPENAI_TEXT)
    yield Family("role-model", roles("model", "model"), OPENAI_TEXT)
    yield Family("role-missing", stream(*words(), finish()), ROLE_WITH_TEXT)
    yield Family(
        "delta-null", stream(opening(), *words(), chunk(None, "stop")), OPENAI_TEXT
    )
    bare = chunk(None, "stop")
    del bare["choices"][0]["delta"]
    yield from bodies()


def bodies() -> Iterator[Family]:
    yield Family(
        "body-content-null",
        whole(completion(message(None))),
        whole(completion(message(""))),
        WHOLE,
    )
    yield Family(
        "body-role-missing",
        whole(completion({"content": message()["content"]})),
        OPENAI_BODY,
        WHOLE,
    )
