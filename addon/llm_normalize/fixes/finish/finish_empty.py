"""`finish_reason: ""`, or `"null"`, where OpenAI sends null."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.finish_words import meaning
from ...repair.fix import HI, TEXT, ChoiceFix, Example, chunk
from ...repair.look import Finding


class FinishEmpty(ChoiceFix):
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
        Example.of_event("empty", chunk(HI, finish=""), TEXT),
        Example.of_event("word", chunk({}, finish="null"), chunk({})),
        Example.of_event("number", chunk({}, finish=0), chunk({})),
        Example.untouched("null", [TEXT]),
        Example.untouched("reason", [TEXT, chunk({}, finish="stop")], ended=False),
    )

    def choice(self, choice: Chunk) -> bool:
        """Set null."""
        reason = choice.get("finish_reason")
        if reason is None or meaning(reason):
            return False
        choice["finish_reason"] = None
        return True
