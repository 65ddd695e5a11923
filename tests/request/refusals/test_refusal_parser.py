import json
from typing import Any

import pytest

from growth import MOST, growth
from llm_normalize.request.refusals.refusal_parser import LARGE, Refusal, refusal_of
from llm_normalize.text.echo import Echo

EXTRA = "Extra inputs are not permitted"


def reported(body: Any) -> list[str]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [".".join(path) for path in refusal_of(data).paths]


def detail(*place: Any, kind: str = "extra_forbidden", msg: str = EXTRA) -> Any:
    return {"type": kind, "loc": ["body", *place], "msg": msg, "input": "seed"}


def error(message: str, **more: Any) -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def flat(message: str) -> Any:
    return {"message": message, "param": "validation_error", "code": "wrong_api_format"}


# What providers have said, with words of the request replaced.
NAMED: list[tuple[Any, list[str]]] = [
    # NVIDIA NIM
    ({"message": "Validation: Unsupported parameter(s): reasoning_budget", "type": "Bad Request", "code": 400}, ["reasoning_budget"]),
    ({"detail": "Validation: Unsupported parameter(s): `a_b`, `c`"}, ["a_b", "c"]),
    (b"Validation: Unsupported parameter(s): `tool_stream`", ["tool_stream"]),
    (
        {
            "error": "[{'type': 'extra_forbidden', 'loc': ('body', 'prompt_cache_key'), "
            f"'msg': '{EXTRA}', 'input': 'Unknown parameter: seed'}}]"
        },
        ["prompt_cache_key"],
    ),
    (
        {
            "error": f"body -> presence_penalty\n  {EXTRA} (type=extra_forbidden)\n"
            f"body -> frequency_penalty\n  {EXTRA} (type=extra_forbidden)"
        },
        ["presence_penalty", "frequency_penalty"],
    ),
    # vLLM
    (
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', "
            f"'max_completion_tokens'), 'msg': '{EXTRA}', 'input': 8192}}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        ["max_completion_tokens"],
    ),
    (
        {
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 0, "
            f"'ChatCompletionUserMessageParam', '_db_id'), 'msg': '{EXTRA}'}}]"
        },
        ["messages.0.ChatCompletionUserMessageParam._db_id"],
    ),
    (b"[{'loc': ('body', 'seed'), 'msg': 'extra fields not permitted', 'type': 'x'}]", ["seed"]),
    # Mistral
    ({"detail": [detail("store"), detail("seed")]}, ["store", "seed"]),
    ({"object": "error", "message": {"detail": [detail("seed")]}}, ["seed"]),
    ({"object": "Error", "detail": [detail("tools")], "message": [detail("tools")]}, ["tools"]),
    ({"message": json.dumps({"detail": [detail("frequency_penalty")]})}, ["frequency_penalty"]),
    ({"detail": [detail("messages", 31, "assistant", "reasoning_content")]}, ["messages.31.assistant.reasoning_content"]),
    ({"detail": [detail("seed", kind="value_error.extra", msg="extra fields not permitted")]}, ["seed"]),
    # Groq
    (error("property 'store' is unsupported, did you mean 'stop'?"), ["store"]),
    (error("property 'reasoning' is unsupported"), ["reasoning"]),
    (
        error(
            "'messages.1' : for 'role:assistant' the following must be satisfied"
            "[('messages.1' : property 'reasoning_content' is unsupported)]"
        ),
        ["messages.1.reasoning_content"],
    ),
    # Cerebras
    (flat("body.store: property 'body.store' is unsupported"), ["store"]),
    (
        flat(
            "messages.2.assistant.reasoning_content: property "
            "'messages.2.assistant.reasoning_content' is unsupported\n"
            "messages.4.assistant.reasoning_content: property "
            "'messages.4.assistant.reasoning_content' is unsupported"
        ),
        [
            "messages.2.assistant.reasoning_content",
            "messages.4.assistant.reasoning_content",
        ],
    ),
    (flat("messages.2.assistant.x: property 'x' is unsupported"), ["messages.2.assistant.x"]),
    (flat("error: property 'x' is unsupported"), ["x"]),
    # OpenAI and Azure
    (error("Unknown parameter: 'x'.", param="messages[2].x", code="unknown_parameter"), ["messages.2.x"]),
    (
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        ["max_tokens"],
    ),
    (
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            code="invalid_request_body",
        ),
        ["max_tokens"],
    ),
    (error("Unrecognized request argument supplied: thinking"), ["thinking"]),
    (error("Unrecognized request arguments supplied: a, b_c"), ["a", "b_c"]),
    (error("Unknown parameter: 'reasoning'."), ["reasoning"]),
    # xAI
    ({"code": "x", "error": "Argument not supported on this model: presencePenalty"}, ["presencePenalty"]),
    ({"error": "Model grok-4 does not support parameter reasoningEffort."}, ["reasoningEffort"]),
    # Gemini
    (
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "seed": Cannot '
                    'find field.\nInvalid JSON payload received. Unknown name "store": '
                    "Cannot find field.",
                }
            }
        ],
        ["seed", "store"],
    ),
    # Fireworks, OpenCode
    (error(f"{EXTRA}, field: 'stream_options'"), ["stream_options"]),
    (error(f"{EXTRA}, field: messages[2].refusal"), ["messages.2.refusal"]),
    (error(f"{EXTRA}, field: 'a', value: True."), ["a"]),
    (error(f"seed: {EXTRA}"), ["seed"]),
    # others
    (
        error("unknown field: parameter 'seed' is not a valid field"),
        ["parameter", "seed"],  # the first is in no request
    ),
    (error('json: unknown field "store"'), ["store"]),
    (error("unknown field `store`, expected one of `stop`, `seed`"), ["store"]),
    (error("Additional properties are not allowed ('a', 'b' were unexpected)"), ["a", "b"]),
    (error("create() got an unexpected keyword argument 'user'"), ["user"]),
    (error("The following parameters are not supported: 'a', 'b'"), ["a", "b"]),
    (error("gemini does not support parameters: ['seed', 'n']"), ["seed", "n"]),
    (error("`logit_bias` is not supported with this model"), ["logit_bias"]),
    ({"error": {"metadata": {"raw": json.dumps(error("Unknown field: a"))}}}, ["a"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), NAMED, ids=str)
