"""`[DONE]` in other words."""

import re

from ...repair.fix import DONE, STOP, TEXT, Example, Fix
from ...wire.sse import Event, Line

_DONE = re.compile(rb'"?\[done\]"?|"?done"?|\{\s*"done"\s*:\s*true\s*\}', re.IGNORECASE)


class DoneMisspelled(Fix):
    """Spell it as OpenAI does."""

    name = "done-misspelled"
    changes = '`data: [done]`, `data: "[DONE]"`, `{"done": true}` -> `data: [DONE]`'
    why = "Clients try to decode it as a chunk, and raise after the whole answer."
    providers = ("gateways that encode each event as JSON",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("quoted", [TEXT, STOP, b'data: "[DONE]"\n\n'], [TEXT, STOP, DONE]),
        Example("small", [TEXT, STOP, b"data: [done]\n\n"], [TEXT, STOP, DONE]),
        Example("word", [TEXT, STOP, b'data: {"done":true}\n\n'], [TEXT, STOP, DONE]),
        Example.untouched("as it is", [TEXT, STOP, DONE]),
        Example.untouched("other words", [TEXT, b"data: done so far\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Respell the data."""
        data = (event.data or b"").strip()
        if data == b"[DONE]" or not _DONE.fullmatch(data) or event.foreign:
            return None
        event.lines[:] = [Line(b"data: [DONE]", event.lines[-1].end)]
        return [event]
