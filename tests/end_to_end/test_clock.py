"""What is sent by the clock, in a real mitmdump: while the provider says nothing."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.repair.fix import DONE, USAGE, Wire, chunk, wire
from llm_normalize.wire.json_text import dumps
from support import (
    PATIENCE,
    Http1Client,
    Http1Reply,
    Http2Client,
    Http2Reply,
    Mitmdump,
    Provider,
    Reply,
    Script,
    starting,
    tunnelled,
)

type Json = Any

ASKED: dict[str, Json] = {"model": "acme-1", "stream": True, "messages": []}
WITH_USAGE = {**ASKED, "stream_options": {"include_usage": True}}
WITH_TOOLS = {
    **ASKED,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
}
TEXT = chunk({"role": "assistant", "content": "Hi"})
STOP = chunk({}, finish="stop")
LAST = chunk(None, usage=USAGE)
NULL = chunk({"role": "assistant", "content": None})
LINE = b"data: " + dumps(TEXT) + b"\n"


@pytest.mark.usefixtures("bridged")
def test_silent_provider_is_bridged_by_newlines(
    client: Http1Client | Http2Client, upstream: Provider
) -> None:
    gate = threading.Event()
    script = upstream.script(wire([TEXT]), gate, wire([STOP, DONE]))
    reply = client.post(script.path, ASKED)
    reply.until(wire([TEXT]) + b"\n\n")
    gate.set()
    body = reply.rest()
    newlines = len(body) - len(wire([TEXT, STOP, DONE]))
    assert newlines >= 2
    assert body == wire([TEXT]) + b"\n" * newlines + wire([STOP, DONE])


# -- a second answer ---------------------------------------------------------------


def refusal(status: int, body: Json, **headers: str) -> Script:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    all_headers = {"content-type": "application/json", **named}
    return Script("", [dumps(body)] if body else [], status, all_headers, "length")


def test_answer_to_a_changed_request_is_sent_as_it_arrives(
    client: Http1Client | Http2Client, upstream: Provider, proxy: Mitmdump
) -> None:
    gate = threading.Event()
    refused = refusal(400, {"detail": "Unsupported parameter(s): `seed`"})
    good = Script("", [wire([TEXT]), gate, wire([STOP, DONE])])
    script = upstream.script(turns=[refused, good])
    # Learned refusals are of a model: each test has its own.
    reply = client.post(script.path, {**ASKED, "model": script.path, "seed": 7})
    assert reply.status == 200
    assert reply.until(wire([TEXT])) == wire([TEXT])
    gate.set()
    assert reply.rest() == wire([TEXT, STOP, DONE])
    *_, flow = proxy.records(script)
    assert (flow["status"], flow["end"], flow["events"]) == (200, "complete", 3)
    assert [b"seed" in each.body for each in script.requests] == [True, False]


@pytest.mark.usefixtures("bridged")
def test_client_gets_signs_of_life_while_its_provider_is_busy(
    client: Http1Client | Http2Client, upstream: Provider, proxy: Mitmdump
) -> None:
    busy = refusal(429, {"error": {"message": "40 a minute"}}, retry_after="3")
    script = upstream.script(wire([TEXT, STOP, DONE]), turns=[busy])
    with proxy.options(normalize_retry=4):
        reply = client.post(script.path, ASKED)
        assert (reply.status, reply.until(b"\n")) == (200, b"\n")
        assert reply.rest().lstrip(b"\n") == wire([TEXT, STOP, DONE])
    assert len(script.requests) == 2


@pytest.mark.usefixtures("bridged")
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
def test_words_of_a_provider_that_stays_busy_are_an_error_of_the_protocol(
    client: Http1Client | Http2Client, upstream: Provider, proxy: Mitmdump, path: str
) -> None:
    busy = Script("", [b"Too many herons"], 429, {"retry-after": "3"}, "length")
    script = upstream.script(path=path, turns=[busy, busy])
    said: Json = {"input": "Hi"} if path == "/v1/responses" else {"messages": []}
    with proxy.options(normalize_retry=4):
        reply = client.post(script.path, {"model": "m", "stream": True, **said})
        assert reply.status == 200
        body = reply.rest()
    assert len(script.requests) == 2
    assert b"event: error\ndata: {" in body
    assert b"Too many herons" in body
    assert b"\nToo" not in body


# -- the addon is reloaded, or mitmproxy ends, while something waits -------------------

LATE_USAGE = {**STOP, "usage": None}
FIRST_USAGE = [TEXT, {**STOP, "usage": USAGE}]
TAG = chunk({"content": '<tool_call>{"na'})
WAITS: dict[str, tuple[Json, Wire, Wire]] = {
    "finish": (ASKED, [TEXT, STOP], [TEXT, STOP]),
    "usage": (WITH_USAGE, FIRST_USAGE, [TEXT, LATE_USAGE, LAST]),
    "opening": (WITH_TOOLS, [NULL], [chunk({"role": "assistant", "content": ""})]),
    "one line end": (ASKED, [LINE], [TEXT]),
    "text of an optional repair": (WITH_TOOLS, [TEXT, TAG], [TEXT, TAG]),
}
"""What was asked, what the provider sends before it hangs, and what is due of it."""


@pytest.fixture
def own(
    tmp_path: Path, addon: Path, mitm_ca: Path, provider_ca: Path
) -> Iterator[tuple[Mitmdump, contextlib.ExitStack]]:
    """A forward proxy of the test's own, and what closes its clients."""
    options = {
        "normalize_hosts": "localhost",
        "normalize_also": "tool-call-as-text",
        "normalize_retry": "20",
        "ssl_verify_upstream_trusted_ca": str(provider_ca),
    }
    with starting(tmp_path, mitm_ca, addon=addon) as start:
        mitmdump = start(options=options)
        with contextlib.ExitStack() as clients:
            yield mitmdump, clients


