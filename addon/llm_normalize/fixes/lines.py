"""Lines of a stream that are not data: their ends, blank lines, comments, other fields."""

from ..repair.fix import DONE, STOP, TEXT, WORD, Example, Fix, Wire, chunk, wire
from ..wire.event_boundary import values_in
from ..wire.sse import BOM, Event, encode


# A byte order mark before the first event.
class BomSent(Fix):
    """Drop the byte order mark."""

    name = "bom-sent"
    changes = "byte order mark at the stream's start -> removed"
    why = "Line scanners take it for part of the field name and lose the first event."
    providers = ("servers that write UTF-8 with a signature",)
    sources = ("https://html.spec.whatwg.org/multipage/server-sent-events.html",)
    examples = (
        Example.of_event("mark", BOM + wire([TEXT]), TEXT),
        Example.untouched("none", [TEXT, DONE]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the mark."""
        if not event.lines or not event.bom:
            return None
        event.bom = False
        return [event]


_ALL: Wire = [TEXT, STOP, DONE]


# Lines that end in CRLF or a bare CR.
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


_HI = chunk({"role": "assistant", "content": r"Hi}\n\n"})
_ESCAPED = wire([_HI, STOP, DONE]).replace(b"\n", rb"\n")


# Line ends between events as a backslash and an `n`: `data: {…}\n\ndata: {…}`.
class BlankLineEscaped(Fix):
    """Give each value an event of its own; each leaves as its separator comes."""

    name = "blank-line-escaped"
    changes = r"`data: {…}\n\n` with `\n` as two characters -> a blank line"
    why = "No client sees the end of an event, so none sees any of the answer."
    providers = ("relays that escape a stream as a string",)
    sources = ("https://github.com/nashsu/llm_wiki/pull/628",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("all on one line", [_ESCAPED], [_HI, STOP, DONE]),
        Example.untouched("in a text", [_HI, STOP, DONE]),
        Example.untouched("words", [b"data: \\n\\nhello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Part the values."""
        data = event.data or b""
        if event.foreign or b"\\" not in data or values_in(data):
            return None
        values = values_in(data, has_escapes=True)
        return [Event(encode(value), event.n) for value in values] or None


_FIELDS = b"event: message\nid: 7\nretry: 3000\n"


# `event`, `id` and `retry` fields, which OpenAI never sends.
class FieldNotData(Fix):
    """Drop `event`, `id` and `retry` lines; a block of nothing else is a newline."""

    name = "field-not-data"
    changes = "`event:`, `id:` and `retry:` lines -> removed"
    why = (
        "The stream helpers of openai-python 1 and openai-node 4 take an event with a "
        "name for one of the Assistants API."
    )
    providers = ("Groq (`event: error`)", "Spring WebFlux and sse-starlette servers")
    sources = (
        "https://github.com/openai/openai-python/blob/v1.59.9/src/openai/_streaming.py",
    )
    examples = (
        Example.of_event("fields", _FIELDS + wire([TEXT]), TEXT),
        Example("nothing else", [b"event: ping\n\n"], [b"\n"]),
        Example.untouched("not a chunk", [b"event: a\ndata: hello\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the lines."""
        remaining = [
            line for line in event.lines if line.name not in (b"event", b"id", b"retry")
        ]
        if len(remaining) == len(event.lines):
            return None
        event.lines[:] = remaining
        return [event]


# Comments, which OpenAI never sends and some parsers stumble over.
class CommentSent(Fix):
    """Drop comment lines; a block of nothing else becomes a bare newline.

    The newline is sent the moment the comment arrives, so that the connection stays
    alive all the same; every parser skips it.
    """

    name = "comment-sent"
    changes = "`: comment` -> a bare newline"
    why = (
        "Continue's parser takes `: ping` for the end of what it has read and loses "
        "what follows in the same read; clients that decode every line fail."
    )
    providers = ("OpenRouter", "sse-starlette servers", "OmniRoute")
    sources = (
        "https://openrouter.ai/docs/api-reference/streaming",
        "https://github.com/continuedev/continue/blob/main/packages/fetch/src/stream.ts",
        "https://github.com/TheR1D/shell_gpt/issues/358",
    )
    examples = (
        Example("alone", [b": ping\n\n", TEXT], [b"\n", TEXT]),
        Example.of_event("beside data", b": x\n" + wire([TEXT]), TEXT),
        Example.untouched("bare newline", [TEXT, b"\n", DONE]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the comment lines."""
        remaining = [line for line in event.lines if line.name]
        if len(remaining) == len(event.lines):
            return None
        if not remaining and event.lines[-1].end:
            event.closed = True  # where a line end parts the events
        event.lines[:] = remaining
        return [event]


# A stream that ends without the blank line that closes its last event.
class BlankLineMissing(Fix):
    """Close a last event that is whole but for its blank line.

    One that is cut off in mid-word is not JSON, so the pipeline passes it as it is.
    """

    name = "blank-line-missing"
    changes = "last event without its blank line -> closed"
    why = "The standard discards an event that no blank line closes: `[DONE]` is lost."
    providers = ("Mistral", "chatglm.cpp")
    sources = (
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "https://github.com/oobabooga/textgen/issues/4778",
    )
    examples = (
        Example("no line end", [WORD, b"data: [DONE]"], [WORD, DONE]),
        Example("no blank line", [WORD, b"data: [DONE]\n"], [WORD, DONE]),
        Example.untouched("half an event", [wire([WORD])[:40]]),
        Example.untouched("open comment", [WORD, b": bye"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Add what is missing."""
        if event.closed or event.data is None:
            return None
        event.lines[-1].end = event.lines[-1].end or b"\n"
        event.blank = b"\n"
        event.closed = True
        return [event]
