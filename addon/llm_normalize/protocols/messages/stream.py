"""The chunks of an answer, as the events of a Messages stream."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import override

from ...wire.json_text import Json, as_object, as_string, objects_in
from ..chat_answer import BlankText, chunk_of, failure_in
from ..object_end import ObjectEnd
from ..protocol import (
    CALL,
    UNFINISHED,
    AnswerTranslator,
    JsonObject,
    ServerEvent,
    UntranslatableError,
)
from .answer_form import (
    SIGNATURE,
    Asked,
    BlockKind,
    ending,
    first_choice,
    message,
    message_in,
    tool_use,
    usage,
)
from .errors import LAST_RESORT, error_of

_DELTAS = {
    "thinking": ("thinking_delta", "thinking"),
    "text": ("text_delta", "text"),
    "tool_use": ("input_json_delta", "partial_json"),
}
_NO_ARGUMENTS = "{}"
_FAILED = "error"
"""Chat's finish reason of an answer that failed on its way."""
_BLOCK = 1000  # characters' worth


@dataclass(slots=True)
class _Block:
    """A content block, of which all before it have to end first.

    Attributes:
        kind: What it is.
        head: What its start says.
        waiting: Its text that has not been sent.
        end: Where its arguments end, if it is a call.
        has_started: Whether its start has been sent.
        has_spoken: Whether any text of it has been sent.
        has_stopped: Whether its stop has been sent.
    """

    kind: BlockKind
    head: JsonObject
    waiting: list[str] = field(default_factory=list)
    end: ObjectEnd = field(default_factory=ObjectEnd)
    has_started: bool = False
    has_spoken: bool = False
    has_stopped: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing more can belong to it, once another block follows."""
        return self.kind != "tool_use" or self.end.is_reached


class MessagesAnswer(AnswerTranslator):
    """One answer as a message.

    The blocks of a message come one after the other. In chat, calls may take turns, and
    what follows a call may come before its last argument. So the first block that is not
    complete is sent as it arrives, and the others wait for it. A text is complete where
    something else follows, and a call where its arguments are a whole object: then the next
    block is sent at once, which is the usual case. A call whose arguments do not say that
    they have ended (there are none, say) is complete at the finish, and not before: closed
    earlier, what of it follows would be lost.

    A text of nothing but blanks is not sent before something else follows it: clients
    show one as a message of its own, and models write some before a call.

    Args:
        asked: What was asked.
    """

    last_resort = (("error", LAST_RESORT),)

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._has_started = False
        self._has_ended = False
        self._blocks: deque[_Block] = deque()
        self._calls: dict[Json, _Block] = {}
        self._index = 0
        self._blank = BlankText()
        self._last: JsonObject = {}
        """The choice with the finish reason."""

    @override
    def chunk(self, chunk: JsonObject) -> Sequence[ServerEvent]:
        # What is no chunk has no place in a message.
        is_chunk = isinstance(chunk.get("choices"), list)
        return list(self._events(chunk)) if is_chunk and not self._has_ended else []

    def _events(self, chunk: JsonObject) -> Iterator[ServerEvent]:
        if not self._has_started:
            self._has_started = True
            begun = message(self._asked, chunk.get("model"))
            yield _event("message_start", message=begun)
            yield _event("ping")
        self._asked.figures.take(chunk.get("usage"))
        choice = first_choice(chunk)
        if choice is not None:
            self._take(as_object(choice.get("delta")))
            if choice.get("finish_reason"):
                self._last = choice
        yield from self._flow(is_over=bool(self._last))

    def _take(self, delta: JsonObject) -> None:
        """Put what *delta* says into the blocks."""
        self._say("thinking", as_string(delta.get("reasoning_content")))
        self._say("text", as_string(delta.get("content")))
        self._say("text", as_string(delta.get("refusal")))
        for call in objects_in(delta.get("tool_calls")):
            self._call(call)

    def _say(self, kind: BlockKind, text: str) -> None:
        self._asked.figures.write(text)
        is_new = not self._blocks or self._blocks[-1].kind != kind
        if is_new and kind == "text":
            text = self._blank.before(text)
        if not text:
            return
        block = self._open(kind) if is_new else self._blocks[-1]
        block.waiting.append(text)
        self.held += len(text)

    def _open(self, kind: BlockKind) -> _Block:
        head: JsonObject = {"type": kind, _DELTAS[kind][1]: ""}
        if kind == "thinking":
            head["signature"] = ""
        block = _Block(kind, head)
        self._blocks.append(block)
        self.held += _BLOCK
        return block

    def _call(self, call: JsonObject) -> None:
        at, function = call.get("index", 0), as_object(call.get("function"))
        name = as_string(function.get("name"))
        block = self._calls.get(at)
        if block is None or (block.has_stopped and name):
            self._blank.take()
            block = self._calls[at] = _Block(
                "tool_use", tool_use(call, {}, self._asked)
            )
            self._blocks.append(block)
            self.held += CALL
        arguments = as_string(function.get("arguments"))
        self._asked.figures.write(arguments)
        # Behind a whole object nothing more can be meant, so what follows a stop is dropped.
        if arguments and not block.has_stopped:
            block.waiting.append(arguments)
            self.held += len(arguments)
            block.end.add(arguments)

    def _flow(self, *, is_over: bool) -> Iterator[ServerEvent]:
        """Send what need not wait.

        Args:
            is_over: Whether nothing more follows, so that every block is complete.
        """
        blanks = self._blank.take() if is_over else ""
        if blanks and not self._calls:
            self._open("text").waiting.append(blanks)
        while self._blocks:
            block = self._blocks[0]
            if not block.has_started:
                block.has_started = True
                yield self._of_block("content_block_start", content_block=block.head)
            text = "".join(block.waiting)
            block.waiting.clear()
            self.held -= len(text)
            if text:
                block.has_spoken = True
                yield self._delta(*_DELTAS[block.kind], text)
            is_followed = len(self._blocks) > 1 and block.is_complete
            if not (is_over or is_followed):
                return
            yield from self._stop(block)

    def _stop(self, block: _Block) -> Iterator[ServerEvent]:
        if block.kind == "thinking":
            yield self._delta("signature_delta", "signature", SIGNATURE)
        if block.kind == "tool_use" and not block.has_spoken:
            # Not every client takes a call without any arguments for one with none.
            yield self._delta(*_DELTAS["tool_use"], _NO_ARGUMENTS)
        yield self._of_block("content_block_stop")
        block.has_stopped = True
        self._blocks.popleft()
        self.held -= 0 if block.kind == "tool_use" else _BLOCK
        self._index += 1

    def _of_block(self, name: str, **data: Json) -> ServerEvent:
        return _event(name, index=self._index, **data)

    def _delta(self, kind: str, key: str, text: str) -> ServerEvent:
        return self._of_block("content_block_delta", delta={"type": kind, key: text})

    @override
    def error(self, error: JsonObject) -> Sequence[ServerEvent]:
        if self._has_ended:
            return []
        self._has_ended = True
        # What waits is not sent: the call before it would look as if it were complete.
        return [_event("error", error=error_of(None, error))]

    @override
    def done(self) -> Sequence[ServerEvent]:
        if self._has_ended:
            return []
        if not self._last:
            return self.error({"message": UNFINISHED})
        self._has_ended = True
        stops, figures = self._asked.stops, self._asked.figures
        self.estimates = figures.is_estimated
        return [
            *self._flow(is_over=True),
            _event(
                "message_delta",
                delta=ending(self._last, stops, has_call=bool(self._calls)),
                usage=usage(figures.counts()),
            ),
            _event("message_stop"),
        ]

    @override
    def keep_alive(self) -> Sequence[ServerEvent]:
        # Also before `message_start`, where a long prompt makes clients wait most:
        # Anthropic's SDKs (and with them Claude Code) skip a ping by its name before they
        # look at the order of events, and so do the readers of the AI SDK and of pi.
        return [] if self._has_ended else [_event("ping")]

    @override
    def body(self, completion: JsonObject) -> JsonObject:
        error, choice = failure_in(completion), first_choice(completion)
        if error or choice is None or choice.get("finish_reason") == _FAILED:
            # A message has no place for it: the client would take the turn for over.
            words = as_string((error or {}).get("message"))
            raise UntranslatableError(words or UNFINISHED)
        self._blank = BlankText(inf)  # what follows is known
        events = [*self.chunk(chunk_of(completion))]
        # Also if nothing says why it ends.
        self._last = self._last or choice or {"finish_reason": None}
        events += self.done()
        made = message_in(data for _, data in events)
        assert made is not None
        return made


def _event(name: str, **data: Json) -> ServerEvent:
    return name, {"type": name, **data}
