"""The strict rules: what of OpenAI's form a stream, a body or an error body breaks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .json_values import as_dict, as_int, as_list, as_str, load
from .request import Request
from .type_checks import chunk_faults, completion_faults

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def events(data: bytes) -> list[bytes]:
    """Cut a stream into its blocks; joined they are the stream again.

    A block ends with the blank lines behind it, however many. Blank lines before
    everything else have no block before them and go to the first one.
    """
    if not data:
        return []
    starts = [0]
    filled = ended = False
    for match in _LINE.finditer(data):
        blank = not match.group().strip(b"\r\n")
        if ended and not blank:
            starts.append(match.start())
            filled = False
        filled = filled or not blank
        ended = filled and blank
    return [data[i:j] for i, j in zip(starts, [*starts[1:], len(data)], strict=True)]


# -- a stream


@dataclass
class _ChoiceState:
    """What one choice of a stream has shown so far."""

    deltas: int = 0
    null_content_at: int | None = None
    calls: int = 0
    has_call: bool = False
    finished: bool = False


@dataclass(frozen=True)
class _UsageSeen:
    """One chunk as the usage rules see it."""

    event: int
    filled: bool
    bare: bool
    moderation: bool
    finishes: bool


@dataclass
class _StreamCheck:
    """One pass over a stream, gathering the broken rules."""

    request: Request
    complete: bool
    faults: list[str] = field(default_factory=list)
    envelope: dict[str, object] = field(default_factory=dict)
    choices: dict[int, _ChoiceState] = field(default_factory=dict)
    usages: list[_UsageSeen] = field(default_factory=list)
    done: bool = False
    failed: bool = False

    def say(self, rule: str, event: int, text: str) -> None:
        self.faults.append(f"{rule}: event {event} {text}")

    def run(self, data: bytes) -> list[str]:
        try:
            data.decode()
        except UnicodeDecodeError as error:
            # A cut may go through a character; only what follows it proves a fault.
            if self.complete or error.end < len(data):
                self.faults.append(f"framing: byte {error.start} is not UTF-8")
        blocks = events(data)
        for event, block in enumerate(blocks):
            self.block(event, block, last=event == len(blocks) - 1)
        self.end(len(blocks))
        return self.faults

    # framing

    def block(self, event: int, block: bytes, *, last: bool) -> None:
        if b"\r" in block:
            self.say("framing", event, "has a carriage return")
            block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = [line for line in block.split(b"\n") if line]
        open_end = last and bool(lines) and not block.endswith(b"\n\n")
        if open_end and self.complete:
            self.say("framing", event, "does not end with a blank line")
        payloads = [line for line in lines if line.startswith(b"data:")]
        if len(payloads) > 1:
            self.say("framing", event, "has more than one data line")
        for line in lines:
            if not line.startswith(b"data:"):
                if not (open_end and not self.complete):
                    shown = line[:20].decode(errors="replace")
                    self.say("framing", event, f"has a line other than data: {shown!r}")
            else:
                self.line(event, line, may_be_cut=open_end and not self.complete)

    def line(self, event: int, line: bytes, *, may_be_cut: bool) -> None:
        payload = line.removeprefix(b"data:").removeprefix(b" ")
        text = payload.decode(errors="replace").strip()
        try:
            value = None if text == "[DONE]" else load(text)
        except ValueError:
            if not may_be_cut:
                self.say("framing", event, "carries no JSON")
            return
        braces = payload.startswith(b"{") and payload.endswith(b"}")
        if not line.startswith(b"data: ") or not (braces or payload == b"[DONE]"):
            self.say("framing", event, "is not written `data: {…}` or `data: [DONE]`")
        if self.done:
            self.say("done", event, "comes after [DONE]")
        if text == "[DONE]":
            self.done = True
        elif isinstance(value, dict):
            self.take(event, value)
        else:
            self.say("envelope", event, "is not an object")

    # one event

    def take(self, event: int, value: dict[str, object]) -> None:
        error = value.get("error")
        if error is not None:
            self.failed = True
            if "choices" in value:
                self.say("error", event, "has an error and choices")
            for fault in _error_faults(error):
                self.say("error", event, fault)
        if error is None or "choices" in value:
            self.chunk(event, value)

    def chunk(self, event: int, chunk: dict[str, object]) -> None:
        for fault in chunk_faults(chunk):
            rule = "finish" if ".finish_reason " in fault else "envelope"
            self.say(rule, event, f"does not validate: {fault}")
        for fault in _envelope_faults(chunk):
            self.say("envelope", event, fault)
        for key in ("id", "model", "created"):
            if key in chunk and self.envelope.setdefault(key, chunk[key]) != chunk[key]:
                self.say("envelope", event, f"has another {key} than the first chunk")
        choices = [as_dict(choice) for choice in as_list(chunk.get("choices"))]
        ending = [c for c in choices if c.get("finish_reason") is not None]
        if ending and any(choice.get("delta") != {} for choice in choices):
            self.say("finish", event, "has a finish reason beside a delta")
        for choice in choices:
            self.choice(event, choice)
        self.usages.append(
            _UsageSeen(
                event=event,
                filled=chunk.get("usage") is not None,
                bare=chunk.get("choices") == [],
                moderation=isinstance(chunk.get("moderation"), dict),
                finishes=bool(ending),
            )
        )

    def choice(self, event: int, choice: dict[str, object]) -> None:
        index = as_int(choice.get("index"))
        if index is None:
            return
        state = self.choices.setdefault(index, _ChoiceState())
        if state.finished:
            self.say("finish", event, f"goes on with choice {index} after its finish")
        delta = as_dict(choice.get("delta"))
        self.role(event, index, delta, first=not state.deltas)
        self.content(event, index, delta, state)
        calls = [as_dict(call) for call in as_list(delta.get("tool_calls"))]
        for call in calls:
            self.tool_call(event, call, state)
        state.deltas += 1
        has_call = bool(delta.get("tool_calls") or delta.get("function_call"))
        state.has_call = state.has_call or has_call
        reason = choice.get("finish_reason")
        if reason is None:
            return
        state.finished = True
        if reason == "stop" and state.calls and not self.request.forced_tool:
            self.say("finish", event, f"ends choice {index} with stop after tool calls")
        hollow = self.complete and not state.has_call
        if hollow and reason in ("tool_calls", "function_call"):
            self.say("finish", event, f"ends choice {index} with {reason} and no call")

    def role(
        self, event: int, index: int, delta: dict[str, object], *, first: bool
    ) -> None:
        role = delta.get("role")
        if first and role != "assistant":
            self.say("role", event, f"opens choice {index} without role assistant")
        elif not first and role is not None:
            self.say("role", event, f"repeats the role of choice {index}")

    def content(
        self, event: int, index: int, delta: dict[str, object], state: _ChoiceState
    ) -> None:
        for key in ("role", "tool_calls", "function_call"):
            if key in delta and delta[key] is None:
                self.say("content", event, f"has a null {key} in choice {index}")
        brings = _brings_other_than_text(delta)
        if state.null_content_at is not None:
            if not brings or delta.get("content"):
                self.null_content(state.null_content_at, index)
            state.null_content_at = None
        if "content" in delta and delta["content"] is None:
            if state.deltas:
                self.null_content(event, index)
            elif not brings:
                # Only the next delta tells whether the null announces a tool call.
                state.null_content_at = event

    def null_content(self, event: int, index: int) -> None:
        self.say("content", event, f"has null content in choice {index}")

    def tool_call(
        self, event: int, call: dict[str, object], state: _ChoiceState
    ) -> None:
        index = as_int(call.get("index"))
        if index is None:
            return
        function = as_dict(call.get("function"))
        arguments = function.get("arguments")
        if index >= state.calls or index < 0:
            if index != state.calls:
                self.say("tool-calls", event, f"skips to call {index}")
            state.calls = max(state.calls, index + 1)
            for key, usable in (
                ("id", bool(as_str(call.get("id")))),
                ("type", call.get("type") == "function"),
                ("name", bool(as_str(function.get("name")))),
            ):
                if not usable:
                    self.say("tool-calls", event, f"opens call {index} without {key}")
            if arguments != "":
                text = f'opens call {index} with arguments other than ""'
                self.say("tool-calls", event, text)
            return
        for key, there in (
            ("id", "id" in call),
            ("type", "type" in call),
            ("name", "name" in function),
        ):
            if there:
                self.say("tool-calls", event, f"goes on with call {index} with {key}")
        if not isinstance(arguments, str):
            text = f"goes on with call {index} without string arguments"
            self.say("tool-calls", event, text)

    # what can only be judged at the end

    def end(self, count: int) -> None:
        for index, state in self.choices.items():
            # A stream that failed or broke may have been about to bring the call.
            if state.null_content_at is not None and self.complete and not self.failed:
                self.null_content(state.null_content_at, index)
        self.usage()
        waiting = [i for i, state in self.choices.items() if not state.finished]
        if self.failed:
            return
        if self.complete:
            self.whole(count - 1, waiting)
        elif self.done:
            for index in waiting:
                self.say("done", count - 1, f"is [DONE], but choice {index} is open")

    def whole(self, last: int, waiting: list[int]) -> None:
        for index in waiting:
            self.say("finish", last, f"is the last, and choice {index} is open")
        if not self.choices:
            self.say("finish", last, "is the last, and there was no choice")
        if not self.done:
            self.say("done", last, "is the last and is not [DONE]")
        if self.request.include_usage and not any(u.filled for u in self.usages):
            self.say("usage", last, "is the last, and usage was asked for")

    def usage(self) -> None:
        filled = [seen for seen in self.usages if seen.filled]
        for seen in filled[1:]:
            self.say("usage", seen.event, "has usage again")
        for seen in self.usages:
            if seen.bare and not seen.moderation:
                if self.request.include_usage is False:
                    self.say("usage", seen.event, "has no choices; none was asked for")
                elif not seen.filled:
                    self.say("usage", seen.event, "has neither choices nor usage")
        for seen in filled:
            self.usage_place(seen)

    def usage_place(self, seen: _UsageSeen) -> None:
        asked = self.request.include_usage
        bare = seen.bare and not seen.moderation
        # Nothing with choices behind it: so it stands after every finish reason.
        alone = bare and all(u.bare for u in self.usages if u.event > seen.event)
        # Without a finish reason, there is none to ride on.
        broken = self.failed or not self.complete
        unfinished = broken and not any(u.finishes for u in self.usages)
        riding = seen.finishes or (unfinished and not seen.bare)
        if asked and not alone:
            text = "has usage elsewhere than on a last chunk without choices"
            self.say("usage", seen.event, text)
        elif asked is None and not alone and not riding:
            self.say("usage", seen.event, "has usage before the end")
        elif asked is False and not bare and not riding:
            self.say("usage", seen.event, "has usage without the finish reason")


def _brings_other_than_text(delta: dict[str, object]) -> bool:
    return bool(
        delta.get("tool_calls")
        or isinstance(delta.get("function_call"), dict)
        or isinstance(delta.get("refusal"), str)
        or isinstance(delta.get("audio"), dict)
    )


def _envelope_faults(value: dict[str, object]) -> Iterator[str]:
    for key in ("id", "model"):
        if value.get(key) == "":
            yield f"has an empty {key}"
    created = as_int(value.get("created"))
    if created is not None and created <= 0:
        yield "has a created that is not above 0"


def _error_faults(error: object, *, every_key: bool = False) -> Iterator[str]:
    if not isinstance(error, dict):
        yield "has an error that is not an object"
        return
    if not as_str(error.get("message")):
        yield "has an error without a message"
    for key in ("type", "param", "code"):
        if every_key and key not in error:
            yield f"has an error without the key {key}"
        if not isinstance(error.get(key), str | None):
            yield f"has an error whose {key} is neither a string nor null"


def check_stream(data: bytes, request: Request, *, complete: bool = True) -> list[str]:
    """List the rules that a stream breaks, each as `rule: sentence`.

    Events are numbered from 0 as by `events`. `complete=False` is for a fragment or a
    stream that broke off: nothing is demanded of its end, and a half event there is
    let be. Of a [DONE] after an error only its place is judged, because whether the
    provider sent it does not show here; `lost` compares that.
    """
    return _StreamCheck(request, complete).run(data)


# -- a body


def _body_object(data: bytes) -> tuple[dict[str, object], list[str]]:
    try:
        value = load(data.decode())
    except ValueError as error:
        return {}, [f"framing: the body is not JSON in UTF-8 ({error})"]
    if not isinstance(value, dict):
        return {}, ["framing: the body is not a JSON object"]
    return value, []


def check_body(data: bytes, request: Request) -> list[str]:
    """List the rules that a JSON body with status 200 breaks."""
    body, faults = _body_object(data)
    if faults:
        return faults
    if body.get("error") is not None:
        faults.append("error: the body carries an error")
        if "choices" not in body:
            return faults
    for fault in completion_faults(body):
        rule = "finish" if ".finish_reason " in fault else "envelope"
        faults.append(f"{rule}: the body does not validate: {fault}")
    faults += [f"envelope: the body {fault}" for fault in _envelope_faults(body)]
    if body.get("usage") is None:
        faults.append("usage: the body has none")
    if body.get("choices") == []:
        faults.append("finish: the body has no choice")
    for position, choice in enumerate(as_list(body.get("choices"))):
        faults += _body_choice_faults(as_dict(choice), f"choice {position}", request)
    return faults


def _body_choice_faults(
    choice: dict[str, object], where: str, request: Request
) -> Iterator[str]:
    message = as_dict(choice.get("message"))
    reason = choice.get("finish_reason")
    for key in ("tool_calls", "function_call"):
        if key in message and message[key] is None:
            yield f"content: {where} has a null {key}"
    excused = _brings_other_than_text(message) or reason == "content_filter"
    if message.get("content") is None and not excused:
        yield f"content: {where} has null content"
    calls = [as_dict(call) for call in as_list(message.get("tool_calls"))]
    for call in calls:
        named = as_dict(call.get("function")) or as_dict(call.get("custom"))
        if call.get("id") == "" or named.get("name") == "":
            yield f"tool-calls: {where} has a call with an empty id or name"
    if reason == "stop" and calls and not request.forced_tool:
        yield f"finish: {where} ends with stop after tool calls"
    hollow = not (calls or message.get("function_call"))
    if hollow and reason in ("tool_calls", "function_call"):
        yield f"finish: {where} ends with {reason} and no call"


def check_error_body(data: bytes) -> list[str]:
    """List the rules that the body of a 4xx or 5xx answer breaks."""
    body, faults = _body_object(data)
    if faults:
        return faults
    if "choices" in body:
        faults.append("error: the body has choices")
    for fault in _error_faults(body.get("error"), every_key=True):
        faults.append(f"error: the body {fault}")
    return faults