def test_what_a_refusal_names(body: Any, expected: list[str]) -> None:
    assert reported(body) == expected


ROLE = "Input should be 'system', 'user', 'assistant', 'function' or 'tool'"
TAG = "Input tag 'developer' found using 'role' does not match any of the expected tags"
TAGGED = {"detail": [detail("messages", 2, kind="union_tag_invalid", msg=TAG)]}


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [detail("messages", 2, "role", kind="enum", msg=ROLE)]},
        error(str([{"type": "enum", "loc": ("body", "messages", 2, "X", "role")}])),
        error("Invalid value", param="messages[2].role"),
        error(f"messages.2.ChatCompletionUserMessageParam.role\n  {ROLE}"),
        error(f"body -> messages -> 2 -> role\n  {ROLE}"),
        TAGGED,
        {"message": TAGGED},
        error("Invalid option", param="messages.2.role"),
    ],
    ids=str,
)
def test_role_is_refused_by_its_place(body: Any) -> None:
    assert refusal_of(json.dumps(body).encode()).roles == ("2",)


def test_role_of_any_message_is_read_behind_those_of_many_places() -> None:
    places = "; ".join(f"messages[{at}].role: invalid" for at in range(30))
    found = refusal_of(
        json.dumps(error(f"{places}; unknown variant 'developer'")).encode()
    )
    assert found.roles[0] == "*"


@pytest.mark.parametrize(
    "message",
    ["Invalid role: 'tool'", "messages with role 'tool' must follow 'tool_calls'"],
)
def test_another_role_is_refused(message: str) -> None:
    assert refusal_of(json.dumps(error(message)).encode()) == Refusal()


