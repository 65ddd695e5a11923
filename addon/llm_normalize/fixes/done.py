"""`[DONE]`, the end of a stream."""

import re

from ..repair.fix import DONE, STOP, TEXT, Example, Fix
from ..wire.sse import Event, Line

_DONE = re.compile(rb'"?\[done\]"?|"?done"?|\{\s*"done"\s*:\s*true\s*\}', re.IGNORECASE)


# `[DONE]` in other words.
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
        Example.untouched("other words", [TEXT, b"data: done so far\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Respell the data."""
        data = (event.data or b"").strip()
        if data == b"[DONE]" or not _DONE.fullmatch(data) or event.foreign:
            return None
        event.lines[:] = [Line(b"data: [DONE]", event.lines[-1].end)]
        return [event]


# No `[DONE]` after a finished stream.
# The repair is in `repair/machine/machine.py`.
class DoneMissing(Fix):
    """Close a stream whose choices all have the finish reason that the provider sent.

    It has ended, cleanly or not, or is silent for `normalize_keepalive`.
    """

    name = "done-missing"
    changes = "end, break or long silence after every finish reason, without `[DONE]` -> added"
    why = "Clients wait for it until they time out."
    providers = ("chatglm.cpp", "Perplexity", "Cerebras", "Hugging Face")
    sources = (
        "https://github.com/li-plus/chatglm.cpp",
        "https://github.com/oobabooga/textgen/issues/4778",
    )
    examples = (
        Example("finished", [TEXT, STOP], [TEXT, STOP, DONE]),
        Example.untouched("broken off", [TEXT]),
        Example.untouched(
            "error", [TEXT, b'data: {"error":{"message":"Overloaded"}}\n\n']
        ),
    )


# `[DONE]` twice.
# The repair is in `repair/machine/machine.py`.
class DoneRepeated(Fix):
    """Send one `[DONE]`."""

    name = "done-repeated"
    changes = "second `[DONE]` -> dropped"
    why = "Clients that reuse the connection take it for the next answer's."
    providers = ("gateways that add a `[DONE]` of their own",)
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    examples = (
        Example("twice", [TEXT, STOP, DONE, DONE], [TEXT, STOP, DONE]),
        Example.untouched("once", [TEXT, STOP, DONE]),
    )
