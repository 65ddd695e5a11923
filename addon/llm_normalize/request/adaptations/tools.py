"""Tools: which of them is to be called, each once, one at least, and whose result it is."""

from ...wire.json_text import Json, as_list, as_object, dumps
from ..adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    refused,
    replaced,
)
from ..message_forms import calls_of, role_of, with_each_message


def _named(tool: Json) -> Json:
    return as_object(as_object(tool).get("function")).get("name")


def _tool(name: str, **more: Json) -> dict[str, Json]:
    return {"type": "function", "function": {"name": name, **more}}


BARE = "without tools"
"""That there is nothing to choose from."""
_NO_OBJECT = refused(
    "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
)


# A tool that is to be called by its name, where only `required` forces one.
class ToolChoiceRefused(Adaptation):
    """Require a call, and send the one tool that it may be of; without tools choose none."""

    name = "tool-choice-refused"
    changes = "`tool_choice` of a function -> `required`, and `tools` -> that one; without `tools` -> removed"
    why = "LM Studio, OpenAI and vLLM answer 400."
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670",
        "https://github.com/can1357/oh-my-pi/issues/6925",
    )
    examples = (
        RequestExample.of_fields(
            "one of two",
            {"tools": [_tool("f"), _tool("g")], "tool_choice": _tool("g")},
            {"tools": [_tool("g")], "tool_choice": "required"},
            _NO_OBJECT,
        ),
        RequestExample.untouched(
            "none of them",
            {"messages": HI, "tools": [_tool("f")], "tool_choice": _tool("g")},
            _NO_OBJECT,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace them."""
        if self.value == BARE:
            if body.get("tools"):
                return []
            return drop(body, "tool_choice") + drop(body, "parallel_tool_calls")
        name = _named(body.get("tool_choice"))
        tools = [each for each in as_list(body.get("tools")) if _named(each) == name]
        if name is None or not tools:
            return []
        edits = replaced(body, "tool_choice", "required")
        return edits + replaced(body, "tools", tools)


_UNIQUE = refused("Tool names must be unique.")


# A tool that is declared twice.
class ToolNameRepeated(Adaptation):
    """Send it once, if both are the same: else nothing tells which is meant."""

    name = "tool-name-repeated"
    changes = "`tools[]` that is equal to an earlier one -> removed"
    why = "DeepSeek and Claude answer 400."
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/dataelement/Clawith/issues/251",
        "https://github.com/tailcallhq/forgecode/issues/892",
    )
    examples = (
        RequestExample.of_fields(
            "twice",
            {"tools": [_tool("f"), _tool("g"), _tool("f")]},
            {"tools": [_tool("f"), _tool("g")]},
            _UNIQUE,
        ),
        RequestExample.untouched(
            "another of the name",
            {"messages": HI, "tools": [_tool("f"), {**_tool("f"), "strict": True}]},
            _UNIQUE,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop the later one."""
        tools = as_list(body.get("tools"))
        once = [*{dumps(each): each for each in tools}.values()]
        return replaced(body, "tools", once) if tools else []


_NO_CALL: Json = {"type": "object", "properties": {}}
_SPARE = _tool("none", description="Not to be called.", parameters=_NO_CALL)
_CALLED = {"messages": [*HI, {"role": "assistant", "tool_calls": [_tool("f")]}]}
_UNDECLARED = refused("The toolConfig field must be defined when using toolUse")


# No tools, where the history has calls.
class ToolsMissing(Adaptation):
    """Declare one that is not to be called: a client that declares none wants words."""

    name = "tools-missing"
    changes = "no `tools` beside calls in the history -> one that is not to be called"
    why = "Bedrock answers 400 to clients that have their history summed up, through gateways, too."
    sources = (
        "https://github.com/anomalyco/opencode/issues/34089",
        "https://github.com/BerriAI/litellm/issues/24158",
    )
    examples = (
        RequestExample("calls", _CALLED, {**_CALLED, "tools": [_SPARE]}, _UNDECLARED),
        RequestExample.untouched("no calls", {"messages": HI}, _UNDECLARED),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Declare it."""
        calls = map(calls_of, as_list(body.get("messages")))
        is_bare = not body.get("tools") and any(calls)
        return replaced(body, "tools", [_SPARE]) if is_bare else []


_UNNAMED = refused(
    "GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."
)
_CALL = {**_tool("f"), "id": "a"}
_ASKED = [*HI, {"role": "assistant", "tool_calls": [_CALL]}]
_RESULT = {"role": "tool", "tool_call_id": "a", "content": "a"}


# A tool's result without the name of the tool, which OpenAI does not have.
class ToolNameMissing(Adaptation):
    """Name the function whose call it answers."""

    name = "tool-name-missing"
    changes = "a tool's message without `name` -> with that of its call"
    why = "Gemini answers 400 to each request of the session."
    sources = (
        "https://github.com/NousResearch/hermes-agent/pull/19728",
        "https://github.com/ollama/ollama/issues/14214",
        "https://github.com/FoundationAgents/OpenManus/issues/824",
    )
    examples = (
        RequestExample.of_messages(
            "missing",
            [*_ASKED, _RESULT],
            [*_ASKED, {**_RESULT, "name": "f"}],
            _UNNAMED,
        ),
        RequestExample.untouched(
            "its own", {"messages": [*_ASKED, {**_RESULT, "name": "g"}]}, _UNNAMED
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Name it."""
        names: dict[Json, Json] = {}

        def with_name(message: Json) -> Json:
            for call in calls_of(message):
                names[str(call.get("id"))] = as_object(call.get("function")).get("name")
            if role_of(message) != "tool" or message.get("name"):
                return message
            name = names.get(str(message.get("tool_call_id")))
            return {**message, "name": name} if name else message

        made = with_each_message(body, with_name)
        return replaced(body, "messages", made, "messages[*].name")
