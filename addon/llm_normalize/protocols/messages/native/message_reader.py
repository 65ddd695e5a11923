"""Messages as providers of their own send them, nearly."""

from collections.abc import Collection, Sequence
from typing import override

from ....wire.call_arguments import arguments_in
from ....wire.json_text import Json, as_object, as_string, objects_in, whole_number
from ...native_reader import NativeAsked, Repaired
from ...protocol import JsonObject, ServerEvent, make_id
from ...token_count import tokens_for
from ..answer_form import SIGNATURE
from ..errors import error_of, is_error, says_too_long
from .block_reader import BlockReader
from .parts import (
    NO_CACHE,
    USES,
    WORDS,
    by_own_names,
    own_reason,
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


class MessagesReader(BlockReader):
    """Reads a message. See `NativeReader`."""

    def __init__(self, asked: NativeAsked) -> None:
        super().__init__(asked)
        self._has_started = self._is_passing = False
        self._id: Json = None
        self._reason: Json = None
        self._told: JsonObject = {}
        """What the ends so far say, but for their figures."""
        self._prompt = 0
        self._unsaid: JsonObject = {}
        """The figures of an end without a reason."""
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
        if self._is_passing:
            self._out.append((name, value))
            return
        if not isinstance(kind, str):
            kind = "error" if value.get("error") else name
            if kind not in self._handlers or not self._does("event-type-missing"):
                self._out.append((name, value))
                return
            value = {**value, "type": kind}
        handle = self._handlers.get(kind)
        if handle is None or self.is_over:
            self._late(kind, value)
        else:
            handle(value)
        is_named = name == kind or (name and handle is None)
        if name != kind and (is_named or not self._does("event-name-missing")):
            sent = self._out
            self._out = [(name if each is value else of, each) for of, each in sent]

    def _late(self, kind: str, value: JsonObject) -> None:
        """Send an event that means nothing here, or comes behind the last one."""
        self._is_passing = self.is_over and kind == "message_start"
        is_second = self.is_over and kind == "message_stop"
        if not (is_second and self._does("message-stop-repeated")):
            self._send(value)

    # -- the message -------------------------------------------------------------------

    def _message_start(self, value: JsonObject) -> None:
        given = as_object(value.get("message"))
        if self._has_started:
            self._second_start(value, given)
            return
        self._has_started = True
        self._id = given.get("id")
        for each in objects_in(given.get("content")):
            self._note(each)
            self._said += 1
        self._reason = given.get("stop_reason")
        self.is_complete = bool(self._reason and self._said)  # a whole one
        message = self._framed(given)
        self._send(value if message is given else {**value, "message": message})

    def _second_start(self, value: JsonObject, given: JsonObject) -> None:
        """Drop a second start, unless it is another message's, which cuts a call off."""
        is_cut = bool(self._blocks) and not self._blocks[-1].is_complete
        if is_cut and self._id != given.get("id"):
            self._is_passing = True
            self.is_complete = False
            self._send(value)
        elif self._does("message-start-repeated"):
            self._count(as_object(given.get("usage")))
        else:
            self._send(value)

    def _framed(self, given: JsonObject) -> JsonObject:
        """The message of a start, or a body, with what a message has."""
        blank = {**_MESSAGE, "model": self.asked.model}
        wrong = {"type": given.get("type") != "message"}
        wrong["role"] = given.get("role") != "assistant"
        wrong["content"] = not isinstance(given.get("content"), list)
        wrong["model"] = not given.get("model")
        missing = {k: v for k, v in blank.items() if wrong.get(k, k not in given)}
        made = given
        if missing and self._does("message-fields-missing"):
            made = {**given, **missing}
        message_id = given.get("id")
        is_right = isinstance(message_id, str) and message_id.startswith("msg")
        is_right = is_right and self.asked.is_new(as_string(message_id))
        if not is_right and self._does("message-id-foreign"):
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
        missing = [name for name in needed if whole_number(usage.get(name)) is None]
        if missing:
            estimates = self._estimates()
            usage |= {name: estimates[name] for name in missing}
        if usage != given:
            usage = {**usage, **{k: 0 for k in NO_CACHE if k not in usage}}
        is_same = usage == given or not self._does("message-usage-missing")
        return given if is_same else usage

    def _estimates(self) -> JsonObject:
        prompt = self._prompt or self.asked.count_prompt()
        return {"input_tokens": prompt, "output_tokens": tokens_for(self._written)}

    def _message_delta(self, value: JsonObject) -> None:
        self._begin_if_missing()
        given = as_object(value.get("delta"))
        is_said = given.get("stop_reason") or self._reason or self.has_hole
        if not is_said and self._does("message-delta-missing"):
            self._unsaid = as_object(value.get("usage"))  # they wait for the reason
            self._count(by_own_names(self._unsaid))
            return
        self._close_all()
        delta = self._ending(self._with_reason(given))
        self._reason = delta.get("stop_reason") or self._reason
        self.is_complete = bool(self._reason)
        usage = value.get("usage")
        figures = self._final_figures(usage)
        if delta is not given or figures is not usage:
            value = {**value, "delta": delta, "usage": figures}
        self._send(value)

    def _with_reason(self, given: JsonObject) -> JsonObject:
        """A further end, with the reason: an SDK keeps that of the last one."""
        said = {key: each for key, each in given.items() if each is not None}
        made = {**self._told, **said}
        if self._told and not given.get("stop_reason"):
            given = made if self._does("stop-reason-foreign") else given
        self._told = made
        return given

    def _final_figures(self, given: Json) -> Json:
        """The figures of the end. Zeros may stand at the start: here they would stay."""
        figures = by_own_names(as_object(given))
        self._count(figures)
        is_zero = figures.get("input_tokens") == 0 and not prompt_in(figures)
        has_prompt = self._prompt and figures and not is_zero
        needed = _BOTH[1:] if has_prompt else _BOTH
        is_said = {"input_tokens": True, "output_tokens": self._written > 0}
        zeros = [name for name in needed if is_said[name] and not figures.get(name)]
        return self._figures(given, needed, zeros)

    def _ending(self, given: JsonObject) -> JsonObject:
        """The reason of an end, in Anthropic's words."""
        stop, stops = given.get("stop_sequence"), self.asked.stops
        reason = reason_of(given.get("stop_reason"), stop, stops, self._uses)
        if self.has_hole and own_reason(given.get("stop_reason")) == USES != reason:
            self._miss()  # the call
            return given
        if self._is_cut and reason == "tool_use":
            reason = "max_tokens"  # nothing else ends an answer within an object
        due = {"stop_reason": reason, "stop_sequence": stop}
        is_right = {**given, **due} == given
        if is_right or not self._does("stop-reason-foreign"):
            return given
        return {**given, **due}

    def _message_stop(self, value: JsonObject) -> None:
        self._begin_if_missing()
        self._close_all()
        is_said = self._reason or self.has_hole
        if not is_said and self._does("message-delta-missing"):
            reason = reason_of("end_turn", None, (), self._uses)
            delta = {"stop_reason": reason, "stop_sequence": None}
            usage = {**self._estimates(), **NO_CACHE, **self._unsaid}
            counted = self.tokens
            self._message_delta(
                {"type": "message_delta", "delta": delta, "usage": usage}
            )
            self.tokens = counted  # by the provider
        self.is_over = self.is_complete = True
        self._send(value)

    def _error(self, value: JsonObject) -> None:
        self.is_over = True
        given = as_object(value.get("error"))
        words = given or {"message": value.get("error") or value.get("message")}
        coded = self.asked.coded(words)
        is_right = is_error(value) and (coded is words or says_too_long(words))
        if is_right or not self._does("message-error-foreign"):
            self._send(value)
        else:
            self._send({"type": "error", "error": error_of(None, coded)})

    @override
    def _conclude(self) -> None:
        is_whole = self.is_complete and self._has_started
        if self.has_hole and not self._reason:
            return
        if is_whole and self._does("message-stop-missing"):
            self._message_stop({"type": "message_stop"})

    @override
    def _fail(self, words: str) -> None:
        self._send({"type": "error", "error": error_of(None, {"message": words})})

    @override
    def done(self) -> Repaired:
        self.is_complete = True
        return self.end()

    @override
    def keep_alive(self) -> Sequence[ServerEvent]:
        is_open = self._has_started and not self.is_over
        return [("ping", {"type": "ping"})] if is_open else []

    @override
    def _begin_if_missing(self) -> None:
        if self._has_started or not self._does("message-start-missing"):
            return
        self._has_started = True
        usage = {
            "input_tokens": self.asked.count_prompt(),
            "output_tokens": 0,
            **NO_CACHE,
        }
        seed, model = make_id(self.asked.seed), self.asked.model
        named = {"id": f"msg_{seed}", **_MESSAGE, "model": model}
        message = {**named, "usage": usage}
        self._send({"type": "message_start", "message": message})

    # -- a whole answer ------------------------------------------------------------------

    @override
    def body(self, body: JsonObject) -> Repaired:
        if body.get("error") and body.get("type") != "message":
            self._error(body)
            return self._taken()
        content = _blocks_in(body)
        is_own = content is body.get("content")
        is_read = is_own or self._does("message-fields-missing")
        if isinstance(content, list) and is_read:
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
        self._note(given)
        made = self._with_fields(given)
        for delta in parted(made).deltas:
            text = as_string(delta.get(WORDS[delta["type"]]))
            self._written += len(text.encode(errors="surrogatepass"))
        if kind == "thinking" and not as_string(made.get("signature")).strip():
            is_on = self._does("thinking-unsigned")
            made = {**made, "signature": SIGNATURE} if is_on else made
        if kind == "tool_use":
            made = self._with_call_id(made)
            spelled = made.get("input")
            if isinstance(spelled, str) and self._does("tool-input-in-start"):
                made = {**made, "input": arguments_in(spelled)}
        return made if given else block

    @override
    def _streamed(self, value: JsonObject) -> None:
        if value.get("error") and value.get("type") != "message":
            self._error(value)
            return
        blocks = objects_in(_blocks_in(value))
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


def _blocks_in(message: JsonObject) -> Json:
    """The blocks of a whole message: some are a bare text."""
    given = message.get("content")
    return (
        [{"type": "text", "text": given}] if given and isinstance(given, str) else given
    )
