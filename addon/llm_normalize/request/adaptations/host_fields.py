"""Fields of a request that hosts are known to refuse, or to want."""

from ...wire.json_text import Number
from ..adaptation import (
    CHANGED,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    renamed,
    replaced,
)

_NIM = ("integrate.api.nvidia.com", "ai.api.nvidia.com")
_NEW, _OLD = "max_completion_tokens", "max_tokens"


# `max_completion_tokens`, where only its older name is known.
class MaxCompletionTokensUnknown(Adaptation):
    """Give the limit its older name; of two equal ones keep that."""

    name = "max-completion-tokens-unknown"
    changes = "`max_completion_tokens` -> `max_tokens`"
    why = "Mistral answers 422, `extra_forbidden`; NIM knows the older name only."
    hosts = ("api.mistral.ai", *_NIM, "llm.chutes.ai")
    sources = (
        "https://github.com/editor-code-assistant/eca/issues/231",
        "https://github.com/Gitlawb/openclaude/issues/739",
        "https://docs.litellm.ai/docs/providers/nvidia_nim",
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
    )
    examples = (
        RequestExample("limit", {_NEW: 9, "messages": HI}, {_OLD: 9, "messages": HI}),
        RequestExample("both", {_OLD: 9, _NEW: 9}, {_OLD: 9}),
        RequestExample("null", {"model": "m", _NEW: None}, {"model": "m"}),
        RequestExample.untouched("two limits", {_OLD: 7, _NEW: 9}),
        RequestExample.untouched("older name", {_OLD: 9}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Rename the limit."""
        if _NEW not in body:
            return []
        if body[_NEW] is None or (_OLD in body and body[_OLD] == body[_NEW]):
            return drop(body, _NEW)
        if body.get(_OLD) is not None:
            return []
        body.pop(_OLD, None)
        renamed(body, _NEW, _OLD)
        return [(CHANGED, _NEW)]


# `prompt_cache_key`, where it is unknown.
class PromptCacheKeyRefused(Adaptation):
    """Drop the key, which only makes OpenAI's cache hit more often."""

    name = "prompt-cache-key-refused"
    changes = "`prompt_cache_key` -> removed"
    why = "NIM answers 400: `Unsupported parameter(s): prompt_cache_key`."
    hosts = _NIM
    sources = (
        "https://github.com/sipeed/picoclaw/issues/1019",
        "https://github.com/diegosouzapw/OmniRoute/issues/848",
        "https://github.com/MoonshotAI/kimi-cli/issues/2534",
    )
    examples = (
        RequestExample.of_fields("key", {"prompt_cache_key": "k"}, {}),
        RequestExample.untouched("without", {"model": "m", "messages": HI}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop the key."""
        return drop(body, "prompt_cache_key")


# `store: false`, where it is unknown.
class StoreRefused(Adaptation):
    """Drop what says that nothing is to be stored: these store nothing."""

    name = "store-refused"
    changes = "`store: false` -> removed"
    why = "Mistral and Cerebras answer 422, Groq, Gemini and others 400."
    hosts = (
        "api.mistral.ai",
        "api.cerebras.ai",
        "api.groq.com",
        "generativelanguage.googleapis.com",
        "api.x.ai",
        "llm.chutes.ai",
        "api.deepseek.com",
        "api.z.ai",
    )
    sources = (
        "https://github.com/Gitlawb/openclaude/issues/739",
        "https://github.com/Gitlawb/openclaude/issues/740",
        "https://github.com/fanenr/chatbot/issues/21",
        "https://github.com/liliMozi/openhanako/issues/394",
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
    )
    examples = (
        RequestExample.of_fields("false", {"store": False}, {}),
        RequestExample.of_fields("null", {"store": None}, {}),
        RequestExample.untouched("wanted", {"messages": HI, "store": True}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it unless it asks for something."""
        return [] if body.get("store") else drop(body, "store")


# `reasoning`, which OpenRouter has, sent elsewhere.
class ReasoningRefused(Adaptation):
    """Drop it: OpenAI's chat/completions has no such field, and neither have these."""

    name = "reasoning-refused"
    changes = "`reasoning` -> removed"
    why = "NIM, Groq and Cerebras answer 400 to any value."
    hosts = (*_NIM, "api.groq.com", "api.cerebras.ai")
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/77973",
        "https://github.com/musistudio/llms/pull/64",
        "https://github.com/proxysoul/Empryo/pull/209",
    )
    examples = (
        RequestExample.of_fields("effort", {"reasoning": {"effort": "high"}}, {}),
        RequestExample.untouched(
            "OpenAI's own", {"reasoning_effort": "high", "messages": HI}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        return drop(body, "reasoning")


# `tool_stream`, which Z.AI's own API has, sent elsewhere.
class ToolStreamRefused(Adaptation):
    """Drop it: NIM streams tool calls anyway."""

    name = "tool-stream-refused"
    changes = "`tool_stream` -> removed"
    why = "NIM answers 400: ``Unsupported parameter(s): `tool_stream` ``."
    hosts = _NIM
    sources = ("https://github.com/Gitlawb/openclaude/issues/1950",)
    examples = (
        RequestExample.of_fields("set", {"tool_stream": True}, {}),
        RequestExample.untouched("without", {"messages": HI, "stream": True}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        return drop(body, "tool_stream")


# `tools: []`, where a list must have something in it.
class ToolsEmpty(Adaptation):
    """Drop a list of no tools."""

    name = "tools-empty"
    changes = "`tools: []` -> removed"
    why = "Mistral answers 422, `extra_forbidden`."
    hosts = ("api.mistral.ai",)
    sources = ("https://github.com/partITech/php-mistral/issues/76",)
    examples = (
        RequestExample.of_fields("none", {"tools": []}, {}),
        RequestExample.untouched(
            "a tool", {"tools": [{"type": "function", "function": {"name": "f"}}]}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop the list if it is empty."""
        return drop(body, "tools") if body.get("tools") == [] else []


_PENALTIES = ("presence_penalty", "frequency_penalty")
_GROK = {"model": "grok-4.6", "messages": HI}
_NONE = (None, 0, Number("0.0"))


# A penalty of 0, which is what none means, where penalties are unknown.
class PenaltyDefaultRefused(Adaptation):
    """Drop a penalty that penalises nothing; another is the provider's to refuse."""

    name = "penalty-default-refused"
    changes = "`presence_penalty: 0`, `frequency_penalty: 0` -> removed"
    why = "xAI and Gemini answer 400 at the name alone, NIM's Gemma 422."
    hosts = (
        "api.x.ai",
        "generativelanguage.googleapis.com",
        "integrate.api.nvidia.com",
    )
    models = "grok|gemini|gemma"
    sources = (
        "https://github.com/Kilo-Org/kilocode/issues/9652",
        "https://github.com/miaoxworld/NativeTavern/issues/83",
        "https://github.com/yym68686/uni-api/issues/105",
        "https://github.com/n4ze3m/page-assist/issues/418",
    )
    examples = (
        RequestExample(
            "zero",
            {**_GROK, "presence_penalty": 0, "frequency_penalty": Number("0.0")},
            _GROK,
        ),
        RequestExample.untouched(
            "a penalty",
            {**_GROK, "presence_penalty": Number("0.5"), "frequency_penalty": 1},
        ),
        RequestExample.untouched("without", _GROK),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop those that are 0."""
        spare = [key for key in _PENALTIES if body.get(key, 1) in _NONE]
        return [edit for key in spare for edit in drop(body, key)]


_MODEL = "mistralai/mistral-small-24b-instruct"
_MISTRAL = {"model": _MODEL, "stream": True, "messages": HI}


# `stream_options`, where it is refused, or the stream hangs.
class StreamOptionsRefused(Adaptation):
    """Drop it: an answer without usage is better than none."""

    name = "stream-options-refused"
    changes = "`stream_options` -> removed, for Mistral's models"
    why = "NIM answers 400."
    hosts = _NIM
    models = "mistral|mixtral"
    sources = (
        "https://github.com/earendil-works/pi/pull/1528",
        "https://github.com/HKUDS/DeepTutor/pull/420",
    )
    examples = (
        RequestExample(
            "usage", {**_MISTRAL, "stream_options": {"include_usage": True}}, _MISTRAL
        ),
        RequestExample.untouched("without", _MISTRAL),
        RequestExample.untouched(
            "another model",
            {"model": "meta/llama-3.3-70b", "stream_options": {"include_usage": True}},
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        return drop(body, "stream_options")


_KEY = "chat_template_kwargs"
_DEEPSEEK = {"model": "deepseek-ai/deepseek-v4-pro", "messages": HI}


# DeepSeek V4 on NIM, which answers nothing unless its template gets a value for thinking.
class ChatTemplateMissing(Adaptation):
    """Say that it thinks, which is its default; and with an effort of `none` that it does not."""

    name = "chat-template-missing"
    changes = "DeepSeek V4 without `chat_template_kwargs` -> with `thinking: true`"
    why = "NIM hangs without a word."
    hosts = _NIM
    models = "deepseek-v4"
    sources = (
        "https://github.com/anomalyco/opencode/issues/24264",
        "https://github.com/anomalyco/opencode/pull/37833",
    )
    examples = (
        RequestExample("without", _DEEPSEEK, {**_DEEPSEEK, _KEY: {"thinking": True}}),
        RequestExample(
            "without effort",
            {**_DEEPSEEK, "reasoning_effort": "none"},
            {**_DEEPSEEK, "reasoning_effort": "none", _KEY: {"thinking": False}},
        ),
        RequestExample.untouched("its own", {**_DEEPSEEK, _KEY: {"thinking": False}}),
        RequestExample.untouched(
            "another model", {**_DEEPSEEK, "model": "deepseek-v3.2"}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Add it."""
        if _KEY in body or not self.is_for_model(body.get("model")):
            return []
        thinks = body.get("reasoning_effort") != "none"
        return replaced(body, _KEY, {"thinking": thinks})
