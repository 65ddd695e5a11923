import copy
from typing import Any

import pytest

from llm_normalize.request.adaptation import LEARNED
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.request.refusals.dropped_parameters import (
    Change,
    apply,
    changes_for,
    ordered,
)
from llm_normalize.request.refusals.message_refusals import RefusedContent
from llm_normalize.request.refusals.refusal_parser import Refusal
from llm_normalize.wire.json_text import Number

TOOLS = [{"type": "function", "function": {"name": "f", "strict": True}}]
BARE = [{"type": "function", "function": {"name": "f"}}]
LOOSE = [{"type": "function", "function": {"name": "f", "strict": False}}]
FORCED = {"type": "function", "function": {"name": "f"}}
HI = [{"role": "user", "content": "Hi"}]
CALL = {"id": "c", "type": "function", "index": 0, "function": {"name": "f"}}


def left(body: Any, *names: str) -> tuple[Any, list[Any]]:
    """Return what is left of *body* when *names* are refused, and the edits."""
    body = copy.deepcopy(body)
    refusal = Refusal(tuple(tuple(name.split(".")) for name in names))
    found = changes_for(refusal, body)
    return body, [edit for each in found for edit in apply(each, body)]


@pytest.mark.parametrize(
    ("body", "name", "after", "path"),
    [
        ({"seed": 7, "n": 1}, "seed", {"n": 1}, "seed"),
        ({"presence_penalty": 1}, "presencePenalty", {}, "presence_penalty"),
        ({"maxTokens": 1}, "maxTokens", {}, "maxTokens"),
        ({"reasoning": {"effort": "x", "a": 1}}, "reasoning.effort", {"reasoning": {"a": 1}}, "reasoning.effort"),
        ({"reasoning": {"effort": "x", "a": 1}}, "reasoningEffort", {"reasoning": {"a": 1}}, "reasoning.effort"),
        ({"reasoning": {"effort": {"a": 1, "b": 2}}}, "reasoningEffort.a", {"reasoning": {"effort": {"b": 2}}}, "reasoning.effort.a"),
        ({"n": 1}, "n", {}, "n"),
        ({"temperature": Number("1.0")}, "temperature", {}, "temperature"),
        ({"modalities": ["text"]}, "modalities", {}, "modalities"),
        ({"stop": None}, "stop", {}, "stop"),
        ({"response_format": None}, "response_format", {}, "response_format"),
        ({"logprobs": False}, "logprobs", {}, "logprobs"),
        ({"tools": []}, "tools", {}, "tools"),
        ({"tool_choice": FORCED}, "tool_choice", {}, "tool_choice"),
        ({"tools": LOOSE}, "tools.0.function.strict", {"tools": BARE}, "tools[*].function.strict"),
        ({"tools": LOOSE}, "strict", {"tools": BARE}, "tools[*].function.strict"),
        ({"tools": [{**BARE[0], "cache_control": {}}]}, "tools.0.cache_control", {"tools": BARE}, "tools[*].cache_control"),
        ({"tools": [{**BARE[0], "defer_loading": True}]}, "defer_loading", {"tools": BARE}, "tools[*].defer_loading"),
        ({"tools": TOOLS, "tool_choice": "auto"}, "tool_choice", {"tools": TOOLS}, "tool_choice"),
        ({"max_tokens": None}, "max_tokens", {}, "max_tokens"),
        ({"context_management": {}}, "context_management", {}, "context_management"),
        ({"output_config": {"effort": "x"}}, "output_config", {}, "output_config"),
        ({"output_config": {"effort": "x"}}, "output_config.effort", {"output_config": {}}, "output_config.effort"),
        ({"text": {"verbosity": "x"}}, "text.verbosity", {"text": {}}, "text.verbosity"),
        ({"input": [{**HI[0], "id": "m"}]}, "input.0.id", {"input": HI}, "input[*].id"),
        ({"tools": [{"type": "bash_1", "defer_loading": True}]}, "tools.0.bash_1.defer_loading", {"tools": [{"type": "bash_1"}]}, "tools[*].defer_loading"),
        ({"max_tokens": 1, "max_completion_tokens": 2}, "max_tokens", {"max_completion_tokens": 2}, "max_tokens"),
        ({"system": [{"text": "a", "cache_control": {"scope": "b"}}]}, "system.0.cache_control.ephemeral.scope", {"system": [{"text": "a", "cache_control": {}}]}, "system[*].cache_control.scope"),
        ({"messages": [{"content": [{"text": "a", "cache_control": {"ttl": "b"}}]}]}, "messages.0.content.0.text.cache_control.ephemeral.ttl", {"messages": [{"content": [{"text": "a", "cache_control": {}}]}]}, "messages[*].content[*].cache_control.ttl"),
    ],
)  # fmt: skip
def test_what_may_go_is_dropped(body: Any, name: str, after: Any, path: str) -> None:
    assert left(body, name) == (after, [("dropped", path)])


