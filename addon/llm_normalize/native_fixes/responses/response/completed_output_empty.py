"""A response that ends without its output."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, end


class CompletedOutputEmpty(NativeFix):
    """Put in the items that have been sent."""

    name = "completed-output-empty"
    changes = "`response.output` of the last event: empty, or without some items -> all of them"
    why = "The Agents SDK, LangChain and OpenClaw take the answer from there: an empty one is asked again, up to ten times."
    providers = ("vLLM", "LiteLLM", "new-api", "ChatGPT")
    sources = (
        "https://github.com/QuantumNous/new-api/issues/4362",
        "https://github.com/vllm-project/vllm/pull/30223",
        "https://github.com/BerriAI/litellm/pull/32724",
    )
    examples = (
        ResponsesExample("empty", [*WHOLE[:-1], end(8)], WHOLE),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