STRING = "Input should be a valid string"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"detail": [detail("messages", 1, "content", msg=STRING, kind="string_type")]}, ("1", True, True)),
        ({"detail": [detail("messages", 1, "X", "content", "str", msg="str type expected", kind="x")]}, ("1", True, True)),
        ({"detail": [detail("messages", "assistant", "content", msg=STRING, kind="x")]}, ("*", True, True)),
        (error(json.dumps([{"path": ["messages", 1, "content"], "message": "Expected string, received array"}])), ("1", True, True)),
        (error(str([{"type": "string_type", "loc": ("body", "messages", 1, "X", "content", "str"), "msg": STRING}])), ("1", True, True)),
        (error(f"messages.1.content\n  {STRING} [type=string_type, input_type=list]"), ("1", True, False)),
        (error(f"body -> messages -> 1 -> content\n  {STRING}"), ("1", True, True)),
        (error("Invalid type for 'messages[1].content': expected a string, but got an array instead."), ("1", True, False)),
        (error("Invalid value for 'content': expected a string, got null."), ("*", False, True)),
        (error("Invalid 'content': 'content' field must be a string or an array of objects."), ("*", False, True)),
        (error("Type mismatch of '/messages/1/content', 'array' not in 'string'"), ("1", True, False)),
        (error("json: cannot unmarshal array into Go struct field Message.messages.content of type string"), ("*", True, False)),
        (error("messages[1]: invalid type: sequence, expected a string at line 1 column 9"), ("1", True, False)),
        (error("messages[1]: data did not match any variant of untagged enum MessageContent"), ("1", True, True)),
        (error('can only concatenate str (not "list") to str'), ("*", True, False)),
        (error('can only concatenate str (not "NoneType") to str'), ("*", False, True)),
        (error("[('messages.1.content' : value must be a string)]"), ("1", True, True)),
        (error("Invalid input: expected string, received array", param="messages.1.content"), ("1", True, True)),
        (error("Only string content is supported"), ("*", True, True)),
        (error("Expected content to be a string"), ("*", True, True)),
        (error("messages with role 'assistant' must have string content"), ("*", True, True)),
        (error("This model does not support content as an array; content must be plain text"), ("*", True, False)),
        (error("Unsupported 'content' type: list"), ("*", True, False)),
        (error("messages content type not supported: array"), ("*", True, False)),
        (error("multimodal content is not supported"), ("*", True, False)),
        (error("'list' object has no attribute 'strip'"), ("*", True, False)),
        (error("[json.exception.type_error.302] type must be string, but is array"), ("*", True, False)),
        (error("[json.exception.type_error.302] type must be string, but is null"), ("*", False, True)),
        (error("invalid message content type: <nil>"), ("*", False, True)),
        (error("messages[1].content cannot be null"), ("*", False, True)),
        (error("The content field is required for assistant messages"), ("*", False, True)),
        (error("argument of type 'NoneType' is not iterable"), ("*", False, True)),
        (error("Message 1 has null content"), ("*", False, True)),
        (error("Invalid type: expected one of a string or array of objects", param="messages.[1].content"), ("1", True, True)),
        (error('Cannot deserialize value of type `java.lang.String` from Array value (token `JsonToken.START_ARRAY`) (through reference chain: R["messages"]->java.util.ArrayList[1]->M["content"])'), ("1", True, False)),
    ],
    ids=str,
)  # fmt: skip
def test_content_that_has_to_be_a_string(body: Any, expected: Any) -> None:
    assert expected in refusal_of(json.dumps(body).encode()).content


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [detail("messages", 1, "content", 0, "text", msg=STRING, kind="x")]},
        {"detail": [detail("messages", 1, "content", 0, msg=STRING, kind="x")]},
        {"detail": [detail("messages", 1, "name", msg=STRING, kind="x")]},
        {"detail": [detail("messages", 1, "content", msg="Field required", kind="x")]},
        {"detail": [{"loc": ["body", "messages", 1, "content"], "msg": 7}]},
        error(f"messages.1.content.0.text\n  {STRING}"),
        error("'user' must be a string"),
    ],
    ids=str,
)
def test_another_field_has_to_be_a_string(body: Any) -> None:
    assert refusal_of(json.dumps(body).encode()).content == ()


@pytest.mark.parametrize(
    "said", ["content must be a string", "messages[0].role is bad", STRING]
)
def test_what_repeats_the_request_says_nothing_of_its_form(said: str) -> None:
    place = [
        detail("messages", 0, key, msg=said, kind="x") for key in ("role", "content")
    ]
    for body in (error(f"bad: {said}"), {"detail": place}):
        assert refusal_of(json.dumps(body).encode(), echo(said)) == Refusal()


def test_role_that_is_only_spoken_of() -> None:
    body = error("Ask the developer. Unknown parameter: 'x'")
    assert refusal_of(json.dumps(body).encode()) == Refusal((("x",),))


def test_what_is_read_is_bounded() -> None:
    names = [detail(f"p{n}") for n in range(1000)]
    assert len(reported({"detail": names[:100]})) == 24
    assert reported({"detail": names}) == []  # too long to be one
    assert len(json.dumps(names)) > LARGE
    deep: Any = error("Unknown parameter: a")
    for _ in range(9):
        deep = {"error": deep}
    assert reported(deep) == []


