"""The arguments of a tool call."""

from ..chat.chunks.chunk import Chunk, calls, function, functions, messages
from ..chat.chunks.chunk_content import is_hollow
from ..chat.chunks.finish_words import CUT_SHORT
from ..chat.state.asked import Asked
from ..chat.state.declared_tools import Tools
from ..chat.state.repeated_arguments import without_repeats
from ..chat.tool_calls.sent_arguments import calls_apart
from ..repair.fix import (
    DONE,
    LENGTH,
    TOOL_CALLS,
    Example,
    Fix,
    PartFix,
    Wire,
    calling,
    chunk,
    completion,
    head,
    rest,
)
from ..repair.look import Finding
from ..wire.json_text import dumps

_OBJECT = {**head(), "function": {"name": "f", "arguments": {"a": 1}}}
_TEXT = head(0, '{"a":1}')


# `arguments` of a call as an object where OpenAI sends its text.
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
        Example.of_fragment("stream", _OBJECT, _TEXT),
        Example.of_delta(
            "legacy",
            {"function_call": {"name": "f", "arguments": {}}},
            {"function_call": {"name": "f", "arguments": "{}"}},
        ),
        Example.of_call("body", _OBJECT, _TEXT),
        Example.untouched("text", [calling(_TEXT)]),
        Example.untouched("null", [calling({"index": 0, "function": {"name": None}})]),
    )

    def part(self, part: Chunk) -> bool:
        """Write the arguments as text."""
        changed = False
        for inner in functions(part):
            arguments = inner.get("arguments")
            if arguments is not None and not isinstance(arguments, str):
                given = {} if arguments == [] else arguments  # PHP's empty array
                inner["arguments"] = dumps(given).decode()
                changed = True
        return changed


_OPEN = [chunk({"role": "assistant", "content": None}), calling(head())]
_ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset("f")))
_REAL = calling(rest(0, '{"a":1}'))
_END: Wire = [TOOL_CALLS, DONE]


# `{}` as a call's first arguments, and then the real ones.
# The repair is in `repair/machine/sending.py`.
class ToolCallArgumentsBlank(Fix):
    """Let `{}` wait for one event, if the tool may take more; drop it where that comes.

    A pause does not end that: no client runs a call before its finish reason.
    """

    name = "tool-call-arguments-blank"
    changes = '`"{}"` before the arguments of a call -> removed'
    why = "Clients add the fragments up, and two objects are invalid JSON: the call fails."
    providers = ("LiteLLM (Anthropic)", "OpenCode gateways", "Bedrock gateways")
    sources = (
        "https://github.com/BerriAI/litellm/issues/4537",
        "https://github.com/vllm-project/vllm/issues/51697",
    )
    examples = (
        Example(
            "then the real ones",
            [*_OPEN, calling(rest()), _REAL, *_END],
            [*_OPEN, _REAL, *_END],
            asked=_ASKED,
        ),
        Example.untouched("alone", [*_OPEN, calling(rest()), *_END], asked=_ASKED),
        Example.untouched("not blank", [*_OPEN, _REAL, *_END], asked=_ASKED),
        Example.untouched("not declared", [*_OPEN, calling(rest()), _REAL, *_END]),
    )


_HEAD, _TWICE = calling(head()), completion({"tool_calls": [head(0, '{"a":1}{"a":1}')]})
_ANOTHER = [calling(rest(0, '{"a":1}')), calling(rest(0, '{"a":2}'))]
_GONE = chunk({})
_OTHER = {
    "index": 1,
    "type": "function",
    "function": {"name": "f", "arguments": '{"a":2}'},
}


