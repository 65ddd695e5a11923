"""Which requests at chat's path are some of the Responses protocol."""

import json
from typing import Any

import pytest

from llm_normalize.exchange.request import input_at_chat
from llm_normalize.exchange.request.input_at_chat import chat_of
from proxies import fail

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
    ],
    ids=str,
)
def test_request_of_chat_is_not_read_whatever_its_tools_take(
    monkeypatch: pytest.MonkeyPatch, asked: Any
) -> None:
    monkeypatch.setattr(input_at_chat, "read_request", fail)
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
