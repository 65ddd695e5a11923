import contextlib
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.protocols.item_memory import ClientItems, ItemMemory
from llm_normalize.protocols.protocol import (
    ChatRequest,
    Circumstances,
    UntranslatableError,
)
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.protocols.responses.content import packed
from llm_normalize.wire.json_text import Number

FERRY = {"type": "function", "name": "find_ferry", "parameters": {"type": "object"}}
USER = {"type": "message", "role": "user", "content": "Hi"}
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}],
}
CALL = {
    "type": "function_call",
    "call_id": "call_1",
    "name": "find_ferry",
    "arguments": '{"to":"Skye"}',
}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "10:40"}
THOUGHT = {"type": "reasoning", "summary": [], "encrypted_content": packed("A ferry.")}
PIXEL = "data:image/png;base64,AAAA"
IMAGE = {"type": "input_image", "image_url": PIXEL}


def translated(*items: Any, **fields: Any) -> ChatRequest:
    return RESPONSES.translate({"model": "m", "input": [*items], **fields})


def messages(*items: Any, **fields: Any) -> list[Any]:
    found: list[Any] = translated(*items, **fields).body["messages"]
    return found


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def assistant(content: str | None = None, *calls: Any, **fields: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content, **fields}
    return {**message, "tool_calls": [*calls]} if calls else message


def output(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


HI = {"role": "user", "content": "Hi"}
LOOKED = call("call_1", "find_ferry", '{"to":"Skye"}')


def test_plain_text_is_a_message_of_the_user() -> None:
    found = RESPONSES.translate({"model": "m", "input": "Hi"})
    assert found.body == {"model": "m", "messages": [HI]}
    assert found.dropped == ()


def test_only_what_the_system_says_first_is_the_head() -> None:
    found = messages(
        {"role": "developer", "content": [{"type": "input_text", "text": "Two"}]},
        USER,
        {"type": "message", "role": "system", "content": "Three"},
        instructions="One",
    )
    later = {"role": "user", "content": "Three"}
    assert found == [{"role": "system", "content": "One\n\nTwo"}, HI, later]


def test_developer_alone_asks() -> None:
    title = {"role": "developer", "content": "Make a title."}
    asked = {"role": "user", "content": "Make a title."}
    assert messages(title) == [asked]
    head = {"role": "system", "content": "Be brief."}
    assert messages(title, instructions="Be brief.") == [head, asked]


def test_instructions_may_be_items() -> None:
    given = [{"role": "developer", "content": "One"}]
    assert messages(USER, instructions=given)[0] == {"role": "system", "content": "One"}


def test_turn_of_the_assistant_is_one_message_with_outputs_after_it() -> None:
    other = {**CALL, "call_id": "call_2", "arguments": ""}
    late = {**OUTPUT, "call_id": "call_2", "output": "none"}
    found = messages(USER, THOUGHT, SAID, CALL, other, OUTPUT, late, SAID)
    assert found == [
        HI,
        assistant(
            "Let me look.",
            LOOKED,
            call("call_2", "find_ferry", "{}"),
            reasoning_content="A ferry.",
        ),
        output("call_1", "10:40"),
        output("call_2", "none"),
        assistant("Let me look."),
    ]


def test_output_is_that_of_the_last_call_of_its_id_before_it() -> None:
    again = {**CALL, "arguments": '{"to":"Mull"}'}
    found = messages(CALL, USER, again, OUTPUT)
    first = [assistant(None, LOOKED), output("call_1", "(no output)"), HI]
    mull = call("call_1", "find_ferry", '{"to":"Mull"}')
    assert found == [*first, assistant(None, mull), output("call_1", "10:40")]
    assert messages(CALL, USER) == first
    late = {**OUTPUT, "output": "11:20"}
    both = messages(CALL, again, OUTPUT, late)
    assert [each["content"] for each in both] == [None, "10:40", "11:20"]


def test_call_without_output_and_output_without_call_get_a_stub() -> None:
    named = {**OUTPUT, "call_id": "call_8", "name": "find_ferry"}
    found = messages(CALL, {**OUTPUT, "call_id": "call_9"}, named, USER)
    assert found == [
        assistant(None, LOOKED),
        output("call_1", "(no output)"),
        assistant(None, call("call_9", "unknown_tool", "{}")),
        output("call_9", "10:40"),
        assistant(None, call("call_8", "find_ferry", "{}")),
        output("call_8", "10:40"),
        HI,
    ]


def test_output_that_answers_no_call_is_told_and_no_call_is_made_up() -> None:
    note = {**OUTPUT, "output": "half way"}
    first = [assistant(None, LOOKED), output("call_1", "10:40")]
    assert messages(CALL, OUTPUT, note) == [
        *first,
        {"role": "user", "content": "Output of call_1:\nhalf way"},
    ]
    seen = {**OUTPUT, "output": [{"type": "input_text", "text": "seen"}, IMAGE]}
    *before, last = messages(CALL, OUTPUT, seen)
    assert before == first
    assert [each["type"] for each in last["content"]] == ["text", "image_url"]
    assert last["content"][0]["text"] == "Output of call_1:\nseen"


def test_output_of_another_tool_is_not_that_of_the_open_call() -> None:
    goal = {"name": "goal_objective", "namespace": "agent", "output": "Reach Skye."}
    told = {"type": "function_call_output", **goal}
    own = {**OUTPUT, "call_id": None, "name": CALL["name"]}
    assert messages(CALL, told, own) == [
        assistant(None, LOOKED),
        output("call_1", "10:40"),
        {"role": "user", "content": "Output of agent__goal_objective:\nReach Skye."},
    ]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"encrypted_content": packed("Ä \ud83d"), "summary": []}, "Ä \ud83d"),
        ({"encrypted_content": "gAAAAABo", "summary": [{"text": "S"}, {}]}, "S"),
        ({"content": [{"type": "reasoning_text", "text": "C"}], "summary": []}, "C"),
        ({"summary": [{"text": "S"}, {"text": "T"}]}, "S\n\nT"),
        ({"encrypted_content": packed("x") + "!", "summary": [{"text": "S"}]}, "S"),
    ],
)
def test_reasoning_is_read_from_what_the_client_hands_back(
    item: dict[str, Any], expected: str
) -> None:
    found = messages(USER, {"type": "reasoning", **item}, CALL, OUTPUT)
    assert found[1]["reasoning_content"] == expected


