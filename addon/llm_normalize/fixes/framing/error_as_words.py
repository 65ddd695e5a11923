"""Words, or a web page, where a chunk belongs: `data: Internal Server Error`."""

import re

from ...chat.chunks.chunk import is_chunk
from ...chat.errors.failed_event import failure_in, has_failed
from ...repair.fix import DONE, TEXT, Example, Fix, chunk, wire
from ...wire.json_text import dumps, first_value, loads
from ...wire.sse import Event, encode

_MORE = chunk({"content": "!"})
_FIELD = re.compile(rb"[\w-]*:|(?:data|event|id|retry)\Z")
_NAME = re.compile(rb"^event: ?+(?!(?:message|error)[\r\n])([^\r\n]+)", re.MULTILINE)
_LONG = 64 * 1024  # bytes: what is longer is a page, or no words
_LEAST = 2  # words without `data:` that are no field


class ErrorAsWords(Fix):
    """Send the words as OpenAI sends an error, so that clients show them.

    They wait for the next event: where the answer goes on, they become a bare newline.
    """

    name = "error-as-words"
    changes = '`data: Internal Server Error` -> `data: {"error": …}`, amid an answer a bare newline'
    why = "Every client fails to decode it as JSON, and does not show the words."
    providers = ("gateways whose upstream fails in mid-stream",)
    sources = (
        "https://github.com/openai/openai-python/blob/main/src/openai/_streaming.py",
        "https://github.com/Mintplex-Labs/anything-llm/issues/527",
    )
    also_covered_by = ("data-unreadable",)
    examples = (
        Example(
            "words",
            [TEXT, b"data: Internal Server Error\n\n"],
            [TEXT, {"error": "Internal Server Error"}],
        ),
        Example(
            "in brackets",
            [TEXT, b"data: [ERROR] upstream timed out\n\n"],
            [TEXT, {"error": "[ERROR] upstream timed out"}],
        ),
        Example(
            "without a field name",
            [TEXT, b"upstream connect error\n\n"],
            [TEXT, {"error": "upstream connect error"}],
        ),
        Example(
            "an object that is not JSON",
            [TEXT, b"data: {'error': 'Busy'}\n\n"],
            [TEXT, {"error": "{'error': 'Busy'}"}],
        ),
        Example(
            "in an event of another protocol",
            [TEXT, {"type": "response.failed", "response": {"error": {"code": "x"}}}],
            [TEXT, {"error": {"code": "x"}}],
        ),
        Example(
            "a bare message",
            [TEXT, {"message": "Internal server error"}],
            [TEXT, {"error": {"message": "Internal server error"}}],
        ),
        Example(
            "amid an answer",
            [TEXT, b"data: PROCESSING REQUEST\n\n", _MORE],
            [TEXT, b"\n", _MORE],
        ),
        Example.untouched("wrapped", [TEXT, {"error": "Internal Server Error"}, DONE]),
        Example.untouched("an unknown field", [b"note: all is well\n\n"]),
        Example.untouched("the rest of a chunk", [b"data: " + wire([TEXT])[40:]]),
        Example.untouched("half an event", [TEXT, b"data: upstream tim"]),
    )

    def unread(self, event: Event) -> list[Event] | None:
        """Wrap what went wrong, behind the chunk that it follows on its line."""
        if not event.raw.endswith((b"\n", b"\r")):
            return None
        data = event.raw if event.foreign else event.data or b""
        if len(data) > _LONG:
            if not data.lstrip().startswith(b"<"):
                return None
            data = data[:_LONG]  # no more of it is shown
        first = b"" if event.foreign else _chunk_in(data)
        text = data.decode(errors="replace").strip()
        if event.foreign:
            is_field = any(_FIELD.match(line.text) for line in event.lines)
            is_long = not is_field and len(text.split()) >= _LEAST
            reported = has_failed(text) if is_long else None
        elif first:
            reported = has_failed(text.removeprefix(first.decode()).strip())
        else:
            name = _NAME.search(event.raw)
            reported = failure_in(
                text, name[1].decode(errors="replace") if name else ""
            )
        if reported is None:
            return None
        error = Event(encode(dumps({"error": reported})), event.n)
        # An object says for certain that the answer failed, words need not be about it.
        is_words = not str(reported).startswith("{")
        error.may_be_noise = is_words and len(event.raw) <= _LONG  # it is held
        return [Event(encode(first), event.n), error] if first else [error]


def _chunk_in(data: bytes) -> bytes:
    """Return the chunk that broken *data* begins with; empty for none."""
    first = first_value(data)
    return first if first and first != data.strip() and is_chunk(loads(first)) else b""
