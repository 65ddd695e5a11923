"""Parts of an item, and their text."""

from ..native_fix import NativeFix, ResponsesExample
from ..response_events import (
    CALLED,
    WHOLE,
    changed,
    done,
    in_part,
    message,
    of_call,
    part,
    put,
    without,
)

ADDED, TEXT = WHOLE[3:5]


# A text in no part.
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
    )


# A part that does not end.
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
    examples = (ResponsesExample("a text", [*WHOLE[:6], *WHOLE[7:]], WHOLE),)


# A part by another name.
class PartTypeWrong(NativeFix):
    """Give it OpenAI's."""

    name = "part-type-wrong"
    changes = "`part.type`: `text`, or `output_text` of thoughts -> `output_text`, `reasoning_text`"
    why = "Clients read no part that they do not know, and find no text."
    providers = ("vLLM", "gateways")
    sources = ("https://github.com/vllm-project/vllm/pull/24788",)
    examples = (
        ResponsesExample(
            "a text",
            put(WHOLE, 3, in_part("content_part.added", 3, part=part(type="text"))),
            WHOLE,
        ),
    )


BARE = {"type": "output_text", "text": ""}


# Parts and texts without `annotations` or `logprobs`.
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
        ResponsesExample("a part", changed(WHOLE, 3, part=BARE), WHOLE),
        ResponsesExample(
            "a delta",
            put(WHOLE, 4, without(WHOLE[4], "logprobs")),
            put(WHOLE, 4, {**without(WHOLE[4], "logprobs"), "logprobs": []}),
        ),
    )


# A text or arguments that come in their last event alone.
class TextDeltaMissing(NativeFix):
    """Put in the event that adds them."""

    name = "text-delta-missing"
    changes = "no `….delta` -> one with the text"
    why = "Clients that read deltas show nothing, and call tools without arguments."
    providers = ("LM Studio", "GitHub Copilot", "OpenAI Codex Spark")
    sources = (
        "https://github.com/BerriAI/litellm/pull/27797",
        "https://github.com/tailcallhq/forgecode/pull/2558",
        "https://github.com/lidge-jun/opencodex/pull/4652",
        "https://github.com/Sophomoresty/gemini-web2api/pull/57",
    )
    examples = (
        ResponsesExample("arguments", [*CALLED[:3], *CALLED[4:]], CALLED),
        ResponsesExample("a text", [*WHOLE[:4], *WHOLE[5:]], WHOLE),
    )


NAMED = of_call("done", 4, name="f", arguments="{}")


# A text or arguments without their last event.
class TextDoneMissing(NativeFix):
    """Put it in."""

    name = "text-done-missing"
    changes = "no `response.output_text.done`, `response.function_call_arguments.done` … -> put in"
    why = "Clients that show a text at its end, or parse arguments there, wait for it."
    providers = ("LlamaStack", "agentgateway", "vLLM")
    sources = (
        "https://github.com/ogx-ai/ogx/issues/5309",
        "https://github.com/agentgateway/agentgateway/pull/2281",
    )
    examples = (
        ResponsesExample("a text", [*WHOLE[:5], *WHOLE[6:]], WHOLE),
        ResponsesExample(
            "arguments", [*CALLED[:4], *CALLED[5:]], put(CALLED, 4, NAMED)
        ),
    )


# An end that has nothing of its text.
class TextDoneEmpty(NativeFix):
    """Put in what its deltas have said."""

    name = "text-done-empty"
    changes = (
        "`text`, `arguments` or `content` of an end: empty or missing -> the whole"
    )
    why = "Codex and openai-python take the answer from there, and have nothing; LM Studio's calls lose their arguments."
    providers = ("LM Studio", "agentgateway", "vLLM")
    sources = (
        "https://github.com/openclaw/openclaw/pull/90593",
        "https://github.com/agentgateway/agentgateway/pull/2281",
    )
    examples = (
        ResponsesExample(
            "arguments", put(CALLED, 4, of_call("done", 4, arguments="")), CALLED
        ),
        ResponsesExample(
            "a message", put(WHOLE, 7, done(7, message("Hi", content=[]))), WHOLE
        ),
    )
