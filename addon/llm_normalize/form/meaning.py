"""The form that OpenAI gives a chat completion, as an oracle for the tests.

Written from the contract alone, without a look at the code under test, so that a
mistake there cannot repeat itself here. Two halves:

* `check_stream`, `check_body`, `check_error_body` are strict: they list every rule of
  the form that the bytes break. An empty list means "OpenAI could have sent this".
* `meaning_of_stream`, `meaning_of_body` are tolerant: they read what a provider meant,
  however carelessly it was written. `lost` compares two such readings.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

# --------------------------------------------------------------------------- JSON


def _whole_number(literal: str) -> int:
    """Read an integer literal; beyond what Python converts, its head will do."""
    return int(literal[:4000])


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


_STRICT = json.JSONDecoder(parse_int=_whole_number, parse_constant=_no_constant)
_TOLERANT = json.JSONDecoder(parse_int=_whole_number)


def _load(text: str) -> object:
    """Decode one strict JSON value or raise ValueError."""
    try:
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _dict(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _str(value: object) -> str:
    return value if isinstance(value, str) else ""


def _int(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


# ------------------------------------------------------------------------ request


@dataclass(frozen=True)
class Request:
    """What the request asked for, as far as the form of the answer depends on it.

    `include_usage` is None when that is unknown: usage is then accepted in either
    form and is not demanded. Set it to None as well (`dataclasses.replace`) for a
    provider that sent no usage although it was asked to, since figures are never
    invented. `tools` and `n` change no rule; they tell tests what was asked.
    """

    stream: bool = True
    include_usage: bool | None = False
    tools: bool = False
    forced_tool: bool = False
    n: int = 1

    @classmethod
    def from_body(cls, body: dict[str, object] | None, *, stream: bool) -> "Request":
        """Read a request's JSON body; None stands for one that was not recorded."""
        if body is None:
            return cls(stream=stream, include_usage=None)
        choice = _dict(body.get("tool_choice"))
        named = _dict(choice.get("function")) or _dict(choice.get("custom"))
        asked = _dict(body.get("stream_options")).get("include_usage") is True
        return cls(
            stream=stream,
            include_usage=asked,
            tools=bool(body.get("tools")),
            forced_tool=bool(named.get("name")),
            n=_int(body.get("n")) or 1,
        )


# ------------------------------------------------------------------------- events

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


# ---------------------------------------------------- the types of OpenAI's library
# The models of `openai.types.chat` as data. An optional field may be absent or null,
# keys that are not named are free, and no type is coerced into another.

type _Check = Callable[[object, str], Iterator[str]]


def _kind(name: str, test: Callable[[object], bool]) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not test(value):
            yield f"{path} is not {name}"

    return check


def _one_of(*values: str) -> _Check:
    return _kind(
        f"one of {', '.join(values)}", lambda v: isinstance(v, str) and v in values
    )


def _list_of(item: _Check) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"{path} is not a list"
        for position, entry in enumerate(_list(value)):
            yield from item(entry, f"{path}[{position}]")

    return check


def _map_of(item: _Check) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path} is not an object"
        for key, entry in _dict(value).items():
            yield from item(entry, f"{path}.{key}")

    return check


def _record(
    needed: dict[str, _Check], optional: dict[str, _Check] | None = None
) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path or 'the value'} is not an object"
            return
        dot = f"{path}." if path else ""
        for key, part in needed.items():
            if key in value:
                yield from part(value[key], dot + key)
            else:
                yield f"{dot}{key} is missing"
        for key, part in (optional or {}).items():
            if value.get(key) is not None:
                yield from part(value[key], dot + key)

    return check


def _tagged(variants: dict[str, _Check]) -> _Check:
    def check(value: object, path: str) -> Iterator[str]:
        variant = variants.get(_str(_dict(value).get("type")))
        if variant is None:
            yield f"{path}.type is not one of {', '.join(variants)}"
        else:
            yield from variant(value, path)

    return check


_STRING = _kind("a string", lambda v: isinstance(v, str))
_INTEGER = _kind("an integer", lambda v: _int(v) is not None)
_NUMBER = _kind("a number", lambda v: isinstance(v, float) or _int(v) is not None)
_BOOLEAN = _kind("a boolean", lambda v: isinstance(v, bool))

_FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter", "function_call")

