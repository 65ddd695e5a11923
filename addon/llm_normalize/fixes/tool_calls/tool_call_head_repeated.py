"""`id`, `type` or `name` again, or null, on fragments after a call's first.

The repair is in `repair/engine/assembled_calls.py`.
"""

from ...repair.fix import Example, Fix, calling, chunk, head, rest

_OPEN = calling(head())
_NULLS = {"id": None, "type": None, "function": {"name": None, "arguments": "{}"}}


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
        Example(
            "repeated",
            [_OPEN, calling(head(0, "{}"))],
            [_OPEN, calling(rest())],
            ended=False,
        ),
        Example(
            "null",
            [_OPEN, calling({"index": 0, **_NULLS})],
            [_OPEN, calling(rest())],
            ended=False,
        ),
        Example(
            "only nulls",
            [_OPEN, calling({"index": 0, "x": None, "function": {"x": None}})],
            [_OPEN, chunk({})],
            ended=False,
        ),
        Example.untouched("once", [_OPEN, calling(rest())]),
        Example.untouched("another call", [_OPEN, calling(head(0, id="call_1"))]),
    )
