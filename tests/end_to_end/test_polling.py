"""An answer that is not ready, in a real mitmdump: it is asked for on the same way."""

import contextlib
import itertools
import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps
from support import (
    LOOPBACK,
    PATIENCE,
    Http1Client,
    Http1Reply,
    Http2Client,
    Mitmdump,
    Provider,
    Request,
    Script,
    body_script,
    connect,
    server_context,
    to,
)

type Json = Any

STREAM = {"model": "m", "stream": True, "messages": []}
WHOLE = {**STREAM, "stream": False}
KEY = "nvapi-canary-4711"
AUTH = {"authorization": f"Bearer {KEY}"}
STATUS = "/v2/nvcf/pexec/status/"
_NUMBERS = itertools.count(1)

GOOD = completion({"role": "assistant", "content": "Hi"})
READY = body_script(dumps(GOOD))


@dataclass
class Job:
    """A request that is answered 202, and then at its status address."""

    name: str
    answers: list[Script]
    gate: threading.Event | None = None
    """What the first answer waits for."""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The headers of what came to the status address."""
    begun: threading.Event = field(default_factory=threading.Event)
    """Set when the status is asked for."""

    @property
    def path(self) -> str:
        return f"/{self.name}/v1/chat/completions"

    @property
    def script(self) -> Script:
        return Script(self.path, ())

    def answer(self, request: Request) -> Script:
        self.asked.append(request.headers)
        number = len(self.asked)
        self.begun.set()
        made = self.answers[min(number, len(self.answers)) - 1]
        return replace(made, silent=self.gate if number == 1 else None)


class Functions(Provider):
    """A provider whose answers all take their time."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.jobs: dict[str, Job] = {}
        super().__init__(context, answer=self._answer_of)

    def job(self, *answers: Script, gate: threading.Event | None = None) -> Job:
        name = f"job-{next(_NUMBERS)}"
        made = self.jobs[name] = Job(name, list(answers), gate)
        return made

    def _answer_of(self, request: Request) -> Script:
        place = urlsplit(request.path).path
        if request.method == "GET":
            return self.jobs[place.removeprefix(STATUS)].answer(request)
        pending = b'{"status":"pending"}'
        return body_script(pending, 202, nvcf_reqid=place.split("/")[1])


# -- fixtures ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def functions() -> Iterator[Functions]:
    with Functions() as made:
        yield made


@pytest.fixture(scope="module")
def secure(provider_ca: Path) -> Iterator[Functions]:
    with Functions(
        server_context(provider_ca.parent, "provider", ["http/1.1"])
    ) as made:
        yield made


@pytest.fixture(scope="module")
def reverse(
    tmp_path_factory: pytest.TempPathFactory, mitm_ca: Path, functions: Functions
) -> Iterator[Mitmdump]:
    with Mitmdump(tmp_path_factory.mktemp("reverse"), mitm_ca, *to(functions)) as made:
        yield made


def ask(
    mitmdump: Mitmdump, job: Job, body: Json = WHOLE
) -> tuple[int, dict[str, str], bytes]:
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(job.path, body, AUTH)
        return reply.status, reply.headers, reply.rest()


def ask_securely(mitmdump: Mitmdump, job: Job, port: int) -> tuple[int, bytes]:
    place = f"localhost:{port}"
    raw = connect(mitmdump.port, tunnel=place, ca=mitmdump.ca)
    with Http1Client(raw, place) as client:
        reply = client.post(job.path, WHOLE, AUTH)
        return reply.status, reply.rest()


def record(mitmdump: Mitmdump, job: Job) -> Json:
    """Return the flow record; the key is nowhere."""
    found = mitmdump.records(job.script)
    assert KEY not in json.dumps(mitmdump.pairs())
    assert KEY not in mitmdump.printed()
    return found[-1]


# -- a reverse proxy ---------------------------------------------------------------

EVENTS = wire(
    [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hi"}),
        chunk({}, finish="stop"),
        DONE,
    ]
)
SSE = body_script(EVENTS.replace(b"data: ", b"data:"), 200, "text/event-stream")
LOST = body_script(b'{"detail":"no such request"}', 404)
FAILED = body_script(b'{"detail":"no such model"}', 422)


def is_error(body: bytes, words: str) -> bool:
    error = json.loads(body)["error"]
    return error.keys() == {"message", "type", "param", "code"} and words in str(error)


