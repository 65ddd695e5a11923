"""A response that ends without its figures."""

from ....wire.json_text import Json
from ...native_fix import NativeFix, ResponsesExample
from ...response_events import USAGE, WHOLE, end, message, without

CHAT = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
NULLS = {
    **USAGE,
    "input_tokens_details": {"cached_tokens": None, "cache_write_tokens": 0},
    "total_tokens": None,
}
BARE = without(USAGE, "input_tokens_details", "output_tokens_details")


def ended(usage: object) -> Json:
    """Return the last event with these figures."""
    return end(8, message("Hi"), usage=usage)


class ResponseUsageMissing(NativeFix):
    """Put in the figures of tokens: the provider's, or an estimate where it sends none."""

    name = "response-usage-missing"
    changes = "no `usage`, or one by chat's names, without details or null -> OpenAI's figures"
    why = (
        "Codex takes the stream for broken, asks everything again, and never compacts."
    )
    providers = ("Kimi For Coding", "9router", "gateways")
    sources = (
        "https://github.com/openai/codex/issues/37141",
        "https://github.com/BigPizzaV3/CodexPlusPlus/pull/1908",
        "https://github.com/6Kmfi6HP/opencode2api/pull/11",
    )
    examples = (
        ResponsesExample("chat's names", [*WHOLE[:-1], ended(CHAT)], WHOLE),
        ResponsesExample("null", [*WHOLE[:-1], ended(NULLS)], WHOLE),
        ResponsesExample("without details", [*WHOLE[:-1], ended(BARE)], WHOLE),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
