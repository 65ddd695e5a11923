"""How many tokens a request and its answer have: what the provider has counted, or an estimate.

Agents shorten their conversation by these figures, and show them: with zeros, none of them
would before the provider refuses the next request.

Which model reads it, and how that one cuts text, is unknown here. Two tokens for seven
bytes of UTF-8 is a little much for English prose, about right for code and JSON, and fair
to scripts that take more bytes a character: a client that trusts it shortens its
conversation too early rather than too late. Attachments count by their size.
"""

from typing import NamedTuple

from ..wire.json_text import Json, as_object, as_string, dumps, whole_number
from .protocol import JsonObject

_COUNTED = ("system", "messages", "tools", "tool_choice", "response_format")
_ATTACHMENT = 1600
"""Tokens of an image at Anthropic's limit of its size; and of so much of a document:"""
_PAGE = 64 * 1024
"""Characters of base64."""
_BYTES, _TOKENS = 7, 2
_UNSEEN = {"cache_control", "signature"}
_ATTACHED = ("base64", "url", "file")
"""Types of a source that is no text."""


def tokens_in(request: JsonObject) -> int:
    """Return an estimate of the tokens that a request's input has.

    Args:
        request: One for chat completions, or for a message.
    """
    size = sum(_size(request[key]) for key in _COUNTED if key in request)
    return max(1, -(-size // _BYTES))


def tokens_for(size: int) -> int:
    """Return an estimate of the tokens that *size* bytes of text have."""
    return -(-size * _TOKENS // _BYTES)


def _size(value: Json) -> int:
    """Return the size of *value*, of which `_BYTES` are a token; a byte has `_TOKENS`."""
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass")) * _TOKENS
    if isinstance(value, dict):
        if tokens := _attached(value):
            return tokens * _BYTES
        keys = {key: each for key, each in value.items() if key not in _UNSEEN}
        value = [*keys, *keys.values()]
    if isinstance(value, list):  # each is parted from the next
        return sum(_size(each) + _TOKENS for each in value)
    return len(dumps(value)) * _TOKENS


def _attached(value: JsonObject) -> int:
    """Return the tokens of an image or a file; 0 for anything else."""
    kind = value.get("type")
    source = as_object(value.get("source"))
    is_attached = source.get("type") in _ATTACHED
    if kind == "image_url" or (kind == "image" and is_attached):
        return _ATTACHMENT
    if kind == "file":
        data = as_string(as_object(value.get("file")).get("file_data"))
    elif kind == "document" and is_attached:
        data = as_string(source.get("data"))
    else:
        return 0
    return _ATTACHMENT * max(1, -(-len(data) // _PAGE))


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
        self._written += len(text.encode(errors="surrogatepass"))

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
