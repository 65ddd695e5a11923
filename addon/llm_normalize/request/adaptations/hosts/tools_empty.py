"""`tools: []`, where a list must have something in it."""

from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop


class ToolsEmpty(Adaptation):
    """Drop a list of no tools."""

    name = "tools-empty"
    changes = "`tools: []` -> removed"
    why = "Mistral answers 422, `extra_forbidden`."
    hosts = ("api.mistral.ai",)
    key = "tools"
    sources = ("https://github.com/partITech/php-mistral/issues/76",)
    examples = (
        RequestExample("none", {"messages": HI, "tools": []}, {"messages": HI}),
        RequestExample.untouched(
            "a tool", {"tools": [{"type": "function", "function": {"name": "f"}}]}
        ),
        RequestExample.untouched("without", {"messages": HI}),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Drop the list if it is empty."""
        return drop(body, "tools") if body.get("tools") == [] else []