# Arguments of a tool call again, whole or growing, or encoded as a string.
class ToolCallArgumentsRepeated(Fix):
    """Send of the arguments what was not sent: no object can follow an object.

    Another object than the one before is a call of its own, of the same function.
    """

    name = "tool-call-arguments-repeated"
    changes = (
        "arguments again, growing, encoded twice -> each part once; other arguments under "
        "one call -> a call of their own"
    )
    why = "Clients add the fragments up, and that is invalid JSON: the call fails."
    providers = (
        "vLLM (GLM-5.1)",
        "DeepSeek and Qianfan gateways",
        "LiteLLM",
        "codex-lb",
        "gateways to Claude (parallel calls)",
    )
    sources = (
        "https://github.com/vllm-project/vllm/issues/42167",
        "https://github.com/NousResearch/hermes-agent/issues/35718",
        "https://github.com/BerriAI/litellm/issues/20480",
        "https://github.com/dyedd/lens/issues/49",
        "https://github.com/NousResearch/hermes-agent/issues/62937",
    )
    examples = (
        Example(
            "growing",
            [_HEAD, calling(rest(0, '{"a"')), calling(rest(0, '{"a":1}'))],
            [_HEAD, calling(rest(0, '{"a"')), calling(rest(0, ":1}"))],
        ),
        Example(
            "empty", [_HEAD, _REAL, calling(rest(0, "\n{}{}"))], [_HEAD, _REAL, _GONE]
        ),
        Example.of_fragment("encoded", head(0, '"{}"'), head(0, "{}")),
        Example.of_body(
            "body", _TWICE, completion({"tool_calls": [head(0, '{"a":1}')]})
        ),
        Example(
            "another object", [_HEAD, *_ANOTHER], [_HEAD, _ANOTHER[0], calling(_OTHER)]
        ),
        Example.untouched("once", [_HEAD, calling(rest(0, '{"a":')), calling(rest())]),
    )

    def body(self, body: Chunk) -> bool:
        """Leave the arguments of each call once; each other object is another call."""
        changed = False
        for _, message in messages(body):
            for inner in functions(message):
                given = inner.get("arguments")
                once = without_repeats(given) if isinstance(given, str) else given
                if once != given:
                    inner["arguments"] = once
                    changed = True
            found = calls(message)
            apart = [each for call in found for each in calls_apart(call)]
            if len(apart) > len(found):
                message["tool_calls"] = apart
                changed = True
        return changed


_BARE = {**head(), "function": {"name": "f"}}
_NONE = {"role": "assistant", "content": None, "tool_calls": [_BARE]}


# A tool call that ends without any arguments.
class ToolCallArgumentsMissing(Fix):
    """Send `{}`, which OpenAI sends for a call without any.

    In a stream with the finish reason: more may follow until that is sent. An answer that
    the limit of tokens or a filter ends may lack them: its call stays without any.
    """

    name = "tool-call-arguments-missing"
    changes = 'call without arguments at its end, unless cut short -> `"{}"`'
    why = "Clients parse the arguments, and an empty string is invalid JSON."
    providers = ("GitHub Copilot", "Venice", "Mistral")
    sources = (
        "https://github.com/vercel/ai/issues/6687",
        "https://platform.openai.com/docs/guides/function-calling",
    )
    examples = (
        Example(
            "stream",
            [calling(head()), TOOL_CALLS, DONE],
            [calling(head()), calling(rest()), TOOL_CALLS, DONE],
        ),
        Example.of_call("body", _BARE, head(0, "{}")),
        Example.of_body(
            "body that is cut short",
            completion(_NONE, finish="length"),
            completion({**_NONE, "tool_calls": [head(0, "")]}, finish="length"),
        ),
        Example.untouched("broken off", [calling(head())]),
        Example.untouched("cut short", [calling(head()), LENGTH, DONE]),
    )

    def body(self, body: Chunk) -> bool:
        """Complete the calls."""
        changed = False
        for choice, message in messages(body):
            empty = "" if choice.get("finish_reason") in CUT_SHORT else "{}"
            legacy = message.get("function_call")
            # What says nothing at all is no call.
            found = [function(call) for call in calls(message) if not is_hollow(call)]
            if isinstance(legacy, dict) and not (
                "name" in legacy and is_hollow(legacy)
            ):
                found.append(legacy)
            for inner in found:
                given = inner.get("arguments")
                if inner and not given and given != empty:
                    inner["arguments"] = empty
                    changed = True
        return changed
