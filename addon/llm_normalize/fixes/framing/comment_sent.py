"""Comments, which OpenAI never sends and some parsers stumble over."""

from ...repair.fix import DONE, TEXT, Example, Fix, wire
from ...wire.sse import Event


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
        Example("alone", [b": ping\n\n", TEXT], [b"\n", TEXT], ended=False),
        Example.of_event("beside data", b": x\n" + wire([TEXT]), TEXT),
        Example.untouched("none", [TEXT, DONE]),
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
