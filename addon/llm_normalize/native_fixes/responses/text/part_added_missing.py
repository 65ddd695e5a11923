"""A text in no part."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE

ADDED, TEXT = WHOLE[3:5]


class PartAddedMissing(NativeFix):
    """Put in the beginning of its part."""

    name = "part-added-missing"
    changes = "no `response.content_part.added` or `response.reasoning_summary_part.added`, or behind its text -> put in, once"
    why = "openai-python raises, and the AI SDK drops the text or stops."
    providers = ("LiteLLM", "llm-rosetta", "gemini-web2api", "Azure")
    sources = (
        "https://github.com/openai/openai-python/issues/2852",
        "https://github.com/BerriAI/litellm/issues/22102",
        "https://github.com/Oaklight/llm-rosetta/issues/408",
        "https://github.com/Sophomoresty/gemini-web2api/pull/57",
        "https://github.com/epam/ai-dial-adapter-openai/pull/494",
    )
    examples = (
        ResponsesExample("a text", [*WHOLE[:3], *WHOLE[4:]], WHOLE),
        ResponsesExample("late", [*WHOLE[:3], TEXT, ADDED, *WHOLE[5:]], WHOLE),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
