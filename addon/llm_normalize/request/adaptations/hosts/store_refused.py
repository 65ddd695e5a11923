"""`store: false`, where it is unknown."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop


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
    key = "store"
    sources = (
        "https://github.com/Gitlawb/openclaude/issues/739",
        "https://github.com/Gitlawb/openclaude/issues/740",
        "https://github.com/fanenr/chatbot/issues/21",
        "https://github.com/liliMozi/openhanako/issues/394",
        "https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/providers/openai-completions.ts",
    )
    examples = (
        RequestExample("false", {"messages": HI, "store": False}, {"messages": HI}),
        RequestExample("null", {"messages": HI, "store": None}, {"messages": HI}),
        RequestExample.untouched("wanted", {"messages": HI, "store": True}),
        RequestExample.untouched("without", {"messages": HI}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it unless it asks for something."""
        return [] if body.get("store") else drop(body, "store")
