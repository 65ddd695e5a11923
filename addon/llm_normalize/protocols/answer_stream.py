"""The stream of an answer: repaired events of chat in, events of a client's protocol out."""

import logging
from collections.abc import Iterable

from ..wire.event_boundary import DONE
from ..wire.json_text import Json, as_object, dumps, loads, loads_leniently
from ..wire.limits import MAX_EVENT
from ..wire.sse import Comments, Event, EventParser, Gap, Item, encode
from .protocol import AnswerTranslator, JsonObject, ServerEvent

logger = logging.getLogger(__name__)

_FAILED = "The proxy failed at translating the answer."
_TOO_LARGE = "An event of the provider is too large to be translated."
_TOO_LONG = "The answer is too long to be translated."
_KIND = "server_error"


def error_in(value: JsonObject, words: str) -> JsonObject:
    """Return the error in *value* with the four keys of OpenAI's.

    Args:
        value: An event, or a body.
        words: Its message, if it has none.
    """
    given: Json = value.get("error")
    error: JsonObject = given if isinstance(given, dict) else {"message": given}
    message, kind = error.get("message"), error.get("type")
    return {
        "message": message if isinstance(message, str) and message else words,
        "type": kind if isinstance(kind, str) else _KIND,
        "param": error.get("param"),
        "code": error.get("code"),
    }


def object_in(data: bytes) -> JsonObject:
    """The JSON object in *data*; an empty one for anything else."""
    value: Json
    try:
        try:
            value = loads(data)
        except ValueError:  # it passes the repair as it is, for clients can read it
            value = loads_leniently(data)
    except (ValueError, RecursionError):
        return {}
    return as_object(value)


class AnswerStream:
    """One stream on its way to a client that speaks another protocol.

    Args:
        answer: Translates its events.
        label: Names it in log lines.

    Attributes:
        is_over: Whether nothing of it is sent any more.
    """

    def __init__(self, answer: AnswerTranslator, label: str = "stream") -> None:
        self._answer = answer
        self._label = label
        self._parser = EventParser()
        self.is_over = False
        """Whether its last event has been sent, be it of an error."""

    def __call__(self, data: bytes) -> bytes:
        """The bytes to send for *data*; none after the end. Never raises."""
        out: list[bytes] = []
        try:
            # The repair sends one event after the other: most need no parser.
            sole = Event(data, 1).payload() if self._parser.is_between else None
            if sole is not None:
                self._parser.count += 1
                return b"" if self.is_over else self._payload(sole)
            for item in self._parser.read(data):
                if self.is_over:
                    break
                out.append(self._of(item))
        except Exception:
            logger.exception("%s: it cannot be translated, and ends", self._label)
            out.append(self._fail(_FAILED))
        return b"".join(out)

    def _of(self, item: Item | Comments) -> bytes:
        if isinstance(item, Gap | Comments):
            return written(self._answer.keep_alive()) or b"\n"
        if not isinstance(item, Event):
            return self._fail(_TOO_LARGE)
        return self._payload(item.data or b"")

    def _payload(self, data: bytes) -> bytes:
        if data == DONE:
            self.is_over = True
            return written(self._answer.done())
        value = object_in(data)
        if isinstance(value.get("choices"), list):
            out = written(self._answer.chunk(value))
            return out if self._answer.held < MAX_EVENT else out + self._fail(_TOO_LONG)
        # What is neither, no client of chat could read.
        return self._error(error_in(value, _FAILED)) if value.get("error") else b""

    def _error(self, error: JsonObject) -> bytes:
        self.is_over = True
        return written(self._answer.error(error))

    def _fail(self, words: str) -> bytes:
        """End the stream with an error of the proxy's own, unless that has a bug, too."""
        out = b""
        try:
            out = self._error(error_in({}, words))
        except Exception:
            logger.exception("%s: its error cannot be translated", self._label)
        return out or written(self._answer.last_resort)


def written(events: Iterable[ServerEvent]) -> bytes:
    """Return *events* as they are sent, each under its name if it has one."""
    return b"".join(
        (b"event: %b\n" % name.encode(errors="replace") if name else b"")
        + encode(dumps(data))
        for name, data in events
    )
