"""A call that has lost its name at its end."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, call, done


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
            "of an item", [*CALLED[:5], done(5, call("{}", name="")), CALLED[6]], CALLED
        ),
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
