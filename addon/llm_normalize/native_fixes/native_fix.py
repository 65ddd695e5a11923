"""How a fix of an answer in a client's own protocol declares itself.

It has no code: the reader of its protocol repairs under its name (`NativeReader.is_on`).
Its examples are played through that reader with this fix alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from ..protocols.answer_stream import written
from ..protocols.protocol import JsonObject
from ..repair.declaration import Declaration
from .message_events import start

type Events = Sequence[JsonObject | bytes]
"""Events of an example, in order: by their data, or raw bytes."""

REQUEST: JsonObject = {"model": "acme-1", "stream": True}


def wire(events: Events) -> bytes:
    """Return the bytes of an example's events."""
    return b"".join(
        each if isinstance(each, bytes) else written([(each["type"], each)])
        for each in events
    )


@dataclass(frozen=True)
class NativeExample:
    """An input and its expected output, with this fix alone.

    Attributes:
        name: What the example shows.
        before: The events (or the one body) as the provider sends them.
        after: The same as the client receives them.
        request: What was asked.
        is_body: Whether it is one body, and no stream.
        ended: Whether a stream ends cleanly after the last event.
    """

    protocol: ClassVar[str]
    """Whose reader reads it."""
    name: str
    before: Events
    after: Events
    request: JsonObject = field(default_factory=lambda: REQUEST)
    is_body: bool = False
    ended: bool = True

    @classmethod
    def untouched(cls, name: str, events: Events, **more: Any) -> Self:
        """Return an example of events that must not change."""
        return cls(name, events, events, **more)

    @property
    def changes(self) -> bool:
        """Whether the example shows a repair."""
        return self.before != self.after


class MessagesExample(NativeExample):
    """One of Anthropic's protocol."""

    protocol = "messages"

    @classmethod
    def begun(cls, name: str, before: Events, after: Events, **more: Any) -> Self:
        """Return an example of what follows the start of a message."""
        return cls(name, [start(), *before], [start(), *after], **more)


class ResponsesExample(NativeExample):
    """One of OpenAI's."""

    protocol = "responses"


class NativeFix(Declaration):
    """One repair, by its name."""

    # Not evaluated: typing would keep it, and with it all of the package at each reload.
    examples: "ClassVar[tuple[NativeExample, ...]]"
