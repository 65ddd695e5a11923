"""Cursor's agent: a request of the Responses protocol at chat's path, with a real mitmdump."""

import json
from typing import Any

from llm_normalize import conformance
from llm_normalize.repair.fix import (
    DONE,
    Wire,
    calling,
    chunk,
    head,
    rest,
    wire,
)
from support import Mitmdump, Provider

ITEMS: list[dict[str, Any]] = [
    {"role": "system", "content": "Be terse."},
    {"role": "user", "content": [{"type": "input_text", "text": "heron?"}]},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
    {"type": "function_call_output", "call_id": "c1", "output": "grey"},
]
TOOL = {"type": "function", "name": "f", "parameters": {"type": "object"}}
ASKED: dict[str, Any] = {
    "model": "m",
    "input": ITEMS,
    "tools": [TOOL],
    "tool_choice": "auto",
    "max_output_tokens": 9,
    "reasoning": {"effort": "low", "summary": "auto"},
    "include": ["reasoning.encrypted_content"],
    "store": False,
    "stream": True,
}


def test_stream_is_answered_as_chat(reverse: Mitmdump, provider: Provider) -> None:
    # The call's name is one of the tools that the request declares in its own form.
    odd = calling({**head(0, '{"a":2}'), "function": {"name": "functions.f"}})
    odd["choices"][0]["delta"]["role"] = "assistant"
    said: Wire = [odd, calling(rest(0, '{"a":2}')), chunk({}, finish="stop"), DONE]
    script = provider.script(*[wire([each]) for each in said])
    reply = reverse.ask(script.path, ASKED)
    assert reply.status == 200
    meant = conformance.meaning_of_stream(reply.body).choices[0]
    assert [(call.name, call.arguments) for call in meant.calls] == [("f", '{"a":2}')]
    assert meant.finish_reason == "tool_calls"
    asked = conformance.Request(stream=True, tools=True)
    assert conformance.check_stream(reply.body, asked) == []
    (got,) = script.requests
    sent = json.loads(got.body)
    roles = [each["role"] for each in sent["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (9, "low")
    records = reverse.records(script)
    (made,) = [each for each in records if each["type"] == "request"]
    assert made["fixes"] == ["request-not-chat"]
    assert sorted(made["dropped"]) == ["include", "reasoning.summary", "store"]
    assert made["changed"] == ["input", "tools", "max_output_tokens", "reasoning"]
    assert records[-1]["end"] == "complete"
    assert "translated" not in records[-1]  # the answer is chat
