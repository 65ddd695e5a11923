"""Comments, which OpenAI never sends and some parsers stumble over."""

from ...repair.fix import DONE, Example, Fix, chunk, wire
from ...wire.sse import Event

_TEXT = chunk({"role": "assistant", "content": "Hi"})


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
        Example("alone", [b": ping\n\n", _TEXT], [b"\n", _TEXT], ended=False),
        Example.of_event("beside data", b": x\n" + wire([_TEXT]), _TEXT),
        Example.untouched("none", [_TEXT, DONE]),
        Example.untouched("bare newline", [_TEXT, b"\n", DONE]),
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
