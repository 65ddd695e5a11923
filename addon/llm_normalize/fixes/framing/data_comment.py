"""`data: : comment`: a comment that was framed as data."""

from ...repair.fix import DONE, TEXT, Example, Fix, chunk
from ...wire.sse import Event


class DataComment(Fix):
    """Send a bare newline in its place, at the same moment."""

    name = "data-comment"
    changes = "`data: : comment` -> a bare newline"
    why = "openai-node fails: it could not parse the message into JSON."
    providers = ("gateways that frame OpenRouter's keep-alives once more",)
    sources = ("https://github.com/mnfst/llm-gateway/issues/2053",)
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("comment", [TEXT, b"data: : WAIT\n\n"], [TEXT, b"\n"], ended=False),
        Example.untouched("chunk", [TEXT, chunk({}, finish="stop"), DONE]),
        Example.untouched("text", [b"data: x: y\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Drop the data lines."""
        data = event.data
        if data is None or not data.lstrip().startswith(b":"):
            return None
        event.lines[:] = [line for line in event.lines if line.name != b"data"]
        event.blank = b"\n"
        event.closed = True
        return [event]
