"""`max_completion_tokens`, where only its older name is known."""

from ...adaptation import (
    CHANGED,
    HI,
    Adaptation,
    Body,
    Edit,
    RequestExample,
    drop,
    renamed,
)

_NEW, _OLD = "max_completion_tokens", "max_tokens"


class MaxCompletionTokensUnknown(Adaptation):
    """Give the limit its older name; of two equal ones keep that."""

    name = "max-completion-tokens-unknown"
    changes = "`max_completion_tokens` -> `max_tokens`"
    why = "Mistral answers 422, `extra_forbidden`; NIM knows the older name only."
    hosts = (
        "api.mistral.ai",
        "integrate.api.nvidia.com",
        "ai.api.nvidia.com",
        "llm.chutes.ai",
    )
    key = _NEW
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
