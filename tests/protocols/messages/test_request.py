import json
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import (
    ChatRequest,
    Circumstances,
    JsonObject,
    UntranslatableError,
)
from llm_normalize.wire.json_text import dumps, loads

EPHEMERAL = {"type": "ephemeral"}
PNG = {"type": "base64", "media_type": "image/png", "data": "aaaa"}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "bbbb"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
USER = {"role": "user", "content": "Hi"}
NO_RESULT = "The call has no result: it was interrupted."


def translated(**request: Any) -> ChatRequest:
    return MESSAGES.translate(
        {"model": "m", "max_tokens": 9, "messages": [USER]} | request
    )


def chat(**request: Any) -> JsonObject:
    return translated(**request).body


def said(*messages: JsonObject, **request: Any) -> list[JsonObject]:
    found: list[JsonObject] = chat(messages=list(messages), **request)["messages"]
    return found


def by(role: str, *blocks: JsonObject | str) -> JsonObject:
    content = [text(each) if isinstance(each, str) else each for each in blocks]
    return {"role": role, "content": content}


def text(words: str, **more: Any) -> JsonObject:
    return {"type": "text", "text": words, **more}


def use(call_id: str, name: str = "f", **more: Any) -> JsonObject:
    return {"type": "tool_use", "id": call_id, "name": name, "input": {}} | more


def result(call_id: str, content: Any = None, **more: Any) -> JsonObject:
    given = {} if content is None else {"content": content}
    return {"type": "tool_result", "tool_use_id": call_id, **given, **more}


def called(call_id: str, name: str = "f", arguments: str = "{}") -> JsonObject:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def tool(call_id: str, content: str) -> JsonObject:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def test_what_chat_has_no_place_for_is_dropped_and_named() -> None:
    cached = {"cache_control": EPHEMERAL}
    billing = text("x-anthropic-billing-header: cc_version=2.1.220.aa8;")
    found = translated(
        system=[billing, text("Be brief.", **cached)],
        messages=[
            by("user", text("Hi", **cached)),
            by("assistant", use("1", caller={"type": "direct"})),
            by("user", result("1", "x", **cached)),
        ],
        tools=[{**TOOL, **cached, "eager_input_streaming": True}, SEARCH],
        metadata={"user_id": "user_1"},
        thinking={"type": "adaptive"},
        context_management={"edits": []},
        output_config={"effort": "medium"},
        betas=["claude-code-20250219"],
        top_k=5,
        stream=True,
    )
    assert found.body == {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "system", "content": "Be brief."},
            USER,
            calling(called("1")),
            tool("1", "x"),
        ],
        "tools": [{**F, "function": {"name": "f", "parameters": SCHEMA}}],
        "top_k": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert sorted(found.dropped) == [
        *("betas", "context_management", "messages[].content[].cache_control"),
        *("messages[].content[].caller", "metadata", "output_config.effort"),
        *("system[].cache_control", "system[].x-anthropic-billing-header", "thinking"),
        *("tools[].cache_control", "tools[].eager_input_streaming", "tools[].type"),
    ]


def test_parameters_that_chat_has() -> None:
    found = chat(temperature=0, top_p=1, stop_sequences=["a", "b"], stream=False)
    sent = {"temperature": 0, "top_p": 1, "stop": ["a", "b"], "messages": [USER]}
    assert found == {"model": "m", "max_tokens": 9, **sent}
    assert "stop" not in chat(stop_sequences=[])


# ------------------------------------------------------------------- the system


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("Be brief.", "Be brief."),
        ([text("a"), text(""), text("b")], "a\n\nb"),
        ("x-anthropic-billing-header: cch=1;\nBe brief.", "Be brief."),
        (
            "Not x-anthropic-billing-header: cch=1;",
            "Not x-anthropic-billing-header: cch=1;",
        ),
    ],
)
def test_system_is_one_leading_message(system: Any, expected: str) -> None:
    assert said(USER, system=system) == [{"role": "system", "content": expected}, USER]


