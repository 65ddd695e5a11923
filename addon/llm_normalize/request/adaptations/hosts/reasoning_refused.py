"""`reasoning`, which OpenRouter has, sent elsewhere."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop


class ReasoningRefused(Adaptation):
    """Drop it: OpenAI's chat/completions has no such field, and neither have these."""

    name = "reasoning-refused"
    changes = "`reasoning` -> removed"
    why = "NIM, Groq and Cerebras answer 400 to any value."
    hosts = (
        "integrate.api.nvidia.com",
        "ai.api.nvidia.com",
        "api.groq.com",
        "api.cerebras.ai",
    )
    key = "reasoning"
    sources = (
        "https://github.com/NousResearch/hermes-agent/issues/77973",
        "https://github.com/musistudio/llms/pull/64",
        "https://github.com/proxysoul/Empryo/pull/209",
    )
    examples = (
        RequestExample(
            "effort",
            {"reasoning": {"effort": "high"}, "messages": HI},
            {"messages": HI},
        ),
        RequestExample.untouched(
            "OpenAI's own", {"reasoning_effort": "high", "messages": HI}
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        return drop(body, "reasoning")
