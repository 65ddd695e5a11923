"""A tool call whose arguments come with its head, in one fragment."""

from ...chat.chunks.chunk import Chunk, calls, deltas, envelope_of, function, index_of
from ...chat.chunks.chunk_split import bare_of, fragments_of
from ...repair.fix import Example, Fix, calling, head, rest
from ...repair.look import Finding
from ...wire.json_text import Json

_CALL = calling(head(0, "{}"))
_SPLIT = [calling(head()), calling(rest())]


class ToolCallWhole(Fix):
    """Send the head with empty arguments, then the arguments, as OpenAI does."""

    name = "tool-call-whole"
    changes = 'tool call in one fragment -> head with `arguments: ""`, then arguments'
    why = (
        "The six stream helpers of openai-python and openai-node never report the "
        "arguments as done; loops copied from guides add them twice."
    )
    providers = ("NVIDIA NIM", "llama.cpp", "Gemini", "Mistral", "Ollama")
    handles = Finding.NAMED_CALL
    sources = (
        "https://github.com/langchain-ai/langchain-nvidia",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example("whole", [_CALL], _SPLIT, ended=False),
        Example(
            "two in one chunk",
            [calling(head(0, "{}"), head(1, "[]"))],
            [*_SPLIT, calling(head(1)), calling(rest(1, "[]"))],
            ended=False,
        ),
        Example.untouched("head, then arguments", _SPLIT),
    )

    def edit(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, one fragment each, where a fragment is a whole call."""
        parts = [chunk]
        for index, choice, delta in deltas(chunk):
            if not isinstance(delta.get("tool_calls"), list):
                continue
            known = set(self.seen.choice(index).calls)
            fragments = _split(calls(delta), known)
            if choice.get("finish_reason") is None and fragments:
                delta["tool_calls"] = fragments[:1]
                parts += [_alone(chunk, choice, each) for each in fragments[1:]]
        return parts if len(parts) > 1 else None


def _is_complete(call: Chunk) -> bool:
    # Without an index, what follows could belong to a neighbour.
    inner = function(call)
    counted = isinstance(call.get("index"), int)
    return counted and bool(inner.get("name")) and _says(inner.get("arguments"))


def _says(arguments: Json) -> bool:
    return isinstance(arguments, str) and arguments != ""


def _split(found: list[Chunk], known: set[int]) -> list[Chunk]:
    """The fragments of whole calls; none without a whole call."""
    complete = [_is_complete(call) and index_of(call) not in known for call in found]
    fragments: list[Chunk] = []
    for call, is_complete in zip(found, complete, strict=True):
        fragments += fragments_of(call, index_of(call)) if is_complete else [call]
    return fragments if any(complete) else []


def _alone(chunk: Chunk, choice: Chunk, fragment: Chunk) -> Chunk:
    """Return a chunk like *chunk* that brings nothing but *fragment*."""
    choices = [{**bare_of(choice), "delta": {"tool_calls": [fragment]}}]
    rest = envelope_of(chunk)
    return {**rest, "choices": choices}