def test_reasoning_that_nothing_follows_or_nobody_can_read_is_dropped() -> None:
    sealed = {"type": "reasoning", "encrypted_content": "gAAAAABo", "summary": None}
    found = translated(THOUGHT, USER, sealed, SAID)
    assert found.body["messages"] == [HI, assistant("Let me look.")]
    assert found.dropped == ("input[0]", "input[2]")


def test_custom_call_is_a_call_with_one_text() -> None:
    made = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "ä\n"}
    given = {"type": "custom_tool_call_output", "call_id": "c", "output": "done"}
    assert messages(made, given) == [
        assistant(None, call("c", "patch", '{"input":"ä\\n"}')), output("c", "done"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "given", "expected"),
    [
        (
            {"action": {"type": "exec", "command": ["ls"]}},
            {"output": "a.txt"},
            ("local_shell", '{"command":["ls"]}', "a.txt"),
        ),
        (
            {"action": {"commands": ["ls"]}},
            {"output": [{"stdout": "a", "stderr": ""}]},
            ("shell", '{"commands":["ls"]}', '[{"stdout":"a","stderr":""}]'),
        ),
        (
            {"operation": {"path": "a"}},
            {"status": "completed"},
            ("apply_patch", '{"path":"a"}', "completed"),
        ),
        (
            {},
            {"output": {"success": Number("1.0")}},
            ("computer", '{"actions":[]}', '{"success":1.0}'),
        ),
    ],
)
def test_calls_of_openais_own_tools_that_the_client_ran_stay(
    made: Any, given: Any, expected: tuple[str, str, str]
) -> None:
    name, arguments, text = expected
    made, given = {"call_id": "c", **made}, {"call_id": "c", **given}
    kinds = {"type": f"{name}_call"}, {"type": f"{name}_call_output"}
    assert messages(made | kinds[0], given | kinds[1]) == [
        assistant(None, call("c", name, arguments)), output("c", text),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "text"),
    [({"output": "42"}, "42"), ({"error": "no"}, "no"), ({}, "(no output)")],
)
def test_call_that_openai_ran_has_its_output(fields: Any, text: str) -> None:
    made = {"type": "mcp_call", "id": "mcp_1", "server_label": "sea", "name": "tide"}
    assert messages({**made, "arguments": "{}", **fields}, USER) == [
        assistant(None, call("mcp_1", "sea__tide", "{}")), output("mcp_1", text), HI,
    ]  # fmt: skip


