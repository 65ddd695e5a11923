"""Schemas of tools."""

from ...wire.json_text import Json, as_list, as_object
from ..adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    refused,
    replaced,
)
from ..tool_schemas import CLOSED, MIXED, NO_SCHEMA, TOP, TYPE, without, without_choice

_UNKNOWN_NAME = (
    b'[{"error":{"message":"Unknown name \\"propertyNames\\" at '
    b"'request.tools[0].function_declarations[0].parameters': Cannot find field.\"}}]"
)
_SCHEMAS = ("parameters", "input_schema")
"""Where a tool has it: of chat in its function, of Responses, of Messages."""


_RESPONSES, _MESSAGES = ("parameters", "function"), ("input_schema", "custom")
"""Where a tool of these protocols has its schema, and the type of a client's own."""
_NO_PARAMETERS: Json = {"type": "object", "properties": {}}


def _tool(parameters: Json) -> Body:
    function = {"name": "f", "parameters": parameters}
    return {"messages": HI, "tools": [{"type": "function", "function": function}]}


def _asked(schema: Json) -> Body:
    return _tool({"type": "object", "properties": {"a": schema}})


# A keyword in a schema, of a tool's parameters or of the answer, that is not known.
class ToolSchemaRefused(Adaptation):
    """Take out the keyword that the refusal names; what it tells a model, tell in words.

    A constant becomes a list of one value; a type beside `anyOf` goes into each of its
    schemas, or one at the top goes, and all its properties stay; beside a reference nothing
    stays; `true` becomes `{}`; a missing type is that of what is there, or a string; what is
    required and not described is not required.
    """

    name = "tool-schema-refused"
    changes = "`tools[].function.parameters`, `response_format` -> without the keyword that is refused; `strict` of tools -> removed"
    why = "Gemini, Kimi and llama.cpp know a part of JSON Schema only, and Cerebras takes no mix of strict tools and others."
    needs_value = True
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/anomalyco/opencode/issues/26405",
        "https://github.com/can1357/oh-my-pi/issues/5952",
        "https://github.com/abhigyanpatwari/GitNexus/issues/2703",
        "https://github.com/MoonshotAI/kimi-cli/issues/2061",
        "https://github.com/promptfoo/promptfoo/issues/6902",
        "https://github.com/earendil-works/pi/issues/4138",
        "https://github.com/MoonshotAI/kimi-code/issues/1610",
        "https://github.com/openai/codex/issues/36441",
        "https://github.com/zed-industries/zed/issues/53919",
        "https://github.com/NousResearch/hermes-agent/issues/71804",
        "https://github.com/microsoft/azure-devops-mcp/issues/145",
        "https://github.com/openai/codex/issues/26753",
        "https://github.com/RooCodeInc/Roo-Code/issues/10334",
    )
    examples = (
        RequestExample(
            "a keyword",
            _asked({"type": "object", "propertyNames": {"minLength": 1}}),
            _asked({"type": "object"}),
            _UNKNOWN_NAME,
        ),
        RequestExample(
            "a pattern",
            _asked({"type": "string", "pattern": "^a$", "description": "A name"}),
            _asked({"type": "string", "description": "A name. Pattern: ^a$"}),
            refused("Unknown name \"pattern\" at 'tools[0]'"),
        ),
        RequestExample.untouched(
            "another keyword", _asked({"title": "A"}), _UNKNOWN_NAME
        ),
        RequestExample.untouched(
            "a parameter of that name",
            _asked({"type": "object", "properties": {"propertyNames": {}}}),
            _UNKNOWN_NAME,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Take it out."""
        tools, asked = body.get("tools"), as_object(body.get("response_format"))
        flat = _RESPONSES if "input" in body else _MESSAGES
        given = [] if self.value == CLOSED else as_list(tools)
        made = [self._tool(each, *flat) for each in given] or tools
        edits = replaced(body, "tools", made, "tools[*].function.parameters")
        if isinstance(inner := asked.get("json_schema"), dict) and "schema" in inner:
            form = {**inner, "schema": self._schema(inner["schema"])}
            edits += replaced(body, "response_format", {**asked, "json_schema": form})
        return edits

    def _tool(self, tool: Json, key: str, kind: str) -> Json:
        """The *tool* of a *kind*, or of none, that has its schema under a *key*."""
        if not isinstance(tool, dict):
            return tool
        if isinstance(some := tool.get("tools"), list):  # a namespace of Responses
            return {**tool, "tools": [self._tool(each, key, kind) for each in some]}
        is_defined = tool.get("type") in (None, "function", kind)
        if is_defined and isinstance(inner := tool.get("function"), dict):
            return {**tool, "function": self._tool(inner, *_RESPONSES)}
        if self.value == MIXED:
            return {key: each for key, each in tool.items() if key != "strict"}
        found = {each: tool[each] for each in _SCHEMAS if tool.get(each) is not None}
        if self.value == NO_SCHEMA and "name" in tool and is_defined:
            found = found or {key: {}}
        if self.value in (NO_SCHEMA, TYPE):
            found = {each: _of_object(schema) for each, schema in found.items()}
        return tool | {each: self._schema(found[each]) for each in found}

    def _schema(self, schema: Json) -> Json:
        if self.value == TOP:
            return without_choice(schema)
        try:
            return without(schema, self.value)
        except ValueError:  # an object that has other properties than it describes
            return schema


def _of_object(schema: Json) -> Json:
    """The *schema* of parameters with a type."""
    if not isinstance(schema, dict) or schema.get("type"):
        return schema
    return {**_NO_PARAMETERS, **schema, "type": "object"}
