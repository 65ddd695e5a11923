"""No `created`, or an invalid one: null, 0, negative."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.envelope import seconds_in
from ...chat.state.stream_state import Asked
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding

_BARE = {key: value for key, value in WORD.items() if key != "created"}
_NOW = Asked(stream=True, time=1700000000)


class CreatedMissing(Fix):
    """Say when the answer began."""

    name = "created-missing"
    changes = "`created` missing, null or 0 -> the time of the answer, in seconds"
    why = "JetBrains' AI plugin refuses the chunk: the field is required for its type."
    providers = ("llama.cpp servers", "Perplexity", "Venice", "GitHub Copilot")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/peach0x33a/cmdcode2api/issues/1",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example.of_event(
            "missing", _BARE, {**_BARE, "created": 1700000000}, asked=_NOW
        ),
        Example.of_event("zero", {**WORD, "created": 0}, WORD, asked=_NOW),
        Example(
            "body",
            [{**BODY, "created": None}],
            [BODY],
            asked=Asked(time=1700000000),
            kind="body",
        ),
        Example.untouched("there", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set the time of the stream's first chunk, else of the exchange."""
        given = chunk.get("created")
        if seconds_in(given) is not None:
            return False  # if not in OpenAI's form
        chunk["created"] = self.seen.envelope.get("created") or self.asked.time
        return True

    body = edit