@pytest.mark.parametrize(
    "system", ["", [], None, [text("x-anthropic-billing-header: a")]]
)
def test_system_that_says_nothing_is_no_message(system: Any) -> None:
    assert said(USER, system=system) == [USER]


def test_only_what_the_system_says_first_is_the_head() -> None:
    found = said(
        {"role": "system", "content": "b"},
        USER,
        by("assistant", use("1")),
        by("developer", "c"),
        {"role": "system", "content": [], "output_config": {"effort": "low"}},
        by("user", result("1", "x")),
        system="a",
    )
    assert found[0] == {"role": "system", "content": "a\n\nb"}
    assert [each["role"] for each in found[1:]] == ["user", "assistant", "tool", "user"]
    assert found[-2:] == [tool("1", "x"), {"role": "user", "content": "c"}]


# ------------------------------------------------------------ calls and results


def test_results_follow_their_calls_in_their_order_and_words_follow_results() -> None:
    found = said(
        USER,
        by("assistant", "a", use("1"), use("2", "g", input={"b": "é"})),
        by("user", "early", result("2", [text("x"), text("y")]), result("1")),
        by("user", "late"),
        {"role": "assistant", "content": "b"},
        {"role": "assistant", "content": "c"},
    )
    assert found[1:] == [
        calling(called("1"), called("2", "g", '{"b":"é"}'), content="a"),
        tool("1", "(no output)"),
        tool("2", "x\ny"),
        {"role": "user", "content": "early\nlate"},
        {"role": "assistant", "content": "b\nc"},
    ]


def calling(*calls: JsonObject, content: str | None = None) -> JsonObject:
    return {"role": "assistant", "content": content, "tool_calls": [*calls]}


def test_a_result_without_its_call_gets_a_stub() -> None:
    found = said(by("user", result("1", "x"), "Hi"))
    assert found == [calling(called("1", "unknown_tool")), tool("1", "x"), USER]


def test_a_result_that_is_late_gets_a_call_of_the_same_name() -> None:
    late = [USER, by("assistant", "b"), by("user", result("1", "x"))]
    found = said(by("assistant", use("1", "g")), *late)
    assert found[-2:] == [calling(called("1", "g")), tool("1", "x")]


@pytest.mark.parametrize("name", ["", None])
def test_a_call_without_a_name_is_of_an_unknown_tool(name: Any) -> None:
    found = said(by("assistant", use("1", name)), by("user", result("1", "x")))
    assert found[0]["tool_calls"] == [called("1", "unknown_tool")]


def test_calls_of_one_id_have_a_result_each() -> None:
    calls = by("assistant", use("1", "f"), use("1", "g"))
    two = said(calls, by("user", result("1", "x"), result("1", "y")))
    assert two[1:] == [tool("1", "x"), tool("1", "y")]
    three = said(
        calls, by("user", result("1", "x"), result("1", "y"), result("1", "z"))
    )
    assert three[1:] == [tool("1", "x"), tool("1", "y\nz")]
    one = said(calls, by("user", result("1", "x")))
    assert [each["content"] for each in one[1:]] == ["x", NO_RESULT]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("boom", "Error: boom"),
        (None, "Error: "),
        ("Error: boom", "Error: boom"),
        ("<tool_use_error>boom", "<tool_use_error>boom"),
    ],
)
def test_a_result_says_that_it_failed(content: str | None, expected: str) -> None:
    found = said(
        by("assistant", use("1")), by("user", result("1", content, is_error=True))
    )
    assert found[1] == tool("1", expected)


def test_a_block_of_a_tool_s_own_is_told_as_json() -> None:
    own = {"type": "file", "path": "a.py"}
    found = said(by("assistant", use("1")), by("user", result("1", [own])))
    assert found[1] == tool("1", '{"type":"file","path":"a.py"}')


