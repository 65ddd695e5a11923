"""Another id of the response in each event."""

from ...native_fix import NativeFix, ResponsesExample
from ...response_events import WHOLE, end, message

OTHER = end(8, message("Hi"), id="resp_2")


class ResponseIdChanging(NativeFix):
    """Give the response the id of its first event."""

    name = "response-id-changing"
    changes = "`response.id`: another in each event -> that of the first, and so its model and time where they were put in"
    why = "Clients take the events for those of several answers, and go on from one that is not stored."
    providers = ("GitHub Copilot",)
    sources = (
        "https://github.com/BerriAI/litellm/issues/30071",
        "https://github.com/vercel/ai/pull/18548",
    )
    examples = (
        ResponsesExample("at the end", [*WHOLE[:-1], OTHER], WHOLE),
        ResponsesExample.untouched("OpenAI's own", WHOLE),
    )
