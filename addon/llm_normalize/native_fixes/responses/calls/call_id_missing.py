"""A call without an id."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, added, begin, call, done, without

LIKE = {**without(call(), "call_id"), "id": "call_9"}


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
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
