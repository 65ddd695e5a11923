"""A parameter that a provider has refused by name, whatever the provider."""

from ..adaptation import HI, LEARNED, Adaptation, RequestExample

_SEED = {"model": "m", "seed": 7, "messages": HI}
_LIMIT = {"model": "m", "max_completion_tokens": 9, "messages": HI}
_TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}


class ParameterLearned(Adaptation):
    """Drop what a 400 or 422 names, retry, and remember it. request/refusal_parser.py reads it.

    At most three times for one request. Remembered for this host, model and client
    until mitmproxy ends. What an error repeats of the request names nothing.
    """

    name = LEARNED
    changes = "a parameter that the provider's 400 or 422 names -> removed or renamed"
    why = "Each provider refuses fields of its own, and more with each client's update."
    hosts = ()
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/127",
        "https://github.com/github/app/issues/2903",
        "https://github.com/zed-industries/zed/issues/52000",
        "https://platform.openai.com/docs/guides/error-codes",
    )
    examples = (
        RequestExample(
            "named",
            _SEED,
            {"model": "m", "messages": HI},
            b'{"detail":"Unsupported parameter(s): `seed`"}',
        ),
        RequestExample(
            "a limit by its other name",
            _LIMIT,
            {"model": "m", "max_tokens": 9, "messages": HI},
            b'{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],'
            b'"msg":"Extra inputs are not permitted"}]}',
        ),
        RequestExample.untouched(
            "what the answer depends on",
            {"model": "m", "messages": HI, **_TOOLS},
            b'{"error":{"message":"Unsupported parameter: tools"}}',
        ),
        RequestExample.untouched(
            "another error", _SEED, b'{"error":{"message":"seed must be positive"}}'
        ),
    )
