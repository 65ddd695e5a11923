"""An item that does not end, or only behind the next."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, added, begin, done, message

THOUGHT = {"id": "rs_0", "type": "reasoning", "status": "completed", "summary": []}
LATER = added(3, message(), 1)


class ItemDoneMissing(NativeFix):
    """Put in its end: before another text, or at the end of the response. A late one is dropped."""

    name = "item-done-missing"
    changes = "no `response.output_item.done`, or a late one -> in time"
    why = "Codex runs no call and keeps no text that has not ended."
    providers = ("LiteLLM", "vLLM", "OpenRouter")
    sources = (
        "https://github.com/openai/codex/pull/12798",
        "https://github.com/vllm-project/vllm/issues/48274",
        "https://github.com/Oaklight/llm-rosetta/issues/408",
    )
    examples = (
        ResponsesExample("at the end", [*WHOLE[:7], WHOLE[8]], WHOLE),
        ResponsesExample(
            "late",
            [*begin(), added(2, THOUGHT), LATER, done(4, THOUGHT)],
            [*begin(), added(2, THOUGHT), done(3, THOUGHT), LATER],
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
        ResponsesExample.untouched("a stream that breaks off", WHOLE[:7]),
    )
