"""Lines that end in CRLF or a bare CR."""

from ...repair.fix import DONE, TEXT, Example, Fix, Wire, chunk, wire
from ...wire.sse import Event

_ALL: Wire = [TEXT, chunk({}, finish="stop"), DONE]


class LineEndCr(Fix):
    """End every line with a line feed alone."""

    name = "line-end-cr"
    changes = r"`\r\n` or `\r` at a line's end -> `\n`"
    why = (
        r"Parsers that split at `\n\n` find no end of an event: the whole stream is "
        r"held back, then lost; others try to decode `[DONE]\r`."
    )
    providers = ("Perplexity", "Azure", "sse-starlette servers such as chatglm.cpp")
    sources = (
        "https://github.com/hey-api/hey-api/issues/3054",
        "https://github.com/farion1231/cc-switch/issues/1787",
        "https://github.com/EdamAme-x/pentect/issues/1438",
    )
    examples = (
        Example("crlf", [wire(_ALL).replace(b"\n", b"\r\n")], _ALL),
        Example("cr", [wire(_ALL).replace(b"\n", b"\r")], _ALL),
        Example.untouched("lf", [TEXT, DONE]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Respell the line ends."""
        changed = False
        for line in event.lines:
            if line.end in (b"\r\n", b"\r"):
                line.end = b"\n"
                changed = True
        if event.blank in (b"\r\n", b"\r"):
            event.blank = b"\n"
            changed = True
        return [event] if changed else None
