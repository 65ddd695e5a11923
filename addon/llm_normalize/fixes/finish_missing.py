"""No finish reason before `[DONE]`."""

from ..fix import DONE, Example, Fix, chunk, head

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_CALLED = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})
_STOP = chunk({}, finish="stop")


class FinishMissing(Fix):
    """Add the finish reason that the provider's own `[DONE]` implies.

    ending.py does it. A stream that ends without `[DONE]` broke off, and gets none.
    """

    name = "finish-missing"
    changes = "`[DONE]` without a finish reason -> `stop` or `tool_calls` before it"
    why = "openai-node's helpers and the AI SDK raise; agents abort the turn."
    providers = ("GLM-5.1 on NVIDIA NIM", "opencode Zen", "Gemini proxies")
    sources = (
        "https://github.com/earendil-works/pi/issues/6226",
        "https://github.com/anomalyco/opencode/issues/43882",
    )
    examples = (
        Example("text", [_TEXT, DONE], [_TEXT, _STOP, DONE]),
        Example(
            "tool call",
            [_CALLED, DONE],
            [_CALLED, chunk({}, finish="tool_calls"), DONE],
        ),
        Example.untouched("there", [_TEXT, _STOP, DONE]),
        Example.untouched("broken off", [_TEXT]),
        Example.untouched(
            "error", [_TEXT, b'data: {"error":{"message":"Overloaded"}}\n\n', DONE]
        ),
    )
