"""Usage under `x_groq` alone."""

from ...chat.chunks.chunk import Chunk, usage_of
from ...chat.conversion import counts
from ...repair.fix import DONE, TEXT, USAGE, Example, Fix, chunk
from ...repair.look import Finding

_STOP = chunk({}, finish="stop", x_groq={"id": "req_1", "usage": USAGE})


class UsageElsewhere(Fix):
    """Say it where OpenAI says it, too."""

    name = "usage-elsewhere"
    changes = "`x_groq.usage` alone -> `usage` beside it"
    why = "Clients look at `usage` and count no tokens."
    providers = ("Groq",)
    handles = Finding.USAGE_ELSEWHERE
    sources = (
        "https://console.groq.com/docs/api-reference#chat-create",
        "https://github.com/groq/groq-python/blob/main/src/groq/types/chat/chat_completion_chunk.py",
    )
    also_covered_by = ("usage-empty",)
    examples = (
        Example(
            "stream",
            [TEXT, _STOP, DONE],
            [TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example(
            "beside an invalid usage",
            [TEXT, {**_STOP, "usage": True}, DONE],
            [TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example(
            "beside zeros",
            [TEXT, {**_STOP, "usage": dict.fromkeys(USAGE, 0)}, DONE],
            [TEXT, {**_STOP, "usage": USAGE}, DONE],
        ),
        Example.untouched("both", [TEXT, {**_STOP, "usage": USAGE}, DONE]),
        Example.untouched("none", [chunk({"content": "Hi"}, x_groq={"id": "req_1"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Copy it."""
        other = chunk.get("x_groq")
        usage = other.get("usage") if isinstance(other, dict) else None
        own = usage_of(chunk)
        if not isinstance(usage, dict) or not usage:
            return False
        if isinstance(own, dict) and (counts(own) or not counts(usage)):
            return False
        chunk["usage"] = dict(usage)
        return True

    body = edit
