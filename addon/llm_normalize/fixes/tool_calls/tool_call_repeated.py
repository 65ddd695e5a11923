"""A complete tool call that is sent again.

The repair is in `repair/engine/assembled_calls.py`.
"""

from ...repair.fix import Example, Fix, calling, chunk, head

_CALL = calling(head(0, "{}"))


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
        Example("again", [_CALL, _CALL], [_CALL, chunk({})], ended=False),
        Example.untouched("another", [_CALL, calling(head(1, "{}"))]),
        Example.untouched("more of it", [_CALL, calling(head(0, " "))]),
    )
