"""The provider that the clients talk to, and mitmdump with the addon before it."""

import http.server
import itertools
import json
import re
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from clients.families import FAMILIES, Answer
from clients.families.asking import as_asked
from workshop import LOOPBACK, NORMALIZE, mitmdump
from workshop.environments import AT_START

_PATH = re.compile(r"/(quirk|openai)/([\w-]+)/v1/chat/completions")
_STATUS = "/v2/nvcf/pexec/status/"  # where NIM gives an answer that took long


def environment() -> dict[str, str]:
    """Return the process environment without what leads loopback traffic astray."""
    kept = {
        name: value
        for name, value in AT_START.items()
        if not name.lower().endswith("_proxy") and not name.startswith("PYTHON")
    }
    return {**kept, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1", "NO_PROXY": "*"}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in few segments
    disable_nagle_algorithm = True  # else each piece waits for the one before
    waiting: ClassVar[dict[str, tuple[Answer, int]]] = {}
    """What the status paths give in the end, and how often they say 202 before."""
    numbers: ClassVar = itertools.count(1)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        found = _PATH.fullmatch(self.path)
        if found is None:
            self.send_error(404)
            return
        family = FAMILIES[found[2]]
        answer = family.quirk if found[1] == "quirk" else family.openai
        if answer is family.openai:
            # Some clients always ask for usage: OpenAI would have heeded it.
            answer = as_asked(answer, family.request, json.loads(body))
        if answer.later is None:
            self._send(answer)
            return
        place = f"{next(self.numbers):08}-0f3a"
        self.waiting[place] = (answer.later, answer.polls)
        self._send(answer, place)

    def do_GET(self) -> None:
        place = self.path.removeprefix(_STATUS)
        if place not in self.waiting:
            self.send_error(404)
            return
        answer, polls = self.waiting.pop(place)
        if polls:
            self.waiting[place] = (answer, polls - 1)
            self._send(Answer((b"{}",), 202, "application/json"), place)
        else:
            self._send(answer)

    def _send(self, answer: Answer, place: str = "") -> None:
        # Without a date and a name: some errors tell all headers.
        self.send_response_only(answer.status)
        self.send_header("content-type", answer.content_type)
        for name, value in answer.headers:
            self.send_header(name, value)
        if place:
            self.send_header("NVCF-REQID", place)
            self.send_header("NVCF-STATUS", "pending-evaluation")
        if len(answer.pieces) > 1 or answer.content_type == "text/event-stream":
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            for piece in answer.pieces:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        else:
            body = b"".join(answer.pieces)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing: a failure shows in what the client reports."""


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients leave as they like."""


class Provider:
    """Serves `/quirk/FAMILY/v1` and, in OpenAI's own shape, `/openai/FAMILY/v1`."""

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


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

    def wait_quiet(self) -> None:
        """Return when nothing more is being logged."""
        for _ in range(20):
            count = len(self.printed)
            time.sleep(0.05)
            if count == len(self.printed):
                return
