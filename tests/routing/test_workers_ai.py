import json
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize import conformance
from llm_normalize.chat.state.stream_state import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.routing.workers_ai import (
    PARAMETERS,
    Native,
    native_body,
    native_path,
    refusal_means_no_stream,
)
from streams import repaired

BASE = "/client/v4/accounts/abc"
LLAMA = "@cf/meta/llama-3.3-70b-instruct-fp8-fast"
USER = {"role": "user", "content": "Hi"}
CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "brew", "arguments": '{"leaf":"assam"}'},
}
BREW = {
    "name": "brew",
    "description": "Brews tea",
    "parameters": {"type": "object", "properties": {"leaf": {"type": "string"}}},
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


# -- the path ----------------------------------------------------------------------


@pytest.mark.parametrize("base", [BASE, BASE + "/"])
def test_a_model_is_run_below_the_account(base: str) -> None:
    assert native_path(base, LLAMA) == f"{BASE}/ai/run/{LLAMA}"


def test_an_account_at_the_root_will_do() -> None:
    assert native_path("", "@cf/x/y") == "/ai/run/@cf/x/y"


@pytest.mark.parametrize(
    ("model", "quoted"),
    [
        ("a?b#c", "a%3Fb%23c"),
        ("a%2e%2e/b", "a%252e%252e/b"),
        ("a\r\nb c", "a%0D%0Ab%20c"),
        ("a\\..\\b", "a%5C..%5Cb"),
        ("thé:1", "th%C3%A9:1"),
    ],
)
def test_what_has_a_meaning_in_a_path_is_quoted(model: str, quoted: str) -> None:
    assert native_path(BASE, model) == f"{BASE}/ai/run/{quoted}"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("", "names no model"),
        ("..", "part"),
        ("@cf/../../../x", "part"),
        ("@cf/./x", "part"),
        ("/x", "part"),
        ("x/", "part"),
        ("a//b", "part"),
        ("\ud800", "valid text"),
    ],
)
def test_a_name_that_is_no_model_is_refused(model: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        native_path(BASE, model)


@given(st.text())
def test_no_model_leaves_its_place(model: str) -> None:
    try:
        path = native_path(BASE, model)
    except ValueError:
        return
    parts = urlsplit(f"https://x.test{path}")
    assert (parts.query, parts.fragment) == ("", "")
    assert path.isascii()
    assert path.isprintable()
    assert unquote(path) == f"{BASE}/ai/run/{model}"
    assert not {"", ".", ".."} & set(path[1:].split("/"))


# -- the body ----------------------------------------------------------------------


def native(request: Any = None, **more: Any) -> Native:
    request = request or {"model": LLAMA, "messages": [USER], **more}
    return native_body(json.dumps(request).encode())


def sent(made: Native) -> Any:
    return json.loads(made.body)


def message_of(*messages: Any) -> tuple[Any, Native]:
    made = native(messages=list(messages))
    return sent(made)["messages"], made


def test_what_the_native_api_knows_stays() -> None:
    more: dict[str, Any] = {
        "stream": True,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 7,
        "frequency_penalty": 0.5,
        "presence_penalty": -0.5,
        "max_tokens": 99,
        "stop": ["END"],
        "tools": [{"type": "function", "function": BREW}],
        "tool_choice": {"type": "function", "function": {"name": "brew"}},
        "response_format": {"type": "json_object"},
        "reasoning_effort": "low",
        "stream_options": {"include_usage": True},
    }
    made = native(**more)
    assert sent(made) == {"messages": [USER], **more}
    assert (made.dropped, made.changed) == ((), ())


def test_numbers_keep_their_spelling() -> None:
    body = b'{"messages":[{"role":"user","content":"Hi"}],"temperature":0.10,"top_p":1}'
    assert native_body(body).body == body


def test_what_it_does_not_know_is_dropped_and_named() -> None:
    made = native(prompt_cache_key="k", safety_identifier="u", verbosity="low", x={})
    assert sent(made) == {"messages": [USER]}
    assert made.dropped == ("prompt_cache_key", "safety_identifier", "verbosity", "x")
    assert made.changed == ()


def test_null_stands_for_the_default_and_goes() -> None:
    made = native(temperature=None, seed=None, tools=None, stream=None)
    assert sent(made) == {"messages": [USER]}
    assert made.dropped == ("temperature", "seed", "tools", "stream")


def test_max_completion_tokens_has_its_older_name() -> None:
    made = native(max_tokens=5, max_completion_tokens=9)
    assert sent(made)["max_tokens"] == 9
    assert "max_completion_tokens" not in sent(made)
    assert made.changed == ("max_completion_tokens",)


@pytest.mark.parametrize(
    ("seed", "kept"),
    [(1, 1), (9_999_999_999, 9_999_999_999), (0, 9_999_999_999), (-1, 9_999_999_998)],
)
def test_a_seed_is_one_that_is_taken(seed: int, kept: int) -> None:
    made = native(seed=seed)
    assert sent(made)["seed"] == kept
    assert made.changed == (() if seed == kept else ("seed",))


@pytest.mark.parametrize("top_p", [0, 0.0, 0.0001])
def test_the_smallest_top_p_is_the_documented_one(top_p: float) -> None:
    made = native(top_p=top_p)
    assert sent(made)["top_p"] == 0.001
    assert made.changed == ("top_p",)


@pytest.mark.parametrize(
    "more", [{"top_p": 0.001}, {"top_p": -1}, {"top_p": False}, {"seed": "x"}, {"seed": True}]
)  # fmt: skip
def test_what_is_no_such_number_is_left_to_the_provider(more: Any) -> None:
    assert sent(native(**more)) == {"messages": [USER], **more}


def test_a_schema_stands_by_itself_with_its_name() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    given = {"name": "tea", "description": "A tea", "schema": schema, "strict": True}
    made = native(response_format={"type": "json_schema", "json_schema": given})
    assert sent(made)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"title": "tea", "description": "A tea", **schema},
    }
    assert made.changed == ("response_format.json_schema",)


