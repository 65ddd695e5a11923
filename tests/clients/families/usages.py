"""The figures: where they stand, and what they are called."""

from collections.abc import Iterator
from dataclasses import replace

from clients.families.nulls import nim_finish
from clients.families.shapes import (
    COUNTED,
    OPENAI_TEXT,
    OPENAI_TEXT_RIDING,
    OPENAI_TEXT_USAGE,
    OTHER_WORDS,
    USAGE,
    WHOLE,
    WORDS,
    Answer,
    Family,
    Json,
    ask,
    chunk,
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

ZEROS = dict.fromkeys(USAGE, 0)


def nim_counting() -> Answer:
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


def counting(early: Json, last: Json) -> Answer:
    """Return a text with *early* figures on each chunk, and the *last* on the finish."""
    most = ({**each, "usage": early} for each in (opening(), *words()))
    return stream(*most, finish(usage=last))


def families() -> Iterator[Family]:
    yield Family("nim-usage-each-asked", nim_counting(), OPENAI_TEXT_USAGE, COUNTED)
    # Figures that nobody asked for and that are on every chunk go.
    uncounted = replace(OPENAI_TEXT, counted=OPENAI_TEXT_USAGE)
    yield Family("nim-usage-each-unasked", nim_counting(), uncounted)
    yield Family(
        "usage-unasked", stream(*text_chunks(), usage_chunk()), OPENAI_TEXT_RIDING
    )
    yield Family(
        "usage-zeros-first", counting(ZEROS, USAGE), OPENAI_TEXT_USAGE, COUNTED
    )
    yield Family("usage-empty", counting({}, USAGE), OPENAI_TEXT_RIDING)
    nulls = with_usage_null(opening(), *words())
    yield Family(
        "usage-on-finish",
        stream(*nulls, finish(usage=USAGE)),
        OPENAI_TEXT_USAGE,
        COUNTED,
    )
    yield Family(
        "usage-in-choice",
        stream(opening(), *words(), in_choice(finish(), usage=USAGE)),
        OPENAI_TEXT_USAGE,
        COUNTED,
    )
    yield Family(
        "usage-twice",
        stream(*with_usage_null(*text_chunks()), usage_chunk(), usage_chunk()),
        OPENAI_TEXT_USAGE,
        COUNTED,
    )
    yield Family(
        "usage-total-missing",
        stream(
            *with_usage_null(*text_chunks()),
            usage_chunk(without(USAGE, "total_tokens")),
        ),
        OPENAI_TEXT_USAGE,
        COUNTED,
    )
    yield from per_choice()
    yield from bodies()


def per_choice() -> Iterator[Family]:
    """Yield llama.cpp's two answers at once: each has figures of its own."""
    count = {**USAGE, "completion_tokens": 2, "total_tokens": 23}
    said = [
        chunk({"content": word}, None, index)
        for two in zip(WORDS, OTHER_WORDS, strict=True)
        for index, word in enumerate(two)
    ]
    yield Family(
        "usage-per-choice",
        stream(
            *(opening(None), opening(None, 1)),
            *said,
            *(finish(), usage_chunk(count)),
            *(finish("stop", 1), usage_chunk()),
        ),
        stream(
            *(opening(), opening("", 1)),
            *said,
            *(finish(), finish("stop", 1)),
            usage_chunk(),
        ),
        ask(usage=True, n=2),
    )


def bodies() -> Iterator[Family]:
    answer = completion(message())
    zeros = whole({**answer, "usage": ZEROS})
    yield Family("body-usage-missing", whole(without(answer, "usage")), zeros, WHOLE)
