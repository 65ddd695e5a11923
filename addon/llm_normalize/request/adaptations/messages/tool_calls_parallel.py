"""Several calls in one answer of the history, where one at a time is taken."""

from ....wire.json_text import Json
from ...adaptation import HI, Adaptation, Body, Edit, RequestExample, drop, replaced
from ...message_forms import with_messages, with_single_calls

_WORDS = b'{"error":{"message":"This model only supports single tool-calls at once!"}}'


def _call(identity: str) -> dict[str, Json]:
    return {"id": identity, "type": "function", "function": {"name": "f"}}


def _said(*calls: str) -> dict[str, Json]:
    return {"role": "assistant", "content": "", "tool_calls": [*map(_call, calls)]}


def _result(identity: str) -> dict[str, Json]:
    return {"role": "tool", "tool_call_id": identity, "content": identity}


class ToolCallsParallel(Adaptation):
    """Send one call after another, each before its result, and ask for no parallel ones."""

    name = "tool-calls-parallel"
    changes = (
        "an answer's `tool_calls` -> one message each; `parallel_tool_calls: true` -> "
        "removed"
    )
    why = "Llama's template, as on NIM, answers 400 or 500."
    key = "tool_calls"
    sources = (
        "https://github.com/openclaw/openclaw/issues/37048",
        "https://github.com/lidge-jun/opencodex/issues/126",
    )
    examples = (
        RequestExample(
            "two calls",
            {"messages": [*HI, _said("a", "b"), _result("b"), _result("a"), *HI]},
            {
                "messages": [
                    *HI,
                    _said("a"),
                    _result("a"),
                    _said("b"),
                    _result("b"),
                    *HI,
                ]
            },
            _WORDS,
        ),
        RequestExample(
            "asked for",
            {"messages": HI, "parallel_tool_calls": True},
            {"messages": HI},
            _WORDS,
        ),
        RequestExample.untouched(
            "one call",
            {"messages": [*HI, _said("a"), _result("a")], "parallel_tool_calls": False},
            _WORDS,
        ),
    )

    def edit(self, body: Body) -> list[Edit]:
        """Part them."""
        asks = body.get("parallel_tool_calls", False) is not False
        return [
            *replaced(body, "messages", with_messages(body, with_single_calls)),
            *(drop(body, "parallel_tool_calls") if asks else []),
        ]