def test_a_schema_keeps_its_own_title() -> None:
    schema = {"title": "T", "description": "D", "type": "object"}
    given = {"name": "tea", "description": "A tea", "schema": schema}
    made = native(response_format={"type": "json_schema", "json_schema": given})
    assert sent(made)["response_format"]["json_schema"] == schema


@pytest.mark.parametrize(
    "given",
    [
        {"type": "json_object"},
        {"type": "json_schema", "json_schema": {"type": "object"}},
        {"type": "json_schema", "json_schema": 7},
        "json",
    ],
)
def test_another_response_format_stays(given: Any) -> None:
    assert sent(native(response_format=given))["response_format"] == given


def test_plain_text_is_no_format() -> None:
    made = native(response_format={"type": "text"})
    assert sent(made) == {"messages": [USER]}
    assert made.dropped == ("response_format",)


def test_no_tools_are_no_list_of_tools() -> None:
    made = native(tools=[], tool_choice="none", parallel_tool_calls=False)
    assert sent(made) == {"messages": [USER]}
    assert made.dropped == ("tools", "tool_choice", "parallel_tool_calls")


@pytest.mark.parametrize(
    ("function", "made"),
    [
        ({"name": "f"}, {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}),
        ({**BREW, "description": None}, {**BREW, "description": ""}),
        ({**BREW, "parameters": {}}, {**BREW, "parameters": {"type": "object", "properties": {}}}),
    ],
)  # fmt: skip
def test_a_function_has_what_is_required(function: Any, made: Any) -> None:
    result = native(tools=[{"type": "function", "function": function}])
    assert sent(result)["tools"] == [{"type": "function", "function": made}]
    assert set(result.changed) <= {
        "tools[].function.description",
        "tools[].function.parameters",
    }
    assert result.changed


@pytest.mark.parametrize(
    "tools", [[BREW], [{"type": "custom", "custom": {"name": "c"}}], [7], "x"]
)
def test_other_tools_stay(tools: Any) -> None:
    assert sent(native(tools=tools))["tools"] == tools


# -- messages ----------------------------------------------------------------------


def test_parts_of_text_are_one_text() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    made, result = message_of({"role": "user", "content": parts})
    assert made == [{"role": "user", "content": "a\nb"}]
    assert result.changed == ("messages[].content",)


def test_no_parts_are_no_text() -> None:
    assert message_of({"role": "user", "content": []})[0][0]["content"] == ""


def test_parts_with_an_image_stay() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
    message = {"role": "user", "content": [{"type": "text", "text": "See"}, image]}
    assert message_of(message)[0] == [message]


@pytest.mark.parametrize("part", ["x", {"type": "text"}, {"type": "audio"}, {}, None])
def test_parts_that_are_no_text_stay(part: Any) -> None:
    assert message_of({"role": "user", "content": [part]})[0][0]["content"] == [part]


