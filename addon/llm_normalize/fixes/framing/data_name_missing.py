"""Lines of JSON, or `[DONE]`, without `data:` before them."""

from ...repair.fix import DONE, STOP, TEXT, Example, Fix, wire
from ...wire.json_text import dumps
from ...wire.sse import Event, Line

_SPACED = dumps(TEXT).replace(b',"created"', b',\r\n  "created"')


class DataNameMissing(Fix):
    """Frame a value that stands alone as an event, on one line."""

    name = "data-name-missing"
    changes = "`{…}` or `[DONE]` without `data:` -> `data: {…}`"
    why = "Every client skips the line: the answer is empty, or never ends."
    providers = ("servers that stream lines of JSON", "servers that ignore `stream`")
    sources = (
        "https://github.com/hyperonym/basaran/issues/144",
        "https://github.com/n8n-io/n8n/issues/18924",
    )
    examples = (
        Example(
            "lines",
            [dumps(TEXT) + b"\n", dumps(STOP) + b"\n", DONE],
            [TEXT, STOP, DONE],
        ),
        Example("several lines", [_SPACED], [TEXT]),
        Example("without an end", [dumps(TEXT) + dumps(STOP)], [TEXT, STOP]),
        Example("done", [TEXT, STOP, b"[DONE]\n\n"], [TEXT, STOP, wire([DONE, b"\n"])]),
        Example.untouched("data", [TEXT, STOP, DONE]),
        Example.untouched("not a chunk", [b'{"status": "ok"}\n']),
        Example.untouched("half a value", [dumps(TEXT)[:40]]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Join the value's lines: a line end stands between its tokens only."""
        if not event.is_value:
            return None
        value = b"".join(line.text.strip(b" \t") for line in event.lines)
        value = value.decode(errors="replace").encode()  # it is written anew
        event.lines[:] = [Line(b"data: " + value, b"\n")]
        event.blank = b"\n"
        event.is_value, event.closed = False, True
        return [event]
