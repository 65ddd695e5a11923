"""A provider that speaks Responses and Messages itself, nearly, through a session.

It reads a request as chat, and says in the client's protocol what a `Session` says in chat:
as the addon would, whose translations are right by their judges (`judge`). Over the events
lies a fault, another one in each answer.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import native_faults
from clients.families.shapes import Json, dumps
from clients.session import Call, Session, Step
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import (
    AnswerTranslator,
    Circumstances,
    ServerEvent,
)
from llm_normalize.protocols.responses import RESPONSES
from native_faults import Change, Data
from scripted import Script, body_script
from workshop.traffic.http1 import Request

PROTOCOLS = (RESPONSES, MESSAGES)
THOUGHTS = ("First ", "a thought.")
WORDS = ("Now ", "some words.")


class NativeSession(Session):
    """See `Session`.

    Args:
        steps: Its answers.
        helper: Those to a sub-agent.
        window: The characters of messages that it takes.
        faults: Those of the answers, from the first again behind the last.

    Attributes:
        asked: The requests with tools, in the client's protocol.
    """

    refuses: Collection[str] = ()

    def __init__(
        self,
        steps: Sequence[Step],
        helper: Sequence[Step] = (),
        window: int = 0,
        faults: Sequence[Change] = (),
    ) -> None:
        super().__init__(steps, helper, window)
        self._faults: Iterator[Change] = itertools.cycle(faults or [lambda _: None])
        self._numbers = itertools.count(1)
        self.asked: list[Json] = []

    def answer(self, request: Request) -> Script:
        """Return what a request is answered."""
        path = request.path.partition("?")[0]
        asked = json.loads(request.body) if request.body else {}
        for protocol in PROTOCOLS:
            for end, own in protocol.own_answers.items():
                if path.endswith(end):
                    return body_script(dumps(own(asked)))
            if path.endswith(f"/v1{protocol.path}"):
                with self._lock:
                    self._number = next(self._numbers)
                    under = Circumstances(f"answer-{self._number}", protocol.path)
                    made = protocol.translate(asked, under)
                    self._to = made.answer
                    self.asked += [asked] if made.body.get("tools") else []
                    return self._answer(made.body)
        return body_script(b"404 page not found\n", 404, "text/plain")

    def _said(self, text: str) -> Script:
        return self._native([{"content": each} for each in _halves(text)], "stop")

    def _called(self, calls: list[Call], most: int | None = None) -> Script:
        deltas: list[Json] = [{"content": each} for each in WORDS]
        for at, (name, arguments) in enumerate(calls):
            first, *rest = _halves(json.dumps(arguments)[:most])
            opening = native_faults.call(at, "", name)
            opening["tool_calls"][0]["id"] = f"call_{self._number}_{at}"
            deltas += [opening, *(native_faults.call(at, x) for x in (first, *rest))]
        return self._native(deltas, "tool_calls")

    def _native(self, deltas: list[Json], finish: str) -> Script:
        thoughts = [{"reasoning_content": each} for each in THOUGHTS]
        events = native_events(self._to, [*thoughts, *deltas], finish)
        return native_script(native_faults.made(events, next(self._faults)))


def native_events(
    answer: AnswerTranslator, deltas: Sequence[Json], finish: str
) -> list[Data]:
    """Return the events that say what chunks with these deltas say."""
    events = list[ServerEvent]()
    for delta, reason in [*((each, None) for each in deltas), ({}, finish)]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        events += answer.chunk({"created": 1700000000, "choices": [choice]})
    return [value for _, value in (*events, *answer.done())]


def body_of(events: list[Data]) -> list[Data]:
    """Return the whole answer that events tell, as the only one."""
    last = events[-1].get("response")
    if last is not None:
        return [last]
    message = events[0]["message"]
    texts = dict[int, dict[str, str]]()
    for each in events:
        if each["type"] == "content_block_start":
            message["content"].append(each["content_block"])
            texts[each["index"]] = {}
        elif each["type"] == "content_block_delta":
            _, (key, text) = each["delta"].items()
            told = texts[each["index"]]
            told[key] = told.get(key, "") + text
        elif each["type"] == "message_delta":
            message |= each["delta"] | {"usage": each["usage"]}
    for block, told in zip(message["content"], texts.values(), strict=True):
        given = told.pop("partial_json", None)
        block.update(told if given is None else {"input": json.loads(given)})
    return [message]


def native_script(events: Sequence[Data]) -> Script:
    """Return an answer of these events; one that is a whole answer is a body."""
    if len(events) == 1 and events[0].get("type") in (None, "message"):
        return body_script(dumps(events[0]))
    return Script("", [_wire(each) for each in events])


def _wire(event: Data) -> bytes:
    """Return an event; `event` in it is the name on its own line, if not its type."""
    if event.get("type") == "[DONE]":
        return b"data: [DONE]\n\n"
    name = event.pop("event", event.get("type", "error"))
    line = f"event: {name}\n" if name else ""
    return b"%bdata: %b\n\n" % (line.encode(), json.dumps(event).encode())


def _halves(text: str) -> list[str]:
    half = len(text) // 2
    return [text[:half], text[half:]]


_OWN = ("reasoning", "function_call", "custom_tool_call", "tool_search_call")
"""The types of a response's items beside messages."""
_RESULT = ("call_id", "tool_use_id")


def history(body: Json) -> Any:
    """Return what a request tells of the provider's answers, and which results are there.

    Ids are numbered in their order: results have their calls'.
    """
    ids = dict[str, int]()

    def plain(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: plain(v, k) for k, v in value.items() if v is not None}
        if isinstance(value, list):
            return [plain(each) for each in value]
        if key in ("id", "call_id", "tool_use_id"):
            return ids.setdefault(value, len(ids))
        return re.sub(r"/client-\w+", "", value) if isinstance(value, str) else value

    told, results = list[Any](), list[Any]()
    for item in body.get("input") or body["messages"]:
        if item.get("role") == "assistant" or item.get("type") in _OWN:
            told.append(plain(item))
        content = item.get("content")
        for each in (item, *(content if isinstance(content, list) else ())):
            if each.get("type", "").endswith(("_output", "tool_result")):
                results += [plain(each[key], key) for key in _RESULT if key in each]
    return told, sorted(results)  # of calls side by side, any may be the first