@pytest.mark.parametrize("content", [{"content": None}, {}])
def test_a_call_has_a_content_and_its_result_a_name(content: Any) -> None:
    made, result = message_of(
        USER,
        {"role": "assistant", **content, "refusal": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done"},
    )
    assert made == [
        USER,
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": "done", "name": "brew"},
    ]
    assert result.dropped == ("messages[].refusal",)
    assert result.changed == ("messages[].content", "messages[].name")


@pytest.mark.parametrize(
    "more",
    [{"tool_call_id": "other"}, {"tool_call_id": 7}, {"tool_call_id": "call_1", "name": "n"}],
)  # fmt: skip
def test_a_result_without_its_call_keeps_its_name(more: Any) -> None:
    nameless = {**CALL, "id": 7}
    calling = {"role": "assistant", "content": "", "tool_calls": [CALL, nameless, {}]}
    result = {"role": "tool", "content": "x", **more}
    assert message_of(calling, result)[0] == [calling, result]


def test_no_calls_are_no_list_of_calls() -> None:
    made, result = message_of({"role": "assistant", "content": "a", "tool_calls": []})
    assert made == [{"role": "assistant", "content": "a"}]
    assert result.dropped == ("messages[].tool_calls",)


def test_a_refusal_is_what_was_said() -> None:
    made, result = message_of({"role": "assistant", "content": None, "refusal": "No."})
    assert made == [{"role": "assistant", "content": "No."}]
    assert result.changed == ("messages[].content", "messages[].refusal")
    parts = [{"type": "refusal", "refusal": "No."}]
    assert message_of({"role": "assistant", "content": parts})[0][0]["content"] == "No."


def test_the_developer_is_the_system() -> None:
    made, result = message_of({"role": "developer", "content": "Be kind"})
    assert made == [{"role": "system", "content": "Be kind"}]
    assert result.changed == ("messages[].role",)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"reasoning_content": "so"}, {"reasoning": "so"}),
        ({"reasoning_content": "so", "reasoning": "so"}, {"reasoning": "so"}),
        ({"reasoning_content": "a", "reasoning": "b"}, {"reasoning_content": "a", "reasoning": "b"}),
    ],
)  # fmt: skip
def test_reasoning_has_the_name_that_is_read(said: Any, kept: Any) -> None:
    message = {"role": "assistant", "content": "Hi"}
    assert message_of({**message, **said})[0] == [{**message, **kept}]


def test_what_a_message_does_not_have_is_dropped() -> None:
    made, result = message_of({**USER, "annotations": [], "x": 1}, {**USER, "x": 2})
    assert made == [USER, USER]
    assert result.dropped == ("messages[].annotations", "messages[].x")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a":NaN}', "not valid JSON"),
        (b'{"a":1,"a":2}', "twice"),
        (b"[" * 5000 + b"]" * 5000, "too deeply"),
        (b"{}", "no list of messages"),
        (b'{"messages":[]}', "no list of messages"),
        (b'{"messages":"x"}', "no list of messages"),
        (b'{"messages":["x"]}', "not an object"),
    ],
)
def test_what_is_no_request_is_refused_in_a_sentence(body: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        native_body(body)
    assert str(caught.value).endswith(".")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "function", "schema", "json_schema", "text", "id", "x"]),
        inner,
        max_size=3,
    ),
    max_leaves=8,
)  # fmt: skip
PARTS = st.lists(
    st.builds(lambda text: {"type": "text", "text": text}, st.text(min_size=1))
    | st.just({"type": "image_url", "image_url": {"url": "data:,"}}),
    max_size=3,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "developer", "user", "assistant", "tool"]),
            "content": st.none() | st.text() | PARTS,
        },
        optional=dict.fromkeys(
            ["refusal", "reasoning_content", "tool_calls", "tool_call_id", "x"], VALUES
        ),
    ),
    min_size=1,
    max_size=4,
)  # fmt: skip
KEYS = st.sampled_from([*sorted(PARAMETERS), "model", "x"])


@given(VALUES | st.dictionaries(KEYS, VALUES))
def test_any_request_is_translated_or_refused_in_a_sentence(request: Any) -> None:
    data = json.dumps(request).encode(errors="surrogatepass")
    made, words = None, ""
    try:
        made = native_body(data)
    except ValueError as error:
        words = str(error)
    if made is None:
        assert words.startswith(("The request", "A message"))
    else:
        assert set(sent(made)) <= PARAMETERS


