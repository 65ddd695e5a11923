"""The tokens of one answer: what its provider has counted, or an estimate until then.

Agents shorten their conversation by these figures, and show them: with zeros, none of them
would before the provider refuses the next request.
"""

from typing import NamedTuple

from ..wire.json_text import Json, whole_number
from .json_values import as_object
from .protocol import JsonObject
from .token_count import tokens_for, tokens_in


class Counts(NamedTuple):
    """The figures of an answer.

    Attributes:
        prompt: Tokens of the prompt, those from a cache included.
        cached: Of those, what was read from a cache.
        written: Of the rest, what was written into one.
        completion: Tokens of the answer, its thoughts included.
        thought: Of those, what was thought.
        total: All of them.
    """

    prompt: int
    cached: int
    written: int
    completion: int
    thought: int
    total: int


class Figures:
    """Collects what is known of the tokens of an answer.

    Args:
        request: The request for chat completions.
    """

    def __init__(self, request: JsonObject) -> None:
        self._prompt = tokens_in(request)
        self._written = 0
        self._given: JsonObject = {}

    def write(self, text: str) -> None:
        """Count *text* that the model has written."""
        self._written += (
            len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
        )

    def take(self, usage: Json) -> None:
        """Take the provider's own figures, if there are any."""
        self._given = as_object(usage) or self._given

    @property
    def is_given(self) -> bool:
        """Whether the provider has counted."""
        return bool(self._given)

    @property
    def is_estimated(self) -> bool:
        """Whether a figure is none of the provider's."""
        return not _count(self._given, "prompt_tokens") or (
            self._written > 0 and not _count(self._given, "completion_tokens")
        )

    def counts(self) -> Counts:
        """Return the figures as they are now."""
        given = self._given
        of_prompt = as_object(given.get("prompt_tokens_details"))
        of_answer = as_object(given.get("completion_tokens_details"))
        prompt = _count(given, "prompt_tokens") or self._prompt
        # DeepSeek has a name of its own for what a cache held.
        cached = _count(of_prompt, "cached_tokens") or _count(
            given, "prompt_cache_hit_tokens"
        )
        completion = _count(given, "completion_tokens") or tokens_for(self._written)
        total = 0 if self.is_estimated else _count(given, "total_tokens")
        written = _count(of_prompt, "cache_write_tokens")
        thought = _count(of_answer, "reasoning_tokens")
        return Counts(
            prompt, cached, written, completion, thought, total or prompt + completion
        )


def _count(figures: JsonObject, key: str) -> int:
    return max(0, whole_number(figures.get(key)) or 0)
