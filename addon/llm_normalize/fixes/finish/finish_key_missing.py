"""No `finish_reason` in a choice of a stream."""

from ...chat.chunks.chunk import Chunk, choices
from ...repair.fix import DONE, TEXT, Example, Fix, chunk
from ...repair.look import Finding

_CHOICE = TEXT["choices"][0]
_BARE = {key: value for key, value in _CHOICE.items() if key != "finish_reason"}


class FinishKeyMissing(Fix):
    """Say that the choice goes on, as OpenAI does in every chunk."""

    name = "finish-key-missing"
    changes = "choice without `finish_reason` -> `null`"
    why = "Typed clients miss the field; a launcher's plugin never shows the stream."
    providers = ("Perplexity", "Z.AI", "Workers AI", "Baidu", "GitHub Copilot")
    handles = Finding.NO_FINISH_KEY
    sources = (
        "https://github.com/alfredapp/openai-workflow/issues/52",
        "https://github.com/tryAGI/LangChain.Providers/issues/208",
    )
    examples = (
        Example.of_event("missing", {**TEXT, "choices": [_BARE]}, TEXT),
        Example.untouched("there", [TEXT, chunk({}, finish="stop"), DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the key."""
        bare = [each for each in choices(chunk) if "finish_reason" not in each]
        for choice in bare:
            choice["finish_reason"] = None
        return bool(bare)
