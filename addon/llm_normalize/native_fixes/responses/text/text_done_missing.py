"""A text or arguments without their last event."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, WHOLE, of_call

NAMED = of_call("done", 4, name="f", arguments="{}")


class TextDoneMissing(NativeFix):
    """Put it in."""

    name = "text-done-missing"
    changes = "no `response.output_text.done`, `response.function_call_arguments.done` … -> put in"
    why = "Clients that show a text at its end, or parse arguments there, wait for it."
    providers = ("LlamaStack", "agentgateway", "vLLM")
    sources = (
        "https://github.com/ogx-ai/ogx/issues/5309",
        "https://github.com/agentgateway/agentgateway/pull/2281",
    )
    examples = (
        ResponsesExample("a text", [*WHOLE[:5], *WHOLE[6:]], WHOLE),
        ResponsesExample(
            "arguments", [*CALLED[:4], *CALLED[5:]], [*CALLED[:4], NAMED, *CALLED[5:]]
        ),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
