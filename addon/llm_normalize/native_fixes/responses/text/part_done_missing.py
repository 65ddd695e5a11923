"""A part that does not end."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE


class PartDoneMissing(NativeFix):
    """Put in its end."""

    name = "part-done-missing"
    changes = "no `response.content_part.done` or `response.reasoning_summary_part.done` -> put in"
    why = "Clients that show a part at its end never show it."
    providers = ("LiteLLM", "llm-rosetta", "vLLM")
    sources = (
        "https://github.com/Oaklight/llm-rosetta/issues/56",
        "https://github.com/Oaklight/llm-rosetta/issues/408",
        "https://github.com/vllm-project/vllm/pull/35184",
    )
    examples = (
        ResponsesExample("a text", [*WHOLE[:6], *WHOLE[7:]], WHOLE),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
