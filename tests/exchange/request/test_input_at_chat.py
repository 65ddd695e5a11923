"""Which requests at chat's path are some of the Responses protocol."""

import json
from typing import Any

import pytest

from llm_normalize import conformance
from llm_normalize.exchange.request import translated_request
from llm_normalize.exchange.request.translated_request import chat_of
from llm_normalize.repair.fix import DONE, Wire, calling, chunk, head, rest, wire
from proxies import Proxy, chat_flow, fail

TOOL = {"function": {"parameters": {"properties": {"input": {"type": "string"}}}}}
SAID = [{"role": "user", "content": "heron?"}]


@pytest.mark.parametrize(
    "asked",
    [
        {"model": "m", "messages": SAID, "tools": [TOOL]},
        {"model": "m", "tools": [TOOL], "messages": SAID},
        {"model": "m", "messages": SAID, "input": "heron?"},
        {"model": "m", "tools": [TOOL]},
        {"model": "m", "user": '"input"'},
        {"messages": [{"role": "user", "content": '"tool_use", "input_schema"'}]},
    ],
    ids=str,
)
def test_request_of_chat_is_not_read_whatever_its_tools_take(
    monkeypatch: pytest.MonkeyPatch, asked: Any
) -> None:
    monkeypatch.setattr(translated_request, "read_request", fail)
    assert chat_of(json.dumps(asked, indent=1).encode()) is None


@pytest.mark.parametrize("messages", [{}, {"messages": []}, {"messages": None}])
def test_request_with_input_alone_is_made_one_of_chat(messages: Any) -> None:
    for asked in ({**messages, "input": "heron?"}, {"input": "heron?", **messages}):
        made = chat_of(json.dumps({"model": "m", **asked}, indent=1).encode())
        assert made is not None
        assert json.loads(made[0]) == {"model": "m", "messages": SAID}


@pytest.mark.parametrize("text", ['{"input": "x"', '{"input": "x"}}', '["input"]'])
def test_what_is_no_json_object_is_not_changed(text: str) -> None:
    assert chat_of(text.encode()) is None


def test_agent_of_cursor_gets_a_stream_of_chat(proxy: Proxy) -> None:
    items = [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": [{"type": "input_text", "text": "heron?"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "grey"},
    ]
    asked: dict[str, Any] = {
        "model": "m",
        "input": items,
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "max_output_tokens": 9,
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
        "stream": True,
    }
    made = chat_flow(request=asked)
    answer, made.response = made.response, None
    proxy.addon.requestheaders(made)
    proxy.addon.request(made)
    sent = json.loads(made.request.content or b"")
    roles = [each["role"] for each in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (9, "low")
    made.response = answer
    # The call's name is one of the tools that the request declares in its own form.
    odd = calling({**head(0, '{"a":2}'), "function": {"name": "functions.f"}})
    odd["choices"][0]["delta"]["role"] = "assistant"
    said: Wire = [odd, calling(rest(0, '{"a":2}')), chunk({}, finish="stop"), DONE]
    body = proxy.stream(made, wire(said))
    meant = conformance.meaning_of_stream(body).choices[0]
    assert [(call.name, call.arguments) for call in meant.calls] == [("f", '{"a":2}')]
    assert meant.finish_reason == "tool_calls"
    as_chat = conformance.Request(stream=True, tools=True)
    assert conformance.check_stream(body, as_chat) == []
    (record,) = proxy.records("request")
    assert record["fixes"] == ["request-not-chat"]
    assert sorted(record["dropped"]) == ["include", "reasoning.summary", "store"]
    assert record["changed"] == ["input", "tools", "max_output_tokens", "reasoning"]
    (flow,) = proxy.records("flow")
    assert flow["end"] == "complete"
    assert "translated" not in flow  # the answer is chat


CALL = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "grey"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}}
BLOCKS = [
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [RESULT, IMAGE, FILE]},
]


def test_choice_of_chats_own_names_the_tool_as_it_is_sent() -> None:
    tools = [{"name": "a.b", "input_schema": {}}]
    choice = {"type": "function", "function": {"name": "a.b"}}
    made = chat_of(
        json.dumps({"messages": BLOCKS, "tools": tools, "tool_choice": choice}).encode()
    )
    assert made is not None
    sent = json.loads(made[0])
    names = [each["function"]["name"] for each in (*sent["tools"], sent["tool_choice"])]
    assert names == ["a_b", "a_b"]


@pytest.mark.parametrize("tools", [{}, {"tools": [{"name": "f", "input_schema": {}}]}])
def test_blocks_and_tools_of_anthropic_become_those_of_chat(tools: Any) -> None:
    asked = {"model": "claude", "user": "u", "seed": 7, "messages": BLOCKS, **tools}
    asked["tool_choice"] = "required"
    made = chat_of(json.dumps(asked).encode())
    assert made is not None
    sent = json.loads(made[0])
    assert (sent["user"], sent["seed"], "tools" in sent) == ("u", 7, bool(tools))
    assert sent["tool_choice"] == "required"
    called, result, seen = sent["messages"]
    assert called["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert result == {"role": "tool", "tool_call_id": "c1", "content": "grey"}
    assert seen["content"] == [IMAGE, FILE]


@pytest.mark.parametrize(
    "more",
    [
        {"tools": [{"name": "f", "input_schema": {}}, {"type": "custom", "name": "g"}]},
        {"messages": [*BLOCKS, {"role": "tool", "content": "x"}]},
        {"messages": [*BLOCKS, {"role": "assistant", "tool_calls": []}]},
        {"tools": [{"type": "function", "function": {}, "input_schema": {}}]},
        {
            "messages": [
                {"role": "user", "content": [{"type": "text", "x": "tool_use"}]}
            ]
        },
    ],
)
def test_what_has_anything_of_chat_s_own_is_left(more: Any) -> None:
    assert chat_of(json.dumps({"messages": BLOCKS, **more}).encode()) is None
