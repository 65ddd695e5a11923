"""Tool calls."""

from collections.abc import Iterator

from clients.families.nulls import nim_finish, sglang
from clients.families.shapes import (
    ALL_ARGUMENTS,
    ARGUMENTS,
    CALL,
    NAME,
    OPENAI_BODY_CALL,
    OPENAI_CALL,
    OPENAI_CALL_AFTER_TEXT,
    OPENAI_CALL_AT_ONCE,
    OPENAI_CALL_USAGE,
    OPENAI_TWO_CALLS,
    OTHER_ARGUMENTS,
    OTHER_CALL,
    TOOLS,
    USAGE,
    WHOLE_TOOLS,
    Answer,
    Family,
    Json,
    arguments,
    ask,
    chunk,
    completion,
    finish,
    fragment,
    head,
    message,
    opening,
    stream,
    usage_chunk,
    whole,
    whole_call,
    without,
)

OBJECT = {"city": "Bergen"}
ONE_LINE = '{"city":"Bergen"}'  # as it is written when an object is made text


def nim_call(*calls: Json) -> Json:
    delta = {"role": None, "content": None, "tool_calls": list(calls)}
    return nim_finish("tool_calls", delta)


def calling(*calls: Json) -> Json:
    return chunk({"tool_calls": list(calls)})


def cut(first: Json, *others: Json) -> Answer:
    """Return a call in fragments that say what they say of it beside `index`."""
    rest = [others[at % len(others)] for at in range(len(ARGUMENTS))]
    functions = [
        {**said.get("function", {}), "arguments": text}
        for said, text in zip((first, *rest), ("", *ARGUMENTS), strict=True)
    ]
    return stream(
        opening(None),
        *(
            fragment({"index": 0, **said}, function)
            for said, function in zip((first, *rest), functions, strict=True)
        ),
        finish("tool_calls"),
    )


FIRST = {"id": CALL, "type": "function", "function": {"name": NAME}}


def families() -> Iterator[Family]:
    yield from at_once()
    yield from heads()
    yield from counts()
    yield from argument_forms()
    yield from ids()
    yield from bodies()


def at_once() -> Iterator[Family]:
    call = {"index": 0, **whole_call()}
    yield Family(
        "nim-call-whole", stream(opening(), nim_call(call)), OPENAI_CALL_AT_ONCE, TOOLS
    )
    start = {"prompt_tokens": 21, "total_tokens": 21, "completion_tokens": 0}
    yield Family(
        "nim-call-whole-usage",
        stream(opening(usage=start), {**nim_call(call), "usage": USAGE}, usage_chunk()),
        OPENAI_CALL_USAGE,
        ask(tools=True, usage=True),
    )
    yield Family(
        "nim-call-no-index",
        stream(opening(), nim_call(whole_call())),
        OPENAI_CALL_AT_ONCE,
        TOOLS,
    )
    yield Family(
        "nim-two-calls-no-index",
        stream(
            opening(), nim_call(whole_call(), whole_call(OTHER_ARGUMENTS, OTHER_CALL))
        ),
        OPENAI_TWO_CALLS,
        TOOLS,
    )
    flat = {"id": CALL, "type": "function", "name": NAME, "arguments": ALL_ARGUMENTS}
    yield Family(
        "call-flat",
        stream(opening(), calling({"index": 0, **flat}), finish("tool_calls")),
        OPENAI_CALL_AT_ONCE,
        TOOLS,
    )


