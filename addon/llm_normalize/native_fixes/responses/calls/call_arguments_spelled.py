"""A tool search whose arguments are spelled."""

from ....wire.json_text import Json
from ...native_fix import NativeFix, ResponsesExample
from ...response_events import added, begin


def search(arguments: object) -> Json:
    """Return a tool search."""
    return {"id": "tsc_0", "type": "tool_search_call", "arguments": arguments}


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
