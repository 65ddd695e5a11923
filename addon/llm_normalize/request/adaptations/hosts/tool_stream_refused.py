"""`tool_stream`, which Z.AI's own API has, sent elsewhere."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop


class ToolStreamRefused(Adaptation):
    """Drop it: NIM streams tool calls anyway."""

    name = "tool-stream-refused"
    changes = "`tool_stream` -> removed"
    why = "NIM answers 400: ``Unsupported parameter(s): `tool_stream` ``."
    hosts = ("integrate.api.nvidia.com", "ai.api.nvidia.com")
    key = "tool_stream"
    sources = ("https://github.com/Gitlawb/openclaude/issues/1950",)
    examples = (
        RequestExample("set", {"messages": HI, "tool_stream": True}, {"messages": HI}),
        RequestExample.untouched("without", {"messages": HI, "stream": True}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop it."""
        return drop(body, "tool_stream")