def test_body_is_fetched(reverse: Mitmdump, functions: Functions) -> None:
    job = functions.job(READY)
    status, headers, body = ask(reverse, job)
    assert (status, body) == (200, READY.bytes)
    assert headers["content-type"] == "application/json"
    assert "nvcf-reqid" not in headers
    made = record(reverse, job)
    assert (made["fixes"], made["end"]) == ({"answer-pending": 1}, "complete")
    pair = reverse.records(job.script)[0]
    assert (pair["before"], pair["after"]) == (
        '{"status":"pending"}',
        [READY.bytes.decode()],
    )
    assert job.asked == [
        {
            "host": f"{LOOPBACK}:{functions.port}",
            "authorization": f"Bearer {KEY}",
            "accept": "application/json",
            "accept-encoding": "identity",
        }
    ]


def test_stream_is_fetched_and_repaired(
    reverse: Mitmdump, functions: Functions
) -> None:
    job = functions.job(SSE)
    status, headers, body = ask(reverse, job, STREAM)
    assert (status, body) == (200, EVENTS)
    assert headers["content-type"] == "text/event-stream"
    made = record(reverse, job)
    assert made["fixes"]["answer-pending"] == 1
    assert made["fixes"]["data-space-missing"] == 4


@pytest.mark.parametrize(
    ("asked", "answer", "words"),
    [(WHOLE, FAILED, "no such model"), (STREAM, LOST, "no such request")],
)
def test_error_is_an_answer_too(
    reverse: Mitmdump, functions: Functions, asked: Json, answer: Script, words: str
) -> None:
    job = functions.job(answer)
    status, headers, body = ask(reverse, job, asked)
    assert (status, headers["content-type"]) == (answer.status, "application/json")
    assert is_error(body, words)
    assert record(reverse, job)["status"] == answer.status


def test_client_that_leaves_while_a_result_is_held_back_ends_the_requests(
    reverse: Mitmdump, functions: Functions
) -> None:
    gate = threading.Event()
    job = functions.job(READY, gate=gate)
    with Http1Client(connect(reverse.port)) as client:
        client.send(job.path, STREAM, AUTH)
        assert job.begun.wait(PATIENCE)
    try:
        assert record(reverse, job)["end"] == "client-left"
    finally:
        gate.set()


def test_answers_do_not_wait_for_each_other(
    reverse: Mitmdump, functions: Functions
) -> None:
    gate = threading.Event()
    jobs = [functions.job(READY, gate=gate) for _ in range(8)]
    with contextlib.ExitStack() as opened:
        clients = []
        for job in jobs:
            client = opened.enter_context(Http1Client(connect(reverse.port)))
            client.send(job.path, WHOLE, AUTH)
            clients.append(client)
        for job in jobs:
            assert job.begun.wait(PATIENCE)
        # All of them are held back, and others pass.
        assert ask(reverse, functions.job(READY))[2] == READY.bytes
        gate.set()
        for client in clients:
            assert Http1Reply(client).status == 200


# -- a proxy -----------------------------------------------------------------------


def test_secure_result_is_fetched_securely(
    explicit: Mitmdump, secure: Functions
) -> None:
    job = secure.job(READY)
    assert ask_securely(explicit, job, secure.port) == (200, READY.bytes)
    assert job.asked[0]["host"] == f"localhost:{secure.port}"
    assert job.asked[0]["authorization"] == f"Bearer {KEY}"
    assert record(explicit, job)["fixes"] == {"answer-pending": 1}


@pytest.mark.parametrize("normalized", ["true", "false"])
def test_result_reaches_a_client_of_http2(
    explicit: Mitmdump, provider_ca: Path, normalized: str
) -> None:
    # Header names are lower case there, whatever mitmproxy is told.
    context = server_context(provider_ca.parent, "provider", ["h2", "http/1.1"])
    with Provider(context) as provider:
        name = f"job-{next(_NUMBERS)}"
        first = provider.script(b"{}", status=202, headers={"nvcf-reqid": name})
        kind = {"Content-Type": "application/json", "X-Upper": "y"}
        ready = provider.script(READY.bytes, headers=kind, framing="length")
        provider.alias(ready, STATUS + name)
        place = f"localhost:{provider.port}"
        raw = connect(explicit.port, tunnel=place, ca=explicit.ca, alpn=["h2"])
        with (
            explicit.options(normalize_outbound_headers=normalized == "true"),
            Http2Client(raw, place) as client,
        ):
            reply = client.post(first.path, WHOLE, AUTH)
            assert (reply.status, reply.rest()) == (200, READY.bytes)
        assert reply.headers["x-upper"] == "y"
        assert provider.protocols == ["h2", "h2"]


# -- a proxy behind another --------------------------------------------------------
