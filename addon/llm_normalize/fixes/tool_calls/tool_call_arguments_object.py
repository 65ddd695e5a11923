"""`arguments` of a call as an object where OpenAI sends its text."""

from ...chat.chunks.chunk import Chunk, functions
from ...repair.fix import Example, PartFix, calling, chunk, completion, head
from ...repair.look import Finding
from ...wire.json_text import dumps

_OBJECT = {**head(), "function": {"name": "f", "arguments": {"a": 1}}}
_TEXT = head(0, '{"a":1}')


class ToolCallArgumentsObject(PartFix):
    """Send the JSON as text."""

    name = "tool-call-arguments-object"
    changes = '`function.arguments: {"a": 1}` -> `"{\\"a\\":1}"`'
    why = "Typed clients expect a string; others call the tool with `{}`."
    providers = ("llama.cpp", "MLX-LM", "Cloudflare Workers AI")
    handles = Finding.ODD_CALLS | Finding.FUNCTION_CALL
    sources = (
        "https://github.com/ggml-org/llama.cpp/issues/20198",
        "https://github.com/sipeed/picoclaw/issues/1287",
    )
    examples = (
        Example.of_event("stream", calling(_OBJECT), calling(_TEXT)),
        Example.of_event(
            "legacy",
            chunk({"function_call": {"name": "f", "arguments": {}}}),
            chunk({"function_call": {"name": "f", "arguments": "{}"}}),
        ),
        Example.of_body(
            "body",
            completion({"role": "assistant", "tool_calls": [_OBJECT]}),
            completion({"role": "assistant", "tool_calls": [_TEXT]}),
        ),
        Example.untouched("text", [calling(_TEXT)]),
        Example.untouched("null", [calling({"index": 0, "function": {"name": None}})]),
    )

    def part(self, part: Chunk) -> bool:
        """Write the arguments as text."""
        changed = False
        for inner in functions(part):
            arguments = inner.get("arguments")
            if arguments is not None and not isinstance(arguments, str):
                inner["arguments"] = dumps(arguments).decode()
                changed = True
        return changed