_TOP_LOGPROB = _record(
    {"token": _STRING, "logprob": _NUMBER}, {"bytes": _list_of(_INTEGER)}
)
_TOKEN_LOGPROB = _record(
    {"token": _STRING, "logprob": _NUMBER, "top_logprobs": _list_of(_TOP_LOGPROB)},
    {"bytes": _list_of(_INTEGER)},
)
_LOGPROBS = _record(
    {}, {"content": _list_of(_TOKEN_LOGPROB), "refusal": _list_of(_TOKEN_LOGPROB)}
)
_USAGE = _record(
    dict.fromkeys(("completion_tokens", "prompt_tokens", "total_tokens"), _INTEGER),
    {
        "completion_tokens_details": _record(
            {},
            dict.fromkeys(
                (
                    "accepted_prediction_tokens",
                    "audio_tokens",
                    "reasoning_tokens",
                    "rejected_prediction_tokens",
                ),
                _INTEGER,
            ),
        ),
        "prompt_tokens_details": _record(
            {},
            dict.fromkeys(
                ("audio_tokens", "cache_write_tokens", "cached_tokens"), _INTEGER
            ),
        ),
    },
)
_MODERATION_SIDE = _tagged(
    {
        "moderation_results": _record(
            {
                "model": _STRING,
                "results": _list_of(
                    _record(
                        {
                            "categories": _map_of(_BOOLEAN),
                            "category_applied_input_types": _map_of(
                                _list_of(_one_of("text", "image"))
                            ),
                            "category_scores": _map_of(_NUMBER),
                            "flagged": _BOOLEAN,
                            "model": _STRING,
                            "type": _one_of("moderation_result"),
                        }
                    )
                ),
            }
        ),
        "error": _record({"code": _STRING, "message": _STRING}),
    }
)
_ENVELOPE_OPTIONAL = {
    "moderation": _record({"input": _MODERATION_SIDE, "output": _MODERATION_SIDE}),
    "service_tier": _one_of("auto", "default", "flex", "scale", "priority", "fast"),
    "system_fingerprint": _STRING,
    "usage": _USAGE,
}
_DELTA = _record(
    {},
    {
        "content": _STRING,
        "function_call": _record({}, {"arguments": _STRING, "name": _STRING}),
        "refusal": _STRING,
        "role": _one_of("developer", "system", "user", "assistant", "tool"),
        "tool_calls": _list_of(
            _record(
                {"index": _INTEGER},
                {
                    "id": _STRING,
                    "function": _record({}, {"arguments": _STRING, "name": _STRING}),
                    "type": _one_of("function"),
                },
            )
        ),
    },
)
_CHUNK = _record(
    {
        "id": _STRING,
        "choices": _list_of(
            _record(
                {"delta": _DELTA, "index": _INTEGER},
                {"finish_reason": _one_of(*_FINISH_REASONS), "logprobs": _LOGPROBS},
            )
        ),
        "created": _INTEGER,
        "model": _STRING,
        "object": _one_of("chat.completion.chunk"),
    },
    _ENVELOPE_OPTIONAL,
)
_MESSAGE = _record(
    {"role": _one_of("assistant")},
    {
        "content": _STRING,
        "refusal": _STRING,
        "annotations": _list_of(
            _record(
                {
                    "type": _one_of("url_citation"),
                    "url_citation": _record(
                        {
                            "end_index": _INTEGER,
                            "start_index": _INTEGER,
                            "title": _STRING,
                            "url": _STRING,
                        }
                    ),
                }
            )
        ),
        "audio": _record(
            {
                "id": _STRING,
                "data": _STRING,
                "expires_at": _INTEGER,
                "transcript": _STRING,
            }
        ),
        "function_call": _record({"arguments": _STRING, "name": _STRING}),
        "tool_calls": _list_of(
            _tagged(
                {
                    "function": _record(
                        {
                            "id": _STRING,
                            "function": _record(
                                {"arguments": _STRING, "name": _STRING}
                            ),
                        }
                    ),
                    "custom": _record(
                        {
                            "id": _STRING,
                            "custom": _record({"input": _STRING, "name": _STRING}),
                        }
                    ),
                }
            )
        ),
    },
)
_COMPLETION = _record(
    {
        "id": _STRING,
        "choices": _list_of(
            _record(
                {
                    "finish_reason": _one_of(*_FINISH_REASONS),
                    "index": _INTEGER,
                    "message": _MESSAGE,
                },
                {"logprobs": _LOGPROBS},
            )
        ),
        "created": _INTEGER,
        "model": _STRING,
        "object": _one_of("chat.completion"),
    },
    _ENVELOPE_OPTIONAL,
)


def chunk_faults(value: object) -> list[str]:
    """List where a value differs from `openai.types.chat.ChatCompletionChunk`."""
    return list(_CHUNK(value, ""))


def completion_faults(value: object) -> list[str]:
    """List where a value differs from `openai.types.chat.ChatCompletion`."""
    return list(_COMPLETION(value, ""))


# ----------------------------------------------------------- the form of a stream


