"""Parameters that a provider has refused by name."""

from ..adaptation import EVERY_FORM, HI, LEARNED, Adaptation, RequestExample, refused

_SEED = {"model": "m", "seed": 7, "messages": HI}
_TOOLS = {"tools": [{"type": "function", "function": {"name": "f"}}]}


# A parameter that a provider has refused by name, whatever the provider.
class ParameterLearned(Adaptation):
    """Drop what a 400 or 422 names, retry, and remember it.

    request/refusals/refusal_parser.py reads the words, dropped_parameters.py drops. At most
    three times for one request, forms that words ask for among them
    (refusals/refusal_table.py). A role, parts and null that are refused take the
    form that every server reads, and do not count among those. Remembered for this host,
    model and client until mitmproxy ends. What an error repeats of the request names
    nothing.
    """

    name = LEARNED
    changes = (
        "a parameter that the provider's 400 or 422 names -> removed or renamed; role "
        '`developer` -> `system`, text in parts -> a string, `content: null`, or none, -> `""`'
    )
    why = "Each provider refuses fields of its own, and more with each client's update."
    hosts = ()
    sent_as = EVERY_FORM
    sources = (
        "https://github.com/Alishahryar1/free-claude-code/issues/127",
        "https://github.com/github/app/issues/2903",
        "https://github.com/zed-industries/zed/issues/52000",
        "https://platform.openai.com/docs/guides/error-codes",
        "https://github.com/MiniMax-AI/minimax-code/issues/194",
    )
    examples = (
        RequestExample(
            "named",
            _SEED,
            {"model": "m", "messages": HI},
            b'{"detail":"Unsupported parameter(s): `seed`"}',
        ),
        RequestExample.of_fields(
            "a limit by its other name",
            {"max_completion_tokens": 9},
            {"max_tokens": 9},
            b'{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],'
            b'"msg":"Extra inputs are not permitted"}]}',
        ),
        RequestExample.of_messages(
            "a role",
            [{"role": "developer", "content": "Be brief."}, *HI],
            [{"role": "system", "content": "Be brief."}, *HI],
            refused("Unexpected message role.", code=400),
        ),
        RequestExample.of_messages(
            "content in parts",
            [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}],
            HI,
            b'{"detail":[{"type":"string_type","loc":["body","messages",0,"content"],'
            b'"msg":"Input should be a valid string"}]}',
        ),
        RequestExample.untouched(
            "what the answer depends on",
            {"model": "m", "messages": HI, **_TOOLS},
            refused("Unsupported parameter: tools"),
        ),
        RequestExample.untouched(
            "another error", _SEED, refused("seed must be positive")
        ),
    )
