"""A call by another name than the one that its tool was declared with."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import added, begin, call, done, of_call

_LAMP = {"type": "function", "name": "lamp", "parameters": {"type": "object"}}
ASKED = {
    "model": "acme-1",
    "stream": True,
    "tools": [{"type": "namespace", "name": "mcp__barn", "tools": [_LAMP]}],
}
OWN = {"name": "lamp", "namespace": "mcp__barn"}


def _called(**more: str) -> list[dict[str, object]]:
    return [
        *begin(tools=ASKED["tools"]),
        added(2, call(**more)),
        of_call("done", 3, name=more["name"], arguments="{}"),
        done(4, call("{}", **more)),
    ]


class CallNameForeign(NativeFix):
    """Put back the name and the namespace of the tool, where it can be no other one."""

    name = "call-name-foreign"
    changes = "`name` alone, or with its namespace before it -> `name` and `namespace`"
    why = "Codex runs no tool of an MCP server: `unsupported call`."
    providers = ("Ollama", "Rapid-MLX", "CLIProxyAPI", "oMLX")
    sources = (
        "https://github.com/openai/codex/issues/23186",
        "https://github.com/raullenchai/Rapid-MLX/issues/2114",
        "https://github.com/router-for-me/CLIProxyAPI/issues/4255",
        "https://github.com/jundot/omlx/issues/3371",
    )
    examples = (
        ResponsesExample(
            "no namespace", _called(name="lamp"), _called(**OWN), request=ASKED
        ),
        ResponsesExample(
            "in one name",
            _called(name="mcp__barn__lamp"),
            _called(**OWN),
            request=ASKED,
        ),
        ResponsesExample(
            "with a point",
            _called(name="mcp__barn.lamp"),
            _called(**OWN),
            request=ASKED,
        ),
        ResponsesExample.untouched("its own", _called(**OWN), request=ASKED),
        ResponsesExample.untouched("of no tool", _called(name="rake"), request=ASKED),
    )
