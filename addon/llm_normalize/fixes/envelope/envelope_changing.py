"""`id`, `created` or `model` that change, or go missing, within one stream."""

from ...chat.chunks.chunk import ENVELOPE, LONG, Chunk
from ...repair.fix import DONE, TEXT, Example, Fix, chunk
from ...repair.look import Finding

_MORE = chunk({"content": "!"})


class EnvelopeChanging(Fix):
    """Give every chunk of a stream the id, time and model of its first."""

    name = "envelope-changing"
    changes = "`id`, `created`, `model` other than the first chunk's -> the first's"
    why = "SDK helpers take a chunk with another id for another answer."
    providers = ("SGLang (`created`)", "llama.cpp (`created`)", "Ollama", "xAI")
    handles = Finding.ENVELOPE | Finding.OBJECT | Finding.TIER | Finding.FINGERPRINT
    sources = (
        "https://github.com/BerriAI/litellm/issues/1571",
        "https://github.com/ggml-org/llama.cpp/issues/5876",
    )
    examples = (
        Example(
            "clock runs on",
            [TEXT, {**_MORE, "created": 1700000001}],
            [TEXT, _MORE],
            ended=False,
        ),
        Example(
            "new id each time",
            [TEXT, {**_MORE, "id": "x"}],
            [TEXT, _MORE],
            ended=False,
        ),
        Example.untouched("the same", [TEXT, _MORE, chunk({}, finish="stop"), DONE]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set what differs from the first that says something, and cut what is long."""
        changed = False
        for key in ENVELOPE:
            value = chunk.get(key)
            if isinstance(value, str) and len(value) > LONG:  # as in what is split off
                chunk[key] = value[:LONG]
                changed = True
        for key, first in self.seen.envelope.items():
            if chunk.get(key) != first:
                chunk[key] = first
                changed = True
        return changed