def test_what_openai_searched_is_dropped() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    found = translated(USER, search, SAID)
    assert found.body["messages"] == [HI, assistant("Let me look.")]
    assert found.dropped == ("input[1]",)


def reference(item_id: Any) -> dict[str, Any]:
    return {"type": "item_reference", "id": item_id}


def test_references_to_thoughts_and_preambles_are_dropped() -> None:
    items = (USER, reference("rs_1"), {"id": "msg_1"}, reference("ws_1"), CALL, OUTPUT)
    found = translated(*items)
    assert found.body["messages"] == [
        HI, assistant(None, LOOKED), output("call_1", "10:40"),
    ]  # fmt: skip
    assert found.dropped == ("input[1]", "input[2]", "input[3]")


@pytest.mark.parametrize(
    "items",
    [
        (reference("msg_1"), USER),
        (reference("msg_1"), USER, CALL, OUTPUT),
        (reference("fc_1"), OUTPUT),
        (reference("ctc_1"), CALL, OUTPUT),
        (reference(None), USER),
    ],
)
def test_reference_to_an_answer_or_a_call_is_refused(items: Any) -> None:
    with pytest.raises(UntranslatableError, match="`store` set to false") as raised:
        translated(USER, *items)
    assert raised.value.param == "input[1].id"


def test_parts_of_the_user() -> None:
    parts = [
        {"type": "input_text", "text": "See"},
        {**IMAGE, "detail": "low"},
        {**IMAGE, "detail": "original"},
        IMAGE,
        {"type": "input_file", "filename": "a.pdf", "file_data": "AAAA"},
        {"type": "input_file", "file_id": "file_1", "detail": "auto"},
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
    ]
    (found,) = messages({"role": "user", "content": parts})
    assert found["content"] == [
        {"type": "text", "text": "See"},
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": PIXEL, "detail": "high"}},
        {"type": "image_url", "image_url": {"url": PIXEL}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "AAAA"}},
        {"type": "file", "file": {"file_id": "file_1"}},
        {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
    ]


@pytest.mark.parametrize(
    ("kind", "where", "value", "sentence"),
    [
        ("input_image", "file_id", "file_1", "An image was here."),
        ("input_file", "file_url", "a.test/b", "A file was here: a.test/b."),
        ("encrypted_content", "encrypted_content", "gAAAAABo", "A text was here that"),
    ],
)
def test_what_only_openai_can_read_becomes_a_sentence(
    kind: str, where: str, value: str, sentence: str
) -> None:
    words, part = {"type": "input_text", "text": "See"}, {"type": kind, where: value}
    found = translated({**USER, "content": [words, part]})
    (message,) = found.body["messages"]
    assert message["content"].startswith(f"See\n\n({sentence}")
    assert found.dropped == (f"input[0].content[1].{where}",)
    found = translated(CALL, {**OUTPUT, "output": [words, part]})
    assert found.body["messages"][1]["content"].startswith(f"See\n({sentence}")
    assert found.dropped == (f"input[1].output[1].{where}",)


def test_texts_alone_are_plain_text() -> None:
    parts = [{"type": "input_text", "text": each} for each in ("One", "Two")]
    assert messages({"role": "user", "content": parts})[0]["content"] == "One\n\nTwo"
    assert messages({"role": "user", "content": None})[0]["content"] == ""


def test_refusal_is_what_the_assistant_said() -> None:
    refused = [{"type": "refusal", "refusal": "No."}]
    said = {"type": "message", "role": "assistant", "content": refused}
    assert messages(USER, said)[1] == assistant("No.")


