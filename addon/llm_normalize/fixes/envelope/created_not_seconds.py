"""`created` as text, as a fraction, or in milliseconds."""

from ...chat.chunks.chunk import Chunk
from ...chat.chunks.envelope import LATEST, seconds_in
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding
from ...wire.json_text import Number


class CreatedNotSeconds(Fix):
    """Send whole seconds since 1970."""

    name = "created-not-seconds"
    changes = "`created` in milliseconds, as a fraction, text or date -> whole seconds"
    why = "Typed clients expect an integer, and 32 or 64 bits overflow."
    providers = ("mistral.rs", "web-llm", "OpenCursor", "DIAL")
    handles = Finding.ENVELOPE
    sources = (
        "https://github.com/EricLBuehler/mistral.rs/issues/1805",
        "https://github.com/mlc-ai/web-llm/issues/829",
        "https://github.com/epam/ai-dial-adapter-openai/issues/141",
    )
    examples = (
        Example.of_event("milliseconds", {**WORD, "created": 1700000000123}, WORD),
        Example.of_event("text", {**WORD, "created": "1700000000"}, WORD),
        Example.of_event(
            "fraction", {**WORD, "created": Number("1700000000.25")}, WORD
        ),
        Example.of_body("date", {**BODY, "created": "2023-11-14T22:13:20Z"}, BODY),
        Example.untouched("seconds", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Convert it; other values stay for other fixes."""
        given = chunk.get("created")
        if type(given) is int and given < LATEST:
            return False
        seconds = seconds_in(given)
        if seconds is None:
            return False
        while seconds >= LATEST:
            seconds /= 1000
        chunk["created"] = int(seconds)
        return True

    body = edit
