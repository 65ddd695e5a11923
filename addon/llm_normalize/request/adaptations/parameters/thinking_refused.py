"""Thinking beside something that it cannot go with."""

from ....wire.json_text import Json
from ...adaptation import (
    EVERY_FORM,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    replaced,
)
from ...message_forms import calls_of, listed, role_of

DISABLED, ENABLE, TEMPLATE = "thinking", "enable_thinking", "chat_template_kwargs"
"""Where a request turns thinking off."""
BODY = "enable_thinking of a body"
"""That it has to be off where no stream is asked for."""
_WORDS = b'{"error":{"message":"Thinking mode does not support this tool_choice"}}'
_FREE: tuple[Json, ...] = (None, "auto", "none", {"type": "auto"}, {"type": "none"})
_FORCED = {"messages": HI, "tool_choice": "required"}
_BEGUN = {"messages": [*HI, {"role": "assistant", "content": "It is"}]}
_OFF = {"enable_thinking": False}
_OF_A_BODY = (
    b'{"error":{"message":"parameter.enable_thinking must be set to false for '
    b'non-streaming calls"}}'
)


class ThinkingRefused(Adaptation):
    """Turn it off where a tool is forced, an answer begun, or one body asked for."""

    name = "thinking-refused"
    changes = "`thinking` -> off, beside a `tool_choice` that decides or a begun answer; for a body, where Qwen asks for it"
    why = "DeepSeek, Kimi, Qwen and llama.cpp think by default, and answer 400."
    needs_value = True
    key = "messages"
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/deepseek-ai/DeepSeek-V3/issues/1376",
        "https://github.com/cloudwego/eino/issues/994",
        "https://github.com/ggml-org/llama.cpp/issues/20861",
    )
    examples = (
        RequestExample(
            "a tool",
            _FORCED,
            {**_FORCED, "thinking": {"type": "disabled"}},
            _WORDS,
        ),
        RequestExample(
            "a tool, of Qwen",
            {**_FORCED, "enable_thinking": True},
            {**_FORCED, "enable_thinking": False},
            b'{"error":{"message":"The tool_choice parameter does not support being set to '
            b'required or object in thinking mode"}}',
        ),
        RequestExample(
            "a begun answer",
            _BEGUN,
            {**_BEGUN, "chat_template_kwargs": _OFF},
            b'{"error":{"message":"Assistant response prefill is incompatible with '
            b'enable_thinking."}}',
        ),
        RequestExample(
            "a body",
            {"messages": HI},
            {"messages": HI, "enable_thinking": False},
            _OF_A_BODY,
        ),
        RequestExample.untouched(
            "a stream", {"messages": HI, "stream": True}, _OF_A_BODY
        ),
        RequestExample.untouched(
            "no tool is forced", {"messages": HI, "tool_choice": "auto"}, _WORDS
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Turn it off."""
        if self.value == TEMPLATE:
            if not _is_begun(body):
                return []
            given = body.get(TEMPLATE)
            made = {**given, **_OFF} if isinstance(given, dict) else _OFF
            return replaced(body, TEMPLATE, made)
        if self.value == BODY:
            return [] if body.get("stream") else replaced(body, ENABLE, False)
        if body.get("tool_choice") in _FREE:
            return []
        off: Json = {"type": "disabled"} if self.value == DISABLED else False
        return (
            replaced(body, self.value, off) if self.value in (DISABLED, ENABLE) else []
        )


def _is_begun(body: Body) -> bool:
    (*_, last) = (None, *listed(body.get("messages")))
    return role_of(last) == "assistant" and not calls_of(last)