@dataclass
class _ChoiceState:
    """What one choice of a stream has shown so far."""

    deltas: int = 0
    null_content_at: int | None = None
    calls: int = 0
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
            value = None if text == "[DONE]" else _load(text)
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
            self.say("envelope", event, "is no object")

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
        choices = [_dict(choice) for choice in _list(chunk.get("choices"))]
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
        index = _int(choice.get("index"))
        if index is None:
            return
        state = self.choices.setdefault(index, _ChoiceState())
        if state.finished:
            self.say("finish", event, f"goes on with choice {index} after its finish")
        delta = _dict(choice.get("delta"))
        self.role(event, index, delta, first=not state.deltas)
        self.content(event, index, delta, state)
        calls = [_dict(call) for call in _list(delta.get("tool_calls"))]
        for call in calls:
            self.tool_call(event, call, state)
        state.deltas += 1
        reason = choice.get("finish_reason")
        if reason is None:
            return
        state.finished = True
        if reason == "stop" and state.calls and not self.request.forced_tool:
            self.say("finish", event, f"ends choice {index} with stop after tool calls")

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
        index = _int(call.get("index"))
        if index is None:
            return
        function = _dict(call.get("function"))
        arguments = function.get("arguments")
        if index >= state.calls or index < 0:
            if index != state.calls:
                self.say("tool-calls", event, f"skips to call {index}")
            state.calls = max(state.calls, index + 1)
            for key, usable in (
                ("id", bool(_str(call.get("id")))),
                ("type", call.get("type") == "function"),
                ("name", bool(_str(function.get("name")))),
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
        # Where no finish reason came, there is none to ride on.
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
    created = _int(value.get("created"))
    if created is not None and created <= 0:
        yield "has a created that is not above 0"


def _error_faults(error: object, *, every_key: bool = False) -> Iterator[str]:
    if not isinstance(error, dict):
        yield "has an error that is no object"
        return
    if not _str(error.get("message")):
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


# ------------------------------------------------------------- the form of a body


def _body_object(data: bytes) -> tuple[dict[str, object], list[str]]:
    try:
        value = _load(data.decode())
    except ValueError as error:
        return {}, [f"framing: the body is not JSON in UTF-8 ({error})"]
    if not isinstance(value, dict):
        return {}, ["framing: the body is no JSON object"]
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
    for position, choice in enumerate(_list(body.get("choices"))):
        faults += _body_choice_faults(_dict(choice), f"choice {position}", request)
    return faults


def _body_choice_faults(
    choice: dict[str, object], where: str, request: Request
) -> Iterator[str]:
    message = _dict(choice.get("message"))
    reason = choice.get("finish_reason")
    for key in ("tool_calls", "function_call"):
        if key in message and message[key] is None:
            yield f"content: {where} has a null {key}"
    excused = _brings_other_than_text(message) or reason == "content_filter"
    if message.get("content") is None and not excused:
        yield f"content: {where} has null content"
    calls = [_dict(call) for call in _list(message.get("tool_calls"))]
    for call in calls:
        named = _dict(call.get("function")) or _dict(call.get("custom"))
        if call.get("id") == "" or named.get("name") == "":
            yield f"tool-calls: {where} has a call with an empty id or name"
    if reason == "stop" and calls and not request.forced_tool:
        yield f"finish: {where} ends with stop after tool calls"


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


# ------------------------------------------------------------------------ meaning


@dataclass
class Call:
    """One tool call, put together from its fragments."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    as_object: bool = False  # sent as JSON, not as a string: only its value counts


@dataclass
class Choice:
    """One choice, put together from its chunks."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)
    function_call: Call | None = None
    finish_reason: str | None = None
    logprobs: list[object] = field(default_factory=list)
    as_object: bool = False  # content sent as JSON, not as a string


@dataclass(frozen=True)
class Error:
    """One error: everything it says in words, and its code."""

    texts: tuple[str, ...]
    code: str = ""

    @property
    def message(self) -> str:
        """The words as one text."""
        return "; ".join(self.texts)


@dataclass
class Meaning:
    """What a client that forgives everything takes from a response."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, object] | None = None
    errors: list[Error] = field(default_factory=list)
    done: bool = False
    streamed: bool = True
    unread: list[str] = field(default_factory=list)  # what makes no sense at all
    # Texts of what may be an error or a notice; empty ones stand for any.
    doubtful: list[str] = field(default_factory=list)


def meaning_of_stream(data: bytes) -> Meaning:
    """Read a stream however careless; a JSON body in its place is read as well."""
    return _Reader().read(data)


def meaning_of_body(data: bytes) -> Meaning:
    """Read a JSON body however careless; a stream in its place is read as well."""
    return _Reader().read(data)


def values(data: bytes) -> list[object]:
    """List what a client that forgives everything finds in a stream or a body."""
    reader = _Finder()
    reader.read(data)
    return reader.found


_REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
_PREFIXES = re.compile(r"\s*(?:data:\s*)*")
_DONE = object()
# A field may come without its colon: it is empty then.
_NAMED_ERROR = re.compile(r"event:\s*error\s*$", re.IGNORECASE)
_OTHER_FIELD = re.compile("(?:event|id|retry)?:|(?:event|id|retry)$")


@dataclass
class _Open:
    """The state that only merging needs, per choice."""

    calls: list[Call] = field(default_factory=list)
    by_index: dict[int, Call] = field(default_factory=dict)
    has_delta: bool = False


class _Reader:
    """Reads events of any provider into one meaning."""

    def __init__(self) -> None:
        self.meaning = Meaning()
        self.open: dict[int, _Open] = {}
        self.usage_elsewhere: dict[str, object] | None = None

    def read(self, data: bytes) -> Meaning:
        text = data.decode("utf-8-sig", errors="replace")
        try:
            whole = _TOLERANT.decode(text)
        except (ValueError, RecursionError):
            self.stream(text)
        else:
            self.meaning.streamed = False
            self.take(whole)
        meaning = self.meaning
        if meaning.usage is None:
            meaning.usage = self.usage_elsewhere
        for index, state in self.open.items():
            # Some streams end with a fragment that is all null; it is no call.
            calls = [call for call in state.calls if call.name or call.arguments]
            meaning.choices[index].calls = calls
        return meaning

    # transport

    def stream(self, text: str) -> None:
        lines = re.split(r"\r\n|\r|\n", text)
        # Who reads names reads an error, though it has no words.
        self.meaning.doubtful = [""] if any(map(_NAMED_ERROR.match, lines)) else []
        if not any(self.is_payload(line) for line in lines):
            if all(map(_OTHER_FIELD.match, filter(None, lines))):
                return  # keep-alives only: they say nothing
            self.meaning.streamed = False
            self.meaning.unread.append(text.strip())
            return
        block: list[str] = []
        for line in [*lines, ""]:
            if not line.strip():
                self.block(block)
                block = []
            elif not _OTHER_FIELD.match(line):
                # Without the prefix, too: JSON may stand there bare, or an error text.
                block.append(line)

    @staticmethod
    def is_payload(line: str) -> bool:
        return line.startswith("data:") or line.lstrip().startswith("{")

    def block(self, lines: list[str]) -> None:
        if not lines:
            return
        parts = [re.sub(r"^(?:data: ?)+", "", line) for line in lines]
        values, rest = _decode_many("\n".join(parts))
        if rest:  # a text may go on over lines
            values, rest = _decode_many("".join(parts))
        if rest:
            # Not one value over several lines, so each line is an event of its own.
            each = [_decode_many(part) for part in parts]
            found = [value for own, _ in each for value in own]
            if len([*filter(_dict, found)]) >= len([*filter(_dict, values)]):
                values = found
                self.meaning.unread += [left for _, left in each if left]
            else:  # values over several lines, and words behind the last
                self.meaning.unread.append(rest)
        for value in values:
            self.take(value)

    # one object

    def take(self, value: object) -> None:
        if value is _DONE:
            self.meaning.done = True
        elif isinstance(value, list):
            # Google puts an error into a list.
            for entry in value:
                self.take(entry)
        elif isinstance(value, dict):
            self.record(value)
        elif value is not None:
            self.meaning.unread.append(json.dumps(value))

    def record(self, value: dict[str, object]) -> None:
        error = _error_in(value)
        if error is not None:
            self.meaning.errors.append(error)
        if _has_notes(value):
            told = {key: value[key] for key in _WORDS if value.get(key)}
            self.meaning.doubtful += [*_leaves(told)] or [""]
        usage = value.get("usage")
        if isinstance(usage, dict) and usage:
            self.meaning.usage = usage
        other = _dict(value.get("x_groq")).get("usage")
        if isinstance(other, dict) and other:
            self.usage_elsewhere = other
        for position, choice in enumerate(_list(value.get("choices"))):
            if isinstance(choice, dict):
                self.choice(position, choice)
        if "choices" not in value:
            self.native(value)

    def native(self, value: dict[str, object]) -> None:
        """Read Workers AI's own form, in which the answer is not in choices."""
        result = value.get("result")
        if isinstance(result, dict):
            self.take(result)
        elif "response" in value or "tool_calls" in value:
            said = {
                "content": value.get("response"),
                "tool_calls": value.get("tool_calls"),
            }
            reason = value.get("finish_reason")
            self.choice(0, {"delta": said, "finish_reason": reason})

    def choice(self, position: int, raw: dict[str, object]) -> None:
        index = raw.get("index")
        if isinstance(index, str) and index.isdigit():
            index = int(index)
        number = _int(index)
        number = position if number is None else number
        choice = self.meaning.choices.setdefault(number, Choice())
        state = self.open.setdefault(number, _Open())
        delta = _dict(raw.get("delta"))
        message = _dict(raw.get("message"))
        if _says_something(delta) or not message:
            state.has_delta = state.has_delta or _says_something(delta)
            self.delta(choice, state, delta, whole=False)
        elif not state.has_delta:
            self.delta(choice, state, message, whole=True)
        if not delta and not message and isinstance(raw.get("text"), str):
            choice.text += _str(raw.get("text"))
        choice.logprobs += _logprobs(raw.get("logprobs"))
        reason = raw.get("finish_reason")
        if reason:  # `false`, `0` and the like say nothing
            choice.finish_reason = str(reason)
        usage = raw.get("usage")
        if isinstance(usage, dict) and usage:
            self.usage_elsewhere = usage
        error = _error_in(raw) if raw.get("error") else None
        if error is not None:
            self.meaning.errors.append(error)

    def delta(
        self, choice: Choice, state: _Open, said: dict[str, object], *, whole: bool
    ) -> None:
        content = said.get("content")
        text, thought = _parts(content)
        if whole and choice.text and text.startswith(choice.text):
            # A message in every chunk that grows holds what was said before, too.
            text = text[len(choice.text) :]
        choice.text += text
        choice.as_object = choice.as_object or isinstance(content, dict)
        choice.reasoning += thought
        spoken: list[str] = []
        for key in _REASONING_KEYS:
            reasoning = "".join(_parts(said.get(key)))
            if reasoning and reasoning not in spoken:
                spoken.append(reasoning)
        choice.reasoning += "".join(spoken)
        choice.refusal += _str(said.get("refusal"))
        legacy = said.get("function_call")
        if isinstance(legacy, dict) and any(legacy.values()):
            call = choice.function_call or Call()
            call.name = call.name or _str(legacy.get("name"))
            _add_arguments(call, legacy.get("arguments"))
            choice.function_call = call
        for fragment in _list(said.get("tool_calls")):
            if isinstance(fragment, dict):
                _merge(state, fragment)


class _Finder(_Reader):
    """Finds the values of a stream, and makes nothing of them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def take(self, value: object) -> None:
        if value is not _DONE:
            self.found.append(value)


def _decode_many(text: str) -> tuple[list[object], str]:
    """Decode the JSON values glued in a text; also give what could not be read."""
    values: list[object] = []
    place = _skip(text, 0)
    while place < len(text) and not text.startswith(":", place):
        if text.startswith("[DONE]", place):
            values.append(_DONE)
            place += len("[DONE]")
        else:
            try:
                value, place = _TOLERANT.raw_decode(text, place)
            except (ValueError, RecursionError):
                return values, text[place:].strip()
            values.append(value)
        place = _skip(text, place)
    return values, ""


def _skip(text: str, place: int) -> int:
    """Go over blanks, and over prefixes that were written twice."""
    match = _PREFIXES.match(text, place)
    return match.end() if match else place


def _says_something(said: dict[str, object]) -> bool:
    keys = ("content", *_REASONING_KEYS, "refusal", "function_call", "tool_calls")
    return any(said.get(key) for key in keys)


def _parts(content: object) -> tuple[str, str]:
    """Give the text and the reasoning in a content: string, parts or a JSON value."""
    if content is None:
        return "", ""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return _canonical(content), ""
    text = thought = ""
    for part in content:
        if isinstance(part, str):
            text += part
            continue
        entry = _dict(part)
        kind = _str(entry.get("type"))
        if kind in ("thinking", "reasoning", "summary_text"):
            for key in ("thinking", "reasoning", "summary", "text"):
                thought += "".join(_parts(entry.get(key)))
        else:
            text += _str(entry.get("text"))
    return text, thought


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _complete_object(arguments: str) -> bool:
    try:
        return isinstance(_TOLERANT.decode(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _add_arguments(call: Call, arguments: object) -> None:
    if isinstance(arguments, str):
        call.arguments += arguments
    elif arguments is not None:
        call.arguments += _canonical(arguments)
        call.as_object = True


def _merge(state: _Open, fragment: dict[str, object]) -> None:
    """Add one fragment to the call that it belongs to, or open a new one."""
    function = (
        _dict(fragment.get("function")) or _dict(fragment.get("custom")) or fragment
    )
    name = _str(function.get("name"))
    raw_id = fragment.get("id")
    call_id = "" if raw_id is None else str(raw_id)
    arguments = function.get("arguments", function.get("input"))
    whole = isinstance(arguments, dict) or _complete_object(_str(arguments))
    index = _int(fragment.get("index"))
    known = next((c for c in state.calls if call_id and c.id == call_id), None)
    if index is not None:
        call = state.by_index.get(index)
        if call is None and not name:
            call = known
    else:
        call = known if call_id else next(reversed(state.calls), None)
        if call is not None and not call_id and name and call.name not in ("", name):
            call = None
    if call is not None and _opens_another(call, call_id, name, whole=whole):
        call = None
    if call is None:
        call = Call()
        state.calls.append(call)
    elif whole and call.id and call.id == call_id and _same(call.arguments, arguments):
        return  # the same whole call, sent once more
    if index is not None:
        state.by_index[index] = call
    call.id = call.id or call_id
    call.name = call.name or name
    _add_arguments(call, arguments)


def _opens_another(call: Call, call_id: str, name: str, *, whole: bool) -> bool:
    """Say whether a fragment aimed at a call is the opening of another one."""
    if not name:
        return False
    if call_id and call.id:
        return call_id != call.id
    if call_id or not call.name:
        return False
    # Without ids, only a second whole call can be told from a repeated name.
    return whole and _complete_object(call.arguments)


def _same(text: str, arguments: object) -> bool:
    if isinstance(arguments, str):
        return text == arguments
    return text == _canonical(arguments)


def _logprobs(raw: object) -> list[object]:
    """Give (token, log probability, alternatives) for every token."""
    record = _dict(raw)
    found: list[object] = []
    for key in ("content", "refusal"):
        for entry in _list(record.get(key)):
            token = _dict(entry)
            others = [
                (_dict(top).get("token"), _dict(top).get("logprob"))
                for top in _list(token.get("top_logprobs"))
            ]
            found.append((token.get("token"), token.get("logprob"), others))
    tokens = _list(record.get("tokens"))
    found += [
        (token, logprob, [])
        for token, logprob in zip(
            tokens, _list(record.get("token_logprobs")), strict=False
        )
    ]
    return found


def _error_in(value: dict[str, object]) -> Error | None:
    """Find the error in an object, in any of the shapes that providers use."""
    code: object
    texts: tuple[str, ...]
    error = value.get("error")
    status = _dict(value.get("base_resp"))
    if error:
        inner = _dict(error)
        code = inner.get("code", value.get("code"))
        texts = _error_texts(error) or tuple(_leaves(error))
        texts += tuple(_leaves(value.get("errors")))  # they stay beside it
    elif _tells_errors(value):
        several = value["errors"]
        first = next(filter(None, _list(several)), several)
        code = _dict(first).get("code")
        texts = _error_texts(several) or tuple(_leaves(several))
    elif status.get("status_code") not in (0, None):
        code, texts = status["status_code"], _error_texts(status.get("status_msg"))
    elif not {"choices", "response", "result", "tool_calls", "usage"} & set(value):
        code, texts = value.get("code"), _error_texts(value)
    else:
        return None
    if not texts and not (error or _tells_errors(value)):
        return None  # of those, there has to be an error even without words
    told = isinstance(code, str | int) and not isinstance(code, bool)
    return Error(texts, str(code) if told else "")


def _tells_errors(value: dict[str, object]) -> bool:
    """Say whether `errors` tells of one, and is no count or note beside an answer."""
    several = value.get("errors")
    if value.get("success") is False or value.get("choices") == []:
        return any(several) if isinstance(several, list) else bool(several)
    return "choices" in value and isinstance(several, list) and any(several)


def _has_notes(value: dict[str, object]) -> bool:
    """Say whether `errors` stand beside choices, or words beside some that say nothing.

    Of a notice and an error in words alone, nobody can say which it is.
    """
    if "choices" in value and value.get("errors"):
        return True
    parts = [_dict(choice) for choice in _list(value.get("choices"))]
    said = [_dict(part.get(key)) for part in parts for key in ("delta", "message")]
    keys = ("text", "finish_reason", "logprobs")
    return (
        "choices" in value
        and not any(part.get(key) for part in parts for key in keys)
        and not any(
            each for part in said for key, each in part.items() if key != "role"
        )
        and any(value.get(key) for key in _WORDS)
    )


def _leaves(value: object) -> Iterator[str]:
    """Yield what stands in an error that has no words under the keys for them."""
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    elif value and isinstance(value, str | int) and not isinstance(value, bool):
        # They are told as JSON, in which some characters are written in other ways.
        yield from filter(None, re.split(r'["\\\x00-\x1f]+', str(value)))


_WORDS = ("message", "msg", "detail", "errors", "title", "error", "error_msg")


def _error_texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, list):
        return tuple(text for entry in value for text in _error_texts(entry))
    record = _dict(value)
    for key in _WORDS:
        texts = _error_texts(record[key]) if key in record else ()
        if texts:
            return texts
    return ()


# --------------------------------------------------------------------- comparison

# What providers say instead of OpenAI's reasons; others count by their sense, see `_meant`.
SYNONYMS = {
    "stop": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end": "stop",
    "end_turn": "stop",
    "normal": "stop",
    "complete": "stop",
    "completed": "stop",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "function_call",
    "content_filter": "content_filter",
    "content_filter_results": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "sensitive": "content_filter",
    "abort": "length",
    "cancelled": "length",
    "insufficient_system_resource": "length",
    "error": "error",
}

# What a word holds that says so, in this order; a failure must not become a success.
_SENSES = {
    "error": "error fail exception overload unavailable malformed invalid crash denied "
    "reject unauthorized quota busy network connection internal unexpected refused timeout "
    "time_out timed_out out_of_memory abnormal insufficient throttl unreachable forbidden "
    "segfault oomkilled http_4 http_5",
    "length": "length limit truncat context abort cancel interrupt preempt incomplete",
    "content_filter": "safety moderation policy unsafe prohibit guardrail",
}
_SENSES_OF_PARTS = {
    "error": "fault kill killed panic oom bad rate err",
    "length": "max maximum token tokens",
    "content_filter": "filter filtered sensitive block blocked",
    "tool_calls": "tool tools function functions",
}

_USAGE_ALIASES = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
}


def lost(before: Meaning, after: Meaning, *, broke: bool = False) -> list[str]:
    """List what was lost, changed or made up on the way from one to the other.

    `broke` says that the connection broke: a finish reason that was waiting then may
    be missing.
    """
    faults: list[str] = []
    for index in sorted(before.choices.keys() | after.choices.keys()):
        was = before.choices.get(index, Choice())
        now = after.choices.get(index, Choice())
        where = f"choice {index}"
        faults += [f"{where}: {fault}" for fault in _lost_in_choice(was, now)]
        fault = _finish_fault(was, now, before, after, broke=broke)
        if fault:
            faults.append(f"{where}: {fault}")
    faults += _lost_usage(before, after)
    faults += _lost_errors(before, after)
    if before.streamed and after.streamed:
        # One that never said anything need not show, and has no end then.
        choices = [c for at, c in before.choices.items() if at in after.choices]
        ended = all(c.finish_reason and not _has_failed(c) for c in choices)
        earned = ended and bool(choices) and not before.errors
        if before.done and not after.done:
            faults.append("done: [DONE] was lost")
        elif after.done and not before.done and not earned:
            faults.append("done: [DONE] was made up")
    return faults


def _lost_in_choice(was: Choice, now: Choice) -> Iterator[str]:
    if was.text != now.text and not (was.as_object and _equal_json(was.text, now.text)):
        yield f"text {_show(was.text)} became {_show(now.text)}"
    for what, old, new in (
        ("reasoning", was.reasoning, now.reasoning),
        ("refusal", was.refusal, now.refusal),
    ):
        if old != new:
            yield f"{what} {_show(old)} became {_show(new)}"
    if was.logprobs != now.logprobs:
        yield f"{len(was.logprobs)} log probabilities became {len(now.logprobs)} others"
    if len(was.calls) != len(now.calls):
        yield f"{len(was.calls)} tool calls became {len(now.calls)}"
    ids = [call.id for call in was.calls]
    for number, (old_call, new_call) in enumerate(
        zip(was.calls, now.calls, strict=False)
    ):
        keep_id = ids.count(old_call.id) == 1
        yield from _lost_in_call(f"call {number}", old_call, new_call, keep_id=keep_id)
    said = was.function_call
    more = now.function_call or Call()
    if said is not None and not more.name:
        calls = [*was.calls, *_joined(was.calls)]
        calls += now.calls  # there, one without arguments has got those it lacked
        if any(_tells(call, said, more.arguments) for call in calls):
            return  # it is told, as a tool call
    if was.function_call or now.function_call:
        old_call = was.function_call or Call()
        new_call = now.function_call or Call()
        yield from _lost_in_call("function_call", old_call, new_call, keep_id=False)


def _joined(calls: list[Call]) -> Iterator[Call]:
    """Yield the calls of each name as one: those of several look like those of one."""
    for name in {call.name for call in calls}:
        yield Call("", name, "".join(c.arguments for c in calls if c.name == name))


def _tells(call: Call, legacy: Call, rest: str) -> object:
    """Tell whether *call* says all that *legacy* does, but the *rest* of its arguments."""
    told = (rest, call.arguments + rest)
    # Each event that tells the call again may tell all of this one, too.
    again = call.arguments and not legacy.arguments.replace(call.arguments, "")
    return legacy.name in ("", call.name) and (again or legacy.arguments in told)


def _lost_in_call(what: str, old: Call, new: Call, *, keep_id: bool) -> Iterator[str]:
    if old.name and old.name != new.name:
        yield f"{what}: name {old.name!r} became {new.name!r}"
    same = old.arguments == new.arguments or (
        old.as_object and _equal_json(old.arguments, new.arguments)
    )
    # A call without arguments is written either way.
    if not same and not (not old.arguments and new.arguments == "{}"):
        texts = f"{_show(old.arguments)} became {_show(new.arguments)}"
        yield f"{what}: arguments {texts}"
    if keep_id and old.id and old.id != new.id:
        yield f"{what}: id {old.id!r} became {new.id!r}"


def _finish_fault(
    was: Choice, now: Choice, before: Meaning, after: Meaning, *, broke: bool
) -> str:
    old, new = was.finish_reason, now.finish_reason
    if old == new:
        return ""
    if old is None:
        # A body is whole by being there; a stream only by the provider's [DONE].
        if before.errors or (before.streamed and after.streamed and not before.done):
            return f"finish reason {new!r} was made up"
        return ""
    meant = _meant(old)
    if new is None:
        failed = meant == "error" and (after.errors or broke)
        return "" if failed or broke else f"finish reason {old!r} was lost"
    allowed = {meant}
    if was.calls and meant in ("stop", "function_call"):
        allowed.add("tool_calls")
    if meant == "error":
        allowed = set(_FINISH_REASONS) - {"stop", "tool_calls", "function_call"}
    return "" if new in allowed else f"finish reason {old!r} became {new!r}"


def _numbers(usage: object, path: str = "") -> Iterator[tuple[str, float]]:
    for key, value in _dict(usage).items():
        name = path + _USAGE_ALIASES.get(key, key)
        if isinstance(value, dict):
            yield from _numbers(value, f"{name}.")
        elif key.endswith("_tokens_details"):
            continue  # OpenAI's form has an object there, or null
        elif isinstance(value, bool):
            continue
        elif isinstance(value, int | float):
            yield name, value
        elif isinstance(value, str):
            try:
                yield name, float(value)
            except ValueError:
                continue


_COUNTS = {
    "completion_tokens",
    "prompt_tokens",
    "total_tokens",
    "completion_tokens_details.audio_tokens",
    "completion_tokens_details.reasoning_tokens",
    "prompt_tokens_details.audio_tokens",
    "prompt_tokens_details.cached_tokens",
}
_HUGE = 1e18


def _lost_usage(before: Meaning, after: Meaning) -> Iterator[str]:
    old, new = dict(_numbers(before.usage)), dict(_numbers(after.usage))
    if before.usage is None:
        if after.usage is not None and (after.streamed or any(new.values())):
            yield "usage: figures were made up"
        return
    if after.usage is None:
        if any(old.values()):
            yield "usage: it was lost"
        return
    for name, value in old.items():
        within_count = "_tokens." in name  # OpenAI's form has a number there
        # Where OpenAI's form has a whole number, a fraction is told without its rest.
        told = int(value) if name in _COUNTS and abs(value) < _HUGE else value
        if new.get(name) not in (value, told) and not within_count:
            yield f"usage: {name} {value} became {new.get(name)}"


def _lost_errors(before: Meaning, after: Meaning) -> Iterator[str]:
    told = [error.message for error in after.errors]
    for error in before.errors:
        kept = [
            other
            for other in after.errors
            if all(text in other.message for text in error.texts)
        ]
        if not kept:
            yield f"error: {_show(error.message)} was lost"
        elif error.code and all(other.code != error.code for other in kept):
            yield f"error: code {error.code!r} became {kept[0].code!r}"
    for text in before.unread:
        if text not in after.unread and not any(text in other for other in told):
            yield f"unread: {_show(text)} was lost"
    failed = any(map(_has_failed, before.choices.values()))
    if before.errors or before.unread or failed:
        return
    for text in told:
        if not any(each in text for each in before.doubtful):
            yield f"error: {_show(text)} was made up"


def _has_failed(choice: Choice) -> bool:
    """Say whether the finish reason of a choice may be a failure's."""
    reason = choice.finish_reason
    return reason is not None and _meant(reason) == "error"


def _meant(reason: str) -> str:
    """Return which of OpenAI's reasons *reason* is in other words, or `error`."""
    word = re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", reason.strip()).lower()
    word = re.sub(r"[\s_-]+", "_", word)
    known = SYNONYMS.get(re.sub("^finish_?reason[_.]", "", word.partition(":")[0]))
    if known:
        return known
    parts = set(re.findall("[a-z]+", word))
    parts -= {"token"} if "stop_token" in word else set()
    room = re.search("token|length|context", word)
    is_over = re.search("exceed|exhaust", word) and not room
    if is_over or re.fullmatch("[4-9][0-9]{2}|[1-9][0-9]{3,}", word):
        return "error"
    for meant in ("error", "length", "content_filter", "tool_calls"):
        held = any(each in word for each in _SENSES.get(meant, "").split())
        if held or parts & set(_SENSES_OF_PARTS[meant].split()):
            return meant
    return "stop"


def _equal_json(one: str, other: str) -> bool:
    try:
        return bool(_TOLERANT.decode(one) == _TOLERANT.decode(other))
    except (ValueError, RecursionError):
        return False


def _show(text: str) -> str:
    return repr(text if len(text) < 60 else f"{text[:40]}…{text[-15:]}")
