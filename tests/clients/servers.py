"""The provider that the clients talk to, and mitmdump with the addon before it."""

import http.server
import itertools
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from clients.families import FAMILIES, Answer
from clients.families.asking import as_asked

ROOT = Path(__file__).resolve().parents[2]
ADDON = ROOT / "addon" / "normalize.py"
WAIT = 60  # seconds, for a machine that is busy with other things
MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"
# pytest sets a variable anew for each test, while threads here read them all.
AT_START = dict(os.environ)
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


class Proxy:
    """A mitmdump with the addon as a reverse proxy of *upstream*."""

    LISTENS: ClassVar = re.compile(r"listening at (?:http://)?(127\.0\.0\.1:\d+)")

    def __init__(self, upstream: str, folder: Path) -> None:
        self._command = [
            *(sys.executable, "-c", MITMDUMP),
            *("-s", str(ADDON), "--mode", f"reverse:{upstream}"),
            *("--listen-host", "127.0.0.1", "--listen-port", "0"),
            *("--set", f"confdir={folder}"),
            *("--set", f"normalize_pairs={folder / 'pairs.jsonl'}"),
        ]
        self.lines: list[str] = []

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            env=environment(),
        )
        found: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, args=(found,))
        self._reader.start()
        try:
            address = found.get(timeout=WAIT)
        except queue.Empty:
            address = ""
        if not address:
            self.__exit__(None, None, None)
            raise RuntimeError("mitmdump does not listen:\n" + "\n".join(self.lines))
        self.url = f"http://{address}"
        return self

    def _read(self, found: "queue.Queue[str]") -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            if address := self.LISTENS.search(line):
                found.put(address[1])
        found.put("")

    def wait_quiet(self) -> None:
        """Return when nothing more is being logged."""
        for _ in range(20):
            count = len(self.lines)
            time.sleep(0.05)
            if count == len(self.lines):
                return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
