import json
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize import conformance
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.routing.workers_ai import (
    PARAMETERS,
    RunRequest,
    refusal_means_no_stream,
    run_body,
    run_path,
)

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


# -- the path ----------------------------------------------------------------------


@pytest.mark.parametrize("base", [BASE, BASE + "/"])
def test_a_model_is_run_below_the_account(base: str) -> None:
    assert run_path(base, LLAMA) == f"{BASE}/ai/run/{LLAMA}"


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
        run_path(BASE, model)


@given(st.text())
def test_no_model_leaves_its_place(model: str) -> None:
    try:
        path = run_path(BASE, model)
    except ValueError:
        return
    parts = urlsplit(f"https://x.test{path}")
    assert (parts.query, parts.fragment) == ("", "")
    assert path.isascii()
    assert path.isprintable()
    assert unquote(path) == f"{BASE}/ai/run/{model}"
    assert not {"", ".", ".."} & set(path[1:].split("/"))


# -- the body ----------------------------------------------------------------------


def native(request: Any = None, **more: Any) -> RunRequest:
    request = request or {"model": LLAMA, "messages": [USER], **more}
    return run_body(json.dumps(request).encode())


def sent(made: RunRequest) -> Any:
    return json.loads(made.body)


def as_schema(given: Any) -> Any:
    return {"response_format": {"type": "json_schema", "json_schema": given}}


def with_tool(function: Any) -> Any:
    return {"tools": [{"type": "function", "function": function}]}


KNOWN: dict[str, Any] = {
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
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
TITLED = {"title": "T", "description": "D", "type": "object"}
NO_PARAMETERS = {"type": "object", "properties": {}}
FORMAT = "response_format.json_schema"
DESCRIPTION = "tools[].function.description"
STAYS: list[dict[str, Any]] = [
    KNOWN,
    {"seed": 1},
    {"seed": 9_999_999_999},
    {"seed": "x"},
    {"seed": True},
    {"top_p": 0.001},
    {"top_p": -1},
    {"top_p": False},
    as_schema({"type": "object"}),
    as_schema(7),
    {"response_format": "json"},
    {"tools": [BREW]},
    {"tools": [{"type": "custom", "custom": {"name": "c"}}]},
    {"tools": [7]},
    {"tools": "x"},
]
BODIES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    *((each, each, "", "") for each in STAYS),
    ({"safety_identifier": "u", "x": {}}, {}, "safety_identifier x", ""),
    ({"seed": None, "tools": None, "stream": None}, {}, "seed tools stream", ""),
    ({"max_tokens": 5, "max_completion_tokens": 9}, {"max_tokens": 9}, "", "max_completion_tokens"),
    ({"seed": 0}, {"seed": 9_999_999_999}, "", "seed"),
    ({"seed": -1}, {"seed": 9_999_999_998}, "", "seed"),
    *(({"top_p": each}, {"top_p": 0.001}, "", "top_p") for each in (0, 0.0, 0.0001)),
    (
        as_schema({"name": "tea", "description": "A tea", "schema": SCHEMA, "strict": True}),
        as_schema({"title": "tea", "description": "A tea", **SCHEMA}),
        "",
        FORMAT,
    ),
    (as_schema({"name": "tea", "description": "A", "schema": TITLED}), as_schema(TITLED), "", FORMAT),
    ({"response_format": {"type": "text"}}, {}, "response_format", ""),
    (
        {"tools": [], "tool_choice": "none", "parallel_tool_calls": False},
        {},
        "tools tool_choice parallel_tool_calls",
        "",
    ),
    (
        with_tool({"name": "f"}),
        with_tool({"name": "f", "description": "", "parameters": NO_PARAMETERS}),
        "",
        f"{DESCRIPTION} tools[].function.parameters",
    ),
    (with_tool({**BREW, "description": None}), with_tool({**BREW, "description": ""}), "", DESCRIPTION),
    (
        with_tool({**BREW, "parameters": {}}),
        with_tool({**BREW, "parameters": NO_PARAMETERS}),
        "",
        "tools[].function.parameters",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "kept", "dropped", "changed"), BODIES, ids=str)
