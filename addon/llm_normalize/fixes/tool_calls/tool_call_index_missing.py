"""Tool call fragments without `index`.

The repair is in `repair/engine/assembled_calls.py`.
"""

from ...repair.fix import Example, Fix, calling, head, rest

_A = head(None, id="call_a")
_B = head(None, id="call_b")


class ToolCallIndexMissing(Fix):
    """Count the calls of a choice; a fragment that opens none continues the last."""

    name = "tool-call-index-missing"
    changes = "`tool_calls[]` without `index`, or with text -> counted from 0"
    why = "openai-python fails on `list[None]`; strict schemas refuse the chunk."
    providers = ("NVIDIA NIM", "Gemini", "Ollama", "mistral.rs")
    sources = (
        "https://github.com/openai/openai-python/issues/2806",
        "https://github.com/ollama/ollama/issues/7881",
        "https://github.com/64bit/async-openai/issues/432",
    )
    examples = (
        Example.of_event(
            "two calls in one chunk",
            calling(_A, _B),
            calling({"index": 0, **_A}, {"index": 1, **_B}),
        ),
        Example(
            "continued",
            [calling(head()), calling(rest(None))],
            [calling(head()), calling(rest())],
            ended=False,
        ),
        Example.untouched("counted", [calling(head())]),
    )