@given(st.binary(max_size=30))
def test_any_bytes_are_translated_or_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(The request|A message).*\.$"):
        native_body(data)


def texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or () if "text" in part]


@given(MESSAGES, st.dictionaries(KEYS, VALUES))
def test_no_text_of_a_message_is_lost(messages: Any, more: Any) -> None:
    made = native({**more, "messages": messages})
    after = sent(made)["messages"]
    assert len(after) == len(messages)
    for before, now in zip(messages, after, strict=True):
        joined = "\n".join(texts(now["content"]))
        assert all(text in joined for text in texts(before["content"]))
        refusal = before.get("refusal")
        if isinstance(refusal, str):
            assert refusal in (now["content"], now.get("refusal"))
    again = native_body(made.body)
    assert json.loads(again.body) == sent(made)
    assert (again.dropped, again.changed) == ((), ())


# -- refusals ----------------------------------------------------------------------


def envelope(result: Any, **more: Any) -> Any:
    return {"result": result, "success": True, "errors": [], "messages": [], **more}


NO_STREAM = "AiError: JSON Schema mode is not supported with stream mode."


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, envelope(None, success=False, errors=[{"code": 5023, "message": NO_STREAM}])),
        (400, {"errors": {"message": NO_STREAM, "code": 5023}, "success": False}),
        (400, {"name": "AiError", "internalCode": 5023, "message": NO_STREAM}),
        (200, envelope(None, success=False, errors=[{"code": 5023, "message": NO_STREAM}])),
        (200, envelope({})),
        (200, envelope(None)),
        (200, envelope("")),
        (400, NO_STREAM),
        (400, [{"error": {"message": NO_STREAM}}]),
    ],
)  # fmt: skip
def test_a_refusal_to_stream_is_known(status: int, body: Any) -> None:
    data = body.encode() if body is NO_STREAM else json.dumps(body).encode()
    assert refusal_means_no_stream(status, data)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, envelope({"response": NO_STREAM})),
        (200, envelope({"response": ""})),
        (200, {"success": True}),
        (200, {"result": {}}),
        (200, NO_STREAM),
        (400, envelope(None, success=False, errors=[{"code": 5006, "message": "Bad input"}])),
        (500, ""),
        (500, {}),
        (500, None),
        (500, envelope({})),
    ],
)  # fmt: skip
def test_another_answer_is_no_refusal_to_stream(status: int, body: Any) -> None:
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    assert not refusal_means_no_stream(status, data)


@given(st.sampled_from([200, 400, 500]), st.binary(max_size=30))
def test_any_answer_can_be_asked_about(status: int, data: bytes) -> None:
    assert not refusal_means_no_stream(status, data)


# -- the answers -------------------------------------------------------------------

PLAIN = Asked(model=LLAMA, id="x", tools=True)
STREAM = Asked(stream=True, usage=True, model=LLAMA, id="x", tools=True)
LONG = "Salt and wind, and a long way to go before the harbour is in sight again."
FLAT = {"name": "brew", "arguments": {"leaf": "assam"}}


def as_body(body: Any) -> Any:
    """Return the body that leaves, which has OpenAI's form."""
    step = repair_body(json.dumps(body).encode(), 200, PLAIN, FIXES)
    assert step.status is None
    assert (
        conformance.check_body(
            step.after[0], conformance.Request(stream=False, tools=True)
        )
        == []
    )
    return json.loads(step.after[0])


def streamed(data: bytes) -> tuple[conformance.Choice, list[Any]]:
    """Return what the stream that leaves says, and its chunks; it has OpenAI's form."""
    out = repaired(data, STREAM)
    assert (
        conformance.check_stream(out, conformance.Request(True, True, tools=True)) == []
    )
    assert repaired(out, STREAM) == out
    chunks = [json.loads(line[6:]) for line in out.split(b"\n\n")[:-2]]
    return conformance.meaning_of_stream(out).choices[0], chunks


