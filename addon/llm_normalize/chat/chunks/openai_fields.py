"""The fields that OpenAI's API defines for chunks and bodies.

Source: https://platform.openai.com/docs/api-reference/chat, checked against recorded
streams of OpenAI's.
"""

from collections.abc import Iterator

from .chunk import Chunk, calls, choices, function

_TOP = """
    id object created model choices usage service_tier system_fingerprint obfuscation
    moderation metadata
"""
_CHOICE = "index delta message logprobs finish_reason"
_MESSAGE = "role content refusal tool_calls function_call audio annotations"
_CALL = "index id type function custom"
_FUNCTION = "name arguments input"
_USAGE = """
    prompt_tokens completion_tokens total_tokens prompt_tokens_details
    completion_tokens_details
"""

TOP, CHOICE, MESSAGE, CALL, FUNCTION, USAGE, ERROR = (
    frozenset(names.split())
    for names in (
        _TOP,
        _CHOICE,
        _MESSAGE,
        _CALL,
        _FUNCTION,
        _USAGE,
        "message type param code",
    )
)

TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
"""The values of `service_tier`, which may be null, too."""


def parts(chunk: Chunk) -> Iterator[tuple[Chunk, frozenset[str]]]:
    """Yield the objects of a chunk or body with the fields defined for each."""
    yield chunk, TOP
    if isinstance(chunk.get("usage"), dict):
        yield chunk["usage"], USAGE
    for choice in choices(chunk):
        yield choice, CHOICE
        for key in ("delta", "message"):
            part = choice.get(key)
            if isinstance(part, dict):
                yield part, MESSAGE
                for call in calls(part):
                    yield call, CALL
                    yield function(call), FUNCTION