@pytest.mark.parametrize("size", [4, 400, 4000])
def test_of_many_texts_the_first_are_read(size: int) -> None:
    said = "Unknown parameter: 'a'"
    rest = ["x" * size] * (60_000 // (size + 4))
    assert reported({"detail": [said, *rest]}) == ["a"]
    assert reported([{"m": rest[:24]}, {"m": rest[:24]}, {"m": rest[:24]}, said]) == []


# -- what repeats the request -----------------------------------------------------------

SAYS = "Unsupported parameter(s): guardrails"
LOC = '{"detail":[{"type":"extra_forbidden","loc":["body","guardrails"]}]}'
PRINTED = "[{'type': 'extra_forbidden', 'loc': ('body', 'guardrails')}]"
PLACED = "messages.0: property 'messages.0.name' is unsupported"
EXTRAS = "body -> guardrails\n  Extra inputs are not permitted"


def echo(prompt: str, **more: Any) -> Echo:
    messages = [{"role": "user", "content": prompt}]
    return Echo(json.dumps({"model": "m", "messages": messages, **more}).encode())


@pytest.mark.parametrize(
    ("prompt", "body"),
    [
        (SAYS, error(f"Invalid prompt: {SAYS}")),
        (SAYS, SAYS.encode()),
        (SAYS, f"<html>{SAYS}</html>".encode()),
        (SAYS, error(SAYS.upper())),
        (SAYS, error(f"bad value {[SAYS]!r}")),
        (SAYS, error(json.dumps({"messages": [{"content": SAYS}]}))),
        (SAYS, {"received": {"messages": [{"content": SAYS}]}}),
        (f"Hello. {SAYS}, say it", error(f"not allowed: '...{SAYS}, sa...'")),
        ("Unknown key user", error("1 error: Unknown key user")),
        (f"I see: {LOC}", error(LOC)),
        (LOC, error(LOC)),
        (LOC[11:-2], error(LOC)),
        (PRINTED, error(f"bad: {PRINTED}")),
        (PLACED, error(f"bad: {PLACED}")),
        (EXTRAS, error(EXTRAS)),
        (EXTRAS, {"detail": [{"loc": ["body", "guardrails"], "msg": EXTRAS}]}),
        (
            "guardrails, should you ask",
            error("Unknown key: guardrails, should you a..."),
        ),
        ("guardrails", error("'guardrails' is not supported for messages")),
        ("max_completion_tokens", error("Unknown key: max_completion_tokens")),
        ("unknown variant `developer`", error("bad: unknown variant `developer`")),
    ],
    ids=str,
)
def test_what_repeats_the_request_names_nothing(prompt: str, body: Any) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    assert refusal_of(data, echo(prompt)) == Refusal()
    assert refusal_of(data) != Refusal()


def test_object_of_the_request_names_nothing() -> None:
    own: list[dict[str, Any]] = [
        {"param": "guardrails", "code": "unknown_parameter"},
        {"loc": ["body", "guardrails"], "type": "extra_forbidden"},
    ]
    for each in own:
        data = json.dumps({"received": {"metadata": each}}).encode()
        assert refusal_of(data, echo("Hi", metadata=each)) == Refusal()
        assert refusal_of(data) != Refusal()


def test_object_of_a_request_that_is_too_large_names_nothing() -> None:
    own = {"loc": ["body", "guardrails"], "type": "extra_forbidden"}
    found = echo("Some words. " * 400_000, metadata=own)
    data = json.dumps({"received": {"metadata": own}}).encode()
    assert refusal_of(data, found, words=False) == Refusal()


@pytest.mark.parametrize(("body", "expected"), NAMED, ids=str)
def test_long_prompt_hides_no_refusal(body: Any, expected: list[str]) -> None:
    prompt = (
        "Be brief. What is not supported with this host must not be used, and nothing "
        "else is permitted. Call the local parameter seed, not the argument `user`. "
    )
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    paths = refusal_of(data, echo(prompt * 50)).paths
    assert [".".join(path) for path in paths] == expected


@pytest.mark.parametrize(
    "part",
    ["a", "a.", "a -> ", "a, ", "a and ", " ", "'", "[", "a[", "'loc': (", "('messages.1' : "],
)  # fmt: skip
def test_work_grows_with_the_text_alone(part: str) -> None:
    def make(times: int) -> bytes:
        text = ("Unknown parameter: " + part * times)[:4000]
        return json.dumps([text] * 10).encode()

    assert growth(make, refusal_of, 100) < MOST


@pytest.mark.parametrize("size", [4, 40, 4000])
def test_work_on_many_texts_is_bounded(size: int) -> None:
    text = ("schema level not " * size)[:size]

    def make(times: int) -> bytes:
        return json.dumps({str(at): text for at in range(times)}).encode()

    assert growth(make, refusal_of, LARGE // (size + 16) // 8) < 4
