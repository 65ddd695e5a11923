"""Requests that wait until their host takes more, in a real mitmdump."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_normalize.repair.fix import DONE, chunk, completion, wire
from llm_normalize.wire.json_text import dumps
from support import (
    PATIENCE,
    Break,
    Http1Client,
    Http2Client,
    Mitmdump,
    Provider,
    Reply,
    Script,
    body_script,
    tunnelled,
)

type Json = Any

ASKED = {"model": "m", "stream": True, "messages": []}
BODY = {**ASKED, "stream": False}
STREAM = wire(
    [chunk({"role": "assistant", "content": "Hi"}), chunk({}, finish="stop"), DONE]
)
GOOD = body_script(dumps(completion({"role": "assistant", "content": "Hi"})))
REFUSED = {"error": {"message": "Too hot", "type": "x", "param": None, "code": "c"}}
type Client = Http1Client | Http2Client


@pytest.fixture
def paced(proxy: Mitmdump) -> Iterator[None]:
    """One request in three seconds, and a newline after each second of silence."""
    with proxy.options(normalize_pace=["localhost=1/3s"], normalize_keepalive=1):
        yield


def key(name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {name}"}


def post(client: Client, script: Script, name: str, asked: Json = ASKED) -> Reply:
    return client.post(script.path, asked, key(name))


@pytest.mark.usefixtures("paced")
@pytest.mark.parametrize(
    ("second", "body"),
    [
        (Script("", [STREAM]), STREAM),
        (body_script(dumps(REFUSED), 400), b"data: " + dumps(REFUSED) + b"\n\n"),
        (body_script(b"", 502), None),
        (GOOD, None),
    ],
    ids=["stream", "refusal", "no body", "body"],
)
def test_stream_that_waits_begins(
    client: Client, upstream: Provider, second: Script, body: bytes | None
) -> None:
    script = upstream.script(*second.parts, turns=[GOOD])
    script.status, script.headers = second.status, second.headers
    script.framing = second.framing
    name = script.path
    assert json.loads(post(client, script, name, BODY).rest())["choices"]
    reply = post(client, script, name)
    assert reply.until(b"\n") == b"\n"
    assert len(script.requests) == 1  # it still waits
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")
    sent = reply.rest().lstrip(b"\n")
    if body is not None:
        assert sent.startswith(body)
    assert sent.count(b"HTTP/1.1") == 0
    assert (b"error" in sent) != (b"[DONE]" in sent)
    assert len(script.requests) == 2


def test_client_that_leaves_gives_its_place_back(
    proxy: Mitmdump, upstream: Provider
) -> None:
    gate = threading.Event()
    script = upstream.script(STREAM, turns=[Script("", [gate, STREAM])])

    def start() -> Client:
        return tunnelled(proxy, f"localhost:{upstream.port}")

    one_at_once = {"normalize_pace": ["localhost=99/1s,1"], "normalize_keepalive": 1}
    with proxy.options(**one_at_once), start() as running, start() as last:
        first = post(running, script, "k")
        assert first.status == 200
        with start() as leaving:
            post(leaving, script, "k")
        third = post(last, script, "k")
        assert third.until(b"\n") == b"\n"
        assert len(script.requests) == 1
        gate.set()
        assert first.rest().lstrip(b"\n") == STREAM
        assert third.rest().lstrip(b"\n") == STREAM
        assert len(script.requests) == 2


def test_stream_whose_provider_is_silent_begins(
    client: Client, proxy: Mitmdump, upstream: Provider
) -> None:
    gate = threading.Event()
    script = upstream.script(STREAM, silent=gate)
    with proxy.options(normalize_begin=1, normalize_keepalive=1):
        reply = post(client, script, "k")
        assert reply.status == 200
        assert reply.until(b"\n") == b"\n"
        gate.set()
        assert reply.rest().lstrip(b"\n") == STREAM


def test_stream_that_waits_at_a_reload_is_told(
    upstream: Provider, addon: Path, start: Callable[..., Mitmdump], provider_ca: Path
) -> None:
    script = upstream.script(STREAM)
    own = start(
        addon=addon,
        normalize_hosts="localhost",
        normalize_pace="localhost=1/99s",
        normalize_keepalive="1",
        ssl_verify_upstream_trusted_ca=str(provider_ca),
    )
    with tunnelled(own, f"localhost:{upstream.port}") as client:
        assert post(client, script, "k", BODY).rest()
        reply = post(client, script, "k")
        assert reply.until(b"\n") == b"\n"
        own.reload()
        sent = reply.rest().lstrip(b"\n")
    assert sent.startswith(b'data: {"error":{"message":"The proxy was reloaded')
    assert len(script.requests) == 1


def test_silent_provider_that_fails_is_an_error_event(
    client: Client, proxy: Mitmdump, upstream: Provider
) -> None:
    gate = threading.Event()
    script = upstream.script(Break.CUT, framing="raw", silent=gate)
    with proxy.options(normalize_begin=1, normalize_keepalive=1):
        reply = post(client, script, "k")
        assert reply.until(b"\n") == b"\n"
        gate.set()
        event = reply.rest().lstrip(b"\n")
    assert event.startswith(b'data: {"error":{"message":"No answer from')
    *_, record = proxy.records(script)
    assert (record["status"], record["end"]) == (200, "error")
    assert f"normalize: localhost:{upstream.port} m: No answer from" in proxy.printed()


UNKNOWN = body_script(
    dumps({"error": {"message": "Unknown parameter: 'seed'"}}), status=400
)
BUSY = body_script(b"{}", status=429, retry_after_ms="1")


@pytest.mark.parametrize(
    "turns", [[UNKNOWN], [BUSY, UNKNOWN], [BUSY, BUSY, UNKNOWN]], ids=len
)
def test_refusal_behind_a_stream_that_has_begun_is_mended(
    client: Client, proxy: Mitmdump, upstream: Provider, turns: list[Script]
) -> None:
    gate = threading.Event()
    first, *rest = turns
    script = upstream.script(STREAM, turns=[replace(first, silent=gate), *rest])
    asked = {**ASKED, "model": script.path}
    begins = {"normalize_begin": 1, "normalize_keepalive": 1, "normalize_retry": 9}
    with proxy.options(**begins):
        reply = post(client, script, "k", {**asked, "seed": 7})
        assert reply.until(b"\n") == b"\n"
        gate.set()
        assert reply.rest().lstrip(b"\n") == STREAM
    assert json.loads(script.requests[-1].body) == asked
    assert len(script.requests) == len(turns) + 1


def test_turn_that_comes_too_late_to_ask_again_leaves_the_refusal(
    client: Client, proxy: Mitmdump, upstream: Provider
) -> None:
    script = upstream.script(STREAM, turns=[BUSY])
    patience = {"normalize_pace": ["localhost=1/60s"], "normalize_retry": 2}
    begun = time.monotonic()
    with proxy.options(**patience):
        assert post(client, script, script.path, BODY).status == 429
    assert time.monotonic() - begun < PATIENCE / 2
    assert len(script.requests) == 1


def test_request_that_is_only_observed_is_not_held_back(
    client: Client, proxy: Mitmdump, upstream: Provider
) -> None:
    script = upstream.script(turns=[GOOD, GOOD])
    watched = {"normalize_pace": ["localhost=1/60s"], "normalize_mode": "observe"}
    with proxy.options(**watched):
        for _ in range(2):
            assert post(client, script, script.path, BODY).rest() == GOOD.bytes
