"""A provider of chat alone that refuses what NIM refuses, through a session of many turns.

It calls tools, one step after the other, and looks in each request for what came of them. It
repeats its ids in each answer, has no usage, and answers 400 to two calls in one message, to
`parallel_tool_calls` and to images.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from clients.chat_only import nim
from clients.families.shapes import DONE, Json, data, dumps, nim_finish, opening
from scripted import Script, body_script
from workshop.traffic.http1 import Request

FINAL = "All is done."
HELPED = "The helper is done."
HELPER = "HELPER"
"""What is in the task of a sub-agent, and in no other."""
SUMMARY = "Some words were printed."
_COMPACTION = re.compile(
    r"CONTEXT CHECKPOINT COMPACTION|detailed summary of", re.IGNORECASE
)
_TOO_LONG = (
    "This model's maximum context length is 8192 tokens. However, you requested 8200 "
    "tokens (8200 in the messages, 0 in the completion)."
)
_REFUSED = {
    "length": _TOO_LONG,
    "calls": "This model only supports single tool-calls at once!",
    "images": "acme/wren-8b is not a multimodal model",
}

type Call = tuple[str, Json]
"""A tool's name, or how it ends, and its arguments."""


@dataclass(frozen=True)
class Step:
    """One answer, and what the next request of its conversation has to hold.

    Attributes:
        calls: The calls; or a function that makes them of the request.
        expects: Patterns for the messages.
        text: What is said, if nothing is called.
        stop: A file that is written when half of the answer is on its way; the other half
            never comes, for the client is interrupted then.
    """

    calls: Sequence[Call] | Callable[[Json], Sequence[Call]] = ()
    expects: Sequence[str] = ()
    text: str = ""
    stop: Path | None = None


class Session:
    """What a provider has said and seen in one session.

    Args:
        steps: Its answers.
        helper: Those to a sub-agent.
        window: The characters of messages that it takes beside those of the first request,
            if it is limited.

    Attributes:
        refuses: What is refused of a request beside its length.
        requests: The requests that were answered.
        refused: How often what was refused.
        faults: What was lost.
        compactions: How often a summary was asked for.
    """

    refuses: Collection[str] = ("calls", "images")

    def __init__(
        self, steps: Sequence[Step], helper: Sequence[Step] = (), window: int = 0
    ) -> None:
        self._steps = {False: [*steps], True: [*helper]}
        self._at = {False: 0, True: 0}
        self._window = window
        self._first = 0
        self.requests: list[Json] = []
        self.refused = Counter[str]()
        self.faults: list[str] = []
        self.compactions = 0
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether all steps were taken, each in its conversation."""
        return all(
            self._at[each] > len(steps) for each, steps in self._steps.items() if steps
        )

    def answer(self, request: Request) -> Script:
        """Return what a request is answered."""
        if not request.path.partition("?")[0].endswith("/v1/chat/completions"):
            return body_script(b"404 page not found\n", 404, "text/plain")
        with self._lock:
            return self._answer(json.loads(request.body))

    def _answer(self, asked: Json) -> Script:
        messages = asked["messages"]
        size = len(json.dumps(messages))
        self._first = self._first or size
        if why := self._refusal(asked, size - self._first):
            self.refused[why] += 1
            return body_script(dumps({"error": {"message": _REFUSED[why]}}), 400)
        self.requests.append(asked)
        words = [_text(each) for each in messages if each["role"] == "user"]
        is_helper = any(HELPER in each for each in words)
        if _COMPACTION.search(_text(messages[-1])):
            self.compactions += 1
            if not self.refused["length"]:  # else it was in what was refused
                self._look(messages, is_helper)
            return self._said(SUMMARY)
        if not asked.get("tools"):
            return self._said("A title")
        self._look(messages, is_helper)
        at = self._at[is_helper]
        self._at[is_helper] += 1
        if at >= len(self._steps[is_helper]):
            return self._said(HELPED if is_helper else FINAL)
        step = self._steps[is_helper][at]
        given = step.calls(asked) if callable(step.calls) else step.calls
        calls = [(_tool(name, asked), arguments) for name, arguments in given]
        if step.stop is None:
            return self._called(calls) if calls else self._said(step.text)
        step.stop.touch()
        half = self._called(calls, 7) if calls else self._said(step.text)
        return Script("", [*half.parts[:2], threading.Event()])

    def _said(self, text: str) -> Script:
        """Return an answer of text."""
        half = len(text) // 2
        choices = [
            {"index": 0, "delta": {"content": part}, "finish_reason": None}
            for part in (text[:half], text[half:])
        ]
        spoken = [{**opening(None), "choices": [each]} for each in choices]
        chunks = [opening(None), *spoken, *nim(None)[-2:-1]]
        return Script("", [*map(data, chunks), DONE])

    def _called(self, calls: list[Call], most: int | None = None) -> Script:
        """Return an answer of calls; of each no more than *most* of its arguments."""
        fragments = [
            {
                "index": at,
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)[:most]},
            }
            for at, (name, arguments) in enumerate(calls)
        ]
        choice = {"index": 0, "delta": {"tool_calls": fragments}, "finish_reason": None}
        last = nim_finish("tool_calls", {"role": None, "content": ""})
        chunks = [opening(None), {**opening(None), "choices": [choice]}, last]
        return Script("", [*map(data, chunks), DONE])

    def _refusal(self, asked: Json, grown: int) -> str | None:
        """Return what of a request is refused; it has *grown* since the first one."""
        messages = asked["messages"]
        is_summary = _COMPACTION.search(_text(messages[-1]))
        if self._window and grown > self._window and not is_summary:
            self._look(messages, is_helper=False)
            return "length"
        calls = [each.get("tool_calls") or [] for each in messages]
        found = {
            "calls": asked.get("parallel_tool_calls")
            or any(len(each) > 1 for each in calls),
            "images": '"image_url"' in json.dumps(messages),
        }
        return next((each for each in self.refuses if found[each]), None)

    def _look(self, messages: list[Json], is_helper: bool) -> None:
        """See that what came of the last step is there."""
        at = self._at[is_helper] - 1
        steps = self._steps[is_helper]
        said = "\n".join(_text(x) for x in messages if x["role"] != "system")
        for each in steps[at].expects if 0 <= at < len(steps) else ():
            if not re.search(each, said) and SUMMARY not in said:
                self.faults.append(f"step {at}: {each} is lost: {said[-2000:]}")


def _tool(name: str, asked: Json) -> str:
    """Return the one tool of a request whose name ends so; the name, if there is none."""
    found = [each for each in names(asked) if each.endswith(name)]
    return found[0] if len(found) == 1 else name


def names(asked: Json) -> list[str]:
    """Return the tools of a request."""
    return [each["function"]["name"] for each in asked.get("tools", ())]


def _text(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)
