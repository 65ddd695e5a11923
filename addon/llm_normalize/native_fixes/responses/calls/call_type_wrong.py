"""A call of a tool that is no function, as one of a function."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import added, begin, call, done, event, of_call, response

_ASKED = {
    "model": "acme-1",
    "stream": True,
    "tools": [
        {"type": "custom", "name": "apply_patch"},
        {"type": "tool_search", "execution": "client"},
        {"type": "function", "name": "f"},
    ],
}
_PLACE = {"item_id": "fc_0", "output_index": 0}
_TEXT = '{"input": "*** Begin Patch"}'


def _patch(text: str = "") -> dict[str, object]:
    custom = {
        "id": "fc_0",
        "type": "custom_tool_call",
        "status": "completed" if text else "in_progress",
        "call_id": "call_1",
        "name": "apply_patch",
    }
    return {**custom, "input": text}


def _search(arguments: dict[str, str]) -> dict[str, object]:
    return {
        "id": "fc_0",
        "type": "tool_search_call",
        "status": "completed" if arguments else "in_progress",
        "call_id": "call_1",
        "execution": "client",
        "arguments": arguments,
    }


def _begin() -> list[dict[str, object]]:
    return begin(tools=_ASKED["tools"])


def _called(name: str, text: str) -> list[dict[str, object]]:
    return [
        *_begin(),
        added(2, call(name=name)),
        of_call("delta", 3, delta=text),
        of_call("done", 4, name=name, arguments=text),
        done(5, call(text, name=name)),
    ]


class CallTypeWrong(NativeFix):
    """Tell it as one of the tool that the client has declared: a patch by its text alone."""

    name = "call-type-wrong"
    changes = (
        "a `function_call` of a custom tool, or of the client's search -> its own type"
    )
    why = "Codex aborts it, and edits no file."
    providers = ("ds4", "9router", "LiteLLM")
    sources = (
        "https://github.com/antirez/ds4/issues/745",
        "https://github.com/decolua/9router/issues/1371",
        "https://github.com/MetaFARS/codex-relay/issues/37",
        "https://github.com/caozhiyuan/copilot-api/issues/242",
        "https://github.com/github/gh-aw-firewall/issues/8350",
    )
    examples = (
        ResponsesExample(
            "a custom tool",
            _called("apply_patch", _TEXT),
            [
                *_begin(),
                added(2, _patch()),
                event(
                    "custom_tool_call_input.delta", 3, **_PLACE, delta="*** Begin Patch"
                ),
                event(
                    "custom_tool_call_input.done", 4, **_PLACE, input="*** Begin Patch"
                ),
                done(5, _patch("*** Begin Patch")),
            ],
            request=_ASKED,
        ),
        ResponsesExample(
            "a search for tools",
            _called("tool_search", '{"query": "lamp"}'),
            [*_begin(), added(2, _search({})), done(3, _search({"query": "lamp"}))],
            request=_ASKED,
        ),
        ResponsesExample(
            "a body",
            [response("completed", call(_TEXT, name="apply_patch"))],
            [response("completed", _patch("*** Begin Patch"))],
            request=_ASKED,
            is_body=True,
        ),
        ResponsesExample.untouched("a function", _called("f", "{}"), request=_ASKED),
    )
