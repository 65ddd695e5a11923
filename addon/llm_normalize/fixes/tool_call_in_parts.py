"""Two fragments of one tool call in one chunk."""

from ..chunk import Chunk, calls, deltas, envelope_of
from ..fix import Example, Fix, calling, head, rest


class ToolCallInParts(Fix):
    """Send a chunk for each fragment, as OpenAI does."""

    name = "tool-call-in-parts"
    changes = "fragments of one call in one chunk -> a chunk each"
    why = "Clients that open a call for each entry of a chunk make two of one."
    providers = ("gateways that join chunks",)
    key = "call"
    sources = (
        "https://platform.openai.com/docs/guides/function-calling#streaming",
        "https://github.com/vercel/ai/issues/15879",
    )
    examples = (
        Example(
            "head and rest",
            [calling(head(), rest())],
            [calling(head()), calling(rest())],
            ended=False,
        ),
        Example.untouched("two calls", [calling(head(0), head(1))]),
        Example.untouched("one each", [calling(head()), calling(rest())]),
    )

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Split the chunk, one fragment each."""
        parts: list[Chunk] = []
        for _, choice, delta in deltas(chunk):
            found = calls(delta)
            if not _share_a_call(found):
                continue
            delta["tool_calls"] = found[:1]
            bare = {**choice, "finish_reason": None}
            bare |= {"logprobs": None} if "logprobs" in choice else {}
            first = envelope_of(chunk)
            for call in found[1:]:
                alone = {**bare, "delta": {"tool_calls": [call]}}
                parts.append({**first, "choices": [alone]})
        return [chunk, *parts] if parts else None


def _share_a_call(found: list[Chunk]) -> bool:
    """Tell whether two of *found* may be of one call: by index, by id, or without any."""
    indexes = {at for call in found if isinstance(at := call.get("index"), int)}
    ids = [repr(identity) for call in found if (identity := call.get("id"))]
    same = len(indexes) < len(found) or len(set(ids)) < len(ids)
    return same and len(found) > 1