def test_output_in_parts_is_text_and_what_a_tool_cannot_say_in_chat_follows() -> None:
    first = {**OUTPUT, "output": [{"type": "input_text", "text": "seen"}, IMAGE]}
    shot = {"type": "computer_screenshot", "image_url": PIXEL}
    made = {"type": "computer_call", "call_id": "call_2", "actions": []}
    second = {"type": "computer_call_output", "call_id": "call_2", "output": shot}
    *_, one, two, more = messages(CALL, made, first, second)
    assert one == output("call_1", "seen")
    assert two["content"] == "(The output is attached to the next message.)"
    image = {"type": "image_url", "image_url": {"url": PIXEL}}
    texts = [{"type": "text", "text": f"Output of call_{at}:"} for at in (1, 2)]
    parts = [texts[0], image, texts[1], image]
    assert more == {"role": "user", "content": parts}


def test_output_of_objects_that_are_no_parts_is_json() -> None:
    rows = [{"type": "row", "id": 1}, {"type": "input_image", "image_id": "f"}]
    found = messages(CALL, {**OUTPUT, "output": [*rows, IMAGE]})
    assert found[1]["content"] == (
        '{"type":"row","id":1}\n{"type":"input_image","image_id":"f"}'
    )
    assert found[2]["content"][1]["type"] == "image_url"


def test_image_of_the_developer_is_the_users_after_the_head() -> None:
    text = {"type": "input_text", "text": "Like this:"}
    found = messages(USER, {"role": "developer", "content": [text, IMAGE]})
    assert found[1]["role"] == "user"
    assert [each["type"] for each in found[1]["content"]] == ["text", "image_url"]


def test_messages_between_agents_are_the_users() -> None:
    parts = [
        {"type": "input_text", "text": "NEW_TASK"},
        {"type": "encrypted_content", "encrypted_content": "Count."},
    ]
    given = {"type": "agent_message", "author": "/root", "content": parts}
    assert messages(given) == [{"role": "user", "content": "NEW_TASK\n\nCount."}]


def test_tools_of_the_input_are_tools() -> None:
    more = {"type": "additional_tools", "role": "developer", "tools": [FERRY]}
    loaded = {"type": "tool_search_output", "tools": [{"name": "tide"}], "call_id": "t"}
    asked = {"type": "tool_search_call", "call_id": "t", "arguments": {}}
    found = translated(more, asked, loaded, USER, tool_choice="auto")
    names = [each["function"]["name"] for each in found.body["tools"]]
    assert names == ["find_ferry", "tide"]
    assert found.body["tool_choice"] == "auto"
    said = "These tools were found, and can be called now:\ntide"
    searched = [assistant(None, call("t", "tool_search", "{}")), output("t", said)]
    assert found.body["messages"] == [*searched, HI]
    ours = {"execution": "server", "call_id": None}
    by_openai = translated(asked | ours, loaded | ours, USER)
    assert by_openai.body["messages"] == [HI]
    assert by_openai.dropped == ("input[0]",)
    assert len(by_openai.body["tools"]) == 1


def test_item_changes_the_parameters_from_there_on() -> None:
    effort = {"type": "configuration_update", "reasoning": {"effort": "high"}}
    form = {"type": "configuration_update", "text": {"format": {"type": "json_object"}}}
    body = translated(effort, USER, form, reasoning={"effort": "low"}).body
    assert body["reasoning_effort"] == "high"
    assert body["response_format"] == {"type": "json_object"}


