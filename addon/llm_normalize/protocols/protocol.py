"""What a client's protocol has to do: its request becomes chat, the answer comes back.

The stream that is translated has been repaired: it has OpenAI's form. So a translator
reads plain chunks, and neither bytes nor the quirks of a provider.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar, Protocol

from ..wire.json_text import Json

logger = logging.getLogger(__name__)

type JsonObject = dict[str, Json]

UNTOLD = "The provider sent an error that the proxy failed at translating."
"""The words of an error if nothing else can be said."""
UNFINISHED = (
    "The provider ended the answer without a finish reason: it may not be all of it."
)
NO_OUTPUT = "(no output)"
"""What a tool said that said nothing: some providers refuse an empty message."""
NO_NAME = "unknown_tool"
"""The name of a tool that a conversation does not tell: a result whose call is gone, or a
call that the model wrote without one."""

CALL = 8 * 1024
"""Characters' worth of a call in what an answer holds: no model makes a thousand."""

type ServerEvent = tuple[str, JsonObject]
"""The name and the data of one event of a stream."""


class UntranslatableError(ValueError):
    """A request asks for something that chat completions do not have.

    Args:
        message: A sentence for the client's user.
        param: The path of what is not possible, as `input[0].type`.
        code: A code in the protocol's words, if it has one for that.
    """

    def __init__(self, message: str, param: str = "", code: str | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.code = code


class AnswerTranslator(ABC):
    """Translates the answer of one request; it is made for that request alone.

    Attributes:
        held: About how many characters of the answer it holds.
        last_resort: What ends the stream if its error cannot be written.
        summarizes: Whether it is a summary of a conversation: half of one has a summary, too.
        estimates: Whether a figure of tokens that it has sent is an estimate.
    """

    # Not evaluated: typing would keep it, and with it this module at each reload.
    last_resort: "ClassVar[Sequence[ServerEvent]]" = ()
    summarizes: ClassVar[bool] = False
    held: int = 0
    estimates: bool = False

    @abstractmethod
    def chunk(self, chunk: JsonObject) -> Sequence[ServerEvent]:
        """Translate a repaired chunk of chat completions, at once."""

    @abstractmethod
    def error(self, error: JsonObject) -> Sequence[ServerEvent]:
        """Translate an error in mid-stream.

        Args:
            error: OpenAI's `message`, `type`, `param` and `code`.
        """

    @abstractmethod
    def done(self) -> Sequence[ServerEvent]:
        """The events of the stream's clean end; none after an error."""

    @abstractmethod
    def keep_alive(self) -> Sequence[ServerEvent]:
        """Return a sign of life, if the protocol has one that fits here."""

    @abstractmethod
    def body(self, completion: JsonObject) -> JsonObject:
        """Translate a repaired `chat.completion`.

        Raises:
            UntranslatableError: It is none that the client could use.
        """


def make_id(exchange: str) -> str:
    """Return the part that the ids in the answer of an *exchange* have in common.

    It is not made of the chat answer's id, which some providers send with every answer:
    clients take two answers of one id for one.
    """
    return sha256(exchange.encode()).hexdigest()[:32]


class StoredItems(Protocol):
    """What is remembered of earlier answers to one client."""

    def find(self, item_id: str) -> JsonObject | None:
        """Return an item of an answer; None if it is not there."""

    def add(self, items: Iterable[JsonObject]) -> None:
        """Remember the items of an answer."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a translation depends on beside the request.

    Attributes:
        exchange: The id of the exchange, of which the ids in the answer are made.
        end: The end of its path.
        by_template: Whether the provider takes parameters for a template, see `template`.
        items: What is remembered of earlier answers to the client.
    """

    exchange: str = ""
    end: str = ""
    by_template: bool = False
    items: "StoredItems | None" = None


NONE = Circumstances()


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request as chat, and how its answer gets back.

    Attributes:
        body: The body for chat completions.
        answer: Translates the answer.
        dropped: Paths of what of the request has no place in chat: names, no values.
    """

    body: JsonObject
    answer: AnswerTranslator
    dropped: tuple[str, ...] = ()


class ClientProtocol(ABC):
    """A protocol that a client speaks and its provider may not."""

    name: ClassVar[str]
    """In records and statistics."""
    path: ClassVar[str]
    """The end of its path, in the place of `/chat/completions`."""
    also: ClassVar[tuple[str, ...]] = ()
    """Ends of other paths, whose requests are translated, too."""
    # Not evaluated: typing would keep it, and with it this module at each reload.
    own_answers: "ClassVar[Mapping[str, Callable[[JsonObject], JsonObject]]]"
    """What answers its other requests where a provider serves chat alone, by a path's end."""
    owners: ClassVar[tuple[str, ...]]
    """Hosts of who has made it, and serves it: what they refuse is not the path."""
    last_resort: "ClassVar[JsonObject]"
    """The body of an error that cannot be written."""

    @abstractmethod
    def translate(self, body: JsonObject, under: Circumstances = NONE) -> ChatRequest:
        """Return a request as chat.

        Args:
            body: The request, as the client sent it.
            under: What it depends on beside that.

        Raises:
            UntranslatableError: Chat has no place for what it asks.
        """

    error_fix: ClassVar[str] = ""
    """The fix that puts the body of a provider's own error into its form, if not chat's."""

    def is_error(self, value: Json) -> bool:
        """Tell whether the body of an error has its form already, if that is not chat's."""
        del value
        return False

    def error_body(self, status: int, error: JsonObject) -> JsonObject:
        """Return the body of an HTTP error. Never raises.

        Args:
            status: The HTTP status.
            error: OpenAI's `message`, `type`, `param` and `code`.
        """
        try:
            return self._error_body(status, error)
        except Exception:
            logger.exception("%s: an error cannot be translated", self.name)
            return self.last_resort

    @abstractmethod
    def _error_body(self, status: int, error: JsonObject) -> JsonObject: ...

    @abstractmethod
    def body_of(self, events: Iterable[JsonObject]) -> JsonObject | None:
        """Return the answer, or the error, that the events of a right stream say.

        None if they break off.
        """
