"""One JSON value spread over several `data` lines."""

from ...repair.fix import DONE, TEXT, Example, Fix, wire
from ...wire.json_text import escape_strings
from ...wire.sse import Event

_SPLIT = wire([TEXT]).replace(b',"created"', b'\ndata: ,"created"')


class DataLinesSeveral(Fix):
    """Write the data of an event as one line."""

    name = "data-lines-several"
    changes = "several `data` lines in one event -> one line"
    why = (
        "The standard joins the lines, but clients that decode line by line "
        "(Continue, one-api) fail on each half."
    )
    providers = ("servers that pretty-print JSON",)
    sources = (
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
        "https://github.com/continuedev/continue/blob/main/packages/fetch/src/stream.ts",
    )
    examples = (
        Example.of_event("two lines", _SPLIT, TEXT),
        Example.untouched("one line", [TEXT, DONE]),
        Example.untouched("no JSON", [b"data: a\ndata: b\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Join the data lines in place of the first.

        Between the tokens of a JSON text a line feed means nothing, so it goes; in a string
        it is a part of the text that lacks its escape.
        """
        lines = [line for line in event.lines if line.name == b"data"]
        if len(lines) < 2:  # noqa: PLR2004
            return None
        first = lines[0]
        values = [line.value for line in lines]
        while len(values) > 1 and values[0].lstrip().startswith(b":"):
            del values[0]  # a comment, with which no value begins
        joined = escape_strings(b"\n".join(values))
        first.text = b"data: " + joined.replace(b"\n", b"")
        # By identity: an empty first line, once joined, equals the one it took over.
        event.lines[:] = [
            line for line in event.lines if line is first or line.name != b"data"
        ]
        return [event]