ANSWERS = [
    ({"response": LONG}, LONG, "", 0, "stop"),
    ({"response": LONG, "reasoning_content": LONG}, LONG, LONG, 0, "stop"),
    ({"response": LONG, "reasoning": LONG}, LONG, LONG, 0, "stop"),
    ({"response": {"leaf": "assam"}}, '{"leaf":"assam"}', "", 0, "stop"),
    ({"response": [{"name": "a"}]}, '[{"name":"a"}]', "", 0, "stop"),
    ({"response": 42}, "42", "", 0, "stop"),
    ({"response": "Hi", "finish_reason": "length"}, "Hi", "", 0, "length"),
    ({"response": "", "tool_calls": [FLAT, FLAT]}, "", "", 2, "tool_calls"),
    ({"response": None, "tool_calls": [FLAT]}, "", "", 1, "tool_calls"),
    ({"response": "", "tool_calls": [CALL]}, "", "", 1, "tool_calls"),
    (
        {
            "id": "y",
            "object": "chat.completion",
            "created": 1,
            "model": LLAMA,
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": LONG},
                    "finish_reason": "stop",
                }
            ],
        },
        LONG,
        "",
        0,
        "stop",
    ),
]


@pytest.mark.parametrize(("result", "text", "thought", "calls", "finish"), ANSWERS)
def test_a_native_answer_has_openais_form(
    result: Any, text: str, thought: str, calls: int, finish: str
) -> None:
    body = as_body(envelope({**result, "usage": USAGE}))
    (choice,) = body["choices"]
    message = choice["message"]
    assert (message.get("content") or "") == text
    assert message.get("reasoning_content", "") == thought
    assert [
        json.loads(call["function"]["arguments"])
        for call in message.get("tool_calls", [])
    ] == [FLAT["arguments"]] * calls
    assert choice["finish_reason"] == finish
    assert body["usage"] == USAGE


@pytest.mark.parametrize(("result", "text", "thought", "calls", "finish"), ANSWERS)
def test_a_native_answer_in_one_piece_becomes_a_stream(
    result: Any, text: str, thought: str, calls: int, finish: str
) -> None:
    data = json.dumps(envelope({**result, "usage": USAGE})).encode()
    choice, chunks = streamed(data)
    assert (choice.text, choice.reasoning, choice.finish_reason) == (
        text,
        thought,
        finish,
    )
    assert len(choice.calls) == calls
    assert chunks[-1]["usage"] == USAGE
    deltas = [each["choices"][0]["delta"] for each in chunks[:-1]]
    for key, said in (("content", text), ("reasoning_content", thought)):
        found = [delta[key] for delta in deltas if delta.get(key)]
        assert "".join(found) == said
        assert len(found) == (3 if said == LONG else bool(said))


def test_a_native_stream_has_openais_form() -> None:
    events = [
        {"response": "Hi", "p": "abdefgh"},
        {"response": 4, "p": "ab"},
        {"response": "", "tool_calls": [FLAT]},
        {"tool_calls": [{"id": None, "type": None, "function": {"name": None}}]},
        {"tool_calls": [], "p": "abd"},
        {"response": "", "usage": USAGE},
    ]
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    choice, chunks = streamed("".join([*lines, "data: [DONE]\n\n"]).encode())
    assert (choice.text, choice.finish_reason) == ("Hi4", "tool_calls")
    assert [call.name for call in choice.calls] == ["brew"]
    assert chunks[-1]["usage"] == USAGE
    assert not any("p" in each for each in chunks)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (envelope(None, success=False, errors=[{"code": 3036, "message": "used up"}]), 429, "3036"),
        (envelope({}, success=False, errors=[{"code": 5007, "message": "No such model"}]), 400, "5007"),
        (envelope(None, success=False, errors=[{"code": 3006, "message": "Request is too large"}]), 413, "3006"),
        (envelope(None, success=False, errors=[{"code": 7009, "message": "cold"}]), 500, "7009"),
        (envelope(None, success=False, errors=[{"message": "AiError: 3040: no room"}]), 429, None),
        ({"errors": {"code": 5006, "message": "Bad input"}, "success": False, "result": {}}, 400, "5006"),
        ({"name": "AiError", "internalCode": 5006, "httpCode": 400, "message": "Bad input"}, 400, "5006"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("came", [200, 418])
def test_a_native_error_has_openais_form_and_a_fitting_status(
    came: int, body: Any, status: int, code: str | None
) -> None:
    step = repair_body(json.dumps(body).encode(), came, STREAM, FIXES)
    assert step.status == (status if came == 200 else None)
    assert conformance.check_error_body(step.after[0]) == []
    assert json.loads(step.after[0])["error"]["code"] == code