@pytest.mark.parametrize(
    ("message", "name", "key"),
    [
        ({"refusal": None}, "messages.0.refusal", "refusal"),
        ({"metadata": {}}, "messages.0.metadata", "metadata"),
        ({"metadata": {}}, "messages.metadata", "metadata"),
        ({"metadata": {}}, "messages.0.ChatCompletionUser.metadata", "metadata"),
        ({"role": "tool", "tool_call_id": "c", "name": "f"}, "name", "name"),
        ({"id": "m"}, "id", "id"),
        ({"name": "Ann"}, "messages.0.name", "name"),
    ],
)
def test_field_of_a_message_is_dropped_from_all(
    message: Any, name: str, key: str
) -> None:
    said: Any = {"role": "user", "content": "Hi"}
    body = {"messages": [{**said, **message}, said, {**said, **message}]}
    after = [{k: v for k, v in m.items() if k != key} for m in body["messages"]]
    dropped = [("dropped", f"messages[*].{key}")]
    assert left(body, name) == ({"messages": after}, dropped)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"messages": HI}, "messages"),
        ({"model": "m"}, "model"),
        ({"model": None}, "model"),
        ({"stream": True}, "stream"),
        ({"stream": False}, "stream"),
        ({"tools": TOOLS}, "tools"),
        ({"tools": TOOLS}, "tools.0.function.strict"),
        ({"tools": TOOLS}, "strict"),
        ({"tools": BARE}, "tools.0.function.name"),
        ({"tools": [{"type": "function", "function": {"parameters": {"title": "A"}}}]}, "tools.0.function.parameters.title"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"tools": TOOLS, "tool_choice": FORCED}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": "required"}, "tool_choice"),
        ({"tools": TOOLS, "tool_choice": "none"}, "tool_choice"),
        ({"functions": [{}], "function_call": {"name": "f"}}, "function_call"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"response_format": {"type": "json_object"}}, "response_format.type"),
        ({"n": 2}, "n"),
        ({"stop": ["a"]}, "stop"),
        ({"logprobs": True}, "logprobs"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"audio": {"voice": "a"}}, "audio"),
        ({"modalities": ["text", "audio"]}, "modalities"),
        ({"temperature": Number("0.2")}, "temperature"),
        ({"temperature": 0}, "temperature"),
        ({"messages": HI}, "messages.0"),
        ({"messages": HI}, "messages.0.content"),
        ({"messages": HI}, "content"),
        ({"messages": [{"role": "assistant", "refusal": "No"}]}, "refusal"),
        ({"messages": [{"role": "tool", "name": "f"}]}, "name"),
        ({"messages": [{"tool_call_id": "c"}]}, "messages.0.tool_call_id"),
        ({"messages": [{"tool_calls": [CALL]}]}, "messages.0.tool_calls"),
        ({"messages": [{"tool_calls": [CALL]}]}, "messages.0.tool_calls.0.id"),
        ({"messages": [{"tool_calls": [CALL]}]}, "messages.0.tool_calls.0.function.name"),
        # of Responses and Messages
        ({"instructions": "Hi"}, "instructions"),
        ({"system": "Hi"}, "system"),
        ({"input": HI}, "input"),
        ({"input": HI}, "input.0.content"),
        ({"input": [{"type": "function_call", "id": "c"}]}, "input.0.id"),
        ({"messages": [{"content": [{"type": "tool_use", "id": "c"}]}]}, "messages.0.content.0.id"),
        ({"messages": [{"content": [{"type": "image_url", "image_url": {"url": "a"}}]}]}, "messages.0.content.0.image_url.url"),
        ({"messages": [{"content": [{"type": "file", "file": {"file_id": "a"}}]}]}, "messages.0.content.0.file.file_id"),
        ({"messages": [{"content": [{"type": "document", "source": {}, "title": "a"}]}]}, "messages.0.content.0.title"),
        ({"input": [{"content": [{"type": "input_file", "file_url": "a"}]}]}, "input.0.content.0.file_url"),
        ({"inference_geo": "us"}, "inference_geo"),
        ({"input": [{"type": "local_shell_call", "action": {"type": "exec"}}]}, "input.0.action"),
        ({"messages": [{"content": [{"type": "tool_use", "input": {"x": 1}}]}]}, "messages.0.content.0.input.x"),
        ({"output_config": {"format": {"type": "x"}}}, "output_config"),
        ({"output_config": {"format": {"type": "x"}}}, "output_config.format.type"),
        ({"text": {"format": {"type": "x"}}}, "text"),
        ({"tools": [{"type": "web_search", "max_uses": 1}]}, "tools.0.max_uses"),
        ({"tools": [{"name": "f", "input_schema": {}}]}, "tools.0.input_schema"),
        ({"system": [{"type": "text", "text": "a"}]}, "system.0.text"),
        ({"background": True}, "background"),
        # what the request does not have
        ({"seed": 7}, "store"),
        ({"seed": 7}, "input.seed"),
        ({"seed": 7}, "seed.seed"),
        ({"messages": "none"}, "messages.0.seed"),
        ({"messages": HI}, "messages.7.seed"),
        ({"messages": HI}, "messages.0.a.b.c"),
        ({"messages": ["Hi"]}, "messages.0.seed"),
    ],
)  # fmt: skip
def test_what_must_stay_stays(body: Any, name: str) -> None:
    assert left(body, name) == (body, [])


