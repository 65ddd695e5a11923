"""No `choices`, or null, on a chunk that brings usage or nothing."""

from ...chat.chunks.chunk import Chunk, enveloped_in, is_flat
from ...chat.state.stream_state import Asked
from ...repair.fix import USAGE, Example, Fix, chunk
from ...repair.look import Finding

_USAGE = chunk(None, usage=USAGE)
_BARE = {key: each for key, each in _USAGE.items() if key != "choices"}
_ASKED = Asked(stream=True, usage=True)


class ChoicesMissing(Fix):
    """Send the list that every chunk of OpenAI's has."""

    name = "choices-missing"
    changes = "`choices: null` or no `choices` -> `[]`"
    why = "Clients that index or iterate over choices raise on every one."
    providers = ("MiniMax", "Moonshot", "DeepInfra", "ROCm ATOM")
    handles = Finding.NO_CHOICES
    sources = (
        "https://github.com/RooCodeInc/Roo-Code/issues/9105",
        "https://github.com/pydantic/pydantic-ai/issues/5165",
        "https://github.com/ROCm/ATOM/issues/1711",
    )
    examples = (
        Example("null", [{**_USAGE, "choices": None}], [_USAGE], asked=_ASKED),
        Example("missing", [_BARE], [{**_BARE, "choices": []}], asked=_ASKED),
        Example.untouched("list", [_USAGE], asked=_ASKED),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the list."""
        if chunk.get("choices") is not None or is_flat(chunk):
            return False
        if enveloped_in(chunk) is not None:
            return False
        chunk["choices"] = []
        return True