def test_body_has_what_the_native_api_takes(
    given: Any, kept: Any, dropped: str, changed: str
) -> None:
    made = native(**given)
    assert sent(made) == {"messages": [USER], **kept}
    assert (made.dropped, made.changed) == (
        tuple(dropped.split()),
        tuple(changed.split()),
    )


# -- messages ----------------------------------------------------------------------

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}


def text_part(text: str) -> Any:
    return {"type": "text", "text": text}


def user(content: Any) -> Any:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> Any:
    return {"role": "assistant", "content": content, **more}


RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
CALLS = assistant("", tool_calls=[CALL, {**CALL, "id": 7}, {}])
SAME: list[list[Any]] = [
    [user([text_part("See"), IMAGE])],
    *([user([part])] for part in ("x", {"type": "text"}, {"type": "audio"}, {}, None)),
    [CALLS, {**RESULT, "tool_call_id": "other"}],
    [CALLS, {**RESULT, "tool_call_id": 7}],
    [CALLS, {**RESULT, "name": "n"}],
    [assistant("Hi", reasoning_content="a", reasoning="b")],
]
CONTENT = "messages[].content"
SAID: list[tuple[list[Any], list[Any], str, str]] = [
    *((each, each, "", "") for each in SAME),
    ([user([text_part("a"), text_part("b")])], [user("a\nb")], "", CONTENT),
    ([user([])], [user("")], "", CONTENT),
    (
        [USER, assistant(None, refusal=None, tool_calls=[CALL]), RESULT],
        [USER, assistant("", tool_calls=[CALL]), {**RESULT, "name": "brew"}],
        "messages[].refusal",
        f"{CONTENT} messages[].name",
    ),
    (
        [{"role": "assistant", "tool_calls": [CALL]}],
        [assistant("", tool_calls=[CALL])],
        "",
        CONTENT,
    ),
    ([assistant("a", tool_calls=[])], [assistant("a")], "messages[].tool_calls", ""),
    (
        [assistant(None, refusal="No.")],
        [assistant("No.")],
        "",
        f"{CONTENT} messages[].refusal",
    ),
    ([assistant([{"type": "refusal", "refusal": "No."}])], [assistant("No.")], "", CONTENT),
    ([{**USER, "role": "developer"}], [{**USER, "role": "system"}], "", "messages[].role"),
    *(
        (
            [assistant("Hi", reasoning_content="so", **more)],
            [assistant("Hi", reasoning="so")],
            "",
            "messages[].reasoning_content",
        )
        for more in ({}, {"reasoning": "so"})
    ),
    (
        [{**USER, "annotations": [], "x": 1}, {**USER, "x": 2}],
        [USER, USER],
        "messages[].annotations messages[].x",
        "",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("said", "made", "dropped", "changed"), SAID, ids=str)
def test_messages_have_what_the_native_api_takes(
    said: Any, made: Any, dropped: str, changed: str
) -> None:
    found = native(messages=said)
    assert sent(found)["messages"] == made
    assert (found.dropped, found.changed) == (
        tuple(dropped.split()),
        tuple(changed.split()),
    )


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
        run_body(body)
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
        made = run_body(data)
    except ValueError as error:
        words = str(error)
    if made is None:
        assert words.startswith(("The request", "A message"))
    else:
        assert set(sent(made)) <= PARAMETERS


@given(st.binary(max_size=30))
def test_any_bytes_are_translated_or_refused_in_a_sentence(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"^(The request|A message).*\.$"):
        run_body(data)


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
    again = run_body(made.body)
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


@given(st.sampled_from([200, 400, 500]), st.binary(max_size=30))
def test_any_answer_can_be_asked_about(status: int, data: bytes) -> None:
    assert not refusal_means_no_stream(status, data)


# -- the answers -------------------------------------------------------------------

STREAM = Asked(stream=True, usage=True, model=LLAMA, id="x", tools=True)


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