def test_an_image_in_a_result_follows_in_the_message_of_the_user() -> None:
    inner = [text("a.png:"), {"type": "image", "source": PNG}]
    found = said(
        by("assistant", use("1")), by("user", result("1", inner), "What is it?")
    )
    assert found[1] == tool(
        "1", "a.png:\nThe content is in the next message of the user."
    )
    assert found[2] == {
        "role": "user",
        "content": [
            text("The result of the call 1:"),
            image(),
            text("What is it?"),
        ],
    }


def test_tools_that_a_search_found_are_words() -> None:
    inner = [{"type": "tool_reference", "tool_name": "Read"}]
    found = said(by("assistant", use("1")), by("user", result("1", inner)))
    assert found[1] == tool("1", "The tool Read is available.")


# ------------------------------------------------------------ the assistant


def test_thoughts_go_back_as_reasoning() -> None:
    blocks = [
        {"type": "thinking", "thinking": "a", "signature": "s"},
        {"type": "thinking", "thinking": "", "signature": "s"},
        {"type": "thinking", "thinking": "b", "signature": "s"},
    ]
    assert said(USER, by("assistant", *blocks, "c"))[1] == {
        "role": "assistant",
        "content": "c",
        "reasoning_content": "a\nb",
    }


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [{"type": "redacted_thinking", "data": "x"}],
        [{"type": ["x"]}],
        [{"type": "thinking", "thinking": "a", "signature": "s"}],
        [text("\n")],
    ],
)
def test_an_assistant_that_says_nothing_is_no_message(blocks: list[JsonObject]) -> None:
    assert said(USER, by("assistant", *blocks), USER) == [USER, USER]


def test_what_anthropic_summed_up_is_a_text() -> None:
    assert said(by("assistant", {"type": "compaction", "content": "So far."})) == [
        {"role": "assistant", "content": "So far."}
    ]


# ------------------------------------------------------------ images, documents


def image(url: str = "data:image/png;base64,aaaa") -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url}}


def file(name: str) -> JsonObject:
    data = {"filename": name, "file_data": "data:application/pdf;base64,bbbb"}
    return {"type": "file", "file": data}


MIXED = {"type": "content", "content": [text("a"), {"type": "image", "source": PNG}]}
BY_URL = {"type": "url", "url": "https://a.test/b.png"}


@pytest.mark.parametrize(
    ("kind", "fields", "parts"),
    [
        ("image", {"source": PNG, "cache_control": EPHEMERAL}, [image()]),
        ("image", {"source": BY_URL}, [image("https://a.test/b.png")]),
        (
            "document",
            {"source": PDF, "title": "a.pdf", "context": "Old."},
            [text("Old."), file("a.pdf")],
        ),
        ("document", {"source": PDF}, [file("document.pdf")]),
        (
            "document",
            {"title": "T", "source": MIXED},
            [text("T"), text("a"), image()],
        ),
    ],
)
def test_images_and_files_are_parts(
    kind: str, fields: JsonObject, parts: list[JsonObject]
) -> None:
    assert said(by("user", "Look:", {"type": kind, **fields})) == [
        {"role": "user", "content": [text("Look:"), *parts]}
    ]


NOTE = {"source": {"type": "text", "media_type": "text/plain", "data": "x"}}
FOUND = {"type": "search_result", "source": "https://a.test"}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (NOTE | {"type": "document", "title": "T", "context": "Old."}, "T\nOld.\nx"),
        ({"type": "document", "source": {"type": "content", "content": "x"}}, "x"),
        (FOUND | {"title": "T", "content": [text("x")]}, "T\nhttps://a.test\nx"),
    ],
)
def test_documents_of_text_are_text(block: JsonObject, expected: str) -> None:
    assert said(by("user", block)) == [{"role": "user", "content": expected}]


def test_a_block_of_a_type_that_nobody_knows_is_text() -> None:
    block = {"type": "resource", "uri": "x"}
    calls = by("assistant", use("1"), {"type": "server_tool_use", "id": "2"})
    marked, large = {**block, "cache_control": {}}, {**block, "data": "x" * 20_000}
    asked = [calls, by("user", result("1", [block]), marked, large)]
    found = translated(messages=asked)
    result_of_it, said_too = found.body["messages"][1:]
    as_json = dumps(block).decode()
    assert result_of_it == tool("1", as_json)
    assert said_too["content"].startswith(f"{as_json}\n(A block of the type resource")
    assert "messages[].content[].type" in found.dropped


