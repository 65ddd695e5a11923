"""A `system_fingerprint` that is not text."""

from ...chat.chunks.chunk import Chunk
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding

_TEXT = chunk({"content": "Hi"})
_BODY = completion({"role": "assistant", "content": "Hi"})


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
            {**_TEXT, "system_fingerprint": 7},
            {**_TEXT, "system_fingerprint": None},
        ),
        Example.of_body(
            "object",
            {**_BODY, "system_fingerprint": {}},
            {**_BODY, "system_fingerprint": None},
        ),
        Example.untouched("text", [{**_TEXT, "system_fingerprint": "fp_1"}]),
        Example.untouched("null", [{**_TEXT, "system_fingerprint": None}]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Set null."""
        given = chunk.get("system_fingerprint")
        if given is None or isinstance(given, str):
            return False
        chunk["system_fingerprint"] = None
        return True

    body = edit
