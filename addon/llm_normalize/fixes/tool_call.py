"""Tool calls: their form, and how they are divided into fragments."""

from collections.abc import Container

from ..chat.chunks.chunk import (
    Chunk,
    calls,
    change_all,
    deltas,
    function,
    index_of,
    name_of,
)
from ..chat.chunks.chunk_split import fragments_of, part_calls
from ..repair.fix import (
    DeltaFix,
    Example,
    Fix,
    PartFix,
    calling,
    chunk,
    head,
    rest,
    without,
)
from ..repair.look import Finding

_COMPLETE = calling(head(0, "{}"))
_HOLLOW = {"name": "", "input": ""}
_CALL = without(head(0, "{}"), "index")


# An empty `custom` beside the `function` of a tool call.
class ToolCallCustomHollow(PartFix):
    """Leave the key out."""

    name = "tool-call-custom-hollow"
    changes = '`custom: {"name": "", "input": ""}` beside `function` -> removed'
    why = "LiteLLM takes the call for a custom tool's, and refuses or loses it."
    providers = ("Snowflake", "servers built on openai-go's union types")
    handles = Finding.ODD_CALLS
    sources = (
        "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_fragment("stream", {**head(), "custom": _HOLLOW}, head()),
        Example.of_message(
            "body",
            {"content": None, "tool_calls": [{**_CALL, "custom": None}]},
            {"content": None, "tool_calls": [_CALL]},
        ),
        Example.untouched(
            "custom tool",
            [calling({"index": 0, "id": "c", "type": "custom", "custom": _HOLLOW})],
        ),
    )

    def part(self, part: Chunk) -> bool:
        """Drop the key from the calls."""
        return change_all(_drop, calls(part))


def _drop(call: Chunk) -> bool:
    custom = call.get("custom", "")
    filled = any(custom.values()) if isinstance(custom, dict) else custom is not None
    if filled or not {"function", "arguments"} & call.keys():
        return False
    del call["custom"]
    return True


_OPENING = without(head(), "function")
_INNER = {"name": "f", "arguments": "{}"}
_NO_TEXT = {"role": "assistant", "content": ""}
_FLAT = {**_OPENING, **_INNER}
_RIGHT = {**_OPENING, "function": _INNER}


# Tool calls without `function`: `name` and `arguments` stand beside `id`.
class ToolCallFlat(PartFix):
    """Put them into `function`; a call that is not a list becomes one."""

    name = "tool-call-flat"
    changes = "`tool_calls[].name`, `arguments` -> in `function`"
    why = "Clients read `function.name`, and raise or call nothing."
    providers = ("Cloudflare Workers AI", "Llama servers")
    handles = Finding.ODD_CALLS | Finding.NULL_CALLS
    sources = (
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
        "https://developers.cloudflare.com/workers-ai/features/function-calling/",
    )
    examples = (
        Example.of_fragment("stream", _FLAT, _RIGHT),
        Example.of_fragment("empty function", {**_FLAT, "function": {}}, _RIGHT),
        Example("no list", [chunk({"tool_calls": _RIGHT})], [calling(_RIGHT)]),
        Example.of_message(
            "body",
            {**_NO_TEXT, "tool_calls": [_FLAT]},
            {**_NO_TEXT, "tool_calls": [_RIGHT]},
        ),
        Example.untouched("right", [calling(_RIGHT)]),
        Example.untouched(
            "custom", [calling({**_OPENING, "custom": {"name": "f", "input": ""}})]
        ),
    )

    def part(self, part: Chunk) -> bool:
        """Put what belongs to a function into one."""
        lone = isinstance(part.get("tool_calls"), dict)
        if lone:
            part["tool_calls"] = [part["tool_calls"]]
        return change_all(_enclose, calls(part)) or lone


def _enclose(call: Chunk) -> bool:
    named = call.get("function")
    if isinstance(named, dict) and named:
        if "arguments" in named or "parameters" not in named:
            return False
        named["arguments"] = named.pop("parameters")
        return True
    if "custom" in call:
        return False
    keys = [key for key in ("name", "arguments", "parameters") if key in call]
    if not keys:
        return False
    inner = {key: call.pop(key) for key in keys}
    if "parameters" in inner:
        inner.setdefault("arguments", inner.pop("parameters"))
    call["function"] = inner
    return True


