"""Null among the choices of a chunk, or among the calls of a delta."""

from itertools import chain

from ...chat.chunks.chunk import Chunk, choices
from ...repair.fix import BODY, HI, Example, Fix, calling, chunk, completion, head
from ...repair.look import Finding
from ...wire.json_text import Json

_CALL = calling(head())


class ElementNull(Fix):
    """Take it out: it is neither a choice nor a call."""

    name = "element-null"
    changes = "null in `choices` or `tool_calls` -> removed"
    why = "Clients read `delta` of null, and fail."
    providers = ("AgentRouter", "gateways")
    handles = Finding.NULL_ELEMENT | Finding.MESSAGE
    sources = (
        "https://github.com/Kilo-Org/kilocode/pull/3083",
        "https://platform.openai.com/docs/api-reference/chat-streaming/streaming",
    )
    examples = (
        Example(
            "keep-alive",
            [chunk(HI), chunk(None, choices=[None])],
            [chunk(HI), chunk(None)],
            ended=False,
        ),
        Example.of_event(
            "beside a choice",
            chunk(None, choices=[None, *chunk(HI)["choices"]]),
            chunk(HI),
        ),
        Example.of_event("beside a call", chunk({"tool_calls": [None, head()]}), _CALL),
        Example.of_body("body", completion(HI, choices=[None, *BODY["choices"]]), BODY),
        Example.untouched("none", [chunk(HI), _CALL], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Take them out."""
        found = [each for each in _lists(chunk) if None in each]
        for each in found:
            each[:] = [one for one in each if one is not None]
        return bool(found)

    body = edit


def _lists(chunk: Chunk) -> list[list[Json]]:
    """Return the lists of *chunk* that hold choices or calls."""
    parts = chain.from_iterable(
        (choice.get("delta"), choice.get("message")) for choice in choices(chunk)
    )
    found = [part.get("tool_calls") for part in parts if isinstance(part, dict)]
    return [each for each in (chunk.get("choices"), *found) if isinstance(each, list)]