@pytest.mark.parametrize(
    ("kind", "source", "sentence"),
    [
        ("image", {"type": "file", "file_id": "x"}, "(An image was here."),
        ("document", {"type": "file", "file_id": "x"}, "(A file was here."),
        (
            "document",
            {"type": "url", "url": "https://a.test/b.pdf"},
            "(A file was here: https://a.test/b.pdf.",
        ),
    ],
)
def test_file_that_anthropic_alone_can_read_becomes_a_sentence(
    kind: str, source: JsonObject, sentence: str
) -> None:
    found = translated(
        messages=[by("user", text("See"), {"type": kind, "source": source})]
    )
    (message,) = found.body["messages"]
    assert message["content"].startswith(f"See\n{sentence}")
    assert found.dropped == (f"messages[].content[].source.{[*source][1]}",)


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        (None, "messages"),
        (["Hi"], "messages"),
        ([{"role": "tool", "content": "x"}], "messages[0].role"),
        ([USER, {"role": "user", "content": 5}], "messages[1].content"),
        ([{"role": "user", "content": ["x"]}], "messages[0].content"),
        ([by("user", {"type": "image"})], "messages[].content[].source"),
        (
            [by("user", {"type": "document", "source": {"type": "base64"}})],
            "messages[].content[].source",
        ),
        ([by("user", {"type": "document"})], "messages[].content[].source"),
    ],
)
def test_what_cannot_be_said_in_chat_is_refused(messages: Any, param: str) -> None:
    with pytest.raises(UntranslatableError, match=r".") as raised:
        chat(messages=messages)
    assert raised.value.param == param
    assert str(raised.value).startswith(param)


# ----------------------------------------------------------------------- tools

TOOL = {"name": "f", "input_schema": SCHEMA}
F = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, {}),
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "any"}, {"tool_choice": "required"}),
        ({"type": "none"}, {"tool_choice": "none"}),
        ({"type": "tool", "name": "f"}, {"tool_choice": F}),
        ({"type": "tool", "name": "web_search"}, {}),
        ({"type": ["tool"]}, {}),
        (
            {"type": "any", "disable_parallel_tool_use": True},
            {"tool_choice": "required", "parallel_tool_calls": False},
        ),
        ({"type": "auto", "disable_parallel_tool_use": False}, {"tool_choice": "auto"}),
    ],
)
def test_tool_choice(choice: JsonObject | None, expected: JsonObject) -> None:
    found = chat(tools=[TOOL], tool_choice=choice)
    keys = ("tool_choice", "parallel_tool_calls")
    assert {key: found[key] for key in keys if key in found} == expected


def test_tool_without_parameters_has_both_keys_that_openai_asks_for() -> None:
    (found,) = chat(
        tools=[{"name": "f", "input_schema": {}, "type": "custom", "strict": True}]
    )["tools"]
    assert found["function"] == {
        "name": "f",
        "parameters": {"type": "object", "properties": {}},
    }


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("bash_20250124", "command"),
        ("text_editor_20250728", "old_str"),
        ("memory_20250818", "old_path"),
    ],
)
def test_tools_that_the_client_runs_are_functions(kind: str, key: str) -> None:
    given = {"type": kind, "name": "it", "max_characters": 9}
    (found,) = chat(tools=[given], tool_choice={"type": "tool", "name": "it"})["tools"]
    function = found["function"]
    assert (function["name"], function["parameters"]["type"]) == ("it", "object")
    assert key in function["parameters"]["properties"]
    assert function["description"]


SEARCH = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}


