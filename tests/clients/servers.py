"""The provider that the clients talk to, and mitmdump with the addon before it."""

import itertools
import json
import re
import time
from pathlib import Path

import scripted
from clients.families import FAMILIES, Answer
from clients.families.asking import as_asked
from environments import AT_START
from scripted import Script
from workshop import LOOPBACK, NORMALIZE, mitmdump
from workshop.traffic.http1 import Request

_PATH = re.compile(r"/(quirk|openai)/([\w-]+)/v1/chat/completions")
_COMPLAINTS = ("Traceback", "crashed", "is left out", "passes as it is", "stays as")
_STATUS = "/v2/nvcf/pexec/status/"  # where NIM gives an answer that took long


def environment() -> dict[str, str]:
    """Return the process environment without what leads loopback traffic astray."""
    kept = {
        name: value
        for name, value in AT_START.items()
        if not name.lower().endswith("_proxy") and not name.startswith("PYTHON")
    }
    return {**kept, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1", "NO_PROXY": "*"}


class Provider(scripted.Provider):
    """Serves `/quirk/FAMILY/v1` and, in OpenAI's own shape, `/openai/FAMILY/v1`."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Answer, int]] = {}
        """What the status paths give in the end, and how often they say 202 before."""
        self._numbers = itertools.count(1)
        super().__init__(answer=self._answered)

    def _answered(self, request: Request) -> Script:
        place = request.path.removeprefix(_STATUS)
        if request.method == "GET" and place in self._waiting:
            answer, polls = self._waiting.pop(place)
            if not polls:
                return _script(answer)
            self._waiting[place] = (answer, polls - 1)
            return _script(Answer((b"{}",), 202, "application/json"), place)
        found = _PATH.fullmatch(request.path)
        if request.method != "POST" or found is None:
            return scripted.body_script(b"", 404)
        family = FAMILIES[found[2]]
        answer = family.quirk if found[1] == "quirk" else family.openai
        if answer is family.openai:
            # Some clients always ask for usage: OpenAI would have heeded it.
            answer = as_asked(answer, family.request, json.loads(request.body))
        if answer.later is None:
            return _script(answer)
        place = f"{next(self._numbers):08}-0f3a"
        self._waiting[place] = (answer.later, answer.polls)
        return _script(answer, place)


def _script(answer: Answer, place: str = "") -> Script:
    headers = {"content-type": answer.content_type, **dict(answer.headers)}
    if place:
        headers |= {"NVCF-REQID": place, "NVCF-STATUS": "pending-evaluation"}
    is_whole = len(answer.pieces) == 1 and answer.content_type != "text/event-stream"
    framing: scripted.Framing = "length" if is_whole else "chunked"
    return Script("", answer.pieces, answer.status, headers, framing)


class Proxy(mitmdump.Mitmdump):
    """A mitmdump with the addon as a reverse proxy of *upstream*."""

    def __init__(self, upstream: str, folder: Path) -> None:
        options = {
            "confdir": str(folder),
            "normalize_pairs": str(folder / "pairs.jsonl"),
        }
        mode = ("--mode", f"reverse:{upstream}")
        made = mitmdump.command([NORMALIZE], options, *mode)
        super().__init__("mitmdump", made, env=environment())
        self.printed: list[str] = []

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def hear(self, line: str) -> None:
        self.printed.append(line)
        super().hear(line)

    def complaints(self) -> list[str]:
        """Return what the addon could not do, once nothing more is being logged."""
        for _ in range(20):
            count = len(self.printed)
            time.sleep(0.05)
            if count == len(self.printed):
                break
        return [
            line for line in self.printed if any(map(line.__contains__, _COMPLAINTS))
        ]
