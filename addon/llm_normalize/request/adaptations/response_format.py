"""The format of an answer, and whether it is a stream, where another is taken."""

from ...wire.json_text import Json, as_object, dumps
from ..adaptation import (
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    messages,
    refused,
    replaced,
)
from ..message_forms import INSTRUCTIONS, joined_content, role_of, with_messages

OBJECT, SCHEMA, WORDS, NEVER = "json_object", "json_schema", "words", "never"
"""What is taken: JSON without a schema, or with one alone; none beside tools, or at all."""
_FIELD = "response_format"
_IN_WORDS = "Answer in JSON"
_WANTED: dict[str, Json] = {"type": "object", "properties": {"a": {"type": "string"}}}
_SCHEMA: dict[str, Json] = {
    "type": SCHEMA,
    "json_schema": {"name": "json", "schema": _WANTED},
}
_ANY = {**_SCHEMA, "json_schema": {"name": "json", "schema": {"type": "object"}}}
_SAID = (
    "Answer in JSON that matches this schema: "
    '{"type":"object","properties":{"a":{"type":"string"}}}'
)
_TOOLS: Body = {"tools": [{"type": "function", "function": {"name": "f"}}]}
_NO_SCHEMA = refused("This response_format type is unavailable now")
_NO_FORMAT = refused(
    "Function calling with a response mime type: 'application/json' is unsupported"
)


# A format of the answer that the provider does not know, or not beside tools.
class ResponseFormatRefused(Adaptation):
    """Send the nearest format that is taken; the instructions say what it does not."""

    name = "response-format-refused"
    changes = (
        "`response_format` -> `json_object`, or `json_schema` of any object, or removed, some "
        "beside tools alone; its schema goes into the system message"
    )
    why = (
        "DeepSeek takes no schema, LM Studio nothing without one, and Gemini, Groq and "
        "Cerebras neither beside tools, and some models of Ark neither: they answer 400."
    )
    needs_value = True
    sources = (
        "https://github.com/llm-exe/llm-exe/issues/662",
        "https://github.com/dzhng/deep-research/issues/22",
        "https://github.com/UKGovernmentBEIS/inspect_ai/issues/4916",
        "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/189",
        "https://github.com/webai-at-home/webai-at-home/issues/219",
        "https://github.com/openai/openai-agents-python/issues/656",
        "https://github.com/googleapis/python-genai/issues/867",
        "https://github.com/vercel/ai/pull/16540",
    )
    examples = (
        RequestExample(
            "a schema",
            {"messages": HI, _FIELD: _SCHEMA},
            {
                "messages": [{"role": "system", "content": _SAID}, *HI],
                _FIELD: {"type": OBJECT},
            },
            _NO_SCHEMA,
        ),
        RequestExample.untouched(
            "text", {"messages": HI, _FIELD: {"type": "text"}, **_TOOLS}, _NO_FORMAT
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Replace it."""
        given = as_object(body.get(_FIELD))
        kind = given.get("type")
        is_refused = self.value == NEVER or (self.value == WORDS and body.get("tools"))
        if self.value == SCHEMA and kind == OBJECT:
            return replaced(body, _FIELD, _ANY)
        if self.value == OBJECT and kind == SCHEMA:
            edits = replaced(body, _FIELD, {"type": OBJECT})
        elif is_refused and kind in (OBJECT, SCHEMA):
            edits = drop(body, _FIELD)
        else:
            return []
        schema = as_object(given.get(SCHEMA)).get("schema")
        like = f" that matches this schema: {dumps(schema).decode()}" if schema else "."
        made = with_messages(body, lambda found: _with_words(found, _IN_WORDS + like))
        return edits + replaced(body, "messages", made, "messages[0].content")


def _with_words(found: list[Json], words: str) -> list[Json]:
    """Return messages whose instructions at the front end with *words*, or have them."""
    first = as_object(next(iter(found), None))
    if role_of(first) not in INSTRUCTIONS:
        return [{"role": "system", "content": words}, *found]
    if words.rstrip(".") in str(first.get("content")):
        return found
    content = joined_content(first.get("content"), words)
    return [{**first, "content": content}, *found[1:]]


_NO_BODY = refused(
    "This model only support stream mode, please enable the stream parameter to access the "
    "model."
)
_STREAM: Body = {"stream": True, "stream_options": {"include_usage": True}}


# An answer in one piece, from a model that only streams.
class StreamRequired(Adaptation):
    """Ask for a stream with usage: it is put together for the client."""

    name = "stream-required"
    changes = "a request for a body -> `stream: true`"
    why = "Some models of DashScope, and long answers of Fireworks, are streams only: 400."
    sources = (
        "https://github.com/FoundationAgents/OpenManus/issues/330",
        "https://github.com/nullclaw/nullclaw/pull/231",
    )
    examples = (
        RequestExample.of_fields("none", {}, _STREAM, _NO_BODY),
        RequestExample.untouched(
            "a stream", {"messages": HI, "stream": True}, _NO_BODY
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Ask for it."""
        if body.get("stream") is True or not any(messages(body)):
            return []
        return [edit for key in _STREAM for edit in replaced(body, key, _STREAM[key])]
