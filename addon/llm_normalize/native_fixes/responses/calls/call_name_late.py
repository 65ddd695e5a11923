"""A call whose name comes at its end."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, added, begin, call, of_call

NAMED = of_call("done", 4, name="f", arguments="{}")


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
            [*CALLED[:4], NAMED, *CALLED[5:]],
        ),
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
