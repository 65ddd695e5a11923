"""Messages as providers of their own send them, nearly."""

from collections import deque
from collections.abc import Collection, Sequence
from typing import override

from ...wire.json_text import Json, whole_number
from ..json_values import as_object, as_string, objects_in
from ..native import NativeAsked, NativeReader, Repaired
from ..protocol import JsonObject, ServerEvent, make_id
from ..token_count import tokens_for
from .answer_form import SIGNATURE
from .errors import error_of, is_error
from .native_parts import (
    EMPTY,
    INPUT,
    KINDS,
    NO_CACHE,
    SIGNED,
    WORDS,
    Block,
    CallIds,
    by_own_names,
    parted,
    prompt_in,
    reason_of,
)

_MESSAGE: JsonObject = {
    "type": "message",
    "role": "assistant",
    "model": "",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
}
_BOTH = ("input_tokens", "output_tokens")
_LONGEST = 10_000
"""Events that wait for the end of a block before theirs."""


class MessagesReader(NativeReader):
    """Reads a message. See `NativeReader`.

    The blocks of a message come one after the other. Where they take turns, the first that
    has not ended is sent as it comes, and the others wait for it.
    """

    def __init__(self, asked: NativeAsked) -> None:
        super().__init__(asked)
        self._has_started = False
        self._blocks: deque[Block] = deque()
        """Those that have not been sent to their end; the first is being sent."""
        self._kinds: list[str] = []
        self._ended: list[Json] = []
        """The indexes of those that have ended, as the provider says them."""
        self._waiting = 0
        self._calls = CallIds(asked.seed, asked.calls)
        self._reason: Json = None
        self._prompt = self._written = 0
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
            if kind not in self._handlers or not self._fixes_with("event-type-missing"):
                self._out.append((name, value))
                return
            value = {"type": kind, **value}
        handle = self._handlers.get(kind)
        if handle is None or self.is_over:
            self._late(kind, value)
        else:
            handle(value)
        is_named = name == kind or (name and handle is None)
        if name != kind and (is_named or not self._fixes_with("event-name-missing")):
            kept = ((name if each is value else kind, each) for kind, each in self._out)
            self._out = [*kept]

    def _late(self, kind: str, value: JsonObject) -> None:
        """Send an event that means nothing here, or comes behind the last one."""
        is_second = self.is_over and kind == "message_stop"
        if not (is_second and self._fixes_with("message-stop-repeated")):
            self._send(value)

    # -- the message -------------------------------------------------------------------

    def _message_start(self, value: JsonObject) -> None:
        given = as_object(value.get("message"))
        if self._has_started and self._fixes_with("message-start-repeated"):
            self._count(as_object(given.get("usage")))
            return
        self._has_started = True
        message = self._framed(given)
        self._send(value if message is given else {**value, "message": message})

    def _framed(self, given: JsonObject) -> JsonObject:
        """The message of a start, or a body, with what a message has."""
        blank = {**_MESSAGE, "model": self.asked.model}
        missing = {key: blank[key] for key in blank if key not in given}
        if not given.get("model"):
            missing["model"] = self.asked.model
        made = given
        if missing and self._fixes_with("message-fields-missing"):
            made = {**given, **missing}
        message_id = given.get("id")
        is_right = isinstance(message_id, str) and message_id.startswith("msg")
        is_right = is_right and self.asked.is_new(as_string(message_id))
        if not is_right and self._fixes_with("message-id-foreign"):
            made = {**made, "id": f"msg_{make_id(self.asked.seed)}"}
        usage = given.get("usage")
        self._count(by_own_names(as_object(usage)))
        figures = self._figures(usage, _BOTH)
        return made if figures is usage else {**made, "usage": figures}

    def _count(self, usage: JsonObject) -> None:
        prompt, written = prompt_in(usage), whole_number(usage.get("output_tokens"))
        self._prompt = prompt or self._prompt
        self.tokens = (self._prompt or None, written or self.tokens[1])

    def _figures(
        self, given: Json, needed: Collection[str], zeros: Collection[str] = ()
    ) -> Json:
        """Figures by Anthropic's names, with those that are *needed*, without *zeros*."""
        kept = {k: v for k, v in as_object(given).items() if k not in zeros}
        usage = by_own_names(kept or NO_CACHE)
        estimates = {
            "input_tokens": self._prompt or self.asked.prompt,
            "output_tokens": tokens_for(self._written),
        }
        for name in needed:
            if whole_number(usage.get(name)) is None:
                usage[name] = estimates[name]
        is_same = usage == given or not self._fixes_with("message-usage-missing")
        return given if is_same else usage

    def _message_delta(self, value: JsonObject) -> None:
        self._begin_if_missing()
        self._close_all()
        given = as_object(value.get("delta"))
        delta = self._ending(given)
        self._reason = delta.get("stop_reason") or self._reason
        self.is_complete = bool(self._reason)
        usage = value.get("usage")
        figures = self._final_figures(usage)
        if delta is not given or figures is not usage:
            value = {**value, "delta": delta, "usage": figures}
        self._send(value)

    def _final_figures(self, given: Json) -> Json:
        """The figures of the end. Zeros may stand at the start: here they would stay."""
        figures = by_own_names(as_object(given))
        self._count(figures)
        is_wrong = {"output_tokens": self._written, "input_tokens": not self._prompt}
        zeros = [name for name in _BOTH if is_wrong[name] and not figures.get(name)]
        needed = ("output_tokens",) if self._prompt and figures else _BOTH
        return self._figures(given, needed, zeros)

    def _ending(self, given: JsonObject) -> JsonObject:
        """The reason of an end, in Anthropic's words."""
        stop, stops = given.get("stop_sequence"), self.asked.stops
        reason = reason_of(given.get("stop_reason"), stop, stops, self._kinds)
        due = {"stop_reason": reason, "stop_sequence": stop}
        is_right = {**given, **due} == given
        if is_right or not self._fixes_with("stop-reason-foreign"):
            return given
        return {**given, **due}

    def _message_stop(self, value: JsonObject) -> None:
        self._begin_if_missing()
        self._close_all()
        if not self._reason and self._fixes_with("message-delta-missing"):
            reason = reason_of("end_turn", None, (), self._kinds)
            self._message_delta(
                {
                    "type": "message_delta",
                    "delta": {"stop_reason": reason, "stop_sequence": None},
                    "usage": {"output_tokens": tokens_for(self._written)},
                }
            )
        self.is_over = self.is_complete = True
        self._send(value)

    def _error(self, value: JsonObject) -> None:
        self.is_over = True
        if is_error(value) or not self._fixes_with("message-error-foreign"):
            self._send(value)
            return
        given = as_object(value.get("error"))
        words = given or {"message": value.get("error") or value.get("message")}
        self._send({"type": "error", "error": error_of(None, words)})

    @override
    def _conclude(self) -> None:
        is_whole = self.is_complete and self._has_started
        if is_whole and self._fixes_with("message-stop-missing"):
            self._message_stop({"type": "message_stop"})

    @override
    def keep_alive(self) -> Sequence[ServerEvent]:
        is_open = self._has_started and not self.is_over
        return [("ping", {"type": "ping"})] if is_open else []

    # -- blocks ------------------------------------------------------------------------

    def _begin_if_missing(self) -> None:
        if self._has_started or not self._fixes_with("message-start-missing"):
            return
        self._has_started = True
        usage = {"input_tokens": self.asked.prompt, "output_tokens": 0, **NO_CACHE}
        seed, model = make_id(self.asked.seed), self.asked.model
        named = {"id": f"msg_{seed}", **_MESSAGE, "model": model}
        message = {**named, "usage": usage}
        self._send({"type": "message_start", "message": message})

    def _block_start(self, value: JsonObject) -> None:
        self._begin_if_missing()
        given = as_object(value.get("content_block"))
        last = self._blocks[-1] if self._blocks else None
        is_second = last is not None and last.is_same(value, given)
        if is_second and self._fixes_with("block-start-repeated"):
            return
        if last is not None and last.is_complete:
            self._close(last)
        block = self._new(value.get("index"), as_string(given.get("type")))
        block.call = given.get("id")
        made = self._started(block, given)
        self._put(block, value if made is given else {**value, "content_block": made})
        if block.kind != "tool_use":  # whose input may follow all the same
            self._say(block, [each for each in block.said if each["type"] != SIGNED])

    def _new(self, given: Json, kind: str) -> Block:
        block = Block(given, kind, len(self._kinds))
        self._kinds.append(kind)
        self._blocks.append(block)
        return block

    def _started(self, block: Block, given: JsonObject) -> JsonObject:
        """A block as its start has it; what else it says is in `block.said` then."""
        made = self._with_fields(given)
        block.is_signed = bool(made.get("signature"))
        if block.kind == "tool_use":
            made = self._with_call_id(made)
        start, deltas = parted(made)
        fix = "tool-input-in-start" if block.kind == "tool_use" else "text-in-start"
        if deltas and self._fixes_with(fix):
            block.said = deltas
            block.is_signed = False
            return start
        return made

    def _with_fields(self, given: JsonObject) -> JsonObject:
        kind = as_string(given.get("type"))
        missing = {k: v for k, v in EMPTY.get(kind, {}).items() if given.get(k) is None}
        if missing and self._fixes_with("block-fields-missing"):
            return {**given, **missing}
        return given

    def _with_call_id(self, given: JsonObject) -> JsonObject:
        call_id = self._calls.take(given.get("id"))
        if call_id == given.get("id") or not self._fixes_with("tool-id-foreign"):
            return given
        return {**given, "id": call_id}

    def _say(self, block: Block, deltas: Sequence[JsonObject]) -> None:
        """Send *deltas* of what the start of a block has said."""
        block.said = [each for each in block.said if each not in deltas]
        for delta in deltas:
            head = {"type": "content_block_delta", "index": block.given}
            self._delta_of(block, {**head, "delta": delta}, delta)

    def _block_delta(self, value: JsonObject) -> None:
        self._begin_if_missing()
        delta = as_object(value.get("delta"))
        said = as_string(delta.get("type"))
        kind, index = KINDS.get(said), value.get("index")
        block = self._of(index, kind or ("tool_use" if said == INPUT else None))
        if kind and (block is None or block.kind != kind) and self._is_known(block):
            fix = "block-start-missing" if block is None else "delta-of-other-kind"
            if self._fixes_with(fix):
                if said == SIGNED:
                    return  # of thoughts that have ended
                block = self._opened(index, kind, fix)
        if block is None:
            self._send(value)
        else:
            self._delta_of(block, value, delta)

    def _is_known(self, block: Block | None) -> bool:
        """Tell whether only deltas of its own kind belong to a block."""
        return block is None or block.kind in EMPTY

    def _opened(self, index: Json, kind: str, fix: str) -> Block:
        """Begin a block whose start is missing."""
        if self._blocks and self._blocks[-1].is_complete:
            self._close(self._blocks[-1], fix)
        block = self._new(index, kind)
        block.fix = fix
        start = {"type": kind, **EMPTY[kind]}
        head = {"type": "content_block_start", "index": block.index}
        self._put(block, {**head, "content_block": start})
        return block

    def _delta_of(self, block: Block, value: JsonObject, delta: JsonObject) -> None:
        said = as_string(delta.get("type"))
        text = as_string(delta.get(WORDS.get(said, "")))
        block.has_delta = True
        if said == SIGNED:
            block.said.clear()
            block.is_signed = bool(text.strip())
        else:
            self._written += len(text.encode(errors="surrogatepass"))
        if said == INPUT and text:
            block.said.clear()
            block.end.add(text)
        self._put(block, value)

    def _block_stop(self, value: JsonObject) -> None:
        index = value.get("index")
        block = self._of(index, None)
        is_late = block is not None and block.given != index and index in self._ended
        if block is not None and not is_late:
            self._end(block, value)
        elif not self._fixes_with("block-stop-repeated"):
            self._send(value)

    def _of(self, index: Json, kind: str | None) -> Block | None:
        """The open block that an index means, or the only one, rather of this kind."""
        still_open = [each for each in self._blocks if not each.has_ended]
        found = [each for each in still_open if each.given == index]
        if not found and len(still_open) == 1 and self.is_on("block-index-wrong"):
            found = still_open
        of_kind = [each for each in found if kind is not None and each.kind == kind]
        return (of_kind or found)[-1] if found else None

    def _put(self, block: Block, value: JsonObject) -> None:
        """Send an event of a block, or have it wait for what is before that."""
        if block is self._blocks[0] or not self._fixes_with("block-interleaved"):
            self._send_of(block, value)
            return
        block.waiting.append(value)
        self._waiting += 1
        if self._waiting > _LONGEST:
            self._close(self._blocks[0])

    def _send_of(self, block: Block, value: JsonObject) -> None:
        fix = block.fix or "block-index-wrong"
        if value.get("index") != block.index and self._fixes_with(fix):
            value = {**value, "index": block.index}
        self._send(value)

    def _close_all(self) -> None:
        for block in [*self._blocks]:
            self._close(block)

    def _close(self, block: Block, fix: str = "block-stop-missing") -> None:
        """End a block whose stop is missing."""
        if block.has_ended:
            return
        stop = {"type": "content_block_stop", "index": block.index}
        self._end(block, stop if self._fixes_with(fix) else None)

    def _end(self, block: Block, stop: JsonObject | None) -> None:
        """Send the end of a block, and go on to the next that waits."""
        self._say(block, block.said)
        is_unsigned = block.kind == "thinking" and not block.is_signed
        if stop and is_unsigned and self._fixes_with("thinking-unsigned"):
            delta: JsonObject = {"type": SIGNED, "signature": SIGNATURE}
            head = {"type": "content_block_delta", "index": block.index}
            self._put(block, {**head, "delta": delta})
        block.has_ended = True
        self._ended.append(block.given)
        if stop:
            self._put(block, stop)
        while self._blocks and self._blocks[0].has_ended:
            self._blocks.popleft()
            for value in self._blocks[0].waiting if self._blocks else ():
                self._waiting -= 1
                self._send_of(self._blocks[0], value)

    # -- a whole answer ------------------------------------------------------------------

    @override
    def body(self, body: JsonObject) -> Repaired:
        if body.get("error") and body.get("type") != "message":
            self._error(body)
            return self._taken()
        content = body.get("content")
        if isinstance(content, list):
            made = {**body, "content": [self._whole_block(each) for each in content]}
            made = self._ending(self._framed(made))
            self._out.append(("", body if made == body else made))
        else:
            self._out.append(("", body))
        return self._taken()

    def _whole_block(self, block: Json) -> Json:
        """A block of a whole message."""
        given = as_object(block)
        kind = as_string(given.get("type"))
        self._kinds.append(kind)
        made = self._with_fields(given)
        for delta in parted(made).deltas:
            text = as_string(delta.get(WORDS[delta["type"]]))
            self._written += len(text.encode(errors="surrogatepass"))
        if kind == "thinking" and not as_string(made.get("signature")).strip():
            is_on = self._fixes_with("thinking-unsigned")
            made = {**made, "signature": SIGNATURE} if is_on else made
        if kind == "tool_use":
            made = self._with_call_id(made)
        return made if given else block

    @override
    def _whole(self, value: JsonObject) -> None:
        if value.get("error") and value.get("type") != "message":
            self._error(value)
            return
        blocks = objects_in(value.get("content"))
        if not (blocks or value.get("type") == "message"):
            return
        begun = {**value, "content": [], "stop_reason": None, "stop_sequence": None}
        self._message_start({"type": "message_start", "message": begun})
        for at, block in enumerate(blocks):
            start, deltas = parted(block)
            named = {"index": at, "content_block": start}
            self._block_start({"type": "content_block_start", **named})
            for delta in deltas:
                said = {"type": "content_block_delta", "index": at, "delta": delta}
                self._block_delta(said)
            self._block_stop({"type": "content_block_stop", "index": at})
        ending = {key: value.get(key) for key in ("stop_reason", "stop_sequence")}
        end = {"type": "message_delta", "delta": ending, "usage": value.get("usage")}
        self._message_delta(end)
        self._message_stop({"type": "message_stop"})
