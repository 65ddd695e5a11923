"""What stands around the choices, and the choices themselves."""

from collections.abc import Iterator

from clients.families.shapes import (
    COUNTED,
    CREATED,
    ID,
    OPENAI_BODY,
    OPENAI_TEXT,
    OPENAI_TEXT_USAGE,
    ROLE_WITH_TEXT,
    ROLE_WITH_TEXT_RIDING,
    USAGE,
    WHOLE,
    WORDS,
    Answer,
    Family,
    Json,
    around,
    changed,
    completion,
    finish,
    in_choice,
    message,
    opening,
    stream,
    text_chunks,
    usage_chunk,
    whole,
    with_usage_null,
    without,
    words,
)


def around_text(**more: object) -> Answer:
    """Return a text whose chunks have *more* beside the choices."""
    return changed(text_chunks(), lambda each: {**each, **more})


def lacking(*keys: str) -> Answer:
    """Return a text whose chunks lack *keys*."""
    return changed(text_chunks(), lambda each: without(each, *keys))


def numbered(key: str, *values: object) -> Answer:
    """Return a text whose chunks have *values* in turn as their *key*."""
    chunks = text_chunks()
    named = [values[at % len(values)] for at in range(len(chunks))]
    return stream(
        *({**each, key: value} for each, value in zip(chunks, named, strict=True))
    )


def told_so_far() -> Answer:
    """Return a text with all of it so far in `message`, beside the delta."""
    chunks = []
    said = ""
    for each in (*words(), finish()):
        said += each["choices"][0]["delta"].get("content", "")
        chunks.append(in_choice(each, message=message(said)))
    return stream(*chunks)


def families() -> Iterator[Family]:
    yield from ids_and_times()
    yield from kinds_and_models()
    yield from choices()
    yield from bodies()


def ids_and_times() -> Iterator[Family]:
    yield Family(
        "created-missing",
        lacking("created"),
        OPENAI_TEXT,
        made_up=(CREATED,),
    )
    yield Family(
        "created-milliseconds",
        around_text(created=CREATED * 1000 + 123),
        OPENAI_TEXT,
        conforms=True,
    )
    yield Family(
        "id-missing",
        lacking("id"),
        OPENAI_TEXT,
        made_up=(ID,),
    )
    yield Family("id-changing", numbered("id", ID, "chatcmpl-2", "x3"), OPENAI_TEXT)


def kinds_and_models() -> Iterator[Family]:
    yield Family("object-of-body", around_text(object="chat.completion"), OPENAI_TEXT)
    yield Family(
        "model-placeholder", around_text(model="model"), OPENAI_TEXT, conforms=True
    )
    yield Family(
        "service-tier-unknown", around_text(service_tier="on_demand"), OPENAI_TEXT
    )


def choices() -> Iterator[Family]:
    counted = with_usage_null(*text_chunks())
    yield Family(
        "choices-null",
        stream(*counted, around(None, usage=USAGE)),
        OPENAI_TEXT_USAGE,
        COUNTED,
    )
    yield Family(
        "choices-missing",
        stream(*counted, without(usage_chunk(), "choices")),
        OPENAI_TEXT_USAGE,
        COUNTED,
    )
    filtered = [{"prompt_index": 0, "content_filter_results": {}}]
    yield Family(
        "azure-first-chunk",
        stream(
            {
                "choices": [],
                "created": 0,
                "id": "",
                "model": "",
                "object": "",
                "prompt_filter_results": filtered,
            },
            *text_chunks(),
        ),
        stream(opening(prompt_filter_results=filtered), *words(), finish()),
    )
    yield Family(
        "choice-index-missing", changed(text_chunks(), unnumbered), OPENAI_TEXT
    )
    yield Family("message-beside-delta", told_so_far(), ROLE_WITH_TEXT)
    yield Family(
        "choice-text",
        stream(
            *(
                around([{"index": 0, "text": word, "finish_reason": None}])
                for word in WORDS
            ),
            around([{"index": 0, "text": "", "finish_reason": "stop"}], usage=USAGE),
        ),
        ROLE_WITH_TEXT_RIDING,
    )


def unnumbered(value: Json) -> Json:
    return {**value, "choices": [without(value["choices"][0], "index")]}


def bodies() -> Iterator[Family]:
    answer = completion(message())
    yield Family(
        "body-id-missing",
        whole(without(answer, "id")),
        OPENAI_BODY,
        WHOLE,
        made_up=(ID,),
    )