def new_client(
    own: tuple[Mitmdump, contextlib.ExitStack], upstream: Provider
) -> Http1Client | Http2Client:
    """Return a client that speaks what its provider does."""
    (mitmdump, clients), target = own, f"localhost:{upstream.port}"
    protocol = "h2" if upstream.protocols[-1:] == ["h2"] else "http/1.1"
    client = tunnelled(mitmdump, target, protocol)
    clients.enter_context(client)
    return client


def test_reload_while_something_waits_loses_nothing(
    own: tuple[Mitmdump, contextlib.ExitStack], upstream: Provider
) -> None:
    gate, running = threading.Event(), []
    for asked, sent, due in WAITS.values():
        script = upstream.script(wire(sent), gate, DONE)
        reply = new_client(own, upstream).post(script.path, asked)
        running.append((script, reply, wire(due)))
    busy = refusal(429, None, retry_after="4")
    retried = upstream.script(turns=[busy, Script("", [wire([TEXT, STOP, DONE])])])
    heard_of = upstream.script(turns=[busy, Script("", [wire([TEXT, STOP, DONE])])])
    with own[0].options(normalize_keepalive=1):
        begun = new_client(own, upstream).post(heard_of.path, ASKED)
        begun.until(b"\n")
    waiting = new_client(own, upstream)
    waiting.send(retried.path, ASKED)
    assert retried.asked.wait(PATIENCE)
    own[0].reload()
    for _, reply, body in running:
        assert reply.until(body) == body
    gate.set()
    for script, reply, body in running:
        assert reply.rest().startswith(body)
        assert reply.body.rstrip(b"\n").endswith(DONE.rstrip())
        assert own[0].records(script)[-1]["end"] == "complete"
    if isinstance(waiting, Http2Client):
        last: Reply = Http2Reply(waiting, 1)
    else:
        last = Http1Reply(waiting)
    assert last.rest() == begun.rest().lstrip(b"\n") == wire([TEXT, STOP, DONE])
    for script in (retried, heard_of):
        flow = own[0].records(script)[-1]
        assert (flow["end"], flow["status"]) == ("complete", 200)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_end_while_something_waits_loses_nothing(
    own: tuple[Mitmdump, contextlib.ExitStack],
    upstream: Provider,
    number: signal.Signals,
) -> None:
    never, running = threading.Event(), []
    retried = upstream.script(turns=[refusal(429, None, retry_after="15")])
    with own[0].options(normalize_keepalive=1):
        new_client(own, upstream).post(retried.path, ASKED).until(b"\n")
    for asked, sent, due in WAITS.values():
        script = upstream.script(wire([b": ping\n\n", *sent]), never)
        reply = new_client(own, upstream).post(script.path, asked)
        reply.until(b"\n")  # what waits has been read, too
        running.append((script, reply, wire([b"\n", *due])))
    os.kill(own[0].pid, number)
    for _, reply, body in running:
        assert reply.broken() == body
    assert own[0].ended() == 0
    for script, _, body in running:
        flow = own[0].records(script)[-1]
        assert (flow["end"], flow["bytes_out"]) == ("upstream-broke", len(body))
    assert own[0].records(retried)[-1]["end"] == "upstream-broke"
    assert len(retried.requests) == 1
    never.set()
