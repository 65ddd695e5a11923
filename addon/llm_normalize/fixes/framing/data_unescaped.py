r"""JSON whose strings have raw control characters, or escapes that JSON does not know."""

from ...chat.chunks.chunk import (
    Chunk,
    calls,
    deltas,
    function,
    index_of,
    is_chunk,
    messages,
)
from ...chat.stream_state import Asked
from ...repair.fix import DONE, Example, Fix, chunk, completion, wire
from ...wire.json_text import dumps, escape_strings, escaped, loads
from ...wire.sse import Event, encode

_TEXT = chunk({"role": "assistant", "content": "a\tb\nc"})
_RAW = wire([_TEXT]).replace(rb"\t", b"\t").replace(rb"\n", b"\n")
_PATH = chunk({"role": "assistant", "content": r"C:\Users\d"})
_SINGLE = wire([_PATH]).replace(rb"\\", b"\\")
_BODY = completion({"role": "assistant", "content": "a\nb"})
_PREFIX = b"data:"


class DataUnescaped(Fix):
    r"""Escape them: nothing is lost. A `\'` loses its backslash.

    Of a body repair/body.py does it.
    """

    name = "data-unescaped"
    changes = r"raw tab, newline, ESC, …, and `\x`, `\'` in a string -> escaped"
    why = "Every client fails to parse it as JSON, and the answer ends there."
    providers = ("gateways that build JSON of strings",)
    sources = (
        "https://github.com/earendil-works/pi/issues/6762",
        "https://github.com/earendil-works/pi/issues/2981",
    )
    also_covered_by = ("data-unreadable",)
    examples = (
        Example("control characters", [_RAW], [_TEXT], ended=False),
        Example("escapes", [_SINGLE], [_PATH], ended=False),
        Example(
            "body",
            [dumps(_BODY).replace(rb"\n", b"\n")],
            [_BODY],
            asked=Asked(),
            kind="body",
        ),
        Example.untouched("escaped", [_TEXT, _PATH, DONE]),
        Example.untouched("broken", [b'data: {"a":"\t"\n\n']),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Escape what the strings of its data have."""
        data = event.data
        if event.foreign:  # a newline in a string has cut the line
            data = event.raw.strip().removeprefix(_PREFIX).lstrip()
        fixed = escaped(data) if data and data.startswith((b"{", b"[")) else None
        if fixed is None:
            return None
        value = loads(fixed)
        if is_chunk(value):
            self._escape_arguments(value)
        return [Event(encode(dumps(value)), event.n)]

    def _escape_arguments(self, chunk: Chunk) -> None:
        """Escape what the strings within arguments have: these are JSON, too."""
        for index, _, delta in deltas(chunk):
            for call in calls(delta):
                text = function(call).get("arguments")
                known = self.seen.choice(index).calls.get(index_of(call))
                quote = '"' if known is not None and known.is_quoted else ""
                if isinstance(text, str):
                    made = escape_strings((quote + text).encode(errors="replace"))
                    function(call)["arguments"] = made.decode().removeprefix(quote)

    def body(self, body: Chunk) -> bool:
        """Escape what the strings within arguments have, where that makes them JSON."""
        changed = False
        for _, message in messages(body):
            for inner in map(function, calls(message)):
                text = inner.get("arguments")
                data = text.encode(errors="replace") if isinstance(text, str) else b""
                if (fixed := escaped(data)) is not None:
                    inner["arguments"] = fixed.decode()
                    changed = True
        return changed
