"""A tool call whose arguments come with its head, in one fragment."""

from ..chunk import Chunk, calls, deltas, function, index_of
from ..fix import Example, Fix, calling, head, rest

_WHOLE = calling(head(0, "{}"))
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
    sources = (
        "https://github.com/langchain-ai/langchain-nvidia",
        "https://platform.openai.com/docs/guides/function-calling#streaming",
    )
    examples = (
        Example("whole", [_WHOLE], _SPLIT, ended=False),
        Example(
            "two in one chunk",
            [calling(head(0, "{}"), head(1, "[]"))],
            [*_SPLIT, calling(head(1)), calling(rest(1, "[]"))],
            ended=False,
        ),
        Example.untouched("head, then arguments", _SPLIT),
    )

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, one fragment each, where a fragment is a whole call."""
        for index, choice, delta in deltas(chunk):
            known = self.seen.choice(index).calls
            found = calls(delta)
            if any(_is_whole(call) and index_of(call) not in known for call in found):
                return _split(chunk, choice, delta, found, set(known))
        return None


def _is_whole(call: Chunk) -> bool:
    inner = function(call)
    return bool(inner.get("name") and isinstance(inner.get("arguments"), str)) and bool(
        inner["arguments"]
    )


def _split(
    chunk: Chunk, choice: Chunk, delta: Chunk, found: list[Chunk], known: set[int]
) -> list[Chunk]:
    """Return chunks of one fragment each; other choices and text stay in the first."""
    fragments: list[Chunk] = []
    for call in found:
        if not _is_whole(call) or index_of(call) in known:
            fragments.append(call)
            continue
        inner = function(call)
        rest = {
            "index": index_of(call),
            "function": {"arguments": inner["arguments"]},
        }
        inner["arguments"] = ""
        fragments += [call, rest]
        known.add(index_of(call))
    delta["tool_calls"] = fragments[:1]
    parts = [chunk]
    for fragment in fragments[1:]:
        alone = {
            key: (None if key == "logprobs" else value) for key, value in choice.items()
        }
        alone["delta"] = {"tool_calls": [fragment]}
        part = {key: value for key, value in chunk.items() if key != "usage"}
        parts.append({**part, "choices": [alone]})
    return parts
