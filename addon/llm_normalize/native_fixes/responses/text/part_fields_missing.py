"""Parts and texts without `annotations` or `logprobs`."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, without

BARE = {"type": "output_text", "text": ""}


class PartFieldsMissing(NativeFix):
    """Put in empty ones."""

    name = "part-fields-missing"
    changes = "no `annotations` or `logprobs` -> `[]`"
    why = "AI SDK, opencode, the Agents SDK and typed clients refuse the answer."
    providers = ("GitHub Copilot", "OpenRouter", "Gemini", "gateways")
    sources = (
        "https://github.com/openai/openai-agents-python/issues/1276",
        "https://github.com/anomalyco/opencode/pull/29482",
        "https://github.com/agentgateway/agentgateway/issues/2932",
        "https://github.com/suhaibbinyounis/github-copilot-api-vscode/issues/32",
    )
    examples = (
        ResponsesExample(
            "a part", [*WHOLE[:3], {**WHOLE[3], "part": BARE}, *WHOLE[4:]], WHOLE
        ),
        ResponsesExample(
            "a delta",
            [*WHOLE[:4], without(WHOLE[4], "logprobs"), *WHOLE[5:]],
            [*WHOLE[:4], {**without(WHOLE[4], "logprobs"), "logprobs": []}, *WHOLE[5:]],
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
