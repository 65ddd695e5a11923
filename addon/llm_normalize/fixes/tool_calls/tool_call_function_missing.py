"""A later fragment of a tool call that has no function, but keys of the provider's own."""

from ...chat.chunks.chunk import Chunk, calls, deltas, function, index_of, name_of
from ...repair.fix import Example, Fix, calling, head, rest
from ...repair.look import Finding

_HEAD = calling(head())
_SIGNED = {"index": 0, "extra_content": {"google": {"thought_signature": "c2ln"}}}
_WHOLE = {**_SIGNED, "function": {"arguments": ""}}


class ToolCallFunctionMissing(Fix):
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

    def edit(self, chunk: Chunk) -> bool:
        """Complete the fragments."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
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
