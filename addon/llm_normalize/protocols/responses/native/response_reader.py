"""Responses as providers of their own send them, nearly: see `output_reader`."""

from dataclasses import replace
from typing import override

from ....wire.json_text import as_list, as_object, as_string
from ....wire.limits import MAX_EVENT
from ...native_reader import LOST, NativeAsked, Repaired
from ...protocol import JsonObject
from ..output_items import COMPLETED
from ..response_object import error_of
from .events import named
from .form import parted, unnested
from .output_reader import Handler, OutputReader
from .response import TERMINAL, NativeResponse, is_error, is_response, response_in

_PROGRESS = ("response.created", "response.queued", "response.in_progress")
_BEGINNING = ("response.created", "response.in_progress")
_START = "response-start-missing"
_ERROR = "response-error-foreign"
_FAILED = "response-failed-missing"


class ResponsesReader(OutputReader):
    """Reads a response. See `NativeReader`.

    Args:
        asked: What is known of the request.
        request: The request, which settles fields of the response.
    """

    def __init__(self, asked: NativeAsked, request: JsonObject) -> None:
        super().__init__(asked, request)
        self._request = request
        self._response = NativeResponse(asked, request, self._does)
        self._begun = set[str]()
        """The events of the beginning that have been sent."""
        self._has_begun = False
        self._error: JsonObject | None = None
        """The error that has ended the response, until the event that says so."""
        self._is_foreign = False
        """Whether the event had another name."""
        self._handlers: dict[str, Handler] = {
            **dict.fromkeys(_PROGRESS, self._progress),
            **dict.fromkeys(TERMINAL, self._terminal),
            **self._item_handlers(),
            "error": self._failure,
        }

    @override
    def _take(self, name: str, value: JsonObject) -> None:
        typed = named(name, value, self._does)
        if typed is None or self._held > MAX_EVENT:
            self._out.append((name, value))
            return
        kind = typed["type"]
        said = value.get("type")
        if name != (said if isinstance(said, str) else kind):
            self._does("event-name-missing")
        if self.is_over:
            self._send(typed)
            return
        self._is_foreign = typed is not value
        if not self._has_begun and kind.startswith(("response.", "error")):
            self._begin(kind, typed)
        self._handlers.get(kind, self._other)(unnested(typed, self._does))

    @override
    def _conclude(self) -> None:
        """Put in the last event of a response that an error has ended."""
        if self._error is not None:
            response = self._response.failed(self._error)
            self.is_over, self._error = True, None
            self._put_in([("response.failed", {"response": response})], _FAILED)

    @override
    def _fail(self, words: str) -> None:
        said = {"type": "server_error", "code": "server_error", "message": words}
        self._put_in([("error", {"error": {**said, "param": None}})], LOST)
        self._error = said
        self._conclude()

    def _begin(self, kind: str, value: JsonObject) -> None:
        """Put in the beginning of a response that has another one."""
        self._has_begun = kind not in _PROGRESS
        self._begun.add(kind)
        given = response_in(value) if kind in _PROGRESS or kind in TERMINAL else {}
        for due in _BEGINNING if self._has_begun else _BEGINNING[:1]:
            if due not in self._begun and self.is_on(_START):
                response = self._response.progress(given)
                self._put_in([(due, {"response": response})], _START)
            self._begun.add(due)

    def _progress(self, value: JsonObject) -> None:
        made = self._response.of(response_in(value), "in_progress")
        self._with_response(value, made)

    def _with_response(self, value: JsonObject, response: JsonObject) -> None:
        is_same = response is value.get("response")
        self._numbered(value if is_same else {**value, "response": response})

    def _terminal(self, value: JsonObject) -> None:
        self.is_over = self.is_complete = True
        status, given = TERMINAL[value["type"]], response_in(value)
        if status == "failed":
            made = self._with_error(self._response.of(given, status), value)
        else:
            given = self._whole_output(given, status)
            given, status = self._as_it_ends(given, status)
            if status != TERMINAL[value["type"]]:
                value = {**value, "type": f"response.{status}"}
            made = self._response.of(given, status)
            made = self._response.with_usage(made, self._written)
            self.tokens = self._response.tokens
        self._with_response(value, made)

    def _with_error(self, response: JsonObject, value: JsonObject) -> JsonObject:
        """A response that failed, with an error in OpenAI's form."""
        given = response.get("error")
        if is_error(given):
            made = self.asked.coded(as_object(given))
            if made is given or not self._does(_ERROR):
                return response
            return {**response, "error": made}
        if not self._does(_ERROR):
            return response
        words = given or value.get("error") or value.get("message")
        error = self.asked.coded(as_object(words) or {"message": words})
        return {**response, "error": error_of(error)}

    def _failure(self, value: JsonObject) -> None:
        """Send an error in mid-stream: the response has failed."""
        self.is_complete = True
        given = value.get("error")
        error = as_object(given) or {**value, "type": None}
        is_right = isinstance(error.get("message"), str)
        coded = self.asked.coded(error)
        if coded is not error and self._does(_ERROR):
            code = {"code": coded["code"]}
            inner = as_object(given)
            value = {**value, **({"error": {**inner, **code}} if inner else code)}
            error = coded
        if not is_right and self._does(_ERROR):
            error = error_of(error if as_object(given) else {"message": given})
            error |= {"type": error["code"], "param": None}
            number = {k: v for k, v in value.items() if k == "sequence_number"}
            value = {"type": "error", **number, "error": error}
        self._numbered(value)
        self._error = error
        if self._is_foreign or not is_right:
            self._conclude()  # who knows no such event does not say so

    # -- a whole answer ------------------------------------------------------------------

    @override
    def body(self, body: JsonObject) -> Repaired:
        made = body
        if is_response(body):
            output = as_list(body.get("output"))
            items = [self._item(each) for each in output]
            if any(one is not other for one, other in zip(items, output, strict=True)):
                made = {**body, "output": items}
            status = as_string(body.get("status")) or COMPLETED
            made, status = self._as_it_ends(made, status)
            made = self._response.of(made, status)
            if status in ("completed", "incomplete"):
                made = self._response.with_usage(made, self._written)
                self.tokens = self._response.tokens
        self._out.append(("", made))
        return self._taken()

    @override
    def _streamed(self, value: JsonObject) -> None:
        if is_response(value):
            status = as_string(value.get("status"))
            kind = f"response.{status}"
            kind = kind if kind in TERMINAL else "response.completed"
            event: JsonObject = {"type": kind, "response": value}
        elif value.get("error"):
            event = {"type": "error", "error": value["error"]}
        else:
            return
        made = ResponsesReader(replace(self.asked, skipped=()), self._request)
        self._out += [*made.event(event["type"], event).events, *made.end().events]
        self.is_over, self.tokens = True, made.tokens

    def _item(self, given: object) -> object:
        """An item of a whole answer."""
        if not isinstance(given, dict):
            return given
        entry = parted(given, self._does)
        item = self._items.add(as_string(entry.get("type")), entry)
        self._resolve(item)
        for _ in (*item.rest(entry), *item.made.closed(COMPLETED)):
            """The events of a stream."""
        return item.whole(self._with_status(item, entry), self._does)
