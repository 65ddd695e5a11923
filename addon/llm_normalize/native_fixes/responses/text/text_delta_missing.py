"""A text or arguments that come in their last event alone."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import CALLED, WHOLE


class TextDeltaMissing(NativeFix):
    """Put in the event that adds them."""

    name = "text-delta-missing"
    changes = "no `….delta` -> one with the text"
    why = "Clients that read deltas show nothing, and call tools without arguments."
    providers = ("LM Studio", "GitHub Copilot", "OpenAI Codex Spark")
    sources = (
        "https://github.com/BerriAI/litellm/pull/27797",
        "https://github.com/tailcallhq/forgecode/pull/2558",
        "https://github.com/lidge-jun/opencodex/pull/4652",
        "https://github.com/Sophomoresty/gemini-web2api/pull/57",
    )
    examples = (
        ResponsesExample("arguments", [*CALLED[:3], *CALLED[4:]], CALLED),
        ResponsesExample("a text", [*WHOLE[:4], *WHOLE[5:]], WHOLE),
        ResponsesExample.untouched("OpenAI's own", CALLED),
    )
