"""How an answer says that it has ended."""

from collections.abc import Iterator
from typing import Any

from clients.families.shapes import (
    ARGUMENTS,
    OPENAI_BODY,
    OPENAI_BODY_CALL,
    OPENAI_CALL,
    OPENAI_TEXT,
    OPENAI_TEXT_RIDING,
    TOOLS,
    USAGE,
    WHOLE,
    WHOLE_TOOLS,
    Answer,
    Family,
    Json,
    after_words,
    arguments,
    call_chunks,
    changed,
    chunk,
    completion,
    data,
    error_of,
    finish,
    head,
    in_choice,
    message,
    opening,
    stream,
    text_chunks,
    whole,
    whole_call,
    without,
    words,
)


def ending(reason: str) -> Answer:
    """Return a text that ends with *reason*."""
    return stream(opening(), *words(), finish(reason))


def open_with(value: Any) -> Answer:
    """Return a text with *value* for the reason that is not there yet."""
    *most, last = text_chunks()
    return stream(*(in_choice(each, finish_reason=value) for each in most), last)


def unfinished(value: Json) -> Json:
    """Return the chunk without the key, where there is no reason."""
    (choice,) = value["choices"]
    if choice["finish_reason"]:
        return value
    return {**value, "choices": [without(choice, "finish_reason")]}


def families() -> Iterator[Family]:
    yield from words_of_their_own()
    yield from at_the_wrong_time()
    yield from missing()
    yield from bodies()


def words_of_their_own() -> Iterator[Family]:
    yield Family("finish-eos", ending("eos"), OPENAI_TEXT)
    yield Family("finish-max-tokens", ending("max_tokens"), ending("length"))
    yield Family(
        "finish-stop-after-call",
        stream(*call_chunks()[:-1], finish("stop")),
        OPENAI_CALL,
        TOOLS,
    )
    failed = "The provider ended the answer with an error"
    yield Family(
        "finish-error",
        after_words(data(finish("error"))),
        after_words(data(error_of(failed, "server_error"))),
    )


def at_the_wrong_time() -> Iterator[Family]:
    *most, last = words()
    yield Family("finish-empty", open_with(""), OPENAI_TEXT)
    yield Family(
        "finish-every-chunk",
        changed(text_chunks(), lambda each: in_choice(each, finish_reason="stop")),
        OPENAI_TEXT,
    )
    yield Family(
        "finish-with-text",
        stream(opening(), *most, in_choice(last, finish_reason="stop")),
        OPENAI_TEXT,
    )
    yield Family(
        "finish-then-other",
        stream(opening(), *words(), finish("length"), finish("stop")),
        ending("length"),
    )
    nothing = chunk({"role": "assistant", "content": ""}, usage=USAGE)
    yield Family(
        "finish-then-empty",
        stream(*text_chunks(), nothing),
        OPENAI_TEXT_RIDING,
    )


def missing() -> Iterator[Family]:
    yield Family(
        "finish-key-missing",
        changed(text_chunks(), unfinished),
        OPENAI_TEXT,
        conforms=True,
    )
    yield Family("finish-missing", stream(opening(), *words()), OPENAI_TEXT)
    yield Family(
        "finish-missing-call",
        stream(opening(None), head(), *map(arguments, ARGUMENTS)),
        OPENAI_CALL,
        TOOLS,
    )


def bodies() -> Iterator[Family]:
    yield Family(
        "body-finish-null", whole(completion(message(), None)), OPENAI_BODY, WHOLE
    )
    called = message(None, tool_calls=[whole_call()])
    yield Family(
        "body-finish-stop-after-call",
        whole(completion(called, "stop")),
        OPENAI_BODY_CALL,
        WHOLE_TOOLS,
    )
