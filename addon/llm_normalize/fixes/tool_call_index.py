"""The index of a tool call."""

from ..chat.state.asked import Asked
from ..chat.state.declared_tools import Tools
from ..repair.fix import Example, Fix, calling, head, rest

_A = head(None, id="call_a")
_B = head(None, id="call_b")


# Tool call fragments without `index`.
# The repair is in `repair/engine/assembled_calls.py`.
class ToolCallIndexMissing(Fix):
    """Count the calls of a choice; a fragment that opens none continues the last."""

    name = "tool-call-index-missing"
    changes = "`tool_calls[]` without `index`, or with text -> counted from 0"
    why = "openai-python fails on `list[None]`; strict schemas refuse the chunk."
    providers = ("NVIDIA NIM", "Gemini", "Ollama", "mistral.rs")
    sources = (
        "https://github.com/openai/openai-python/issues/2806",
        "https://github.com/ollama/ollama/issues/7881",
        "https://github.com/64bit/async-openai/issues/432",
    )
    examples = (
        Example.of_event(
            "two calls in one chunk",
            calling(_A, _B),
            calling({"index": 0, **_A}, {"index": 1, **_B}),
        ),
        Example(
            "continued",
            [calling(head()), calling(rest(None))],
            [calling(head()), calling(rest())],
        ),
        Example.untouched("counted", [calling(head())]),
    )


_FIRST = calling(head(0))
_SECOND = head(0, id="call_1")
_HERE = {**rest(0), "id": "call_0"}
_ELSEWHERE = calling({**_HERE, "index": 1})
_RENAMED = {**head(0), "function": {"name": "g", "arguments": ""}}
_TOOLS = Asked(stream=True, tools=True, declared=Tools(frozenset("fg")))
_MOVED = calling({**_SECOND, "index": 1})
_ALL = '{"a":1}'
_BEGUN = [_FIRST, calling(rest(0, _ALL)), calling(_SECOND)]
_SENT = [_FIRST, calling(rest(0, _ALL)), _MOVED, calling(rest(1, _ALL))]


# A second tool call under the index of the first, or the rest of one under another.
# The repair is in `repair/engine/assembled_calls.py`.
class ToolCallIndexWrong(Fix):
    """Give a call that opens under a taken index the next one, and its rest too."""

    name = "tool-call-index-wrong"
    changes = "second call, or the rest of one, under a wrong `index` -> the next index"
    why = "The arguments of two calls run together, and the next turn is refused."
    providers = ("DeepSeek V4 behind gateways", "Gemini proxies", "LibreChat")
    sources = (
        "https://github.com/agno-agi/agno/issues/8880",
        "https://github.com/danny-avila/LibreChat/issues/13987",
    )
    examples = (
        Example("two calls at 0", [*_BEGUN, calling(rest(0, _ALL))], _SENT),
        Example("its rest at 1", [*_BEGUN, calling(rest(1, _ALL))], _SENT),
        Example("all rest at 1", [_FIRST, calling(rest(1, _ALL))], _BEGUN[:2]),
        Example("continued elsewhere", [_FIRST, _ELSEWHERE], [_FIRST, calling(_HERE)]),
        Example("from 1", [calling(head(1))], [calling({**head(1), "index": 0})]),
        Example(
            "another tool under one id",
            [_FIRST, calling(_RENAMED)],
            [_FIRST, calling({**_RENAMED, "index": 1})],
            asked=_TOOLS,
        ),
        Example.untouched("counted", [_FIRST, calling(head(1)), calling(rest(1))]),
        Example.untouched("sent twice", [_FIRST, _FIRST]),
    )
