from typing import Any

import pytest

from llm_normalize.protocols.calls import Tool
from llm_normalize.protocols.protocol import UntranslatableError
from llm_normalize.protocols.responses.tools import Tools

SCHEMA = {"type": "object", "properties": {"to": {"type": "string"}}}
FERRY = {"type": "function", "name": "find_ferry", "parameters": SCHEMA}
PATCH = {"type": "custom", "name": "apply_patch", "description": "Edit files."}
HARBOUR = {
    "type": "namespace",
    "name": "harbour",
    "description": "Berths and tides.",
    "tools": [
        {"type": "function", "name": "berth", "description": "Find one."},
        {"name": "tide"},
        {"type": "custom", "name": "log"},
    ],
}


def tools_of(*given: Any) -> Tools:
    tools = Tools()
    tools.add([*given], "tools")
    return tools


def names_of(tools: Tools) -> list[str]:
    return [each["function"]["name"] for each in tools.definitions]


def test_function_keeps_all_that_chat_has() -> None:
    given = {**FERRY, "description": "Ferries.", "strict": True, "defer_loading": True}
    function = {"name": "find_ferry", "description": "Ferries.", "parameters": SCHEMA}
    assert tools_of(given).definitions == [
        {"type": "function", "function": {**function, "strict": True}}
    ]


def test_grammar_of_a_custom_tool_reaches_the_model() -> None:
    form = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
    (tool,) = tools_of({**PATCH, "format": form}).definitions
    words = tool["function"]["parameters"]["properties"]["input"]["description"]
    assert "lark grammar:\nstart: /.+/" in words


def test_namespace_that_ends_with_the_mark_gets_no_second() -> None:
    tools = tools_of({**HARBOUR, "name": "mcp__harbour__"})
    assert names_of(tools)[0] == "mcp__harbour__berth"


def test_name_of_two_namespaces_is_not_guessed() -> None:
    tools = tools_of(HARBOUR, {**HARBOUR, "name": "port"})
    assert tools.names.called("berth") == Tool("berth")
    assert tools.names.called("nothing") == Tool("nothing")


def test_long_and_odd_names_fit_and_come_back() -> None:
    long = {"type": "namespace", "name": "n" * 60, "tools": [FERRY, {"name": "f" * 9}]}
    odd = {"type": "function", "name": "tool.use"}
    tools = tools_of(long, odd, {"type": "function", "name": "tool_use"})
    names = names_of(tools)
    assert len(set(names)) == 4
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
    assert [tools.names.called(name).name for name in names] == [
        "find_ferry", "f" * 9, "tool.use", "tool_use",
    ]  # fmt: skip


def test_tool_that_is_there_already_is_replaced() -> None:
    tools = tools_of(FERRY, PATCH, {**FERRY, "description": "Newer."})
    assert names_of(tools) == ["find_ferry", "apply_patch"]
    assert tools.definitions[0]["function"]["description"] == "Newer."


def test_hosted_tools_are_dropped_and_named() -> None:
    tools = tools_of({"type": "web_search"}, FERRY, {"type": "tool_search"})
    assert names_of(tools) == ["find_ferry"]
    assert tools.dropped == ["tools[0]", "tools[2]"]


@pytest.mark.parametrize(
    ("given", "choice"),
    [
        (None, None),
        ("required", "required"),
        ({"type": "function", "name": "find_ferry"}, "find_ferry"),
        ({"type": "custom", "name": "log", "namespace": "harbour"}, "harbour__log"),
    ],
)
def test_choice_of_a_tool(given: Any, choice: Any) -> None:
    tools = tools_of(FERRY, HARBOUR)
    chosen, found = tools.chosen(given)
    assert chosen == tools.definitions
    if isinstance(found, dict):
        assert found == {"type": "function", "function": {"name": choice}}
    else:
        assert found == choice


def test_allowed_tools_are_the_only_ones() -> None:
    allowed = [
        {"type": "function", "name": "find_ferry"},
        {"type": "web_search"},
        {"type": "function", "name": "unknown"},
    ]
    given = {"type": "allowed_tools", "mode": "required", "tools": allowed}
    chosen, choice = tools_of(FERRY, HARBOUR).chosen(given)
    assert [each["function"]["name"] for each in chosen] == ["find_ferry"]
    assert choice == "required"


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"tools": [7]}, "tools[0]"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tools": [{"type": "namespace", "tools": [FERRY]}]}, "tools[0].name"),
        ({"tools": [{**HARBOUR, "tools": 7}]}, "tools[0].tools"),
        ({"tools": {"type": "function"}}, "tools"),
    ],
)
def test_broken_tool_is_named(given: Any, param: str) -> None:
    with pytest.raises(UntranslatableError) as raised:
        Tools().add(given["tools"], "tools")
    assert raised.value.param == param
