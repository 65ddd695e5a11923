"""The contract of a fix: one fix repairs one quirk, and declares itself.

Each stream has its own instance of a fix, which knows what the request asked and what has
been sent so far. Its class says by `handles` what it has to do with in chunks: there it
is asked. A fix overrides what it needs of `event`, `unread`, `edit` (streams), `body` (a
body) and `error` (an error body); the defaults do nothing. What is done to each delta is a
`DeltaFix`, to each delta and message alike a `PartFix`, to each choice a `ChoiceFix`. The
few that hold data are `HoldingFix`, and have more to say. Where it
is the place of a chunk in the stream that is wrong, what is held, merged, dropped or added
is decided in one place, the machine (`repair/machine/machine.py`), under the name of a fix
that declares the quirk and may do nothing itself. What is
wrong with the fragments of calls is repaired in one place, too, in the same way:
`repair/engine/assembled_calls.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from ..chat.chunks.chunk import Chunk, change_all, choices, deltas, in_messages
from ..chat.state.asked import Asked
from ..chat.state.stream_state import Seen
from ..wire.json_text import Json, dumps
from ..wire.sse import Event, encode
from .declaration import Declaration

STREAM = Asked(stream=True)
UNSTREAMED = Asked()

type Wire = Sequence[Chunk | bytes]
"""Events of an example, in order: a chunk in OpenAI's framing, or raw bytes."""


def wire(events: Wire) -> bytes:
    """Return the bytes of an example's events."""
    return b"".join(
        each if isinstance(each, bytes) else encode(dumps(each)) for each in events
    )


@dataclass(frozen=True)
class Example:
    """An input and its expected output, with this fix alone.

    Attributes:
        name: What the example shows.
        before: The events (or the one body) as the provider sends them.
        after: The same as the client receives them.
        asked: What the request asked.
        kind: A stream, a body, an error body, or an HTTP answer with its head.
        ended: Whether a stream ends cleanly after the last event.
        status: The HTTP status of an error body.
        changes_status: The HTTP status that replaces the 200 of a body.
    """

    name: str
    before: Wire
    after: Wire
    asked: Asked = STREAM
    kind: Literal["stream", "body", "error", "answer"] = "stream"
    ended: bool = True
    status: int = 400
    changes_status: int | None = None

    @classmethod
    def untouched(cls, name: str, events: Wire, **more: Any) -> Self:
        """Return an example of events that must not change."""
        return cls(name, events, events, **more)

    @classmethod
    def of_event(
        cls,
        name: str,
        before: Chunk | bytes,
        after: Chunk | bytes,
        *,
        asked: Asked = STREAM,
    ) -> Self:
        """Return an example of one event of a stream, which goes on."""
        return cls(name, [before], [after], asked=asked, ended=False)

    @classmethod
    def of_body(
        cls,
        name: str,
        before: Chunk | bytes,
        after: Chunk,
        *,
        asked: Asked = STREAM,
    ) -> Self:
        """Return an example of an answer that is one body, and was to be one."""
        unstreamed = replace(asked, stream=False)
        return cls(name, [before], [after], asked=unstreamed, kind="body")

    @classmethod
    def of_delta(cls, name: str, before: Chunk, after: Chunk) -> Self:
        """Return an example of a delta."""
        return cls.of_event(name, chunk(before), chunk(after))

    @classmethod
    def of_message(cls, name: str, before: Chunk, after: Chunk) -> Self:
        """Return an example of a message in a body."""
        return cls.of_body(name, completion(before), completion(after))

    @classmethod
    def of_fragment(
        cls, name: str, before: Chunk, after: Chunk, *, asked: Asked = STREAM
    ) -> Self:
        """Return an example of a fragment of a call."""
        return cls.of_event(name, calling(before), calling(after), asked=asked)

    @classmethod
    def of_call(
        cls, name: str, before: Chunk, after: Chunk, *, asked: Asked = STREAM
    ) -> Self:
        """Return an example of a call in a body."""
        return cls.of_body(name, called(before), called(after), asked=asked)

    @classmethod
    def of_error(
        cls, name: str, status: int, before: Chunk | bytes, after: Chunk
    ) -> Self:
        """Return an example of an error body."""
        return cls(name, [before], [after], kind="error", status=status)

    @property
    def changes(self) -> bool:
        """Whether the example shows a repair."""
        return self.changes_status is not None or wire(self.before) != wire(self.after)


class Fix(Declaration):
    """One repair. See the module's docstring for what a subclass overrides."""

    # Not evaluated: typing would keep it, and with it all of the package at each reload.
    examples: "ClassVar[tuple[Example, ...]]"
    handles: ClassVar[int] = 0
    """What it has to do with in a chunk, bits of `Finding`: there `edit` is called."""
    optional: ClassVar[bool] = False
    """Whether it is off unless `normalize_also` names it."""
    spares_openai: ClassVar[bool] = False
    """Whether it skips OpenAI's own answers, where clients expect what it repairs."""

    def __init__(self, asked: Asked, seen: Seen) -> None:
        self.asked = asked
        self.seen = seen

    def event(self, event: Event) -> list[Event] | None:
        """The replacement of *event* (the same, when its lines changed), or None."""

    def unread(self, event: Event) -> list[Event] | None:
        """The replacement of *event*, which is neither chunk nor error; None keeps it."""

    def edit(self, chunk: Chunk) -> bool | list[Chunk] | None:
        """Return the chunks that replace *chunk*, possibly none.

        True where it was changed in place; False or None where nothing changed.
        """

    def body(self, body: Chunk, /) -> bool:
        """Change a `chat.completion` in place; tell whether anything changed."""
        return False

    def error(self, body: Json, status: int) -> Chunk | None:
        """The replacement of the *body* of an error answer; None keeps it.

        Args:
            body: The parsed body; a string if it is not JSON.
            status: The HTTP status.
        """


