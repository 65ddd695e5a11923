"""Another id of a call at its end."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, call, done


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
            "of an item",
            [*CALLED[:5], done(5, call("{}", call_id="call_9")), CALLED[6]],
            CALLED,
        ),
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
