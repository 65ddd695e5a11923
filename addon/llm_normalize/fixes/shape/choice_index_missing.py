"""Choices without `index`, or with one that is not an integer."""

from ...chat.chunks.chunk import Chunk, choices, given_index, put_first
from ...repair.fix import BODY, WORD, Example, Fix, chunk
from ...repair.look import Finding


def _without(value: Chunk) -> Chunk:
    bare = {key: each for key, each in value["choices"][0].items() if key != "index"}
    return {**value, "choices": [bare]}


class ChoiceIndexMissing(Fix):
    """Number the choices by their place."""

    name = "choice-index-missing"
    changes = "`choices[]` without `index`, or with text -> the place in the list"
    why = "Typed clients refuse the chunk; others file the text under None."
    providers = ("gateways", "web-llm")
    handles = Finding.INDEX
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    examples = (
        Example.of_event("stream", _without(WORD), WORD),
        Example.of_event(
            "text",
            chunk({"content": "Hi"}, index="1"),
            chunk({"content": "Hi"}, index=1),
        ),
        Example.of_body("body", _without(BODY), BODY),
        Example.untouched("there", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the index."""
        found = choices(chunk)
        taken = {*map(given_index, found)}
        changed = False
        for place, choice in enumerate(found):
            if type(choice.get("index")) is int:
                continue
            at = given_index(choice)
            if at is None:
                rest = {*range(len(found))} - taken
                at = place if place in rest else min(rest)
            put_first(choice, "index", at)
            taken.add(at)
            changed = True
        return changed

    body = edit
