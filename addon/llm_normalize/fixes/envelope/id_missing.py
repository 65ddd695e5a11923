"""No `id`, or one that says nothing: null, empty, a number, a placeholder."""

from ...chat.chunks.chunk import Chunk, put_first
from ...chat.chunks.envelope import names_answer
from ...chat.state.stream_state import Asked
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding
from ...wire.json_text import Number

_BARE = {key: value for key, value in WORD.items() if key != "id"}
_MADE = "chatcmpl-5feceb66ffc86f38d952786c"
_ZERO = Asked(stream=True, id="0")


class IdMissing(Fix):
    """Give the answer one id: the first the provider names, else one of its own."""

    name = "id-missing"
    changes = '`id` missing, null, `""`, `"chatcmpl"` or a number -> one for the answer'
    why = "SDK helpers and logs tell answers apart by it; strict types want a string."
    providers = ("chatglm.cpp", "Azure", "Snowflake", "Hugging Face TGI", "MiniMax")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/li-plus/chatglm.cpp",
        "https://github.com/BerriAI/litellm/issues/1571",
    )
    examples = (
        Example.of_event("missing", _BARE, {**WORD, "id": _MADE}, asked=_ZERO),
        Example.of_event(
            "empty", {**WORD, "id": ""}, {**WORD, "id": _MADE}, asked=_ZERO
        ),
        Example.of_event("number", {**WORD, "id": 7}, {**WORD, "id": "7"}),
        Example(
            "body",
            [{**BODY, "id": "chatcmpl"}],
            [{**BODY, "id": _MADE}],
            asked=Asked(id="0"),
            kind="body",
        ),
        Example.untouched("there", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Name the answer."""
        given = chunk.get("id")
        if names_answer(given):
            return False
        made = self.seen.envelope.get("id") or self.asked.make_id("chatcmpl-")
        if isinstance(given, int | Number) and not isinstance(given, bool):
            made = given.text if isinstance(given, Number) else str(given)
        put_first(chunk, "id", made)
        return True

    body = edit
