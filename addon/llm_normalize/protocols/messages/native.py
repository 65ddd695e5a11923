"""Messages as providers of their own send them, nearly."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import override

from ...wire.json_text import Json, dumps, whole_number
from ..json_values import as_list, as_object, as_string
from ..native import NativeAsked, NativeReader, Repaired
from ..object_end import ObjectEnd
from ..protocol import JsonObject, make_id
from ..token_count import tokens_for
from .answer_form import SIGNATURE
from .errors import error_of
from .tool_ids import plain

_KINDS = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
"""The kind of block that a delta belongs to. (A call's input may be of several.)"""
_INPUT = "input_json_delta"
_EMPTY: dict[str, JsonObject] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
}
_WORDS = {"text_delta": "text", "thinking_delta": "thinking", _INPUT: "partial_json"}
_REASONS = {
    "stop": "end_turn",
    "eos": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}
"""OpenAI's reasons, and what Anthropic says."""
_FIGURES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
_NO_CACHE = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
_MESSAGE: JsonObject = {
    "type": "message",
    "role": "assistant",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
}


@dataclass(slots=True)
class _Block:
    """A block that has not ended.

    Attributes:
        given: Its index as the provider says it.
        kind: What it is.
        given_input: What its start says of a call's input.
        waiting: Its events, while one before it is open.
        end: Where its input ends.
        has_started: Whether its start has been sent.
        has_input: Whether any of its input has been sent.
        is_signed: Whether its signature has been sent.
        has_ended: Whether the provider has ended it.
    """

    given: Json
    kind: str
    given_input: JsonObject = field(default_factory=dict)
    waiting: list[JsonObject] = field(default_factory=list)
    end: ObjectEnd = field(default_factory=ObjectEnd)
    has_input: bool = False
    is_signed: bool = False
    has_ended: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing more can belong to it, once another block follows."""
        return self.has_ended or self.kind in _EMPTY or self.end.is_reached


class MessagesReader(NativeReader):
    """Reads a message. See `NativeReader`."""

    def __init__(self, asked: NativeAsked) -> None:
        super().__init__(asked)
        self._has_started = False
        self._blocks: deque[_Block] = deque()
        self._index = 0
        """Of the first of them, as it is sent."""
        self._calls = set(asked.calls)
        self._has_call = False
        self._reason: Json = None
        self._prompt = 0
        self._written = 0
        self._handlers = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    @override
    def _take(self, name: str, value: JsonObject) -> None:
        kind = value.get("type")
        if not isinstance(kind, str):
            kind = "error" if value.get("error") else name
            if kind not in self._handlers or not self.is_on("event-type-missing"):
                self._out.append((name, value))
                return
            self._fixed("event-type-missing")
            value = {"type": kind, **value}
        elif name != kind and self.is_on("event-name-missing"):
            self._fixed("event-name-missing")
        handle = self._handlers.get(kind)
        if handle is None or self.is_over:
            self._send(value)
        else:
            handle(value)

    # -- the message -------------------------------------------------------------------

    def _message_start(self, value: JsonObject) -> None:
        if self._has_started and self.is_on("message-start-repeated"):
            self._fixed("message-start-repeated")
            return
        self._has_started = True
        given = as_object(value.get("message"))
        message = self._framed(given)
        self._prompt += _prompt_in(as_object(message.get("usage")))
        self._send(value if message == given else {**value, "message": message})

    def _framed(self, given: JsonObject) -> JsonObject:
        """The message of a start, or a body, with what a message has."""
        message = {**given}
        missing = [key for key in _MESSAGE if key not in given]
        if missing and self.is_on("message-fields-missing"):
            self._fixed("message-fields-missing")
            message |= {key: _MESSAGE[key] for key in missing}
        if not given.get("model") and self.is_on("message-fields-missing"):
            self._fixed("message-fields-missing")
            message["model"] = self.asked.model
        message["id"] = self._message_id(given.get("id"))
        usage = self._usage_of(given.get("usage"), ("input_tokens", "output_tokens"))
        if usage != given.get("usage"):
            message["usage"] = usage
        return message if message != given else given

    def _message_id(self, given: Json) -> Json:
        is_right = isinstance(given, str) and given.startswith("msg_")
        is_right = is_right and self.asked.is_new(str(given))
        if is_right or not self.is_on("message-id-foreign"):
            return given
        self._fixed("message-id-foreign")
        return f"msg_{make_id(self.asked.seed)}"

    def _usage_of(self, given: Json, needed: tuple[str, ...]) -> Json:
        """Figures by Anthropic's names, with those that are *needed*."""
        if not self.is_on("message-usage-missing"):
            return given
        usage = {**(as_object(given) or _NO_CACHE)}
        for foreign, name in _FIGURES.items():
            figure = whole_number(usage.get(foreign))
            if figure is not None and whole_number(usage.get(name)) is None:
                usage[name] = figure
        estimates = {
            "input_tokens": self._prompt or self.asked.prompt,
            "output_tokens": tokens_for(self._written),
        }
        for name in needed:
            if whole_number(usage.get(name)) is None:
                usage[name] = estimates[name]
        if usage != given:
            self._fixed("message-usage-missing")
            return usage
        return given

    def _message_delta(self, value: JsonObject) -> None:
        self._begin_if_missing()
        self._close_all()
        given = as_object(value.get("delta"))
        delta = self._ending(given)
        if delta.get("stop_reason"):
            self._reason = delta["stop_reason"]
        figures = as_object(value.get("usage"))
        needed = ["output_tokens"]
        has_none = not (self._prompt or _prompt_in(figures)) or not figures
        if has_none and self.is_on("message-usage-missing"):
            # Zeros at the start may be corrected here: at the end they would stay.
            figures = {k: v for k, v in figures.items() if k != "input_tokens"}
            needed.append("input_tokens")
        if self._written and not figures.get("output_tokens"):
            figures = {k: v for k, v in figures.items() if k != "output_tokens"}
        usage = self._usage_of(figures, tuple(needed))
        made = {**value, "delta": delta, "usage": usage}
        self._send(value if made == value else made)

    def _ending(self, given: JsonObject) -> JsonObject:
        """The reason of an end, in Anthropic's words."""
        reason, stop = given.get("stop_reason"), given.get("stop_sequence")
        due = _REASONS.get(reason, reason) if isinstance(reason, str) else reason
        if due == "end_turn" and self._has_call:
            due = "tool_use"
        elif due == "end_turn" and isinstance(stop, str) and stop in self.asked.stops:
            due = "stop_sequence"
        if not self.is_on("stop-reason-foreign"):
            return given
        made = {**given, "stop_reason": due, "stop_sequence": stop}
        if made == given:
            return given
        self._fixed("stop-reason-foreign")
        return made

    def _message_stop(self, value: JsonObject) -> None:
        self._close_all()
        self.is_over = True
        self._send(value)

    def _error(self, value: JsonObject) -> None:
        self.is_over = True
        given = as_object(value.get("error"))
        is_right = isinstance(given.get("message"), str) and isinstance(
            given.get("type"), str
        )
        if is_right or not self.is_on("message-error-foreign"):
            self._send(value)
            return
        self._fixed("message-error-foreign")
        words = given or {"message": value.get("error") or value.get("message")}
        self._send({"type": "error", "error": error_of(None, words)})

    @override
    def _conclude(self) -> None:
        if self._reason and self.is_on("message-stop-missing"):
            self._fixed("message-stop-missing")
            self._message_stop({"type": "message_stop"})

    # -- blocks ------------------------------------------------------------------------

    def _begin_if_missing(self) -> None:
        if self._has_started or not self.is_on("message-start-missing"):
            return
        self._has_started = True
        usage = {"input_tokens": self.asked.prompt, "output_tokens": 0, **_NO_CACHE}
        seed, model = make_id(self.asked.seed), self.asked.model
        message = {"id": f"msg_{seed}", **_MESSAGE, "model": model, "usage": usage}
        self._fixed("message-start-missing")
        self._send({"type": "message_start", "message": message})

    def _block_start(self, value: JsonObject) -> None:
        self._begin_if_missing()
        given = as_object(value.get("content_block"))
        kind = as_string(given.get("type"))
        self._close_complete()
        block = _Block(value.get("index"), kind)
        made = {**_EMPTY.get(kind, {}), **given}
        if made != given and self.is_on("block-fields-missing"):
            self._fixed("block-fields-missing")
        else:
            made = given
        if kind == "tool_use":
            made = self._call(block, made)
        self._blocks.append(block)
        self._put(block, value if made is given else {**value, "content_block": made})

    def _call(self, block: _Block, given: JsonObject) -> JsonObject:
        self._has_call = True
        made = self._with_call_id(given)
        said = given.get("input")
        if said != {} and self.is_on("tool-input-in-start"):
            self._fixed("tool-input-in-start")
            block.given_input = as_object(said)
            made = {**made, "input": {}}
        return made

    def _with_call_id(self, given: JsonObject) -> JsonObject:
        name = as_string(given.get("id"))
        call_id = self._call_id(name)
        if call_id == name:
            return given
        self._fixed("tool-id-foreign")
        return {**given, "id": call_id}

    def _call_id(self, given: str) -> str:
        if not self.is_on("tool-id-foreign"):
            return given
        wanted = plain(given) or f"toolu_{make_id(self.asked.seed)}"
        made, number = wanted, 1
        while made in self._calls:
            number += 1
            made = f"{wanted}-{number}"
        self._calls.add(made)
        return made

    def _block_delta(self, value: JsonObject) -> None:
        self._begin_if_missing()
        delta = as_object(value.get("delta"))
        said = as_string(delta.get("type"))
        text = as_string(delta.get(_WORDS.get(said, "")))
        self._written += len(text.encode(errors="surrogatepass"))
        block = self._of(value.get("index"))
        kind = _KINDS.get(said)
        if (
            kind
            and (block is None or block.kind in _EMPTY)
            and not (block and block.kind == kind)
        ):
            block = self._open_for(value, kind, is_other=block is not None)
        if block is None:
            self._send(value)  # of a kind that is not known
            return
        if said == "signature_delta":
            block.is_signed = bool(delta.get("signature"))
        elif said == _INPUT and text:
            block.has_input = True
            block.end.add(text)
        self._put(block, value)

    def _open_for(
        self, value: JsonObject, kind: str, *, is_other: bool
    ) -> _Block | None:
        """Open a block for a delta that has none, or one of another kind."""
        fix = "delta-of-other-kind" if is_other else "block-start-missing"
        if not self.is_on(fix):
            return None
        self._close_complete()
        self._fixed(fix)
        block = _Block(value.get("index"), kind)
        self._blocks.append(block)
        start = {"type": kind, **_EMPTY[kind]}
        self._put(
            block,
            {
                "type": "content_block_start",
                "index": self._index,
                "content_block": start,
            },
        )
        return block

    def _block_stop(self, value: JsonObject) -> None:
        block = self._of(value.get("index"))
        if block is None:
            if self.is_on("block-stop-repeated"):
                self._fixed("block-stop-repeated")
            else:
                self._send(value)
            return
        block.has_ended = True
        for each in self._rest_of(block):
            self._put(block, each)
        self._put(block, value)
        self._flow()

    def _of(self, index: Json) -> _Block | None:
        """The open block that an index means: the last of that index, or the only one."""
        found = [
            each for each in self._blocks if each.given == index and not each.has_ended
        ]
        still_open = [each for each in self._blocks if not each.has_ended]
        if not found and len(still_open) == 1 and self.is_on("block-index-wrong"):
            found = still_open
        return found[-1] if found else None

    def _put(self, block: _Block, value: JsonObject) -> None:
        """Send an event of a block, or have it wait for what is before that."""
        if block is self._blocks[0]:
            self._send_indexed(value)
        else:
            self._fixed("block-interleaved")
            block.waiting.append(value)

    def _send_indexed(self, value: JsonObject) -> None:
        if value.get("index") != self._index and self.is_on("block-index-wrong"):
            self._fixed("block-index-wrong")
            value = {**value, "index": self._index}
        self._send(value)

    def _flow(self) -> None:
        """Go on to the next block where the first has ended."""
        while self._blocks and self._blocks[0].has_ended:
            self._blocks.popleft()
            self._index += 1
            if self._blocks:
                first = self._blocks[0]
                for value in first.waiting:
                    self._send_indexed(value)
                first.waiting.clear()

    def _close_complete(self) -> None:
        """End the open block, which another follows, if nothing more can belong to it."""
        if self._blocks and self._blocks[-1].is_complete:
            self._close(self._blocks[-1])

    def _close_all(self) -> None:
        for block in [*self._blocks]:
            self._close(block)

    def _close(self, block: _Block) -> None:
        if block.has_ended or not self.is_on("block-stop-missing"):
            return
        self._fixed("block-stop-missing")
        block.has_ended = True
        for each in self._rest_of(block):
            self._put(block, each)
        self._put(block, {"type": "content_block_stop", "index": self._index})
        self._flow()

    def _rest_of(self, block: _Block) -> Iterator[JsonObject]:
        """The deltas that a block still needs before it ends."""
        head: JsonObject = {"type": "content_block_delta", "index": block.given}
        if block.kind == "thinking" and not block.is_signed:
            if self.is_on("thinking-unsigned"):
                self._fixed("thinking-unsigned")
                signed = {"type": "signature_delta", "signature": SIGNATURE}
                yield {**head, "delta": signed}
        elif block.given_input and not block.has_input:
            text = dumps(block.given_input).decode()
            yield {**head, "delta": {"type": _INPUT, "partial_json": text}}

    # -- a whole answer ------------------------------------------------------------------

    @override
    def body(self, body: JsonObject) -> Repaired:
        if body.get("error") and body.get("type") != "message":
            self._take("error", body)
            return self._taken()
        content = [self._whole(each) for each in as_list(body.get("content"))]
        made = {**self._framed(body), "content": content}
        made = {**made, **self._ending(made)}
        self._out.append(("", body if made == body else made))
        return self._taken()

    def _whole(self, block: Json) -> Json:
        """A block of a whole message."""
        given = as_object(block)
        kind = as_string(given.get("type"))
        made = {**_EMPTY.get(kind, {}), **given}
        if made != given and self.is_on("block-fields-missing"):
            self._fixed("block-fields-missing")
        else:
            made = given
        is_unsigned = kind == "thinking" and not made.get("signature")
        if is_unsigned and self.is_on("thinking-unsigned"):
            self._fixed("thinking-unsigned")
            made = {**made, "signature": SIGNATURE}
        if kind != "tool_use":
            return made if given else block
        self._has_call = True
        return self._with_call_id(made)


def _prompt_in(usage: JsonObject) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(whole_number(usage.get(name)) or 0 for name in names)