@pytest.mark.parametrize(
    ("change", "body"),
    [
        (Change(("n",)), {"n": 2}),
        (Change(("seed",)), {}),
        (Change(("max_tokens",), "max_completion_tokens"), {}),
        (
            Change(("max_tokens",), "max_completion_tokens"),
            {"max_tokens": 1, "max_completion_tokens": 2},
        ),
        (Change(("reasoning", "effort")), {"reasoning": "x"}),
        (Change(("reasoning", "effort", "x")), {"reasoning": {}}),
        (Change(("messages", "*", "x")), {"messages": 7}),
        (Change(("messages", "*", "x")), {"messages": ["x"]}),
    ],
)
def test_what_helped_once_leaves_another_request(change: Change, body: Any) -> None:
    before = copy.deepcopy(body)
    assert apply(change, body) == []
    assert body == before


def test_one_field_that_is_named_for_each_message_is_one_change() -> None:
    body = {"messages": [{"x": 1}, {"x": 2}]}
    refusal = Refusal((("messages", "0", "x"), ("messages", "1", "x")))
    assert changes_for(refusal, body) == [Change(("messages", "*", "x"))]


def test_what_is_dropped_goes_first_and_forms_follow_in_the_order_of_adaptations() -> (
    None
):
    names = [each.name for each in ADAPTATIONS if each.name != LEARNED]
    forms, dropped = [Change((), "", name) for name in names], Change(("seed",))
    assert ordered([*reversed(forms), dropped]) == [dropped, *forms]


PARTS = [{"type": "text", "text": "Hi"}]
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("content", "edits"),
    [
        (("1", True, True), 1),
        (("2", True, True), 1),
        (("*", True, True), 2),
        (("*", False, True), 1),
        (("0", True, True), 0),
        (("7", True, True), 0),
    ],
)
def test_content_takes_the_form_that_is_wanted(content: Any, edits: int) -> None:
    user = {"role": "user", "content": PARTS}
    body: Any = {"messages": [*HI, user, {**CALLING}]}
    found = changes_for(Refusal(content=(RefusedContent(*content),)), body)
    assert all(each.is_form for each in found)
    made = [edit for each in found for edit in apply(each, body)]
    assert made == [("changed", "messages[*].content")] * edits
    assert changes_for(Refusal(content=(RefusedContent(*content),)), body) == []


@pytest.mark.parametrize("place", ["0", "*"])
def test_content_of_what_is_no_message_is_left(place: str) -> None:
    refused = RefusedContent(place, parts=True, null=True)
    assert changes_for(Refusal(content=(refused,)), {"messages": ["Hi"]}) == []


def test_role_at_a_place_is_changed_where_it_is_the_developers() -> None:
    body: Any = {"messages": [{"role": "developer", "content": "x"}, *HI]}
    assert changes_for(Refusal(roles=("1",)), body) == []
    (found,) = changes_for(Refusal(roles=("1", "0")), body)
    assert apply(found, body) == [("changed", "messages[*].role")]
    assert body["messages"][0]["role"] == "system"
    assert changes_for(Refusal(roles=("*",)), {"messages": "developer"}) == []
