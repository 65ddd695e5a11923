"""Calls: their ids, names and arguments."""

from ...wire.json_text import Json
from ..native_fix import NativeFix, ResponsesExample
from ..response_events import (
    CALLED,
    added,
    begin,
    call,
    done,
    event,
    of_call,
    put,
    response,
    without,
)

LIKE = {**without(call(), "call_id"), "id": "call_9"}


# A call without an id.
class CallIdMissing(NativeFix):
    """Give it one, the same in all of its events."""

    name = "call-id-missing"
    changes = "`call_id`: missing or null -> the item's id, or a new one"
    why = "Codex, AI SDK and the Agents SDK give their result to nobody."
    providers = ("cc-switch", "llama.cpp", "OmniRoute")
    sources = (
        "https://github.com/diegosouzapw/OmniRoute/pull/419",
        "https://github.com/openai/codex/issues/42088",
        "https://github.com/ggml-org/llama.cpp/pull/24882",
    )
    examples = (
        ResponsesExample(
            "of an item",
            [*begin(), added(2, LIKE), done(3, {**LIKE, "arguments": "{}"})],
            [
                *begin(),
                added(2, {**LIKE, "call_id": "call_9"}),
                done(3, {**LIKE, "arguments": "{}", "call_id": "call_9"}),
            ],
        ),
    )


# Another id of a call at its end.
class CallIdChanging(NativeFix):
    """Keep the id of its beginning."""

    name = "call-id-changing"
    changes = "`call_id`: another in `response.output_item.done` or `response.completed` -> that of the first"
    why = "Clients that read both run the call twice, and openai-python stops."
    providers = ("vLLM", "OpenRouter")
    sources = (
        "https://github.com/vllm-project/vllm/pull/47916",
        "https://github.com/rbb-dev/Open-WebUI-OpenRouter-pipe/pull/54",
    )
    examples = (
        ResponsesExample(
            "of an item", put(CALLED, 5, done(5, call("{}", call_id="call_9"))), CALLED
        ),
    )


# A call that has lost its name at its end.
class CallNameMissing(NativeFix):
    """Put it in."""

    name = "call-name-missing"
    changes = "`name`: empty or missing in an end -> that of the beginning"
    why = "Codex looks for a tool without a name."
    providers = ("LM Studio", "vLLM", "GitHub Copilot")
    sources = (
        "https://github.com/0xPlaygrounds/rig/pull/442",
        "https://github.com/openclaw/openclaw/pull/90593",
    )
    examples = (
        ResponsesExample(
            "of an item", put(CALLED, 5, done(5, call("{}", name=""))), CALLED
        ),
    )


NAMED = of_call("done", 4, name="f", arguments="{}")


# A call whose name comes at its end.
class CallNameLate(NativeFix):
    """Send its events once the name is known."""

    name = "call-name-late"
    changes = "a beginning without `name` -> with it, behind it what has come"
    why = "Clients begin to run a tool without a name."
    providers = ("vLLM", "gateways")
    sources = ("https://github.com/vllm-project/vllm/issues/9693",)
    examples = (
        ResponsesExample(
            "at its end",
            [*begin(), added(2, call(name="")), *CALLED[3:]],
            put(CALLED, 4, NAMED),
        ),
    )


_LAMP = {"type": "function", "name": "lamp", "parameters": {"type": "object"}}
_NAMESPACE = {
    "model": "acme-1",
    "stream": True,
    "tools": [{"type": "namespace", "name": "mcp__barn", "tools": [_LAMP]}],
}
_OWN = {"name": "lamp", "namespace": "mcp__barn"}


def _called(**more: str) -> list[dict[str, object]]:
    return [
        *begin(tools=_NAMESPACE["tools"]),
        added(2, call(**more)),
        of_call("done", 3, name=more["name"], arguments="{}"),
        done(4, call("{}", **more)),
    ]


# A call by another name than the one that its tool was declared with.
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
            "no namespace", _called(name="lamp"), _called(**_OWN), request=_NAMESPACE
        ),
        ResponsesExample(
            "in one name",
            _called(name="mcp__barn__lamp"),
            _called(**_OWN),
            request=_NAMESPACE,
        ),
        ResponsesExample(
            "with a point",
            _called(name="mcp__barn.lamp"),
            _called(**_OWN),
            request=_NAMESPACE,
        ),
        ResponsesExample.untouched("its own", _called(**_OWN), request=_NAMESPACE),
        ResponsesExample.untouched(
            "of no tool", _called(name="rake"), request=_NAMESPACE
        ),
    )


_CLIENT_TOOLS = {
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
    return begin(tools=_CLIENT_TOOLS["tools"])


def _called_as(name: str, text: str) -> list[dict[str, object]]:
    return [
        *_begin(),
        added(2, call(name=name)),
        of_call("delta", 3, delta=text),
        of_call("done", 4, name=name, arguments=text),
        done(5, call(text, name=name)),
    ]


# A call of a tool that is no function, as one of a function.
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
            _called_as("apply_patch", _TEXT),
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
            request=_CLIENT_TOOLS,
        ),
        ResponsesExample(
            "a search for tools",
            _called_as("tool_search", '{"query": "lamp"}'),
            [*_begin(), added(2, _search({})), done(3, _search({"query": "lamp"}))],
            request=_CLIENT_TOOLS,
        ),
        ResponsesExample(
            "a body",
            [response("completed", call(_TEXT, name="apply_patch"))],
            [response("completed", _patch("*** Begin Patch"))],
            request=_CLIENT_TOOLS,
            is_body=True,
        ),
        ResponsesExample.untouched(
            "a function", _called_as("f", "{}"), request=_CLIENT_TOOLS
        ),
    )


# Arguments that are an object.
class CallArgumentsObject(NativeFix):
    """Spell them."""

    name = "call-arguments-object"
    changes = "`arguments`: an object -> JSON in a string"
    why = "Every client parses a string there, and raises."
    providers = ("cc-switch", "gateways")
    sources = (
        "https://github.com/farion1231/cc-switch/pull/5100",
        "https://github.com/teamchong/pxpipe/pull/131",
    )
    examples = (
        ResponsesExample(
            "of an item",
            put(CALLED, 5, done(5, {**call("{}"), "arguments": {}})),
            CALLED,
        ),
    )


def search(arguments: object) -> Json:
    """Return a tool search."""
    return {"id": "tsc_0", "type": "tool_search_call", "arguments": arguments}


# A tool search whose arguments are spelled.
class CallArgumentsSpelled(NativeFix):
    """Make them the object that they spell."""

    name = "call-arguments-spelled"
    changes = "`arguments` of a `tool_search_call`: a string -> an object"
    why = "Codex cannot read them, and finds no tools."
    providers = ("new-api", "gateways")
    sources = ("https://github.com/QuantumNous/new-api/issues/6010",)
    examples = (
        ResponsesExample(
            "an item",
            [*begin(), added(2, search('{"goal":"x"}'))],
            [*begin(), added(2, search({"goal": "x"}))],
        ),
        ResponsesExample.untouched("an object", [*begin(), added(2, search({}))]),
    )