def test_parameters_have_their_names_in_chat() -> None:
    schema = {"type": "object"}
    form = {"type": "json_schema", "name": "port", "schema": schema, "strict": True}
    body = translated(
        USER,
        temperature=Number("0.50"),
        top_p=1,
        max_output_tokens=99,
        reasoning={"effort": "low", "summary": "auto"},
        text={"format": form, "verbosity": "low"},
        tools=[FERRY],
        tool_choice={"type": "function", "name": "find_ferry"},
        parallel_tool_calls=False,
        top_logprobs=2,
        stop=["END"],
        user="u",
        stream=True,
    ).body
    del body["messages"], body["tools"]
    expected = {"name": "port", "schema": schema, "strict": True}
    assert body == {
        "model": "m",
        "temperature": Number("0.50"),
        "top_p": 1,
        "max_tokens": 99,
        "reasoning_effort": "low",
        "response_format": {"type": "json_schema", "json_schema": expected},
        "tool_choice": {"type": "function", "function": {"name": "find_ferry"}},
        "parallel_tool_calls": False,
        "logprobs": True,
        "top_logprobs": 2,
        "stop": ["END"],
        "user": "u",
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_log_probabilities_may_be_asked_for_alone() -> None:
    body = translated(USER, include=["message.output_text.logprobs"]).body
    assert (body["logprobs"], body["top_logprobs"]) == (True, 0)


def test_whole_answer_is_asked_for_as_such() -> None:
    body = translated(USER, stream=False, text={"format": {"type": "text"}}).body
    assert body == {"model": "m", "messages": [HI], "stream": False}


def test_what_is_harmless_is_dropped_and_named() -> None:
    found = translated(
        USER,
        store=False,
        include=["reasoning.encrypted_content"],
        prompt_cache_key="k",
        client_metadata={"a": "b"},
        service_tier=None,
        reasoning={"effort": None, "summary": "auto"},
        text={"verbosity": "low"},
        tools=[{"type": "web_search"}],
        tool_choice="auto",
        parallel_tool_calls=True,
        previous_response_id=None,
        background=False,
        something_new=1,
    )
    assert found.body == {"model": "m", "messages": [HI]}
    assert set(found.dropped) == {
        "store", "include", "prompt_cache_key", "client_metadata", "reasoning.summary",
        "text.verbosity", "tools[0]", "tool_choice", "parallel_tool_calls",
        "something_new",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tools", "choice"),
    [
        ([FERRY, {"type": "web_search"}], {"type": "web_search"}),
        ([{"type": "web_search"}], "required"),
    ],
)
def test_hosted_tool_that_makes_the_answer_is_refused(tools: Any, choice: Any) -> None:
    with pytest.raises(UntranslatableError, match="web_search") as raised:
        translated(USER, tools=tools, tool_choice=choice)
    assert raised.value.param == "tool_choice"
    assert "tools" not in translated(USER, tools=[{"type": "web_search"}]).body


def with_part(kind: Any) -> dict[str, Any]:
    return {"input": [{**USER, "content": [kind]}]}


CODES = {
    "previous_response_id": "previous_response_not_found",
    "conversation": "conversation_not_found",
}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"previous_response_id": "r"}, "previous_response_id"),
        ({"conversation": "c"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"background": True}, "background"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": [THOUGHT]}, "input"),
        ({"input": ["Hi"]}, "input[0]"),
        ({"input": [USER, {"type": "hologram"}]}, "input[1].type"),
        ({"input": [{"role": "critic", "content": ""}]}, "input[0].role"),
        ({"input": [{**USER, "content": 7}]}, "input[0].content"),
        (with_part(7), "input[0].content[0].type"),
        (with_part({"type": "input_text"}), "input[0].content[0].text"),
        (with_part({"type": "input_image"}), "input[0].content[0].image_url"),
        (with_part({"type": "input_file"}), "input[0].content[0].file_data"),
        ({"input": [{"role": "system", "content": [IMAGE]}]}, "input[0].content"),
        ({"instructions": [USER]}, "instructions"),
        ({"instructions": ["x"]}, "instructions[0]"),
        ({"instructions": {"text": "x"}}, "instructions"),
        ({"input": [{"type": ["message"]}]}, "input[0].type"),
        ({"text": {"format": {"type": "grammar"}}}, "text.format.type"),
    ],
)
def test_what_would_change_the_meaning_is_refused(fields: Any, param: str) -> None:
    with pytest.raises(UntranslatableError) as raised:
        RESPONSES.translate({"model": "m", "input": [USER], **fields})
    assert (raised.value.param, raised.value.code) == (param, CODES.get(param))


@pytest.mark.parametrize("name", ["", None])
@pytest.mark.parametrize("kind", ["function_call", "custom_tool_call"])
def test_call_without_a_name_is_of_an_unknown_tool(kind: str, name: Any) -> None:
    made, *_ = messages({**CALL, "type": kind, "name": name}, OUTPUT)
    assert made["tool_calls"][0]["function"]["name"] == "unknown_tool"


