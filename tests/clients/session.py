"""A provider of chat alone that refuses what NIM refuses, through a session of many turns.

It calls tools, one step after the other, and looks in each request for what came of them. It
repeats its ids in each answer, has no usage, and answers 400 to two calls in one message, to
`parallel_tool_calls` and to images.
"""

import json
import re
import threading
from collections import Counter

from clients.chat_only import nim
from clients.families.nulls import nim_finish
from clients.families.shapes import DONE, Json, data, dumps, opening
from scripted import Script, body_script
from workshop.traffic.http1 import Request

FINAL = "All is done."
SUMMARY = "Some words were printed."
TURNS = 25
IMAGE = 14
"""The step in which an image is read."""
_COMMANDS = {"Bash": "command", "exec_command": "cmd", "shell_command": "command"}
_READERS = {"Read": "file_path", "view_image": "path"}
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)
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


def mark(step: int, place: int = 0) -> str:
    """Return the word that a call prints."""
    return f"word-{step:02}-{place}-end"


def _printing(step: int) -> list[str]:
    """Return the commands of a step, each of which prints its mark."""
    word = mark(step)
    return {
        3: [f"echo {word}", f"echo {mark(step, 1)}"],
        6: [f"echo {word}; exit 3"],
        9: [f"echo {word}; head -c 200000 /dev/zero | tr '\\0' x"],
        12: [f"printf 'one\\n' > a.txt; echo {word}"],
        13: [f"printf {_PNG} | base64 -d > a.png; echo {word}; echo in=$PWD"],
        15: [f"echo {mark(step, place)}" for place in range(3)],
    }.get(step, [f"echo {word}"])


class Session:
    """What a provider has said and seen in one session.

    Args:
        window: The characters of messages that it takes beside those of the first request,
            if it is limited.

    Attributes:
        requests: The requests that were answered.
        refused: How often what was refused.
        faults: What was lost.
        compactions: How often a summary was asked for.
    """

    def __init__(self, window: int = 0) -> None:
        self._window = window
        self._first = 0
        self.requests: list[Json] = []
        self.refused = Counter[str]()
        self.faults: list[str] = []
        self.compactions = 0
        self._step = -1
        self._lock = threading.Lock()

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
        tool = next((x for x in _names(asked) if x in _COMMANDS), None)
        if _COMPACTION.search(_text(messages[-1])):
            self.compactions += 1
            if not self.refused["length"]:  # else it was in what was refused
                self._look(messages)
            return _said(SUMMARY)
        if tool is None:
            return _said("A title")
        self._look(messages)
        self._step += 1
        if self._step >= TURNS:
            return _said(FINAL)
        if self._step == IMAGE:
            return _reading(asked)
        commands = _printing(self._step)
        return _called([(tool, {_COMMANDS[tool]: each}) for each in commands])

    def _refusal(self, asked: Json, grown: int) -> str | None:
        """Return what of a request is refused; it has *grown* since the first one."""
        messages = asked["messages"]
        is_summary = _COMPACTION.search(_text(messages[-1]))
        if self._window and grown > self._window and not is_summary:
            self._look(messages)
            return "length"
        calls = [each.get("tool_calls") or [] for each in messages]
        if asked.get("parallel_tool_calls") or any(len(each) > 1 for each in calls):
            return "calls"
        return "images" if '"image_url"' in json.dumps(messages) else None

    def _look(self, messages: list[Json]) -> None:
        """See that what came of the last step is there."""
        if self._step < 0:
            return
        said = "".join(_text(each) for each in messages)
        marks = [mark(self._step, at) for at in range(len(_printing(self._step)))]
        for each in ["An image was here"] if self._step == IMAGE else marks:
            if each not in said and SUMMARY not in said:
                self.faults.append(f"{each} is lost")


def _reading(asked: Json) -> Script:
    """Return a call that reads the image in the folder that an earlier one has printed."""
    (reader,) = _READERS.keys() & {*_names(asked)}
    (folder,) = {*re.findall(r"in=(/[\w./-]+)", str(asked["messages"]))}
    return _called([(reader, {_READERS[reader]: f"{folder}/a.png"})])


def _names(asked: Json) -> list[str]:
    return [each["function"]["name"] for each in asked.get("tools", ())]


def _text(message: Json) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else json.dumps(content)


def _said(text: str) -> Script:
    words = [{"index": 0, "delta": {"content": text}, "finish_reason": None}]
    chunks = [opening(None), {**opening(None), "choices": words}, *nim(None)[-2:-1]]
    return Script("", [*map(data, chunks), DONE])


def _called(calls: list[tuple[str, Json]]) -> Script:
    fragments = [
        {
            "index": at,
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for at, (name, arguments) in enumerate(calls)
    ]
    choice = {"index": 0, "delta": {"tool_calls": fragments}, "finish_reason": None}
    last = nim_finish("tool_calls", {"role": None, "content": ""})
    chunks = [opening(None), {**opening(None), "choices": [choice]}, last]
    return Script("", [*map(data, chunks), DONE])
