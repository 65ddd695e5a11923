"""Thinking: whether it goes with the rest, how it is asked for, and what comes back of it."""

from ...wire.json_text import (
    Json,
    as_list,
    as_object,
    as_string,
    objects_in,
    whole_number,
)
from ..adaptation import (
    CHAT,
    EVERY_FORM,
    HI,
    MESSAGES,
    TRANSLATED,
    UNWANTED,
    WISHES,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    refused,
    replaced,
)
from ..message_forms import (
    begun_answer,
    calls_of,
    kinds_of,
    role_of,
    text_of,
    with_each_message,
)

_NO_EFFORT = refused(
    "thinking options type cannot be disabled when reasoning_effort is set"
)
_OFF = {"messages": HI, "thinking": {"type": "disabled"}}


CLEARING, UNABLE_TO = "clearing", "unable"
"""That no thoughts may be cleared away where none are asked for; that there are no levels."""


# A level of effort beside thinking that is off.
class EffortWithoutThinking(Adaptation):
    """Drop it: who does not think makes no effort, and has no thoughts to clear away."""

    name = "effort-without-thinking"
    changes = "`reasoning_effort`, `output_config.effort`, `clear_thinking` beside `thinking: disabled`, or effort of a model without levels -> removed"
    why = "DeepSeek answers 400 to each subagent of Claude Code, Claude to its hooks and to Haiku's effort."
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/deepseek-ai/DeepSeek-V3/issues/1397",
        "https://github.com/anthropics/claude-code/issues/86270",
        "https://github.com/anthropics/claude-code/issues/30760",
    )
    examples = (
        RequestExample(
            "of chat", {**_OFF, "reasoning_effort": "max"}, _OFF, _NO_EFFORT
        ),
        RequestExample.untouched(
            "thinking is on", {"messages": HI, "reasoning_effort": "max"}, _NO_EFFORT
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        kind = as_object(body.get("thinking")).get("type")
        if self.value == CLEARING:
            return _without_clearing(body) if kind in (None, "disabled") else []
        if kind != "disabled" and self.value != UNABLE_TO:
            return []
        return [
            *drop(body, "reasoning_effort"),
            *_without_effort(body, "output_config"),
            *_without_effort(body, "reasoning"),
        ]


def _without_clearing(body: Body) -> list[Edit]:
    key = "context_management"
    given = as_object(body.get(key))
    edits = [
        each
        for each in objects_in(given.get("edits"))
        if not as_string(each.get("type")).startswith("clear_thinking")
    ]
    return replaced(body, key, {**given, "edits": edits}) if edits else drop(body, key)


def _without_effort(body: Body, key: str) -> list[Edit]:
    """Drop that of Messages or Responses, which may have other wishes beside it."""
    given = as_object(body.get(key))
    if "effort" not in given:
        return []
    rest: Json = {name: each for name, each in given.items() if name != "effort"}
    return replaced(body, key, rest, f"{key}.effort") if rest else drop(body, key)


_EFFORT, ENABLE = "reasoning_effort", "enable_thinking"
TEMPLATE = "chat_template_kwargs"
BODY = "enable_thinking of a body"
"""That it has to be off where no stream is asked for."""
UNABLE, CALLED, FIXED = "unable", "called", "fixed template"
"""That nothing may ask for it: at all, once the history has calls, without thoughts, or by
what a template is filled in with, or is."""
_SIGNED = ("reasoning_details", "thinking_blocks")
"""Where a message has thoughts with their signatures."""
_THOUGHTS = {"thinking", "redacted_thinking"}
_NO_CHOICE = refused("Thinking mode does not support this tool_choice")
_FREE = (None, "auto", "none", "text")
_FORCED = {"messages": HI, "tool_choice": "required"}
_NOT_ENABLED = {"enable_thinking": False}
_OF_A_BODY = refused(
    "parameter.enable_thinking must be set to false for non-streaming calls"
)


# Thinking beside something that it cannot go with, or of a model that cannot think.
class ThinkingRefused(Adaptation):
    """Turn it off where a tool is forced, an answer begun, or one body asked for.

    So it is beside any tool, where OpenAI takes both in Responses alone, and beside JSON.

    Where it is off by default, no more is needed than not to ask for it.
    """

    name = "thinking-refused"
    changes = (
        "`thinking` -> off, beside a `tool_choice` that decides, a begun answer, tools of GPT, JSON or a "
        "body of Qwen; `reasoning_effort`, `reasoning`, `thinking` -> removed, for models that cannot think, "
        "and of Claude beside calls without thoughts; `chat_template_kwargs` -> removed, of Mistral's tokenizers"
    )
    why = (
        "DeepSeek, Kimi, Qwen and llama.cpp think by default, and answer 400; so do Ollama, "
        "Gemini and Claude where it is asked for."
    )
    needs_value = True
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/deepseek-ai/DeepSeek-V3/issues/1376",
        "https://github.com/cloudwego/eino/issues/994",
        "https://github.com/ggml-org/llama.cpp/issues/20861",
        "https://github.com/musistudio/claude-code-router/issues/948",
        "https://github.com/ollama/ollama/issues/12561",
        "https://github.com/CherryHQ/cherry-studio/issues/18744",
        "https://github.com/RooCodeInc/Roo-Code/issues/10700",
        "https://github.com/anomalyco/opencode/issues/3077",
        "https://github.com/OpenRouterTeam/ai-sdk-provider/issues/162",
    )
    examples = (
        RequestExample(
            "a tool", _FORCED, {**_FORCED, "thinking": {"type": "disabled"}}, _NO_CHOICE
        ),
        RequestExample.of_fields("a body", {}, {"enable_thinking": False}, _OF_A_BODY),
        RequestExample.untouched(
            "no tool is forced", {"messages": HI, "tool_choice": "auto"}, _NO_CHOICE
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Turn it off."""
        if self.value == FIXED:
            return drop(body, "chat_template") + drop(body, TEMPLATE)
        if self.value == TEMPLATE:
            made = {**as_object(body.get(TEMPLATE)), **_NOT_ENABLED}
            return replaced(body, TEMPLATE, made) if begun_answer(body) else []
        if self.value == BODY:
            return [] if body.get("stream") else replaced(body, ENABLE, False)
        if self.value in (UNABLE, CALLED):
            is_asked = self.value == UNABLE or _is_bare(body)
            return _without_wish(body) if is_asked else []
        field, _, beside = self.value.partition(" ")
        off: Body = {"thinking": {"type": "disabled"}, ENABLE: False, _EFFORT: "none"}
        is_elsewhere = field == _EFFORT and "input" in body  # Responses takes both
        if field not in off or is_elsewhere or _is_free(body, beside or "tool_choice"):
            return []
        return replaced(body, field, off[field])


def _is_bare(body: Body) -> bool:
    """Tell whether the last answer that calls, or that is gone on with, begins without thoughts."""
    answers = [begun_answer(body), *as_list(body.get("messages"))[::-1]]
    called = (
        each for each in answers if calls_of(each) or "tool_use" in kinds_of(each)
    )
    last = answers[0] or as_object(next(called, None))
    return bool(last) and not (
        any(map(last.get, _SIGNED)) or {*kinds_of(last)[:1]} & _THOUGHTS
    )


def _is_free(body: Body, key: str) -> bool:
    """Tell whether what *body* has under a *key* leaves the form of the answer open."""
    asked = body.get(key) or None
    return as_object(asked).get("type", asked) in _FREE


def _without_wish(body: Body) -> list[Edit]:
    asked = [key for key in WISHES if body.get(key) not in UNWANTED]
    dropped = [edit for key in asked for edit in drop(body, key)]
    return dropped + _without_effort(body, "output_config")


ADAPTIVE, ENABLED = "adaptive", "enabled"
BARE, MANDATORY, ROOM = "enabled alone", "mandatory", "room"
_LIMITS = ("max_tokens", "max_completion_tokens")
_LEAST = 1024
"""Tokens of the smallest budget."""
_OLD = {"type": "enabled", "budget_tokens": 8000}
_NEW = {"type": "adaptive", "display": "summarized"}
_WANTS_NEW = refused(
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
    'and "output_config.effort" to control thinking behavior.'
)


# Thinking that is asked for in the form of another generation of models.
class ThinkingFormRefused(Adaptation):
    """Ask for it in the form that the refusal names.

    A budget has no place in the new form, which tells no thoughts unless it is asked to; in
    the old one it is half of what may be said, or thinking is off where that is too little,
    unless the model always thinks.
    """

    name = "thinking-form-refused"
    changes = "`thinking`, or none -> `adaptive` or `enabled`, as the refusal asks for it, with a budget that has room"
    why = "Claude takes `adaptive` alone from Opus 4.7 on, Kimi `enabled`, also of subagents."
    needs_value = True
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/anomalyco/opencode/issues/23007",
        "https://github.com/Sylinko/Everywhere/issues/410",
        "https://github.com/openclaw/openclaw/issues/87801",
        "https://github.com/anthropics/claude-code/issues/69379",
        "https://github.com/decolua/9router/issues/2023",
        "https://github.com/anthropics/claude-code/issues/8756",
    )
    examples = (
        RequestExample.of_fields(
            "the new form",
            {"max_tokens": 9000, "thinking": _OLD},
            {"max_tokens": 9000, "thinking": _NEW},
            _WANTS_NEW,
        ),
        RequestExample.untouched(
            "off", {"messages": HI, "thinking": {"type": "disabled"}}, _WANTS_NEW
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Change it."""
        kind = as_object(body.get("thinking")).get("type")
        if self.value == ADAPTIVE and kind == ENABLED:
            return replaced(body, "thinking", {**_NEW})
        if self.value == BARE and kind == ADAPTIVE:
            return replaced(body, "thinking", {"type": ENABLED})
        # Where a tool is forced it has been turned off, for another refusal.
        is_mandatory = self.value == MANDATORY and _is_free(body, "tool_choice")
        if is_mandatory and "thinking" in body and kind != ENABLED:
            return replaced(body, "thinking", {"type": ENABLED})
        is_mandatory = is_mandatory and "thinking" not in body  # of Messages
        limit = next(filter(None, map(whole_number, map(body.get, _LIMITS))), 0)
        given = whole_number(as_object(body.get("thinking")).get("budget_tokens")) or 0
        has_room = not limit or _LEAST <= given < limit
        if (
            is_mandatory
            or (self.value == ENABLED and kind == ADAPTIVE)
            or (self.value == ROOM and kind == ENABLED and not has_room)
        ):
            budget = _LEAST if 0 < given < _LEAST < limit else limit // 2
            bare: Json = {"type": ENABLED if is_mandatory else "disabled"}
            old: Json = {"type": ENABLED, "budget_tokens": budget}
            return replaced(body, "thinking", old if budget >= _LEAST else bare)
        return []


_KEY = "reasoning_content"
_NOT_PASSED_BACK = refused(
    "The `reasoning_content` in the thinking mode must be passed back to the API."
)
_BLANK = " "
_THOUGHT = {"type": "thinking", "thinking": "", "signature": ""}


def _asked(**more: Json) -> Body:
    return {"messages": [*HI, {"role": "assistant", "content": "Hello", **more}, *HI]}


# An answer without its reasoning, which a thinking model wants to have back.
class MessageReasoningMissing(Adaptation):
    """Put back what the answer had.

    If the client has it under another name, that; else what is remembered, by the id of a
    call or by the text of an answer without calls; else a blank, which DeepSeek takes. In
    Messages, calls without thoughts get one that is empty.
    """

    name = "message-reasoning-missing"
    changes = "an answer without `reasoning_content`, or `thinking` -> with that, or with a blank"
    why = "DeepSeek and Kimi answer 400 while they think."
    sent_as = (CHAT, TRANSLATED, MESSAGES)
    sources = (
        "https://github.com/continuedev/continue/issues/12691",
        "https://github.com/RooCodeInc/Roo-Code/issues/12195",
        "https://github.com/bytedance/deer-flow/issues/3043",
        "https://github.com/anomalyco/opencode/issues/24083",
        "https://github.com/agentscope-ai/QwenPaw/issues/433",
        "https://github.com/QwenLM/qwen-code/issues/3786",
        "https://github.com/leookun/cursor-byok/pull/276",
    )
    examples = (
        RequestExample(
            "unknown", _asked(), _asked(reasoning_content=" "), _NOT_PASSED_BACK
        ),
        RequestExample.untouched(
            "its own", _asked(reasoning_content="Hm."), _NOT_PASSED_BACK
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Put it back."""
        if self.value == _THOUGHT["type"]:
            made = with_each_message(body, _with_thought)
            return replaced(body, "messages", made, "messages[*].content")
        made = with_each_message(body, self._with_reasoning)
        return replaced(body, "messages", made, f"messages[*].{_KEY}")

    def _with_reasoning(self, message: Json) -> Json:
        if role_of(message) != "assistant" or message.get(_KEY):
            return message
        own = as_string(message.get("reasoning")) or self._remembered(message)
        return {**message, _KEY: own or _BLANK}

    def _remembered(self, message: dict[str, Json]) -> str:
        calls = calls_of(message)
        found = [self.memory("call", each.get("id")) for each in calls] or [
            self.memory("text", text_of(message.get("content")))
        ]
        return next((each.reasoning for each in found if each and each.reasoning), "")


def _with_thought(message: Json) -> Json:
    said = as_object(message)
    blocks = as_list(said.get("content"))
    kinds = kinds_of(said)
    if "tool_use" not in kinds or "thinking" in kinds:
        return message
    return {**said, "content": [_THOUGHT, *blocks]}
