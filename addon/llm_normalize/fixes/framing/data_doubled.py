"""`data: data: {…}`: an event stream put into another."""

import re

from ...repair.fix import DONE, WORD, Example, Fix, wire
from ...wire.sse import Event

_TWICE = b"data: " + wire([WORD])
_INNER = re.compile(rb"(?:(?:event|id|retry): ?[^{]*?)?(?:data: ?)+")
_FIELD = re.compile(rb"(?:event|id|retry): ?[^{]*")


class DataDoubled(Fix):
    """Unwrap the inner stream: its data counts, its other fields do not."""

    name = "data-doubled"
    changes = "`data: data: {…}` -> `data: {…}`"
    why = "openai-node, openai-python and the AI SDK fail to parse `data: {…}` as JSON."
    providers = ("gateways and FastAPI servers that frame a stream once more",)
    sources = (
        "https://github.com/openclaw/openclaw/issues/96497",
        "https://github.com/aws/bedrock-agentcore-sdk-python/issues/52",
        "https://github.com/Helicone/ai-gateway/issues/137",
    )
    also_covered_by = ("data-unreadable",)
    examples = (
        Example.of_event("chunk", _TWICE, WORD),
        Example("done", [b"data: data: [DONE]\n\n"], [DONE]),
        Example("name", [b"data: event: message\n\n", _TWICE], [b"\n", WORD]),
        Example.of_event(
            "name on the line", b"data: event: message" + wire([WORD]), WORD
        ),
        Example.untouched("once", [WORD, DONE]),
        Example.untouched("text", [b"data: data: hello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Take the inner field names out."""
        changed = False
        remaining = []
        for line in event.lines:
            value = line.value if line.name == b"data" else b""
            if _FIELD.fullmatch(value):
                changed = True
                continue
            if inner := _INNER.match(value):
                line.text = b"data: " + value[inner.end() :]
                changed = True
            remaining.append(line)
        event.lines[:] = remaining
        return [event] if changed else None
