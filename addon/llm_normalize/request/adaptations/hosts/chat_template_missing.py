"""DeepSeek V4 on NIM, which answers nothing unless its template gets a value for thinking."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, replaced

_KEY = "chat_template_kwargs"
_ASKED = {"model": "deepseek-ai/deepseek-v4-pro", "messages": HI}


class ChatTemplateMissing(Adaptation):
    """Say that it thinks, which is its default; and with an effort of `none` that it does not."""

    name = "chat-template-missing"
    changes = "DeepSeek V4 without `chat_template_kwargs` -> with `thinking: true`"
    why = "NIM hangs without a word."
    hosts = ("integrate.api.nvidia.com", "ai.api.nvidia.com")
    models = "deepseek-v4"
    key = "deepseek-v4"
    sources = (
        "https://github.com/anomalyco/opencode/issues/24264",
        "https://github.com/anomalyco/opencode/pull/37833",
    )
    examples = (
        RequestExample("without", _ASKED, {**_ASKED, _KEY: {"thinking": True}}),
        RequestExample(
            "without effort",
            {**_ASKED, "reasoning_effort": "none"},
            {**_ASKED, "reasoning_effort": "none", _KEY: {"thinking": False}},
        ),
        RequestExample.untouched("its own", {**_ASKED, _KEY: {"thinking": False}}),
        RequestExample.untouched("another model", {**_ASKED, "model": "deepseek-v3.2"}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Add it."""
        if _KEY in body or not self.is_for_model(body.get("model")):
            return []
        return replaced(
            body, _KEY, {"thinking": body.get("reasoning_effort") != "none"}
        )
