"""Text, reasoning, and what may stand beside them."""

from collections.abc import Iterator

from clients.families.shapes import (
    OPENAI_TEXT,
    TEXT,
    THOUGHT,
    THOUGHTS,
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
    in_delta,
    message,
    opening,
    stream,
    thoughts,
    whole,
    words,
)

REASONING = "reasoning_content"


def text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def thinking_part(text: str) -> Json:
    return {"type": "thinking", "thinking": [text_part(text)]}


def logged(word: str, **more: object) -> Json:
    """Return a word with its log probability."""
    token = {"token": word, "logprob": -0.25, "bytes": list(word.encode()), **more}
    return in_choice(
        chunk({"content": word}), logprobs={"content": [token], "refusal": None}
    )


def reasoned() -> Answer:
    return stream(opening(), *thoughts(REASONING), *words(), finish())


def families() -> Iterator[Family]:
    yield from parts()
    yield from reasoning()
    yield from bodies()


def parts() -> Iterator[Family]:
    yield Family(
        "content-parts",
        stream(
            opening(),
            *(chunk({"content": [text_part(word)]}) for word in WORDS),
            finish(),
        ),
        OPENAI_TEXT,
    )
    yield Family(
        "content-thinking-parts",
        stream(
            opening(),
            *(chunk({"content": [thinking_part(thought)]}) for thought in THOUGHTS),
            *words(),
            finish(),
        ),
        reasoned(),
    )
    yield Family(
        "logprobs-without-alternatives",
        stream(opening(), *map(logged, WORDS), finish()),
        stream(opening(), *(logged(word, top_logprobs=[]) for word in WORDS), finish()),
        ask(logprobs=True),
    )


def reasoning() -> Iterator[Family]:
    yield Family(
        "reasoning-alone",
        stream(opening(), *thoughts("reasoning"), *words(), finish()),
        stream(opening(), *thoughts("reasoning", REASONING), *words(), finish()),
        conforms=True,
    )
    yield Family(
        "reasoning-content-null",
        stream(
            opening(None),
            *(in_delta(each, content=None) for each in thoughts(REASONING)),
            *words(),
            finish(),
        ),
        reasoned(),
    )
    first, *others = words()
    both = {**first["choices"][0]["delta"], REASONING: THOUGHTS[-1]}
    yield Family(
        "reasoning-beside-text",
        stream(opening(), *thoughts(REASONING)[:-1], chunk(both), *others, finish()),
        reasoned(),
        conforms=True,
    )


def bodies() -> Iterator[Family]:
    yield Family(
        "body-content-thinking-parts",
        whole(completion(message([thinking_part(THOUGHT), text_part(TEXT)]))),
        whole(completion(message(**{REASONING: THOUGHT}))),
        WHOLE,
    )
    yield Family(
        "body-content-object",
        whole(completion(message({"rain": True}))),
        whole(completion(message('{"rain":true}'))),
        WHOLE,
    )
    yield Family(
        "body-only-reasoning",
        whole(completion(message(None, **{REASONING: THOUGHT}), "length")),
        whole(completion(message("", **{REASONING: THOUGHT}), "length")),
        WHOLE,
    )
    yield Family(
        "body-reasoning-alone",
        whole(completion(message(reasoning=THOUGHT))),
        whole(completion(message(reasoning=THOUGHT, **{REASONING: THOUGHT}))),
        WHOLE,
        conforms=True,
    )
