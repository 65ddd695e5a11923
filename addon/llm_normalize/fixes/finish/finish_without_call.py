"""`finish_reason: "tool_calls"` although no tool was called."""

from ...chat.chunks.chunk import Chunk, messages
from ...repair.fix import (
    DONE,
    HI,
    STOP,
    TEXT,
    Example,
    Fix,
    calling,
    chunk,
    completion,
    head,
    rest,
)

_CALLS = chunk({}, finish="tool_calls")
_REASONS = ("tool_calls", "function_call")


class FinishWithoutCall(Fix):
    """Say `stop` where the answer calls nothing.

    In a stream the reason waits for one event: there are providers that send it first.
    """

    name = "finish-without-call"
    changes = '`"tool_calls"`, `"function_call"` without a call -> `"stop"`'
    why = "Agents look for a call to run, and fail or ask again without end."
    providers = ("GitHub Copilot", "gateways to Gemini", "Ollama behind Open WebUI")
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/75926",
        "https://github.com/mastra-ai/mastra/issues/14187",
        "https://github.com/open-webui/open-webui/issues/23066",
    )
    examples = (
        Example("stream", [TEXT, _CALLS, DONE], [TEXT, STOP, DONE]),
        Example.of_body(
            "body", completion(HI, finish="tool_calls"), completion(HI, finish="stop")
        ),
        Example.untouched(
            "call", [TEXT, calling(head()), calling(rest()), _CALLS, DONE]
        ),
        Example.untouched("length", [TEXT, chunk({}, finish="length"), DONE]),
    )

    def body(self, body: Chunk) -> bool:
        """Repair the reasons beside messages without a call."""
        wrong = [
            choice
            for choice, message in messages(body)
            if choice.get("finish_reason") in _REASONS
            and not (message.get("tool_calls") or message.get("function_call"))
        ]
        for choice in wrong:
            choice["finish_reason"] = "stop"
        return bool(wrong)
