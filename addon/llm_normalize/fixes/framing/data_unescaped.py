r"""JSON whose strings have raw control characters, or escapes that JSON does not know."""

import re

from ...chat.escaped_answer import escaped_answer
from ...chat.state.stream_state import Asked
from ...repair.fix import DONE, Example, Fix, chunk, completion, wire
from ...wire.json_text import dumps
from ...wire.sse import Event, encode

_TEXT = chunk({"role": "assistant", "content": "a\tb\nc"})
_RAW = wire([_TEXT]).replace(rb"\t", b"\t").replace(rb"\n", b"\n")
_PATH = chunk({"role": "assistant", "content": r"C:\Users\d"})
_SINGLE = wire([_PATH]).replace(rb"\\", b"\\")
_BODY = completion({"role": "assistant", "content": "a\nb"})
_FIELDS = re.compile(rb"\A(?:(?:event|id|retry):[^\n]*+\n)*+(?:data:[ \t]*+)++")


class DataUnescaped(Fix):
    r"""Escape them: nothing is lost. A `\'` loses its backslash.

    Of a body repair/engine/body.py does it.
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
        Example.of_event("control characters", _RAW, _TEXT),
        Example.of_event("escapes", _SINGLE, _PATH),
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
            data = _FIELDS.sub(b"", event.raw.strip())
        if not data or not data.startswith((b"{", b"[")):
            return None
        fixed = escaped_answer(data, self.seen)
        return None if fixed is None else [Event(encode(fixed), event.n)]
