"""`id`, `created` or `model` that change, or go missing, within one stream."""

from ..chunk import Chunk, Json
from ..fix import DONE, Example, Fix, chunk
from ..stream_state import Asked, Seen

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_MORE = chunk({"content": "!"})


class EnvelopeChanging(Fix):
    """Give every chunk of a stream the id, time and model of its first."""

    name = "envelope-changing"
    changes = "`id`, `created`, `model` other than the first chunk's -> the first's"
    why = "SDK helpers take a chunk with another id for another answer."
    providers = ("SGLang (`created`)", "llama.cpp (`created`)", "Ollama", "xAI")
    sources = (
        "https://github.com/BerriAI/litellm/issues/1571",
        "https://github.com/ggml-org/llama.cpp/issues/5876",
    )
    examples = (
        Example(
            "clock runs on",
            [_TEXT, {**_MORE, "created": 1700000001}],
            [_TEXT, _MORE],
            ended=False,
        ),
        Example(
            "new id each time",
            [_TEXT, {**_MORE, "id": "x"}],
            [_TEXT, _MORE],
            ended=False,
        ),
        Example.untouched("the same", [_TEXT, _MORE, chunk({}, finish="stop"), DONE]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._first: dict[str, Json] = {}

    def edit(self, chunk: Chunk) -> bool:
        """Set what differs from the first that says something."""
        changed = False
        for key in ("id", "created", "model"):
            value = chunk.get(key)
            first = self._first.get(key)
            if first is None:
                if _says_something(key, value):
                    self._first[key] = value
            elif value != first:
                chunk[key] = first
                changed = True
        return changed


def _says_something(key: str, value: Json) -> bool:
    kind = int if key == "created" else str
    return isinstance(value, kind) and bool(value)
