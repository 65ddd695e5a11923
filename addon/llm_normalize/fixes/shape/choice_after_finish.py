"""A choice that goes on after its finish reason, and says nothing.

The repair is in `repair/machine/finish.py`.
"""

from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, ROLE, STOP, TEXT, Example, Fix, chunk

_ASKED = Asked(stream=True, usage=True)


class ChoiceAfterFinish(Fix):
    """Drop the choice, and keep what stands beside it, which is usage as a rule."""

    name = "choice-after-finish"
    changes = "a finished choice again, with an empty delta -> removed"
    why = "Clients that have closed the message open another."
    providers = ("OpenRouter (on the chunk with usage)", "gateways")
    sources = (
        "https://openrouter.ai/docs/use-cases/usage-accounting",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example("empty", [TEXT, STOP, ROLE, DONE], [TEXT, STOP, DONE]),
        Example.untouched(
            "with text", [TEXT, STOP, chunk({"content": "!"})], asked=_ASKED
        ),
        Example.untouched(
            "another choice",
            [TEXT, STOP, chunk({"role": "assistant", "content": ""}, index=1)],
            asked=Asked(stream=True, n=2, usage=True),
        ),
        Example.untouched("before", [ROLE, TEXT, STOP], ended=False),
    )