def test_tools_that_run_at_anthropic_are_dropped_and_the_choice_with_them() -> None:
    found = translated(
        tools=[{"type": "computer_20250124", "name": "computer"}, "x"],
        tool_choice={"type": "any", "disable_parallel_tool_use": True},
    )
    assert found.body.keys() == {"model", "max_tokens", "messages"}
    assert set(found.dropped) == {"tools[].type", "tool_choice"}
    beside = translated(tools=[SEARCH, TOOL])
    assert len(beside.body["tools"]) == 1
    assert beside.dropped == ("tools[].type",)
    alone = translated(tools=[SEARCH], tool_choice={"type": "none"})
    assert "tools" not in alone.body


CHOSEN = {"type": "tool", "name": "web_search"}


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [SEARCH]},
        {"tools": [SEARCH, TOOL], "tool_choice": CHOSEN},
        {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]},
        {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
        {"tools": [TOOL], "mcp_servers": [{"type": "url", "name": "s"}]},
    ],
)
def test_what_only_anthropic_runs_is_refused_where_it_makes_the_answer(
    fields: JsonObject,
) -> None:
    with pytest.raises(UntranslatableError, match=r"web_|code_|mcp_servers"):
        chat(**fields)


def test_long_and_odd_names_fit_and_come_back() -> None:
    names = ["n" * 90, "tool.use"]
    found = translated(
        tools=[{"name": each, "input_schema": SCHEMA} for each in names],
        messages=[USER, by("assistant", use("1", names[0])), by("user", result("1"))],
        tool_choice={"type": "tool", "name": names[1]},
    )
    sent = [each["function"]["name"] for each in found.body["tools"]]
    assert all(len(each) <= 64 and "." not in each for each in sent)
    assert found.body["messages"][1]["tool_calls"][0]["function"]["name"] == sent[0]
    assert found.body["tool_choice"]["function"]["name"] == sent[1]
    calls = [called(str(at), each) for at, each in enumerate(sent)]
    choice = {"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    message = found.answer.body({"choices": [choice]})
    assert [each["name"] for each in message["content"]] == names


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ('{"a": "b', '{"INVALID_JSON":"{\\"a\\": \\"b"}'),
        (["b"], '{"INVALID_JSON":"[\\"b\\"]"}'),
        ('{"a": 1}', '{"a": 1}'),
        ('"{\\"a\\": 1}"', '{"a":1}'),
        (7, '{"INVALID_JSON":"7"}'),
        (None, "{}"),
        ({"a": "\ud800"}, '{"a":"\\ud800"}'),
    ],
)
def test_input_is_sent_as_the_text_of_an_object(given: Any, arguments: str) -> None:
    found = said(by("assistant", use("1", input=given)))
    assert found[0]["tool_calls"] == [called("1", arguments=arguments)]


def test_ids_in_other_letters_come_back_to_the_provider() -> None:
    choice = {"message": {"tool_calls": [called("functions.f:0")]}}
    (block,) = translated().answer.body({"choices": [choice]})["content"]
    assert set(block["id"]) <= {*string.ascii_letters, *string.digits, *"-_"}
    found = said(USER, by("assistant", block), by("user", result(block["id"], "x")))
    assert found[1]["tool_calls"][0]["id"] == "functions.f:0"
    assert found[2] == tool("functions.f:0", "x")
    broken = "toolu-base64-" + "!"
    assert said(by("assistant", use(broken)))[0]["tool_calls"][0]["id"] == broken


def test_template_is_told_that_no_thoughts_are_wanted_or_an_answer_is_begun() -> None:
    begun = {"role": "assistant", "content": "1, 2,"}
    given = {"model": "m", "messages": [USER, begun], "thinking": {"type": "disabled"}}
    found = MESSAGES.translate(given, Circumstances(by_template=True))
    assert found.body == {
        "model": "m",
        "messages": [USER, begun],
        "continue_final_message": True,
        "add_generation_prompt": False,
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
    }
    assert found.dropped == ()
    plain = MESSAGES.translate(given)
    assert plain.body == {"model": "m", "messages": [USER, begun]}
    assert plain.dropped == ("thinking",)
    called_last = by("assistant", use("1"))
    by_call = MESSAGES.translate(
        {"messages": [USER, called_last]}, Circumstances(by_template=True)
    )
    assert by_call.body.keys() == {"messages"}


