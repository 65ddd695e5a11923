"""The first fragment of a tool call: id, type and name."""

from ..chat.chunks.chunk import Chunk, calls, change_all, function, index_of, messages
from ..repair.fix import DeltaFix, Example, Fix, calling, chunk, head, rest
from ..repair.look import Finding

_OPEN = calling(head())
_NULLS = {"id": None, "type": None, "function": {"name": None, "arguments": "{}"}}


# `id`, `type` or `name` again, or null, on fragments after a call's first.
# The repair is in `repair/engine/assembled_calls.py`.
class ToolCallHeadRepeated(Fix):
    """Send a call's head once; a fragment that brings no arguments is dropped."""

    name = "tool-call-head-repeated"
    changes = "`id`, `type`, `function.name` after a call's first fragment -> removed"
    why = (
        "Clients add fragments up: `read_fileread_file`, ids too long to be accepted "
        "on the next turn; null overwrites the name in others."
    )
    providers = ("MiniMax on NVIDIA NIM", "SGLang", "Fireworks", "opencode Zen")
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/12230",
        "https://github.com/anomalyco/opencode/issues/43328",
    )
    also_covered_by = ("field-null",)
    examples = (
        Example("repeated", [_OPEN, calling(head(0, "{}"))], [_OPEN, calling(rest())]),
        Example(
            "null", [_OPEN, calling({"index": 0, **_NULLS})], [_OPEN, calling(rest())]
        ),
        Example(
            "only nulls",
            [_OPEN, calling({"index": 0, "x": None, "function": {"x": None}})],
            [_OPEN, chunk({})],
        ),
        Example.untouched("once", [_OPEN, calling(rest())]),
        Example.untouched("another call", [_OPEN, calling(head(0, id="call_1"))]),
    )


_BARE = {"index": 0, "id": "call_0", "function": {"name": "f"}}
_NULL = {**head(), "type": None, "function": {"name": "f", "arguments": None}}


# A tool call that opens without `type` or without `arguments`, or with null.
class ToolCallHeadIncomplete(DeltaFix):
    """Open a call with `type: "function"` and `arguments: ""` to add to."""

    name = "tool-call-head-incomplete"
    changes = 'call opened without `type` or `arguments` -> `"function"`, `""`'
    why = (
        "Strict schemas want the literal `function`; adding the arguments up fails at "
        "null or a missing key."
    )
    providers = ("Mistral (`type`)", "Azure (`type`)", "vLLM (`arguments`)")
    handles = Finding.NAMED_CALL
    sources = (
        "https://github.com/vercel/ai/issues/12939",
        "https://github.com/vercel/ai/issues/5744",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example.of_fragment("missing", _BARE, {**_BARE, **head()}),
        Example.of_fragment("null", _NULL, head()),
        Example.of_call("body", {**head(), "type": ""}, head()),
        Example.untouched("there", [calling(head()), calling(rest())]),
    )

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Complete the fragments that open a call."""
        changed, known = False, self.seen.choice(index).calls
        for call in calls(delta):
            inner = function(call)
            if not inner.get("name") or index_of(call) in known:
                continue
            changed |= _name_type(call)
            if inner.get("arguments") is None:
                inner["arguments"] = ""
                changed = True
        return changed

    def body(self, body: Chunk) -> bool:
        """Complete the calls; arguments are another matter there."""
        found = [call for _, message in messages(body) for call in calls(message)]
        return change_all(_name_type, found)


def _name_type(call: Chunk) -> bool:
    if call.get("type") == "function" or not isinstance(call.get("function"), dict):
        return False
    call["type"] = "function"
    return True
