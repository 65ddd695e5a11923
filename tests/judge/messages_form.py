"""The form of Anthropic's Messages: what must follow what in a stream, and what is in a body.

What an event or an object holds is what the types of Anthropic's SDK say (`messages.json`); the
rest is written from its documentation and from what its clients read, without a look at the
code that makes such streams.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from judge import typed

type Object = dict[str, Any]

_TYPES = typed.written("messages.json")
_EVENTS: dict[str, Any] = {
    name: kind for kind in _TYPES.values() for name in typed.tags(kind)
}
# The documentation has it, for a request of more than 32 MB; the type does not.
ERRORS = {*get_args(_TYPES["ErrorType"]), "request_too_large"}
_DELTAS = {
    "text": {"text_delta": "text"},
    "thinking": {"thinking_delta": "thinking", "signature_delta": "signature"},
    "tool_use": {"input_json_delta": "partial_json"},
}
_STARTS: dict[str, Object] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    "tool_use": {"type": "tool_use", "input": {}},
}


class Reader:
    """Reads a stream as a strict client does.

    Attributes:
        faults: The rules that it breaks.
        message: What it adds up to; the input of a tool as the text that was sent.
        error: The error that ended it.
        has_stopped: Whether it has come to its end.
    """

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.message: Object = {}
        self.error: Object | None = None
        self.has_stopped = False
        self._number = 0
        self._open: Object | None = None
        self._has_delta = False

    def read(self, events: Iterable[tuple[str, Object]]) -> "Reader":
        """Take events, in order."""
        for name, data in events:
            self._event(name, data)
            self._number += 1
        return self

    def end(self) -> "Reader":
        """Require that nothing is missing."""
        if not (self.has_stopped or self.error):
            self._say("is missing: message_stop, or an error")
        return self

    def _say(self, fault: str) -> None:
        self.faults.append(f"event {self._number} {fault}")

    def _need(self, condition: object, fault: str) -> None:
        if not condition:
            self._say(fault)

    def _event(self, name: str, data: Object) -> None:
        self._need(data.get("type") == name, "has another name than type")
        self._need(not self.has_stopped, "is behind message_stop")
        self._need(self.error is None, "is behind an error")
        early = not self.message and name not in ("message_start", "ping", "error")
        if early:
            self._say("is before message_start")
            return
        try:
            json.dumps(data, allow_nan=False)
        except (TypeError, ValueError):
            self._say("is no JSON")
        handle = getattr(self, f"_{name}", None)
        self._need(handle, f"has an unknown name, {name}")
        faults = [*typed.faults(data, _EVENTS.get(name, Any), name)]
        self.faults += faults
        if handle and not faults:
            handle(data)

    def _ping(self, data: Object) -> None:
        self._need(data == {"type": "ping"}, "says more than a ping")

    def _message_start(self, data: Object) -> None:
        self._need(not self.message, "starts a second message")
        self.message = json.loads(json.dumps(data["message"]))
        self.faults += list(_frame_faults(self.message))
        self._need(self.message["content"] == [], "starts with content")
        self.message["content"] = []
        self._need(self.message.get("stop_reason", 0) is None, "starts with a reason")

    def _content_block_start(self, data: Object) -> None:
        blocks = self.message["content"]
        self._need(data["index"] == len(blocks), "has the wrong index")
        self._need(self._open is None, "starts a block in another")
        self._need("stop_reason" not in self.message or not self.message["stop_reason"],
                   "starts a block behind message_delta")  # fmt: skip
        block = dict(data["content_block"])
        said = {k: v for k, v in block.items() if k not in ("id", "name")}
        self._need(said == _STARTS[block["type"]], "starts a block with more")
        if block["type"] == "tool_use":
            self.faults += list(_call_faults(block))
            block["input"] = ""
        self._open = block
        self._has_delta = False
        blocks.append(block)

    def _content_block_delta(self, data: Object) -> None:
        block, delta = self._at(data), data["delta"]
        key = _DELTAS.get(block.get("type", ""), {}).get(delta["type"])
        if key is None:
            self._say(f"has no delta of a block {block.get('type')}")
            return
        self._need(delta.keys() == {"type", key}, "has a delta with other keys")
        self._need(delta[key], "has an empty delta")
        self._need(not block.get("signature"), "goes on behind a signature")
        to = "input" if key == "partial_json" else key
        block[to] += delta[key]
        self._has_delta = self._has_delta or key != "signature"

    def _content_block_stop(self, data: Object) -> None:
        block = self._at(data)
        self._need(self._has_delta, "ends an empty block")
        signed = block.get("type") != "thinking" or block["signature"].strip()
        self._need(signed, "ends thoughts without a signature")
        self._open = None

    def _at(self, data: Object) -> Object:
        at = len(self.message["content"]) - 1
        self._need(data["index"] == at, "has the index of another block")
        self._need(self._open is not None, "is of no open block")
        return self._open or {}

    def _message_delta(self, data: Object) -> None:
        self._need(self._open is None, "ends a message in a block")
        self._need(not self.message["stop_reason"], "is a second message_delta")
        delta = data["delta"]
        self._need({"stop_reason", "stop_sequence"} == set(delta), "has other keys")
        self.message |= delta
        self.faults += list(_reason_faults(self.message))
        self.faults += list(_usage_faults(data["usage"]))
        self.message["usage"] = data["usage"]

    def _message_stop(self, data: Object) -> None:
        self._need(data == {"type": "message_stop"}, "says more than a stop")
        self._need(self.message.get("stop_reason"), "stops without message_delta")
        self.has_stopped = True

    def _error(self, data: Object) -> None:
        self.faults += check_error(data)
        self.error = data.get("error")


def read(events: Iterable[tuple[str, Object]]) -> Reader:
    """Read a complete stream."""
    return Reader().read(events).end()


def check_body(body: Object) -> list[str]:
    """List what of a whole message is wrong."""
    faults = [*typed.faults(body, _TYPES["Message"], "message")]
    if faults:
        return faults
    faults += [*_frame_faults(body), *_reason_faults(body)]
    for block in body["content"]:
        kind = block["type"]
        keys = {"id", "name"} if kind == "tool_use" else set()
        if set(block) != set(_STARTS[kind]) | keys:
            faults.append(f"a block {kind} has other keys")
        if kind == "tool_use":
            faults += _call_faults(block)
        elif not all(block.values()):
            faults.append(f"a block {kind} is empty")
    return faults


def check_error(body: Object) -> list[str]:
    """List what of an error is wrong, of a body or of an event."""
    error = body.get("error") or {}
    good = (
        body.keys() == {"type", "error"}
        and body["type"] == "error"
        and error.keys() - {"details"} == {"type", "message"}
        and error["type"] in ERRORS
        and isinstance(error["message"], str)
        and error["message"]
    )
    return [] if good else ["the error has another form"]


def _frame_faults(message: Object) -> Iterator[str]:
    for key in ("id", "model"):
        if not message[key]:
            yield f"the message has no {key}"
    if "stop_sequence" not in message:
        yield "the message has no stop_sequence"
    yield from _usage_faults(message["usage"])


def _usage_faults(usage: Object) -> Iterator[str]:
    keys = {"input_tokens", "output_tokens", "cache_read_input_tokens"}
    figures = [usage.get(key) for key in keys | {"cache_creation_input_tokens"}]
    if not all(each is not None and each >= 0 for each in figures):
        yield "the usage lacks a figure"


def _reason_faults(message: Object) -> Iterator[str]:
    reason = message.get("stop_reason")
    if reason is None:
        yield "the message has no stop_reason"
    has_call = any(each["type"] == "tool_use" for each in message["content"])
    if (reason == "tool_use") != has_call and reason not in ("max_tokens", "refusal"):
        yield f"the stop_reason is {reason}, calls or not"


def _call_faults(block: Object) -> Iterator[str]:
    for key in ("id", "name"):
        if not block[key]:
            yield f"a call has no {key}"
