"""`finish_reason: ""`, or `"null"`, where OpenAI sends null."""

from ...chat.chunks.chunk import Chunk, choices
from ...chat.chunks.finish_words import meaning
from ...repair.fix import Example, Fix, chunk
from ...repair.look import Finding

_HI = {"role": "assistant", "content": "Hi"}
_TEXT = chunk(_HI)


class FinishEmpty(Fix):
    """Say null: the choice goes on."""

    name = "finish-empty"
    changes = '`finish_reason: ""`, `"null"`, `false`, `0` -> `null`'
    why = "Typed clients know no such reason; others take the first chunk for the last."
    providers = ("maple-proxy", "o3.fan", "Snowflake")
    handles = Finding.ODD_FINISH
    sources = (
        "https://github.com/OpenSecretCloud/maple-proxy/issues/3",
        "https://github.com/openai/openai-dotnet/issues/389",
    )
    examples = (
        Example.of_event("empty", chunk(_HI, finish=""), _TEXT),
        Example.of_event("word", chunk({}, finish="null"), chunk({})),
        Example.of_event("number", chunk({}, finish=0), chunk({})),
        Example.untouched("null", [_TEXT]),
        Example.untouched("reason", [_TEXT, chunk({}, finish="stop")], ended=False),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set null."""
        changed = False
        for choice in choices(chunk):
            reason = choice.get("finish_reason")
            if reason is not None and not meaning(reason):
                choice["finish_reason"] = None
                changed = True
        return changed

    body = edit
