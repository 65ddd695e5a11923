"""The name of a called tool."""

from itertools import chain

from ..chat.chunks.chunk import Chunk, change_all, functions, messages
from ..chat.state.asked import Asked
from ..chat.state.declared_tools import Tools
from ..chat.tool_calls.unnamed_calls import join_fragments
from ..repair.fix import Example, Fix, calling, chunk, head, rest

_EARLY = {"index": 0, "id": "call_0", "function": {"arguments": "{"}}
_LATE = {"index": 0, "function": {"name": "f", "arguments": "}"}}
_JOINED = join_fragments(_EARLY, _LATE)
_NULLS = {"index": 1, "id": None, "function": {"name": None}}
_TOOLS = Asked(stream=True, tools=True, declared=Tools(frozenset({"get_time"})))
_NAMED = {"name": "get_time"}
_BEGIN = {**head(), "function": {"name": "get_", "arguments": ""}}
_END = {"index": 0, "function": {"name": "time"}}


# Arguments of a tool call before its name, or a name in parts.
# The repair is in `repair/engine/assembled_calls.py`.
class ToolCallNameLate(Fix):
    """Let fragments wait for the name; one without anything is dropped.

    What only begins the name of a declared tool waits for the rest of it.
    """

    name = "tool-call-name-late"
    changes = (
        "arguments before `function.name` -> with it; a name in parts -> the whole name"
    )
    why = (
        "The AI SDK expects the name in a call's first fragment, and raises; agents look "
        "for a tool by half a name."
    )
    providers = ("SGLang", "Workers AI (a last fragment of nulls)", "Kimi K3", "vLLM")
    sources = (
        "https://github.com/vercel/ai/issues/15879",
        "https://github.com/vllm-project/vllm/issues/45915",
        "https://github.com/cloudflare/ai/blob/main/packages/workers-ai-provider/src/streaming.ts",
    )
    examples = (
        Example(
            "late", [calling(_EARLY), calling(_LATE)], [chunk({}), calling(_JOINED)]
        ),
        Example(
            "in parts",
            [calling(_BEGIN), calling(_END)],
            [chunk({}), calling(join_fragments(_BEGIN, {**_END, "function": _NAMED}))],
            asked=_TOOLS,
        ),
        Example.of_event("nulls", calling(head(), _NULLS), calling(head())),
        Example.untouched("first", [calling(head()), calling(rest())]),
    )


_ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset("f")))


def _call(name: str) -> Chunk:
    return {**head(), "function": {"name": name, "arguments": "{}"}}


# A tool's name with a namespace before it, or marks of a template behind it.
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
        Example.of_fragment(
            "namespace", _call("functions.f"), _call("f"), asked=_ASKED
        ),
        Example.of_fragment(
            "channel", _call("f<|channel|>commentary"), _call("f"), asked=_ASKED
        ),
        Example.of_call("body", _call("functions.f:0"), _call("f"), asked=_ASKED),
        Example.untouched("declared", [calling(_call("f"))], asked=_ASKED),
        Example.untouched("unknown", [calling(_call("a.g"))], asked=_ASKED),
        Example.untouched("nothing is declared", [calling(_call("a.f"))]),
    )

    def body(self, body: Chunk) -> bool:
        """Cut the names in the messages."""
        parts = [functions(message) for _, message in messages(body)]
        return change_all(self.asked.declared.unwrap, chain.from_iterable(parts))