# Two fragments of one tool call in one chunk.
class ToolCallInParts(Fix):
    """Send a chunk for each fragment, as OpenAI does."""

    name = "tool-call-in-parts"
    changes = "fragments of one call in one chunk -> a chunk each"
    why = "Clients that open a call for each entry of a chunk make two of one."
    providers = ("gateways that join chunks",)
    handles = Finding.ODD_CALLS
    sources = (
        "https://platform.openai.com/docs/guides/function-calling#streaming",
        "https://github.com/vercel/ai/issues/15879",
    )
    examples = (
        Example(
            "head and rest",
            [calling(head(), rest())],
            [calling(head()), calling(rest())],
        ),
        Example.untouched("two calls", [calling(head(0), head(1))]),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, one fragment each."""
        return part_calls(chunk)


# A complete tool call that is sent again.
# The repair is in `repair/engine/assembled_calls.py`.
class ToolCallRepeated(Fix):
    """Send a call once: the same id, and all its arguments word for word."""

    name = "tool-call-repeated"
    changes = "the same call with the same arguments again -> removed"
    why = "Clients add the arguments up, and they become invalid JSON."
    providers = ("Perplexity", "servers that repeat a message in each chunk")
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/12233",
        "https://github.com/MacPaw/OpenAI/issues/317",
    )
    also_covered_by = ("tool-call-head-repeated", "tool-call-arguments-repeated")
    examples = (
        Example("again", [_COMPLETE, _COMPLETE], [_COMPLETE, chunk({})]),
        Example.untouched("another", [_COMPLETE, calling(head(1, "{}"))]),
        Example.untouched("more of it", [_COMPLETE, calling(head(0, " "))]),
    )


_HEAD = calling(head())
_SIGNED = {"index": 0, "extra_content": {"google": {"thought_signature": "c2ln"}}}
_WHOLE = {**_SIGNED, "function": {"arguments": ""}}


# A later fragment of a tool call that has no function, but keys of the provider's own.
class ToolCallFunctionMissing(DeltaFix):
    """Add nothing to the arguments, in the form in which OpenAI adds to them."""

    name = "tool-call-function-missing"
    changes = (
        '`tool_calls[]` of foreign keys alone -> `function: {"arguments": ""}` beside'
    )
    why = "openai-python's stream helper asserts that each fragment has a function."
    providers = ("Gemini (`extra_content` with a thought's signature)",)
    handles = Finding.ODD_CALLS
    sources = (
        "https://github.com/open-webui/computer/issues/224",
        "https://ai.google.dev/gemini-api/docs/thought-signatures",
    )
    examples = (
        Example("missing", [_HEAD, calling(_SIGNED)], [_HEAD, calling(_WHOLE)]),
        Example(
            "null",
            [_HEAD, calling({**_SIGNED, "function": None})],
            [_HEAD, calling(_WHOLE)],
        ),
        Example(
            "empty",
            [_HEAD, calling({**_SIGNED, "function": {}})],
            [_HEAD, calling(_WHOLE)],
        ),
        Example.untouched("arguments", [_HEAD, calling({**rest(), **_WHOLE})]),
        Example.untouched(
            "custom tool",
            [calling({"index": 0, "id": "c", "custom": {"name": "f", "input": ""}})],
        ),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Complete the fragments."""
        changed, known = False, self.seen.choice(index).calls
        for call in calls(delta):
            opened = known.get(index_of(call))
            if _lacks(call) and not (opened and opened.custom):
                call["function"] = {**function(call), "arguments": ""}
                changed = True
        return changed


def _lacks(call: Chunk) -> bool:
    """Tell whether *call* is a fragment that goes on with a function, and does not."""
    if name_of(call) or call.get("name") or "custom" in call:
        return False
    is_function = call.get("type") in (None, "", "function")
    says = any(v is not None for k, v in call.items() if k not in ("index", "function"))
    return is_function and says and function(call).get("arguments") is None


_SPLIT = [calling(head()), calling(rest())]


# A tool call whose arguments come with its head, in one fragment.
class ToolCallWhole(Fix):
    """Send the head with empty arguments, then the arguments, as OpenAI does."""

    name = "tool-call-whole"
    changes = 'tool call in one fragment -> head with `arguments: ""`, then arguments'
    why = (
        "The six stream helpers of openai-python and openai-node never report the "
        "arguments as done; loops copied from guides add them twice."
    )
    providers = ("NVIDIA NIM", "llama.cpp", "Gemini", "Mistral", "Ollama")
    handles = Finding.NAMED_CALL
    sources = (
        "https://github.com/langchain-ai/langchain-nvidia",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example("whole", [_COMPLETE], _SPLIT),
        Example(
            "two in one chunk",
            [calling(head(0, "{}"), head(1, "[]"))],
            [*_SPLIT, calling(head(1)), calling(rest(1, "[]"))],
        ),
        Example.untouched("head, then arguments", _SPLIT),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, one fragment each, where a fragment is a whole call."""
        is_changed = False
        for index, choice, delta in deltas(chunk):
            is_list = isinstance(delta.get("tool_calls"), list)
            if choice.get("finish_reason") is not None or not is_list:
                continue
            known = self.seen.choice(index).calls
            found = [each for call in calls(delta) for each in _parted(call, known)]
            if len(found) > len(calls(delta)):
                is_changed = True
                delta["tool_calls"] = found
        return part_calls(chunk) if is_changed else None


def _parted(call: Chunk, known: Container[int]) -> list[Chunk]:
    """*call* in its two fragments, if it is whole, and no call that is *known*."""
    # Without an index, what follows could belong to a neighbour.
    at, inner = call.get("index"), function(call)
    is_said = isinstance(inner.get("arguments"), str) and inner["arguments"]
    if not (isinstance(at, int) and is_said and inner.get("name")) or at in known:
        return [call]
    return fragments_of(call, at)
