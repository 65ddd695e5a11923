"""A second tool call under the index of the first.

The repair is in `repair/engine/assembled_calls.py`.
"""

from ...chat.state.declared_tools import Tools
from ...chat.state.stream_state import Asked
from ...repair.fix import Example, Fix, calling, head, rest

_FIRST = calling(head(0))
_SECOND = head(0, id="call_1")
_HERE = {**rest(0), "id": "call_0"}
_ELSEWHERE = calling({**_HERE, "index": 1})
_RENAMED = {**head(0), "function": {"name": "g", "arguments": ""}}
_TOOLS = Asked(stream=True, tools=True, declared=Tools(frozenset("fg")))
_MOVED = calling({**_SECOND, "index": 1})


class ToolCallIndexWrong(Fix):
    """Give a call that opens under a taken index the next one, and its rest too."""

    name = "tool-call-index-wrong"
    changes = "second call under one `index`, or counted from 1 -> the next index"
    why = "The arguments of two calls run together, and the next turn is refused."
    providers = ("DeepSeek V4 behind gateways", "Gemini proxies")
    sources = ("https://github.com/agno-agi/agno/issues/8880",)
    examples = (
        Example(
            "two calls at 0",
            [_FIRST, calling(rest(0)), calling(_SECOND), calling(rest(0))],
            [_FIRST, calling(rest(0)), _MOVED, calling(rest(1))],
            ended=False,
        ),
        Example("continued elsewhere", [_FIRST, _ELSEWHERE], [_FIRST, calling(_HERE)]),
        Example("from 1", [calling(head(1))], [calling({**head(1), "index": 0})]),
        Example(
            "another tool under one id",
            [_FIRST, calling(_RENAMED)],
            [_FIRST, calling({**_RENAMED, "index": 1})],
            asked=_TOOLS,
            ended=False,
        ),
        Example.untouched("counted", [_FIRST, calling(head(1)), calling(rest(1))]),
        Example.untouched("sent twice", [_FIRST, _FIRST]),
    )
