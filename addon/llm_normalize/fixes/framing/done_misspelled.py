"""`[DONE]` in other words."""

import re

from ...repair.fix import DONE, Example, Fix, chunk
from ...wire.sse import Event, Line

_TEXT = chunk({"role": "assistant", "content": "Hi"})
_STOP = chunk({}, finish="stop")
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
        Example("quoted", [_TEXT, _STOP, b'data: "[DONE]"\n\n'], [_TEXT, _STOP, DONE]),
        Example("small", [_TEXT, _STOP, b"data: [done]\n\n"], [_TEXT, _STOP, DONE]),
        Example(
            "word", [_TEXT, _STOP, b'data: {"done":true}\n\n'], [_TEXT, _STOP, DONE]
        ),
        Example.untouched("as it is", [_TEXT, _STOP, DONE]),
        Example.untouched("other words", [_TEXT, b"data: done so far\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Respell the data."""
        data = (event.data or b"").strip()
        if data == b"[DONE]" or not _DONE.fullmatch(data) or event.foreign:
            return None
        event.lines[:] = [Line(b"data: [DONE]", event.lines[-1].end)]
        return [event]
