"""A tool's name with a namespace before it, or marks of a template behind it."""

from ...chat.chunks.chunk import Chunk, change_all, functions, in_messages
from ...chat.state.declared_tools import Tools
from ...chat.state.stream_state import Asked
from ...repair.fix import Example, Fix, calling, completion, head

_TOOLS = Tools(frozenset("f"))
_ASKED = Asked(stream=True, tools=True, declared=_TOOLS)


def _call(name: str) -> Chunk:
    return {**head(0, "{}"), "function": {"name": name, "arguments": "{}"}}


class ToolCallNameWrapped(Fix):
    """Send the declared name, if it stands in one that is not."""

    name = "tool-call-name-wrapped"
    changes = "`functions.query`, `query<|channel|>commentary` -> `query`, if declared"
    why = "No tool has such a name: agents answer the model with an error, or stop."
    providers = ("vLLM and Ollama with gpt-oss", "Kimi K2", "Gemini gateways")
    sources = (
        "https://github.com/vllm-project/vllm/issues/32587",
        "https://github.com/ollama/ollama/issues/12132",
        "https://github.com/ggml-org/llama.cpp/pull/15158",
    )
    examples = (
        Example.of_event(
            "namespace",
            calling(_call("functions.f")),
            calling(_call("f")),
            asked=_ASKED,
        ),
        Example.of_event(
            "channel",
            calling(_call("f<|channel|>commentary")),
            calling(_call("f")),
            asked=_ASKED,
        ),
        Example(
            "body",
            [completion({"role": "assistant", "tool_calls": [_call("functions.f:0")]})],
            [completion({"role": "assistant", "tool_calls": [_call("f")]})],
            asked=Asked(tools=True, declared=_TOOLS),
            kind="body",
        ),
        Example.untouched("declared", [calling(_call("f"))], asked=_ASKED),
        Example.untouched("unknown", [calling(_call("a.g"))], asked=_ASKED),
        Example.untouched("nothing is declared", [calling(_call("a.f"))]),
    )

    def body(self, body: Chunk) -> bool:
        """Cut the names in the messages."""
        return in_messages(body, self._cut)

    def _cut(self, part: Chunk) -> bool:
        return change_all(self.asked.declared.unwrap, functions(part))