class DeltaFix(Fix):
    """A fix of each delta of a stream, by what its choice has sent."""

    def delta(self, index: int, choice: Chunk, delta: Chunk) -> bool:
        """Change the delta of a choice in place; tell whether anything changed."""
        return False

    def edit(self, chunk: Chunk) -> bool:
        """Repair the deltas."""
        return sum([self.delta(*each) for each in deltas(chunk)]) > 0


class PartFix(Fix):
    """A fix of each delta, or message, by itself."""

    def part(self, part: Chunk) -> bool:
        """Change a delta, or a message, in place; tell whether anything changed."""
        return False

    def edit(self, chunk: Chunk) -> bool:
        """Repair the deltas."""
        return sum([self.part(delta) for _, _, delta in deltas(chunk)]) > 0

    def body(self, body: Chunk) -> bool:
        """Repair the messages."""
        return in_messages(body, self.part)


class ChoiceFix(Fix):
    """A fix of each choice by itself, in a stream as in a body."""

    def choice(self, choice: Chunk) -> bool:
        """Change a choice in place; tell whether anything changed."""
        return False

    def edit(self, chunk: Chunk) -> bool:
        """Repair the choices."""
        return change_all(self.choice, choices(chunk))

    body = edit


class HoldingFix(Fix):
    """A fix that holds data: until a later event, the end of a choice or of the stream."""

    holds_calls: ClassVar[bool] = False
    """Whether it holds fragments of a call: it counts as begun all the same.

    They wait for the stream's next event, however long that takes, not only for 100 ms.
    """

    @property
    def repaired(self) -> Sequence[str]:
        """The names of the fixes that it has stood for last: its own, mostly."""
        return (self.name,)

    @property
    def waiting(self) -> object:
        """What it holds back, to be compared; None for nothing.

        If this does not change for 100 ms, `end` sends it, unless it is part of a call
        (`holds_calls`): see `Pipeline.waiting`.
        """

    @property
    def watched(self) -> set[str]:
        """Keys of a delta whose words it reads, and those under which it sends them.

        Other keys are only checked for presence.
        """
        return set()

    def reads(self, index: int, keys: Sequence[str], text: str) -> bool:
        """Tell whether it has to do with a *text*, under *keys* that it watches.

        If not, it takes note of it: `edit` is not called with the chunk, which differs
        from the last one of choice *index* in this text alone.
        """
        return True

    def flush(self) -> list[Chunk]:
        """Return the chunks that the fix itself still holds at the stream's end.

        A fix that has this method may hold data until then: once it has been asked about
        a chunk, it is asked about all that follow, but for the one that holds calls.
        """
        return []

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Return the chunks it holds of the choices *indexes*, which end; None: of all."""
        return []

    def undo(self, n: int) -> None:
        """Undo the effects of event *n*, the last one: it is sent unchanged after all."""


def chunk(delta: Chunk | None, /, **more: Any) -> Chunk:
    """Return a chunk for examples and tests.

    Args:
        delta: The delta of its one choice; None for a chunk without choices.
        more: `finish` and `index` of the choice, `logprobs`; any other key goes to
            the top level of the chunk.
    """
    choices = []
    if delta is not None:
        choice = {"index": more.pop("index", 0), "delta": delta}
        if "logprobs" in more:
            choice["logprobs"] = more.pop("logprobs")
        choice["finish_reason"] = more.pop("finish", None)
        choices.append(choice | more.pop("choice", {}))
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "acme-1",
        "choices": choices,
        **more,
    }


def completion(message: Chunk, /, **more: Any) -> Chunk:
    """Return a `chat.completion` body for examples and tests."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "acme-1",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": more.pop("finish", "stop"),
            }
        ],
        "usage": more.pop("usage", dict(USAGE)),
        **more,
    }


def head(index: int | None = 0, arguments: str = "", **more: Any) -> Chunk:
    """Return the first fragment of a tool call; *index* None leaves the key out."""
    place = {} if index is None else {"index": index}
    fragment = {**place, "id": f"call_{index}", "type": "function", **more}
    return {**fragment, "function": {"name": "f", "arguments": arguments}}


def rest(index: int | None = 0, arguments: str = "{}") -> Chunk:
    """Return a later fragment of a tool call."""
    place = {} if index is None else {"index": index}
    return {**place, "function": {"arguments": arguments}}


def calling(*fragments: Chunk) -> Chunk:
    """Return a chunk with these tool call *fragments*."""
    return chunk({"tool_calls": list(fragments)})


def called(*calls: Chunk, **more: Any) -> Chunk:
    """Return a body with these tool *calls*."""
    return completion({"role": "assistant", "tool_calls": list(calls)}, **more)


def without(value: Chunk, *keys: str) -> Chunk:
    """Return an object without some of its keys."""
    return {key: each for key, each in value.items() if key not in keys}


USAGE: Chunk = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
DONE = b"data: [DONE]\n\n"
HI: Chunk = {"role": "assistant", "content": "Hi"}
ROLE = chunk({"role": "assistant", "content": ""})
"""OpenAI's opening."""
TEXT = chunk({**HI})
"""An opening that brings text."""
WORD = chunk({"content": "Hi"})
"""What goes on with text."""
MORE = chunk({"content": "!"})
STOP = chunk({}, finish="stop")
LENGTH = chunk({}, finish="length")
TOOL_CALLS = chunk({}, finish="tool_calls")
USAGE_CHUNK = chunk(None, usage=USAGE)
"""The last one, where usage was asked for."""
USAGE_ASKED = Asked(stream=True, usage=True)
BODY = completion({**HI})
