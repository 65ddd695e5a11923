"""A tool call that opens without `type` or without `arguments`, or with null."""

from ..chunk import Chunk, calls, deltas, function, index_of
from ..fix import Example, Fix, calling, head, rest

_BARE = {"index": 0, "id": "call_0", "function": {"name": "f"}}
_NULL = {**head(), "type": None, "function": {"name": "f", "arguments": None}}


class ToolCallHeadIncomplete(Fix):
    """Open a call with `type: "function"` and `arguments: ""` to add to."""

    name = "tool-call-head-incomplete"
    changes = 'call opened without `type` or `arguments` -> `"function"`, `""`'
    why = (
        "Strict schemas want the literal `function`; adding the arguments up fails at "
        "null or a missing key."
    )
    providers = ("Mistral (`type`)", "Azure (`type`)", "vLLM (`arguments`)")
    sources = (
        "https://github.com/vercel/ai/issues/12939",
        "https://github.com/vercel/ai/issues/5744",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example(
            "missing",
            [calling(_BARE)],
            [calling({**_BARE, **head()})],
            ended=False,
        ),
        Example("null", [calling(_NULL)], [calling(head())], ended=False),
        Example.untouched("there", [calling(head()), calling(rest())]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Complete the fragments that open a call."""
        changed = False
        for index, _, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            for call in calls(delta):
                inner = function(call)
                if not inner.get("name") or index_of(call) in known:
                    continue
                if not call.get("type"):
                    call["type"] = "function"
                    changed = True
                if inner.get("arguments") is None:
                    inner["arguments"] = ""
                    changed = True
        return changed