def heads() -> Iterator[Family]:
    """Yield what fragments repeat, or say wrongly, of their call."""
    yield Family("nim-head-repeated", cut(FIRST, FIRST), OPENAI_CALL, TOOLS)

    def nulls(first: bool, text: str) -> Json:
        function = {"name": NAME if first else None, "arguments": text}
        identity = {
            "id": CALL if first else None,
            "type": "function" if first else None,
        }
        call = {"index": 0, **identity, "function": function}
        return sglang({"tool_calls": [call]})

    yield Family(
        "sglang-call-nulls",
        stream(
            sglang({"role": "assistant", "content": None}),
            nulls(True, ""),
            *(nulls(False, text) for text in ARGUMENTS),
            sglang({}, "tool_calls"),
        ),
        OPENAI_CALL,
        TOOLS,
    )
    empty = {"id": "", "type": "function", "function": {"name": ""}}
    yield Family("call-rest-empty", cut(FIRST, empty), OPENAI_CALL, TOOLS)
    sentinel = {
        "index": 0,
        "id": None,
        "type": None,
        "function": {"name": None, "arguments": None},
    }
    yield Family(
        "call-null-at-end",
        stream(
            opening(None),
            head(),
            *map(arguments, ARGUMENTS),
            calling(sentinel),
            finish("tool_calls"),
        ),
        OPENAI_CALL,
        TOOLS,
    )
    yield Family("call-type-empty", cut({**FIRST, "type": ""}, {}), OPENAI_CALL, TOOLS)
    late = [
        fragment({"index": 0, "id": CALL, "type": "function"}, {"arguments": ""}),
        fragment({"index": 0}, {"name": NAME, "arguments": ALL_ARGUMENTS}),
    ]
    yield Family(
        "call-name-late",
        stream(opening(), *late, finish("tool_calls")),
        OPENAI_CALL_AT_ONCE,
        TOOLS,
    )
    null = {"content": None, "role": None}
    chunks = [opening(), head(), *map(arguments, ARGUMENTS)]
    said = [{**null, **each["choices"][0]["delta"]} for each in chunks]
    yield Family(
        "call-content-null",
        stream(*map(chunk, said), finish("tool_calls")),
        OPENAI_CALL_AFTER_TEXT,
        TOOLS,
    )


def counts() -> Iterator[Family]:
    """Yield how calls are told apart."""
    yield Family(
        "call-index-missing",
        stream(
            opening(None),
            *(
                chunk({"tool_calls": [without(call, "index")]})
                for each in (head(), *map(arguments, ARGUMENTS))
                for call in each["choices"][0]["delta"]["tool_calls"]
            ),
            finish("tool_calls"),
        ),
        OPENAI_CALL,
        TOOLS,
    )
    two = (
        *(head(), arguments(ALL_ARGUMENTS)),
        *(head(0, OTHER_CALL), arguments(OTHER_ARGUMENTS)),
    )
    yield Family(
        "call-index-same",
        stream(opening(), *two, finish("tool_calls")),
        OPENAI_TWO_CALLS,
        TOOLS,
    )


def argument_forms() -> Iterator[Family]:
    function: Json = {"name": NAME, "arguments": OBJECT}
    call = {"index": 0, "id": CALL, "type": "function", "function": function}
    yield Family(
        "call-arguments-object",
        stream(opening(), calling(call), finish("tool_calls")),
        stream(opening(), head(), arguments(ONE_LINE), finish("tool_calls")),
        TOOLS,
    )
    bare = {**call, "function": {"name": NAME}}
    none = stream(opening(None), head(), arguments("{}"), finish("tool_calls"))
    yield Family(
        "call-arguments-missing",
        stream(opening(None), calling(bare), finish("tool_calls")),
        none,
        TOOLS,
    )


def ids() -> Iterator[Family]:
    numbered = cut({**FIRST, "id": 7}, {})
    seven = [opening(None), head(0, "7"), *map(arguments, ARGUMENTS)]
    yield Family(
        "call-id-number", numbered, stream(*seven, finish("tool_calls")), TOOLS
    )
    yield Family(
        "call-id-empty",
        cut({**FIRST, "id": ""}, {}),
        OPENAI_CALL,
        TOOLS,
        made_up=(CALL,),
    )
    yield Family(
        "calls-same-id",
        stream(
            opening(),
            *(head(), arguments(ALL_ARGUMENTS)),
            *(head(1), arguments(OTHER_ARGUMENTS, 1)),
            finish("tool_calls"),
        ),
        OPENAI_TWO_CALLS,
        TOOLS,
        conforms=True,
        made_up=(OTHER_CALL,),
    )


def bodies() -> Iterator[Family]:
    function: Json = {"name": NAME, "arguments": OBJECT}
    yield Family(
        "body-call-id-missing",
        body_with(without(whole_call(), "id")),
        OPENAI_BODY_CALL,
        WHOLE_TOOLS,
        made_up=(CALL,),
    )
    yield Family(
        "body-call-arguments-object",
        body_with({**whole_call(), "function": function}),
        body_with(whole_call(ONE_LINE)),
        WHOLE_TOOLS,
    )


def body_with(call: Json) -> Answer:
    return whole(completion(message(None, tool_calls=[call]), "tool_calls"))
