"""Another kind of answer than was asked for, and servers that do much at once."""

from collections.abc import Iterator

from clients.families.errors import completed
from clients.families.shapes import (
    ALL_ARGUMENTS,
    CALL,
    COUNTED,
    CREATED,
    DONE,
    EVENTS,
    FIRST_WORD,
    ID,
    JSON,
    NAME,
    OPENAI_BODY,
    OPENAI_BODY_CALL,
    OPENAI_TEXT,
    OPENAI_TEXT_RIDING,
    ROLE_WITH_TEXT_RIDING,
    TEXT,
    TOOLS,
    USAGE,
    WHOLE,
    WHOLE_TOOLS,
    WORDS,
    Answer,
    Family,
    Json,
    arguments,
    call_chunks,
    chunk,
    completion,
    data,
    dumps,
    error,
    finish,
    head,
    in_delta,
    message,
    opening,
    stream,
    usage_chunk,
    whole,
    without,
    words,
)

SAID = chunk({"content": TEXT})
BODY_STREAMED = stream(opening(), SAID, finish(usage=USAGE))


def families() -> Iterator[Family]:
    yield from bodies_for_streams()
    yield from streams_for_bodies()
    yield from accepted()
    yield from workers_ai()
    yield from chatglm()


def bodies_for_streams() -> Iterator[Family]:
    yield Family("body-for-stream", OPENAI_BODY, BODY_STREAMED)
    yield Family(
        "body-for-stream-as-events",
        whole(completion(message()), 200, EVENTS),
        BODY_STREAMED,
    )
    yield Family(
        "body-for-stream-usage",
        OPENAI_BODY,
        stream(opening(), SAID, finish(), usage_chunk()),
        COUNTED,
    )
    calls = [head(), arguments(ALL_ARGUMENTS), finish("tool_calls", usage=USAGE)]
    yield Family(
        "body-for-stream-call", OPENAI_BODY_CALL, stream(opening(), *calls), TOOLS
    )


def streams_for_bodies() -> Iterator[Family]:
    counted = OPENAI_TEXT_RIDING.pieces
    yield Family("stream-for-body", Answer(counted), OPENAI_BODY, WHOLE)
    called = [*call_chunks()[:-1], finish("tool_calls", usage=USAGE)]
    yield Family("stream-for-body-call", stream(*called), OPENAI_BODY_CALL, WHOLE_TOOLS)
    body = completion(message())
    yield Family(
        "body-then-done",
        Answer((dumps(body) + b"\n\n", DONE), 200, JSON),
        OPENAI_BODY,
        WHOLE,
    )
    failed = {"message": "Overloaded", "code": 503}
    yield Family(
        "error-event-for-body",
        Answer((data({"error": failed}),)),
        whole({"error": completed(failed)}, 503),
        WHOLE,
    )


def accepted() -> Iterator[Family]:
    """Yield NIM's 202: the answer has to be asked for."""

    def later(answer: Answer, polls: int) -> Answer:
        return Answer((b"{}",), 202, JSON, later=answer, polls=polls)

    yield Family("nim-202-body", later(OPENAI_BODY, 1), OPENAI_BODY, WHOLE)
    yield Family("nim-202-stream", later(OPENAI_TEXT, 1), OPENAI_TEXT)
    refused = error(400, "The worker refused", "invalid_request_error")
    yield Family("nim-202-error", later(refused, 0), refused)


def workers_ai() -> Iterator[Family]:
    said = [without(chunk({"content": word}), "id") | {"id": ID} for word in WORDS]
    for each in said:
        (choice,) = each["choices"]
        del choice["finish_reason"], choice["logprobs"]
    yield Family(
        "workers-ai-stream",
        stream(*said, finish(usage=USAGE)),
        ROLE_WITH_TEXT_RIDING,
    )
    yield Family(
        "workers-ai-native-stream",
        Answer(
            (
                *(data({"response": word, "p": "abdef"}) for word in WORDS),
                data({"response": "", "usage": USAGE}),
                DONE,
            )
        ),
        stream(FIRST_WORD, *words()[1:], chunk({"content": ""}), finish(usage=USAGE)),
        made_up=(ID, CREATED),
    )
    call = {"name": NAME, "arguments": {"city": "Bergen"}}
    yield Family(
        "workers-ai-native-call",
        Answer(
            (
                data({"response": "", "tool_calls": [call], "usage": USAGE}),
                data({"tool_calls": [], "p": "abdef"}),
                DONE,
            )
        ),
        stream(
            in_delta(head(), role="assistant", content=""),
            arguments('{"city":"Bergen"}'),
            finish("tool_calls", usage=USAGE),
        ),
        TOOLS,
        made_up=(ID, CREATED, CALL),
    )
    native = {"response": TEXT, "tool_calls": [], "usage": USAGE}
    yield Family(
        "workers-ai-native-body",
        whole({"result": native, "success": True, "errors": [], "messages": []}),
        OPENAI_BODY,
        WHOLE,
        made_up=(ID, CREATED),
    )


def chatglm() -> Iterator[Family]:
    """Yield chatglm.cpp's server: CRLF, pings, a constant id, no [DONE]."""

    def sent(delta: Json, reason: str | None = None) -> bytes:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": reason}
        value = {**chunk(delta), "id": "chatcmpl", "model": "default-model"}
        return data({**value, "choices": [choice]}).replace(b"\n", b"\r\n")

    yield Family(
        "chatglm-cpp-stream",
        Answer(
            (
                sent({"role": "assistant"}),
                *(sent({"content": word}) for word in WORDS),
                b": ping - 2026-01-05 10:00:00\r\n\r\n",
                sent({}, "stop"),
            )
        ),
        stream(chunk({"role": "assistant", "content": ""}), *words(), finish()),
        made_up=(ID,),
    )
