"""Errors in a stream."""

import re

from ..chat.chunks.chunk import ENVELOPE, Chunk, choices
from ..chat.chunks.chunk_content import chunk_has_content
from ..chat.chunks.chunk_form import is_chunk
from ..chat.chunks.finish_words import FAILED, meaning
from ..chat.errors.chunk_errors import errors_in, take_errors
from ..chat.errors.errors import failure, failures_in, lost
from ..chat.errors.failed_event import failure_in, has_failed
from ..repair.fix import (
    DONE,
    MORE,
    STOP,
    TEXT,
    TOOL_CALLS,
    Example,
    Fix,
    Wire,
    calling,
    chunk,
    head,
    rest,
    wire,
)
from ..repair.look import Finding
from ..wire.json_text import Json, dumps, first_value, loads, value_in
from ..wire.sse import Event, encode


def _reported(name: str, sent: Chunk | bytes, error: Json) -> Example:
    """An example of an error that follows a text."""
    return Example(name, [TEXT, sent], [TEXT, {"error": error}])


_ERROR = {"message": "Context is full", "type": "server_error"}


# An error in a field of its own: `error: {…}` where `data:` belongs.
class ErrorByFieldName(Fix):
    """Send the error as data, wrapped as OpenAI wraps it."""

    name = "error-by-field-name"
    changes = '`error: {…}` -> `data: {"error": {…}}`'
    why = "Parsers skip a field that they do not know: the answer just ends."
    providers = ("llama.cpp",)
    sources = (
        "https://github.com/ggml-org/llama.cpp/pull/16104",
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
    )
    examples = (
        _reported("object", b"error: " + dumps(_ERROR) + b"\n\n", _ERROR),
        _reported("words", b"error: Busy\n\n", "Busy"),
        Example.untouched("data", [TEXT, {"error": _ERROR}, DONE]),
        Example.untouched("nothing said", [TEXT, b"error:\n\n"]),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Rename the field."""
        found = [line for line in event.lines if line.name.lower() == b"error"]
        if event.is_value or len(found) != 1 or not found[0].value.strip():
            return None
        value = found[0].value.strip()
        reported = value_in(value, value.decode(errors="replace"))
        is_wrapped = isinstance(reported, dict) and reported.get("error")
        found[0].text = b"data: " + dumps(
            reported if is_wrapped else {"error": reported}
        )
        return [event]


_REPORTED = {"code": "Throttling", "message": "Slow down", "request_id": "r-1"}


# An error that only its event's name tells: `event: error`.
class ErrorByEventName(Fix):
    """Wrap what the event says as OpenAI wraps an error."""

    name = "error-by-event-name"
    changes = '`event: error` with data of any form -> `data: {"error": …}`'
    why = "Clients of chat/completions skip the name and see words, or no chunk."
    providers = ("DashScope", "Groq", "sse-starlette servers")
    sources = (
        "https://www.alibabacloud.com/help/en/model-studio/error-code",
        "https://html.spec.whatwg.org/multipage/server-sent-events.html",
    )
    also_covered_by = (
        "field-not-data",
        "error-unwrapped",
        "error-as-words",
        "data-unreadable",
    )
    examples = (
        _reported("object", b"event: error\n" + wire([_REPORTED]), _REPORTED),
        _reported("words", b"event: error\ndata: Worker died\n\n", "Worker died"),
        Example.untouched("wrapped", [TEXT, {"error": _REPORTED}, DONE]),
        Example.untouched(
            "under its name", [b"event: error\n" + wire([{"error": _REPORTED}])]
        ),
        Example.untouched("another name", [TEXT, b"event: ping\ndata: x\n\n"]),
        _reported("no words", b"event: error\n\n", failure("error")),
        Example(
            "a chunk",
            [b"event: error\n" + wire([TEXT])],
            [TEXT, {"error": failure("error")}],
        ),
    )

    def event(self, event: Event) -> list[Event] | None:
        """Wrap the data, or let an error follow its chunk, and drop the name."""
        if not event.names_error or event.foreign:
            return None
        data = (event.data or b"").strip()
        reported = value_in(data or b"null", data.decode(errors="replace"))
        fields = reported if isinstance(reported, dict) else {}
        if fields.get("error") or errors_in(fields) or failures_in(fields):
            return None  # it says so itself
        parts = [dumps(fields)] if choices(fields) else []
        done = [data] if data == b"[DONE]" else []
        if parts or done or reported in (None, "", [], {}):
            reported = failure("error")
        parts += [dumps({"error": reported}), *done]
        return [Event(encode(each), event.n) for each in parts]


_FIELD = re.compile(rb"[\w-]*:|(?:data|event|id|retry)\Z")
_NAME = re.compile(rb"^event: ?+(?!(?:message|error)[\r\n])([^\r\n]+)", re.MULTILINE)
_LONG = 64 * 1024  # bytes: what is longer is a page, or no words
_LEAST = 2  # words without `data:` that are no field


# Words, or a web page, where a chunk belongs: `data: Internal Server Error`.
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
        _reported("words", b"data: Internal Server Error\n\n", "Internal Server Error"),
        _reported(
            "in brackets",
            b"data: [ERROR] upstream timed out\n\n",
            "[ERROR] upstream timed out",
        ),
        _reported(
            "without a field name",
            b"upstream connect error\n\n",
            "upstream connect error",
        ),
        _reported(
            "an object that is not JSON",
            b"data: {'error': 'Busy'}\n\n",
            "{'error': 'Busy'}",
        ),
        _reported(
            "in an event of another protocol",
            {"type": "response.failed", "response": {"error": {"code": "x"}}},
            {"code": "x"},
        ),
        _reported(
            "a bare message",
            {"message": "Internal server error"},
            {"message": "Internal server error"},
        ),
        Example(
            "amid an answer",
            [TEXT, b"data: PROCESSING REQUEST\n\n", MORE],
            [TEXT, b"\n", MORE],
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


_OVERLOADED = {
    "message": "Overloaded",
    "type": "server_error",
    "param": None,
    "code": None,
}


# An error in a chunk that has choices, or in a choice.
class ErrorWithChoices(Fix):
    """Send what the chunk says, then the error as an event of its own."""

    name = "error-with-choices"
    changes = "`error` beside `choices`, or in one -> an event of its own"
    why = "Clients see a chunk like any other, and an answer cut short without a word."
    providers = ("OpenRouter", "NVIDIA NIM", "Lemonade")
    handles = Finding.ERROR
    sources = (
        "https://openrouter.ai/docs/api-reference/errors",
        "https://github.com/apache/rocketmq-dashboard/issues/2178",
    )
    also_covered_by = ("event-empty",)
    examples = (
        Example(
            "beside",
            [TEXT, chunk({"content": "!"}, error=_OVERLOADED)],
            [TEXT, MORE, {"error": _OVERLOADED}],
        ),
        _reported("in a choice", chunk({}, choice={"error": _OVERLOADED}), _OVERLOADED),
        _reported("without a choice", chunk(None, error=_OVERLOADED), _OVERLOADED),
        Example.of_error(
            "in a body",
            502,
            {"error": _OVERLOADED, "choices": []},
            {"error": _OVERLOADED},
        ),
        Example.untouched("alone", [TEXT, {"error": _OVERLOADED}]),
        Example.untouched("null", [chunk({"content": "Hi"}, error=None)]),
    )

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Part the error from the rest; leave one out that says nothing."""
        is_changed = self.body(chunk)
        found: list[Chunk] = [{"error": each} for each in take_errors(chunk)]
        if not found:
            return is_changed
        for choice in choices(chunk):
            if meaning(choice.get("finish_reason")) == FAILED:
                choice["finish_reason"] = None
            if not choice.get("finish_reason"):  # nor is it a whole body, which has one
                chunk["object"] = "chat.completion.chunk"
        return [chunk, *found] if chunk_has_content(chunk) else found

    def error(self, body: Json, status: int) -> Chunk | None:
        """Leave the choices out of an error, and what chunks share."""
        if not isinstance(body, dict) or "choices" not in body:
            return None
        inside = {"choices": body["choices"]}
        failed = errors_in(inside) or failures_in(inside)
        rest = {k: v for k, v in body.items() if k not in ENVELOPE | {"choices"}}
        return rest if rest.get("error") or not failed else {"error": failed[0], **rest}

    def body(self, body: Chunk) -> bool:
        """Leave an error out that says nothing."""
        empty = "error" in body and not body["error"] and body["error"] is not None
        if empty:
            del body["error"]
        return empty


_HALF = wire([TEXT])[:60] + b"\n\n"
_OPEN = chunk({"role": "assistant", "content": None, "tool_calls": [head()]})
_WHOLE = calling(rest(0, '{"a":"b"}'))
_LOST_CALL, _LOST_END = lost("a tool call"), lost("the end")
_MIDDLE: Wire = [_OPEN, calling(rest(0, '{"a":"b')), _HALF, calling(rest(0, '"}'))]


# A call, or an end, of which an unreadable event was lost.
# The repair is in `repair/machine/sending.py`.
class EventLost(Fix):
    """Send an error in place of what goes on with such a call, or ends it.

    A call is whole whose arguments were, before the event, or after it. Text goes on, and
    the finish that the provider sends after it.
    """

    name = "event-lost"
    changes = "call, or the end of an answer, that lacks a lost event -> an error event"
    why = (
        "What is left of the arguments may be JSON, and an agent runs it; an answer without "
        "its end is taken for a whole one."
    )
    providers = ("Z.AI (GLM-5)", "gateways that cut events")
    sources = (
        "https://github.com/zai-org/GLM-5/issues/66",
        "https://github.com/earendil-works/pi/issues/6762",
    )
    # Of the lost event itself.
    also_covered_by = ("data-unreadable",)
    examples = (
        Example(
            "arguments",
            [_OPEN, _HALF, TOOL_CALLS, DONE],
            [_OPEN, _HALF, _LOST_CALL, DONE],
        ),
        Example("middle", [*_MIDDLE, TOOL_CALLS], [*_MIDDLE[:3], _LOST_CALL]),
        Example("end", [TEXT, _HALF, DONE], [TEXT, _HALF, _LOST_END, DONE]),
        Example.untouched("text", [TEXT, _HALF, STOP, DONE]),
        Example.untouched("a whole call", [_OPEN, _WHOLE, _HALF, TOOL_CALLS, DONE]),
        Example.untouched("broken off", [TEXT, _HALF]),
    )
