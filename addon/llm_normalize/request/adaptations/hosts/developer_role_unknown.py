"""Role `developer`, where instructions come as `system`."""

from ...adaptation import CHANGED, Adaptation, Body, Edit, RequestExample, messages

_TEXT = {"content": "Be brief."}


class DeveloperRoleUnknown(Adaptation):
    """Say `system`, as before OpenAI's newer models."""

    name = "developer-role-unknown"
    changes = "`messages[].role`: `developer` -> `system`"
    why = "DeepSeek, Z.AI and others answer 400: unknown variant `developer`; NIM a bare 500."
    hosts = (
        "api.deepseek.com",
        "api.z.ai",
        "open.bigmodel.cn",
        "api.cerebras.ai",
        "api.x.ai",
        "api.mistral.ai",
        "llm.chutes.ai",
        "opencode.ai",
        "api.moonshot.ai",
        "api.moonshot.cn",
        "integrate.api.nvidia.com",
        "ai.api.nvidia.com",
        "api.cloudflare.com",
    )
    key = "developer"
    sources = (
        "https://github.com/earendil-works/pi/issues/1048",
        "https://github.com/vastsa/PI-Desktop/issues/30",
        "https://github.com/anomalyco/opencode/pull/37833",
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
    )
    examples = (
        RequestExample(
            "instructions",
            {"messages": [{"role": "developer", **_TEXT}]},
            {"messages": [{"role": "system", **_TEXT}]},
        ),
        RequestExample.untouched("system", {"messages": [{"role": "system", **_TEXT}]}),
        RequestExample.untouched("no messages", {"messages": "developer"}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Give the role its older name."""
        found = list(messages(body, "developer"))
        for each in found:
            each["role"] = "system"
        return [(CHANGED, "messages[*].role")] if found else []
