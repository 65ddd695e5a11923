"""A `system_fingerprint` that is not text."""

from ...chat.chunks.chunk import Chunk
from ...repair.fix import BODY, WORD, Example, Fix
from ...repair.look import Finding


class SystemFingerprintNotText(Fix):
    """Send null, as OpenAI does without one."""

    name = "system-fingerprint-not-text"
    changes = "`system_fingerprint: 7` -> `null`"
    why = "Typed clients expect a string, and refuse the chunk."
    providers = ("custom servers",)
    handles = Finding.FINGERPRINT
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/309",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_event(
            "number",
            {**WORD, "system_fingerprint": 7},
            {**WORD, "system_fingerprint": None},
        ),
        Example.of_body(
            "object",
            {**BODY, "system_fingerprint": {}},
            {**BODY, "system_fingerprint": None},
        ),
        Example.untouched("text", [{**WORD, "system_fingerprint": "fp_1"}]),
        Example.untouched("null", [{**WORD, "system_fingerprint": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set null."""
        given = chunk.get("system_fingerprint")
        if given is None or isinstance(given, str):
            return False
        chunk["system_fingerprint"] = None
        return True

    body = edit
