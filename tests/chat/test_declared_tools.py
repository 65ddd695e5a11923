"""The tools that a request declares."""

from typing import Any

import pytest

from llm_normalize.chat.state.declared_tools import NONE, Tools


def declared(*tools: Any, key: str = "tools") -> Tools:
    return Tools.of({"model": "m", key: list(tools)})


def test_tools_are_named_in_each_form_of_the_api() -> None:
    function = {"type": "function", "function": {"name": "f"}}
    custom = {"type": "custom", "custom": {"name": "g"}}
    assert declared(function, custom, {"name": "h"}).names == {"f", "g", "h"}
    assert declared({"name": "f"}, key="functions").names == {"f"}


@pytest.mark.parametrize(
    "tool", [None, "f", {}, {"function": {}}, {"name": ""}, {"function": {"name": 7}}]
)
def test_tool_without_a_name_is_none(tool: Any) -> None:
    assert declared(tool) == NONE
    assert declared(tool, {"name": "f"}).names == {"f"}


@pytest.mark.parametrize(
    ("parameters", "is_bare"),
    [
        ({"type": "object", "properties": {}}, True),
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_tool_whose_schema_has_no_properties_takes_no_arguments(
    parameters: Any, *, is_bare: bool
) -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    assert declared(tool).bare == ({"f"} if is_bare else set())


def test_tool_that_says_nothing_of_its_arguments_may_take_some() -> None:
    assert declared({"name": "f"}).bare == set()


@pytest.mark.parametrize(
    "given", ["queryjson", "query commentary", "functions.query_commentary"]
)
def test_name_with_a_word_of_harmony_glued_to_it_is_the_declared_one(
    given: str,
) -> None:
    assert declared({"name": "query"}).meant(given) == "query"
    assert declared({"name": "query"}, {"name": given}).meant(given) == given
    assert declared({"name": "other"}).meant(given) == given
