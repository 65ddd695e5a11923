"""A provider's own answer in a client's protocol: what the client gets for each event.

The answer has been made for this protocol, nearly. A reader knows what must follow what: an
event that is right stays as it is, one that departs from it is changed, and one that is
missing is put in. Nothing is held back but what belongs behind something that is still
open, and nothing is made up: an answer that breaks off gets no end.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .protocol import JsonObject, ServerEvent

LOST = "event-lost"
"""The fix that says so where a part of a call may have been lost."""
LOST_CALL = (
    "Bad gateway: the provider sent an event that cannot be read, and a tool call may be "
    "missing in this answer"
)
TOO_LONG = "context_length_exceeded"
_MAPPED = "model-mapped"
"""The fix that names the model that was asked for, where another was sent."""
_breaks_line = re.compile(r"[\r\n]").search
"""Finds what ends the line that a name is on."""


class Repaired(NamedTuple):
    """What the client gets in the place of one event, or of a body.

    Attributes:
        events: The events, in order; one that stays as it is is the same object.
        fixes: The names of the fixes that changed, added or dropped something.
    """

    events: Sequence[ServerEvent]
    fixes: Sequence[str]


@dataclass(frozen=True, slots=True)
class NativeAsked:
    """What a reader knows of the request.

    Attributes:
        seed: What made-up ids have in common: one exchange's alone.
        model: The model that was asked for.
        count_prompt: Tells about how many tokens the prompt has, reading all of it.
        calls: The ids of calls that the conversation has.
        stops: Its stop sequences.
        skipped: The names of fixes that are off.
        is_new: Tells whether no earlier answer to the client had this id.
        created: When it was asked, in seconds of the epoch.
        is_mapped: Whether another model was sent than the one asked for.
        is_too_long: Tells whether an error says that the request is.
    """

    seed: str
    model: str = ""
    count_prompt: Callable[[], int] = lambda: 0
    calls: Collection[str] = ()
    stops: Collection[str] = ()
    skipped: Collection[str] = ()
    is_new: Callable[[str], bool] = lambda _: True
    created: int = 0
    is_mapped: bool = False
    is_too_long: Callable[[JsonObject], bool] = lambda _: False

    def coded(self, error: JsonObject) -> JsonObject:
        """Return an error with OpenAI's code where its words say that the request is too long."""
        if error.get("code") == TOO_LONG or not self.is_too_long(error):
            return error
        return {**error, "code": TOO_LONG}


class LostError(Exception):
    """What follows belongs to a call of which a part may have been lost."""


class NativeReader(ABC):
    """Reads one answer. Whatever is called last, nothing of it raises for what was received.

    Args:
        asked: What is known of the request.

    Attributes:
        is_over: Whether the client has got the last event.
        has_hole: Whether an event was lost: nothing is guessed behind it, nor made up that
            may have been in it.
        is_complete: Whether the answer is whole by the provider's own word: only what is put
            in by `end` may follow.
        words: The text of the last event, if another with other words and the next number
            would become the same: see `more`.
        tokens: How many the prompt and the answer have, as far as the provider says.
    """

    def __init__(self, asked: NativeAsked) -> None:
        self.asked = asked
        self.is_over = False
        self.is_complete = False
        self.has_hole = self._has_failed = False
        self.words = ""
        self._say_more: Callable[[str], None] = lambda _: None
        self.tokens: tuple[int | None, int | None] = (None, None)
        self._out: list[ServerEvent] = []
        self._fixes: dict[str, None] = {}

    def event(self, name: str, value: JsonObject) -> Repaired:
        """What the client gets in the place of an event.

        Args:
            name: The name on its own line; empty without one.
            value: Its data.
        """
        self.words = ""
        kind = value.get("type")
        if self._has_failed:
            self._fixed(LOST)
        elif isinstance(kind, str) and _breaks_line(kind):
            self._out.append((name, value))  # it is nobody's, and no line can say it
        else:
            self._unless_lost(self._take, name, value)
        return self._taken()

    def lose(self) -> None:
        """Know that an event was lost: nobody can read it, its client neither."""
        self.has_hole = True

    def _unless_lost[*Of](self, act: Callable[[*Of], None], *of: *Of) -> None:
        """Run *act*; end with an error where it meets a call that lacks something."""
        try:
            act(*of)
        except LostError:
            self._fixed(LOST)
            self._fail(LOST_CALL)
            self.is_over = self._has_failed = True

    def _miss(self) -> None:
        """Refuse what belongs to a call of which a part may have been lost."""
        if self.is_on(LOST):
            raise LostError

    @abstractmethod
    def _fail(self, words: str) -> None:
        """Send an error of the proxy's own, which ends the answer."""

    def more(self, words: str) -> None:
        """Take an event that differs from the last one in its words and number alone."""
        self.words = words
        self._say_more(words)

    def _goes_on(self, words: str, say_more: Callable[[str], None]) -> None:
        """Let the next event be one like this, with other *words* that *say_more* takes."""
        self.words, self._say_more = words, say_more

    def end(self) -> Repaired:
        """What the client gets at a clean end, behind all events."""
        if not self.is_over:
            self._unless_lost(self._conclude)
        return self._taken()

    def done(self) -> Repaired:
        """What the client gets in the place of chat's `[DONE]`."""
        return self.end()

    def whole(self, value: JsonObject) -> Repaired:
        """What the client gets in the place of a body that was sent for a stream.

        Nothing is changed where that is no answer.
        """
        self._streamed(value)
        return self._taken()

    def _streamed(self, value: JsonObject) -> None:  # noqa: B027 - not all have it
        """Send the events of a whole answer."""

    def keep_alive(self) -> Sequence[ServerEvent]:
        """A sign of life, if the protocol has one that fits here."""
        return ()

    @abstractmethod
    def body(self, body: JsonObject) -> Repaired:
        """What the client gets in the place of a whole answer: one event, without a name."""

    @abstractmethod
    def _take(self, name: str, value: JsonObject) -> None:
        """Send what an event means."""

    @abstractmethod
    def _conclude(self) -> None:
        """Send what is missing at the end of an answer that is complete by its own word."""

    def is_on(self, fix: str) -> bool:
        """Tell whether a fix is applied."""
        return fix not in self.asked.skipped

    def _does(self, fix: str) -> bool:
        """Tell whether a fix is applied, and note that it is."""
        if not self.is_on(fix):
            return False
        self._fixed(fix)
        return True

    def _fixed(self, *names: str) -> None:
        self._fixes.update(dict.fromkeys(names))

    def _send(self, value: JsonObject) -> None:
        self._out.append((value["type"], value))

    def _taken(self) -> Repaired:
        if self.asked.is_mapped and self.is_on(_MAPPED):
            self._out = [(name, self._named(value)) for name, value in self._out]
        made = Repaired(self._out, [*self._fixes])
        self._out, self._fixes = [], {}
        return made

    def _named(self, value: JsonObject) -> JsonObject:
        """An event, or a body, with the model that was asked for."""
        for key in ("message", "response"):
            inner = value.get(key)
            if isinstance(inner, dict) and (made := self._named(inner)) is not inner:
                return {**value, key: made}
        if value.get("model", self.asked.model) == self.asked.model:
            return value
        self._fixed(_MAPPED)
        return {**value, "model": self.asked.model}
