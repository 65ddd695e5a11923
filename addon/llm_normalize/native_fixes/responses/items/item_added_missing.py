"""Events of an item that has not begun."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, added, begin, call, done, message, text

LATER = text()[1:]
BEGUN = {**message()}


class ItemAddedMissing(NativeFix):
    """Put in its beginning."""

    name = "item-added-missing"
    changes = "no `response.output_item.added` -> put in"
    why = "Codex drops the text and logs a delta without an item; opencode and openai-python stop."
    providers = ("LiteLLM", "vLLM", "sub2api", "agentic-api")
    sources = (
        "https://github.com/BerriAI/litellm/issues/22102",
        "https://github.com/BerriAI/litellm/issues/41185",
        "https://github.com/vllm-project/agentic-api/issues/62",
        "https://github.com/vllm-project/vllm/issues/48274",
        "https://github.com/openai/codex/pull/12798",
    )
    examples = (
        ResponsesExample(
            "a text", [*begin(), *LATER], [*begin(), added(2, BEGUN), *LATER]
        ),
        ResponsesExample(
            "only its end",
            [*begin(), done(3, call("{}"))],
            [*begin(), added(2, call()), done(3, call("{}"))],
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