def test_system_alone_is_the_users() -> None:
    assert said(by("system", "a")) == [{"role": "user", "content": "a"}]


def test_tools_change_in_mid_conversation() -> None:
    def change(kind: str, **tool: Any) -> JsonObject:
        return {"type": f"tool_{kind}", "tool": tool}

    def names(*changes: JsonObject) -> list[str]:
        found = chat(tools=[TOOL], messages=[USER, by("system", "a", *changes)])
        assert found["messages"] == [{"role": "user", "content": "Hi\na"}]
        return [each["function"]["name"] for each in found.get("tools", [])]

    added = change("addition", type="tool_definition", definition=TOOL | {"name": "g"})
    removed = change("removal", type="tool_reference", name="f")
    again = change("addition", type="tool_reference", name="f")
    unknown = change("addition", type="tool_reference", name="x")
    hosted = change("addition", type="tool_definition", definition={"type": "x"})
    assert names(added) == ["f", "g"]
    assert names(removed, unknown, hosted) == []
    changes = (added, removed, removed, again, {"type": "tool_addition"})
    assert names(*changes) == ["g", "f"]


def test_a_conversation_that_has_to_be_stored_is_refused_when_it_goes_on() -> None:
    found = translated(thread={"type": "create"})
    assert found.dropped == ("thread",)
    going_on = {"type": "continue", "previous_message_id": "msg_1"}
    with pytest.raises(UntranslatableError, match="all its messages") as raised:
        chat(thread=going_on, messages=[])
    assert (raised.value.param, raised.value.code) == ("thread", "thread_not_found")


@pytest.mark.parametrize("at", ["output_format", "output_config"])
def test_format(at: str) -> None:
    wanted: JsonObject = {"type": "json_schema", "schema": SCHEMA}
    given = {at: wanted if at == "output_format" else {"format": wanted}}
    assert chat(**given)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "output", "schema": SCHEMA},
    }
    assert "response_format" not in chat(output_config={"format": None})


# ------------------------------------------------------------------- properties

IDS = st.sampled_from(["1", "2", "3"])
WORDS = st.sampled_from(["a", "b", "", "é😀"])
BLOCKS = st.one_of(
    WORDS.map(text),
    IDS.map(use),
    st.builds(
        result, IDS, st.one_of(st.none(), WORDS, st.lists(WORDS.map(text), max_size=2))
    ),
    st.just({"type": "thinking", "thinking": "t", "signature": "s"}),
    st.just({"type": "image", "source": PNG}),
    st.just({"type": "x"}),
)
MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "user", "assistant", "assistant", "system"]),
        "content": st.one_of(WORDS, st.lists(BLOCKS, max_size=4)),
    }
)


def fits(message: JsonObject) -> bool:
    """Tell whether a message has no block of the other role."""
    wrong = "tool_use" if message["role"] != "assistant" else "tool_result"
    return f"'{wrong}'" not in str(message)


@given(st.lists(MESSAGE.filter(fits), max_size=6))
def test_any_conversation_is_one_that_chat_takes(messages: list[JsonObject]) -> None:
    before = json.dumps(messages)
    found = said(*messages)
    assert json.dumps(messages) == before
    assert loads(dumps(found)) == found
    open_calls: list[str] = []
    for at, message in enumerate(found):
        role, content = message["role"], message["content"]
        if role == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            assert isinstance(content, str)
            continue
        assert not open_calls
        assert role != "system" or at == 0
        open_calls = [each["id"] for each in message.get("tool_calls", ())]
        assert isinstance(content, str | list) or open_calls
    assert not open_calls
    # Nothing that was said is lost.
    given = [each["content"] for each in messages]
    blocks = [[text(each)] if isinstance(each, str) else each for each in given]
    words = [
        block["text"] for each in blocks for block in each if block["type"] == "text"
    ]
    sent = str([each["content"] for each in found])
    assert all(sent.count(word) >= words.count(word) for word in words if word)
