"""What OpenAI sends, which has to pass as it is."""

from collections.abc import Iterator

from clients.families.shapes import (
    COUNTED,
    NAME,
    OPENAI_BODY,
    OPENAI_BODY_CALL,
    OPENAI_CALL,
    OPENAI_TEXT,
    OPENAI_TEXT_USAGE,
    OPENAI_TWO_CALLS,
    OTHER_WORDS,
    TOOLS,
    WHOLE,
    WHOLE_TOOLS,
    WORDS,
    Answer,
    Family,
    Json,
    after_words,
    ask,
    call_chunks,
    chunk,
    data,
    error,
    error_of,
    finish,
    in_choice,
    opening,
    stream,
)

REFUSED = "I cannot tell."
FORCED = {"type": "function", "function": {"name": NAME}}


def logged(word: str) -> Json:
    token = {"token": word, "logprob": -0.25, "bytes": None, "top_logprobs": []}
    made = chunk({"content": word})
    return in_choice(made, logprobs={"content": [token], "refusal": None})


def cut_characters() -> Answer:
    """Return a text with a character over two pieces."""
    body = b"".join(OPENAI_TEXT.pieces).replace(b"noon", "høst".encode())
    middle = body.index("ø".encode()) + 1
    return Answer((body[:middle], body[middle:]))


def families() -> Iterator[Family]:
    two = [
        chunk({"content": word}, None, index)
        for both in zip(WORDS, OTHER_WORDS, strict=True)
        for index, word in enumerate(both)
    ]
    silent = {"role": "assistant", "content": "", "refusal": None}
    both = [
        *(opening(), opening("", 1), *two),
        *(finish(), finish("stop", 1)),
    ]
    logs = [opening(), *map(logged, WORDS), finish()]
    shapes: dict[str, tuple[Answer, Json]] = {
        "openai-text": (OPENAI_TEXT, ask()),
        "openai-usage": (OPENAI_TEXT_USAGE, COUNTED),
        "openai-two-choices": (stream(*both), ask(n=2)),
        "openai-logprobs": (stream(*logs), ask(logprobs=True)),
        "openai-refusal": (
            stream(chunk(silent), chunk({"refusal": REFUSED}), finish()),
            ask(),
        ),
        "openai-cut-character": (cut_characters(), ask()),
        "openai-call": (OPENAI_CALL, TOOLS),
        "openai-call-forced": (
            stream(*call_chunks()[:-1], finish()),
            ask(tools=True, tool_choice=FORCED),
        ),
        "openai-two-calls": (OPENAI_TWO_CALLS, TOOLS),
        "openai-body": (OPENAI_BODY, WHOLE),
        "openai-body-call": (OPENAI_BODY_CALL, WHOLE_TOOLS),
        "openai-error": (
            error(401, "Bad key", "invalid_request_error", "invalid_api_key"),
            ask(),
        ),
        "openai-error-in-stream": (
            after_words(data(error_of("No more today", "server_error"))),
            ask(),
        ),
    }
    for name, (answer, request) in shapes.items():
        yield Family(name, answer, answer, request, conforms=True)