def test_outputs_without_ids_are_those_of_the_calls_in_their_order() -> None:
    def calls(*ids: str) -> list[Any]:
        return [{**CALL, "call_id": each} for each in ids]

    def outputs(*texts: str) -> list[Any]:
        return [{**OUTPUT, "call_id": "", "output": each} for each in texts]

    found = messages(
        *calls("a", "b"), *outputs("A", "B"), THOUGHT, *calls("c"), SAID, *calls("d"),
        USER, *calls("e"), *outputs("E", "C"),
    )  # fmt: skip
    given = {x["tool_call_id"]: x["content"] for x in found if x["role"] == "tool"}
    assert given == {"a": "A", "b": "B", "c": "C", "d": "(no output)", "e": "E"}


@pytest.mark.parametrize("no_id", ["", None, []])
def test_output_without_its_id_is_that_of_the_open_call(no_id: Any) -> None:
    nameless = {**OUTPUT, "call_id": no_id}
    found = messages(CALL, nameless)
    assert found == [assistant(None, LOOKED), output("call_1", "10:40")]
    alone = messages(USER, nameless, USER)
    assert [each["role"] for each in alone] == ["user", "assistant", "tool", "user"]
    assert alone[1]["tool_calls"][0]["id"] == alone[2]["tool_call_id"] != ""
    unnamed = {**CALL, "call_id": None}
    found = messages(unnamed, nameless)
    assert found[0]["tool_calls"][0]["id"] == found[1]["tool_call_id"] != ""
    assert found[1]["content"] == "10:40"


@pytest.mark.parametrize(
    "item",
    [
        {"type": "compaction", "encrypted_content": "gAAAAABo"},
        {"type": "context_compaction"},
        {"type": "compaction_summary", "encrypted_content": "gAAAAABo"},
        {"type": "x_search_call", "id": "xs_1", "status": "completed"},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "ghost_snapshot", "ghost_commit": {}},
        {"type": "mcp_approval_response", "approve": True, "approval_request_id": "a"},
    ],
)
def test_what_another_provider_wrote_is_no_reason_to_refuse(item: Any) -> None:
    found = translated(item, USER)
    assert found.body["messages"] == [HI]
    assert found.dropped == ("input[0]",)


def test_what_another_provider_said_is_read_as_far_as_it_is_text() -> None:
    parts = [{"type": "output_text", "text": "Aye."}, {"type": "output_image"}]
    said = {"role": "assistant", "content": parts}
    sealed = {"type": "encrypted_content", "encrypted_content": "gAAAAABo"}
    found = messages(USER, said, {"type": "agent_message", "content": [sealed]})
    assert found[1] == assistant("Aye.")
    assert "only OpenAI can read" in found[2]["content"]


def test_summary_of_a_conversation_is_read() -> None:
    item = {"type": "compaction", "encrypted_content": packed("The kettle is blue.")}
    (summary, asked) = messages(item, USER)
    assert summary["role"] == "user"
    assert summary["content"].endswith("\n\nThe kettle is blue.")
    assert asked == HI


