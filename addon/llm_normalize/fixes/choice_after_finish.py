"""A choice that goes on after its finish reason, and says nothing."""

from ..chunk import Chunk, choices, index_of, says
from ..fix import DONE, USAGE, Example, Fix, chunk
from ..stream_state import Asked

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
_EMPTY = chunk({"role": "assistant", "content": ""})
_ASKED = Asked(stream=True, usage=True)


class ChoiceAfterFinish(Fix):
    """Drop the choice, and keep what comes beside it, which is usage as a rule."""

    name = "choice-after-finish"
    changes = "a finished choice again, with an empty delta -> removed"
    why = "Clients that have closed the message open another."
    providers = ("OpenRouter (on the chunk with usage)", "gateways")
    sources = (
        "https://openrouter.ai/docs/use-cases/usage-accounting",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example(
            "with usage",
            [_TEXT, _STOP, {**_EMPTY, "usage": USAGE}, DONE],
            [_TEXT, _STOP, chunk(None, usage=USAGE), DONE],
            asked=_ASKED,
        ),
        Example.untouched(
            "with text", [_TEXT, _STOP, chunk({"content": "!"})], asked=_ASKED
        ),
        Example.untouched(
            "another choice",
            [_TEXT, _STOP, chunk({"role": "assistant", "content": ""}, index=1)],
            asked=Asked(stream=True, n=2, usage=True),
        ),
        Example.untouched("before", [_EMPTY, _TEXT, _STOP], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Drop what has finished."""
        found = choices(chunk)
        kept = [choice for choice in found if not self._is_over(choice)]
        if len(kept) == len(found):
            return False
        chunk["choices"] = kept
        return True

    def _is_over(self, choice: Chunk) -> bool:
        delta = choice.get("delta")
        return (
            self.seen.choice(index_of(choice)).finished
            and not choice.get("finish_reason")
            and not choice.get("logprobs")
            and not (isinstance(delta, dict) and says(delta))
        )