def test_reference_to_what_is_remembered_is_that() -> None:
    memory = ItemMemory()
    under = Circumstances(items=ClientItems(memory, b"a"))
    given = {"model": "m", "input": [USER], "tools": [FERRY]}
    calls = [{"index": 0, **LOOKED}]
    choice = {"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    made = RESPONSES.translate(given, under).answer.body({"choices": [choice]})
    (item,) = made["output"]
    reference = {"type": "item_reference", "id": item["id"]}
    later = {**given, "input": [USER, reference, OUTPUT]}
    expected = [HI, assistant(None, LOOKED), output("call_1", "10:40")]
    assert RESPONSES.translate(later, under).body["messages"] == expected
    other = Circumstances(items=ClientItems(memory, b"b"))
    with pytest.raises(UntranslatableError, match=item["id"]):
        RESPONSES.translate(later, other)
    unstored = RESPONSES.translate({**given, "store": False}, other).answer
    (item,) = unstored.body({"choices": [choice]})["output"]
    assert memory.find(b"b", item["id"]) is None


def test_memory_of_items_is_bounded() -> None:
    memory = ItemMemory(most=200)
    for at in range(100):
        memory.add(b"", {"id": str(at), "text": "x" * 40})
    assert memory.find(b"", "0") is None
    assert memory.find(b"", "99") == {"id": "99", "text": "x" * 40}
    assert sum(memory.find(b"", str(at)) is not None for at in range(100)) == 3


@pytest.mark.parametrize(
    ("effort", "sent", "thinks"),
    [("none", None, False), ("high", "high", True)],
)
def test_template_is_told_the_effort(
    effort: str, sent: str | None, thinks: bool
) -> None:
    given = {"input": "Hi", "reasoning": {"effort": effort}}
    body = RESPONSES.translate(given, Circumstances(by_template=True)).body
    assert body.get("reasoning_effort") == sent
    thoughts = {"enable_thinking": thinks, "thinking": thinks}
    assert body["chat_template_kwargs"] == thoughts
    assert RESPONSES.translate(given).body["reasoning_effort"] == effort


WORDS = st.sampled_from([
    "message", "reasoning", "function_call", "function_call_output", "custom_tool_call",
    "item_reference", "namespace", "function", "custom", "allowed_tools", "user", "text",
    "input_text", "input_image", "system", "assistant", "msg_1", "call_1", "mcp_call",
    "additional_tools", "shell_call", "json_schema", "auto", "configuration_update",
])  # fmt: skip
KEYS = st.sampled_from([
    "type", "role", "content", "text", "id", "call_id", "name", "namespace", "arguments",
    "output", "summary", "encrypted_content", "tools", "input", "image_url", "format",
    "instructions", "tool_choice", "reasoning", "effort", "include", "stream", "action",
    "mode", "parameters", "description", "strict", "server_label", "top_logprobs",
])  # fmt: skip
ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), WORDS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)
    ),
    max_leaves=40,
)
OBJECTS = st.dictionaries(KEYS, ANYTHING, max_size=6)


@given(OBJECTS, st.lists(OBJECTS, max_size=5))
def test_any_request_is_translated_or_refused(request: Any, items: list[Any]) -> None:
    with contextlib.suppress(UntranslatableError):
        found = RESPONSES.translate({**request, "input": [USER, *items]})
        assert found.answer.done()


IDS = st.sampled_from(["call_1", "call_2", "call_3"])
ITEMS = st.one_of(
    st.sampled_from([USER, SAID, THOUGHT, {"role": "developer", "content": "d"}]),
    st.builds(lambda call_id: {**CALL, "call_id": call_id}, IDS),
    st.builds(lambda call_id: {**OUTPUT, "call_id": call_id}, IDS),
)


@given(st.lists(ITEMS, max_size=12))
def test_every_call_has_its_output_right_after_it(items: list[Any]) -> None:
    found = messages(*items, USER)
    waiting: list[str] = []
    for message in found:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert not waiting
            waiting = [each["id"] for each in message.get("tool_calls", ())]
            assert message["content"] or waiting
    texts = [each["output"] for each in items if "output" in each]
    # A second output of a call follows in the words of the user.
    further = re.compile(r"Output of call_\d:\n")
    outputs = [
        further.sub("", x["content"])
        for x in found
        if x["role"] == "tool" or further.match(x["content"] or "")
    ]
    assert sorted(x for x in outputs if x != "(no output)") == sorted(texts)
    said = [x["content"] for x in found if x["role"] == "assistant" and x["content"]]
    assert "".join(said).count("Let me look.") == items.count(SAID)


def test_request_is_not_changed() -> None:
    items = [USER, THOUGHT, CALL, OUTPUT, reference("rs_1")]
    given = {"input": items, "tools": [FERRY, {"type": "custom", "name": "patch"}]}
    before = json.dumps(given)
    RESPONSES.translate(given)
    assert json.dumps(given) == before


def test_error_of_http_is_as_in_chat() -> None:
    error = {"message": "m", "type": "t", "param": None, "code": "c"}
    assert RESPONSES.error_body(400, error) == {"error": error}
