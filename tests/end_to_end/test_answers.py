"""The addon in a real mitmdump, between a scripted provider and real clients."""

import gzip
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import threading
import tomllib
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import brotli
import pytest
from mitmproxy import contentviews, http
from mitmproxy import io as flow_io

import zstd_frames
from llm_normalize.inspect.before_after import BeforeAfter
from support import (
    ADDON,
    LOOPBACK,
    Break,
    Http1Client,
    Http2Client,
    Mitmdump,
    Provider,
    Script,
    connect,
    starting,
    to,
)
from workshop.mitmdump import command

type Json = Any
type Start = Callable[..., Mitmdump]

DONE = b"data: [DONE]\n\n"
ASKED = {
    "model": "acme/brook-8b",
    "stream": True,
    "messages": [{"role": "user", "content": "Name a stream."}],
}
WHOLE = {**ASKED, "stream": False}
KEY = "nvapi-canary-4711"
PROMPT = "canary prompt: the heron sleeps"


def event(value: Json) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def chunk(delta: Json, finish: str | None = None, **choice: Json) -> bytes:
    return event(
        {
            "id": "chatcmpl-brook",
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": "acme/brook-8b",
            "choices": [
                {
                    "index": 0,
                    "delta": delta,
                    "logprobs": None,
                    "finish_reason": finish,
                    **choice,
                }
            ],
        }
    )


def nim(content: str) -> bytes:
    return chunk({"role": None, "content": content})


OPENING = chunk({"role": "assistant", "content": None})
NIM = (
    OPENING,
    nim("Der Mühl"),
    nim("bach"),
    chunk({"role": None, "content": ""}, "stop", stop_reason=None),
    DONE,
)
OPENAI = (
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "Der Mühl"}),
    chunk({"content": "bach"}),
    chunk({}, "stop"),
    DONE,
)


def completion(message: Json, **more: Json) -> Json:
    return {
        "id": "chatcmpl-brook",
        "object": "chat.completion",
        "created": 1790000000,
        "model": "acme/brook-8b",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        **more,
    }


def dumps(value: Json) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


JSON = {"content-type": "application/json"}


# -- fixtures ----------------------------------------------------------------------


@pytest.fixture
def start(tmp_path: Path, mitm_ca: Path) -> Iterator[Start]:
    """Start a mitmdump of the test's own; it ends with the test."""
    with starting(tmp_path, mitm_ca) as begin:
        yield begin


def post(
    mitmdump: Mitmdump, script: Script, body: Json = ASKED, **more: Any
) -> tuple[bytes, Any]:
    """Ask on a connection of its own, and return the whole body and the answer."""
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(script.path, body, **more)
        return reply.rest(), reply


def body_of(events: Sequence[bytes]) -> bytes:
    return b"".join(events)


# -- streams, as they pass ---------------------------------------------------------


def test_nim_stream_leaves_as_openai_would_send_it(
    reverse: Mitmdump, provider: Provider
) -> None:
    body, reply = post(reverse, provider.script(*NIM))
    assert body == body_of(OPENAI)
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/event-stream"


def test_stream_that_arrives_byte_by_byte_leaves_the_same(
    reverse: Mitmdump, provider: Provider
) -> None:
    # Each in an HTTP chunk of its own.
    single = [bytes([byte]) for byte in body_of(NIM)]
    body, _ = post(reverse, provider.script(*single))
    assert body == body_of(OPENAI)


def test_openais_own_stream_leaves_byte_for_byte(
    reverse: Mitmdump, provider: Provider
) -> None:
    script = provider.script(*OPENAI)
    body, _ = post(reverse, script)
    assert body == body_of(OPENAI)
    assert [each["type"] for each in reverse.records(script)] == ["flow"]


def test_each_event_is_one_http_chunk(reverse: Mitmdump, provider: Provider) -> None:
    gates = [threading.Event() for _ in NIM]
    parts = [part for pair in zip(NIM, gates, strict=True) for part in pair]
    script = provider.script(*parts)
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.framing == "chunked"
        pieces = []
        # The finish reason waits for what follows it, and leaves with that.
        for gate in gates[:3]:
            pieces.append(reply.next_part())
            gate.set()
        gates[3].set()
        pieces.append(reply.next_part())
        gates[4].set()
        assert reply.next_part() == b""
    assert pieces == [*OPENAI[:3], body_of(OPENAI[3:])]


def test_first_event_does_not_wait_for_the_second(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    script = provider.script(NIM[0], gate, *NIM[1:])
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.until(b"\n\n") == OPENAI[0]
        gate.set()
        assert reply.rest() == body_of(OPENAI)


@pytest.mark.parametrize("upstream", ["http/1.1", "h2"])
@pytest.mark.parametrize("mine", ["http/1.1", "h2"])
def test_first_event_does_not_wait_through_connect_and_tls(
    explicit: Mitmdump, secure: dict[str, Provider], mine: str, upstream: str
) -> None:
    provider = secure[upstream]
    gate = threading.Event()
    script = provider.script(NIM[0], gate, *NIM[1:])
    with client_of(explicit, f"localhost:{provider.port}", mine) as client:
        reply = client.post(script.path, ASKED)
        assert reply.until(b"\n\n") == OPENAI[0]
        gate.set()
        assert reply.rest() == body_of(OPENAI)
    assert provider.protocols[-1] == upstream
    *_, flow = explicit.records(script)
    assert flow["end"] == "complete"
    assert flow["host"] == f"localhost:{provider.port}"


def client_of(
    mitmdump: Mitmdump, target: str, protocol: str
) -> Http1Client | Http2Client:
    tunnel = connect(mitmdump.port, tunnel=target, ca=mitmdump.ca, alpn=[protocol])
    assert isinstance(tunnel, ssl.SSLSocket)
    assert tunnel.selected_alpn_protocol() == protocol
    kind = Http2Client if protocol == "h2" else Http1Client
    return kind(tunnel, target)


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream"])
def test_stream_is_sent_as_an_event_stream_whatever_the_provider_calls_it(
    reverse: Mitmdump, provider: Provider, content_type: str
) -> None:
    script = provider.script(*NIM, headers={"content-type": content_type})
    body, reply = post(reverse, script)
    assert body == body_of(OPENAI)
    assert reply.headers["content-type"].startswith("text/event-stream")


def test_two_streams_side_by_side_do_not_mix(
    reverse: Mitmdump, provider: Provider
) -> None:
    gates = threading.Event(), threading.Event()
    scripts = [provider.script(NIM[0], gate, *NIM[1:]) for gate in gates]
    with (
        Http1Client(connect(reverse.port)) as one,
        Http1Client(connect(reverse.port)) as two,
    ):
        replies = [
            client.post(script.path, ASKED)
            for client, script in zip((one, two), scripts, strict=True)
        ]
        for reply in replies:
            reply.until(b"\n\n")
        gates[1].set()
        assert replies[1].rest() == body_of(OPENAI)
        gates[0].set()
        assert replies[0].rest() == body_of(OPENAI)


def test_keep_alive_passes_at_once_as_a_newline(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    script = provider.script(NIM[0], b": waiting\n\n", gate, *NIM[1:])
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.until(b"\n\n\n") == OPENAI[0] + b"\n"
        gate.set()
        assert reply.rest() == body_of([OPENAI[0], b"\n", *OPENAI[1:]])


def test_large_request_bodies_may_be_streamed(start: Start, provider: Provider) -> None:
    # The option says how mitmproxy sends bodies on, not that answers are held back.
    mitmdump = start(*to(provider), options={"stream_large_bodies": "1"})
    gate = threading.Event()
    script = provider.script(NIM[0], gate, *NIM[1:])
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.until(b"\n\n") == OPENAI[0]
        gate.set()
        assert reply.rest() == body_of(OPENAI)


def test_answer_without_a_body_ends(reverse: Mitmdump, provider: Provider) -> None:
    for framing in ("chunked", "length"):
        script = provider.script(framing=framing)
        body, _ = post(reverse, script)
        assert body == b""
        assert reverse.records(script)[-1]["end"] == "complete"


def test_compressed_request_is_understood(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    script = provider.script(NIM[0], gate, *NIM[1:])
    with Http1Client(connect(reverse.port)) as client:
        data = gzip.compress(dumps(ASKED))
        reply = client.post(script.path, data, {"content-encoding": "gzip"})
        assert reply.until(b"\n\n") == OPENAI[0]
        gate.set()
        assert reply.rest() == body_of(OPENAI)
    assert script.requests[0].body == data


def test_responses_api_stream_is_not_held_back_and_not_touched(
    reverse: Mitmdump, provider: Provider
) -> None:
    events = (
        b'event: response.created\ndata: {"type":"response.created","n":null}\n\n',
        b'event: response.completed\ndata: {"type":"response.completed"}\n\n',
    )
    gate = threading.Event()
    script = provider.script(events[0], gate, events[1], path="/v1/responses")
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.until(b"\n\n") == events[0]
        gate.set()
        assert reply.rest() == body_of(events)


# -- framing -----------------------------------------------------------------------


@pytest.mark.parametrize("framing", ["chunked", "length"])
def test_connection_serves_a_second_request_after_a_repaired_stream(
    reverse: Mitmdump, provider: Provider, framing: str
) -> None:
    with Http1Client(connect(reverse.port)) as client:
        for _ in range(2):
            script = provider.script(*NIM, framing=framing)
            reply = client.post(script.path, ASKED)
            assert reply.framing == "chunked"
            assert "content-length" not in reply.headers
            assert reply.rest() == body_of(OPENAI)


@pytest.mark.parametrize("framing", ["close", "http10"])
def test_stream_that_ends_with_its_connection_is_repaired(
    reverse: Mitmdump, provider: Provider, framing: str
) -> None:
    script = provider.script(*NIM, framing=framing)
    body, _ = post(reverse, script)
    assert body == body_of(OPENAI)
    assert reverse.records(script)[-1]["end"] == "complete"


@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_http10_client_gets_the_repaired_body_unchunked(
    reverse: Mitmdump, provider: Provider, framing: str
) -> None:
    script = provider.script(*NIM, framing=framing)
    body, reply = post(reverse, script, version="1.0")
    assert reply.framing == "close"
    assert body == body_of(OPENAI)


# -- content encodings -------------------------------------------------------------


class Flushing:
    """A compressor that gives out every event at once, as flushing servers do."""

    def __init__(self, encoding: str) -> None:
        self._brotli = brotli.Compressor() if encoding == "br" else None
        window = {"gzip": 31, "deflate": 15, "raw deflate": -15}.get(encoding, 15)
        self._zlib = zlib.compressobj(wbits=window)

    def __call__(self, data: bytes) -> bytes:
        if self._brotli is not None:
            return bytes(self._brotli.process(data) + self._brotli.flush())
        return self._zlib.compress(data) + self._zlib.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        if self._brotli is not None:
            return bytes(self._brotli.finish())
        return self._zlib.flush()


def compressed(encoding: str, events: Sequence[bytes]) -> list[bytes]:
    flushing = Flushing(encoding)
    return [*map(flushing, events), flushing.end()]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "raw deflate", "br"])
def test_compressed_stream_is_undone_and_not_delayed(
    reverse: Mitmdump, provider: Provider, encoding: str
) -> None:
    first, *rest = compressed(encoding, NIM)
    gate = threading.Event()
    header = {"content-encoding": encoding.rsplit(maxsplit=1)[-1]}
    script = provider.script(first, gate, *rest, headers=header)
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED, {"accept-encoding": "gzip, br"})
        assert "content-encoding" not in reply.headers
        assert reply.until(b"\n\n") == OPENAI[0]
        gate.set()
        assert reply.rest() == body_of(OPENAI)
    assert script.requests[0].headers["accept-encoding"] == "identity"


def test_corrupt_gzip_breaks_the_answer_off(
    reverse: Mitmdump, provider: Provider
) -> None:
    pieces = compressed("gzip", NIM)
    gate = threading.Event()
    script = provider.script(
        pieces[0],
        gate,
        b"\xff" * 64,
        pieces[1],
        headers={"content-encoding": "gzip"},
    )
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        reply.until(b"\n\n")
        gate.set()
        assert reply.broken() == OPENAI[0]
    *_, flow = reverse.records(script)
    reverse.wait_for(f"(flow {flow['flow']}): the compressed body is corrupt")
    assert flow["end"] == "upstream-broke"


def test_corrupt_gzip_breaks_the_answer_off_before_the_provider_is_done(
    reverse: Mitmdump, provider: Provider
) -> None:
    first = compressed("gzip", NIM)[0]
    never = threading.Event()
    script = provider.script(
        first, b"\xff" * 64, never, headers={"content-encoding": "gzip"}
    )
    try:
        with Http1Client(connect(reverse.port)) as client:
            reply = client.post(script.path, ASKED)
            assert reply.broken() == OPENAI[0]
    finally:
        never.set()


def test_unknown_encoding_passes_as_it_is(
    reverse: Mitmdump, provider: Provider
) -> None:
    data = b"any bytes: nobody looks at them"
    gate = threading.Event()
    script = provider.script(data, gate, data, headers={"content-encoding": "compress"})
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert reply.headers["content-encoding"] == "compress"
        assert reply.until(data) == data
        gate.set()
        assert reply.rest() == data * 2
    reverse.wait_for("an unsupported encoding (compress)")


def test_zstd_over_gzip_is_undone_as_it_passes(
    reverse: Mitmdump, provider: Provider
) -> None:
    gzip, zstd = zlib.compressobj(wbits=31), zstd_frames.packer()
    gate = threading.Event()

    def packed(data: bytes, *, last: bool = False) -> bytes:
        end = zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH
        return zstd(gzip.compress(data) + gzip.flush(end), last)

    parts = packed(NIM[0]), gate, packed(b"".join(NIM[1:]), last=True)
    script = provider.script(*parts, headers={"content-encoding": "gzip, zstd"})
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        assert "content-encoding" not in reply.headers
        assert reply.until(b"\n\n") == OPENAI[0]
        gate.set()
        assert reply.rest() == body_of(OPENAI)


def test_observe_leaves_corrupt_gzip_alone(
    reverse: Mitmdump, provider: Provider
) -> None:
    script = provider.script(
        *compressed("gzip", NIM)[:2],
        b"\xff" * 64,
        headers={"content-encoding": "gzip"},
    )
    with reverse.options(normalize_mode="observe"):
        body, _ = post(reverse, script)
    assert body == script.bytes
    assert reverse.records(script)[-1]["end"] == "complete"


# -- answers in one piece ----------------------------------------------------------

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_body_is_repaired_and_its_length_is_right(
    reverse: Mitmdump, provider: Provider, encoding: str
) -> None:
    data = dumps(completion({"role": "assistant", "content": None}))
    headers = dict(JSON)
    if encoding:
        data = gzip.compress(data)
        headers["content-encoding"] = encoding
    script = provider.script(data, headers=headers, framing="length")
    with Http1Client(connect(reverse.port)) as client:
        for _ in range(2):  # a wrong length would spoil the second
            reply = client.post(script.path, WHOLE)
            assert reply.framing == "length"
            body = reply.rest()
            if reply.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            assert body == dumps(
                completion({"role": "assistant", "content": ""}, usage=ZEROS)
            )
    pair, flow = reverse.records(script)
    assert pair["n"] == 0
    assert (
        pair["before"]
        == dumps(completion({"role": "assistant", "content": None})).decode()
    )
    assert pair["after"] == [
        dumps(completion({"role": "assistant", "content": ""}, usage=ZEROS)).decode()
    ]
    assert flow["stream"] is False


def test_openais_own_body_leaves_byte_for_byte(
    reverse: Mitmdump, provider: Provider
) -> None:
    value = completion({"role": "assistant", "content": "Ü"}, usage=USAGE)
    data = json.dumps(value, indent=2).encode()
    body, reply = post(
        reverse, provider.script(data, headers=JSON, framing="length"), WHOLE
    )
    assert body == data
    assert reply.status == 200


def error(message: str, kind: str, code: str | None) -> bytes:
    return dumps(
        {"error": {"message": message, "type": kind, "param": None, "code": code}}
    )


@pytest.mark.parametrize("asked", [ASKED, WHOLE], ids=["stream", "whole"])
@pytest.mark.parametrize(
    ("status", "content_type", "data", "expected"),
    [
        (
            404,
            "application/problem+json",
            dumps({"status": 404, "title": "Not Found", "detail": "No such brook"}),
            error("Not Found: No such brook", "invalid_request_error", None),
        ),
        (
            404,
            "text/plain; charset=utf-8",
            b"404 page not found\n",
            error("404 page not found", "invalid_request_error", None),
        ),
        (
            503,
            "application/json",
            dumps({"error": {"message": "Dry", "type": "drought", "code": 503}}),
            None,
        ),
    ],
    ids=["problem", "text", "numeric code"],
)
def test_error_body_becomes_openais_and_keeps_its_status(
    reverse: Mitmdump,
    provider: Provider,
    asked: Json,
    status: int,
    content_type: str,
    data: bytes,
    expected: bytes | None,
) -> None:
    headers = {"content-type": content_type}
    script = provider.script(data, status=status, headers=headers, framing="length")
    body, reply = post(reverse, script, asked)
    assert reply.status == status
    if expected is not None:
        assert body == expected
    else:
        assert json.loads(body) == json.loads(error("Dry", "drought", "503"))
    assert "json" in reply.headers["content-type"]
    assert reverse.records(script)[-1]["status"] == status


@pytest.mark.parametrize("encoding", ["gzip", "x-unheard-of"])
def test_error_body_that_cannot_be_decoded_passes_as_it_is(
    reverse: Mitmdump, provider: Provider, encoding: str
) -> None:
    headers = {"content-type": "text/plain", "content-encoding": encoding}
    script = provider.script(
        b"\x1f\x8b not gzip", status=500, headers=headers, framing="length"
    )
    body, reply = post(reverse, script)
    assert body == script.bytes
    assert reply.headers["content-encoding"] == encoding


# -- observe -----------------------------------------------------------------------


def counts(records: list[dict[str, Json]]) -> Json:
    flow = records[-1]
    return flow["events"], flow["changed"], flow["fixes"]


def test_observe_changes_no_byte_and_counts_what_repair_would(
    reverse: Mitmdump, provider: Provider
) -> None:
    repaired = provider.script(*NIM)
    post(reverse, repaired)
    headers = {"content-encoding": "gzip", "x-brook": "1"}
    plain = provider.script(*NIM, framing="length")
    zipped = provider.script(
        *compressed("gzip", NIM), headers=headers, framing="length"
    )
    with reverse.options(normalize_mode="observe"):
        for script in (plain, zipped):
            body, reply = post(reverse, script, headers={"accept-encoding": "gzip"})
            assert body == script.bytes
            assert script.requests[0].headers["accept-encoding"] == "gzip"
            assert reply.headers == dict(script.head())
    expected = counts(reverse.records(repaired))
    for script in (plain, zipped):
        records = reverse.records(script)
        assert counts(records) == expected
        assert {each["mode"] for each in records} == {"observe"}
        flow = records[-1]
        assert flow["bytes_in"] == flow["bytes_out"] == len(script.bytes)
    assert not [each for each in reverse.records(repaired) if "mode" in each]


def test_observe_leaves_bodies_and_errors_alone(
    reverse: Mitmdump, provider: Provider
) -> None:
    whole = dumps(completion({"role": "assistant", "content": None}))
    scripts = [
        provider.script(whole, headers=JSON, framing="length"),
        provider.script(b"no\n", status=404, headers=JSON, framing="length"),
    ]
    with reverse.options(normalize_mode="observe"):
        for script in scripts:
            body, reply = post(reverse, script, WHOLE)
            assert body == script.bytes
            assert reply.headers == dict(script.head())
    for script in scripts:
        pair, _ = reverse.records(script)
        assert pair["mode"] == "observe"


# -- the captures ------------------------------------------------------------------

CAPTURES = sorted(Path(__file__).parents[1].glob("captures/*/*/about.toml"))


def request_of(asked: dict[str, Json]) -> Json:
    """Return a request that asks what the capture's `[asked]` says."""
    function = {"type": "function", "function": {"name": "brew_tea"}}
    more: dict[str, Json] = {
        "usage": {"stream_options": {"include_usage": True}},
        "tools": {"tools": [function]},
        "legacy": {"functions": [function["function"]]},
        "forced_tool": {"tool_choice": function},
    }
    body: dict[str, Json] = {"messages": [], "stream": False, "model": "acme/brook-8b"}
    body |= {key: asked[key] for key in ("stream", "model", "n") if key in asked}
    for key, fields in more.items():
        if asked.get(key):
            body.update(fields)
    return body


def without_made_up(data: bytes) -> bytes:
    """Return *data* without times, and without ids that were made up."""
    data = re.sub(rb'"created":\d+', b'"created":0', data)
    return re.sub(rb'"(chatcmpl-|call_)[0-9a-f]{24}"', b'"made up"', data)


@pytest.mark.parametrize("provider_name", sorted({x.parts[-3] for x in CAPTURES}))
def test_captures_come_through_and_are_observed_alike(
    reverse: Mitmdump, provider: Provider, provider_name: str
) -> None:
    paths = [each for each in CAPTURES if each.parts[-3] == provider_name]
    answered = [(path, *ask_for(path, reverse, provider)) for path in paths]
    # All of them at once, since a record is written a moment after its answer.
    with reverse.options(normalize_mode="observe"):
        observed = [ask_for(path, reverse, provider) for path in paths]
    for (path, script, body), (raw, seen) in zip(answered, observed, strict=True):
        expected = path.parent / f"expected{response_of(path).suffix}"
        assert without_made_up(body) == without_made_up(expected.read_bytes()), path
        assert seen == raw.bytes, path
        assert counts(reverse.records(script)) == counts(reverse.records(raw)), path


def response_of(path: Path) -> Path:
    return next(path.parent.glob("response.*"))


def ask_for(path: Path, mitmdump: Mitmdump, provider: Provider) -> tuple[Script, bytes]:
    """Ask for what was captured; return the script of it and what the client gets."""
    info = tomllib.loads(path.read_text(encoding="utf-8"))
    response = response_of(path)
    made: dict[str, Json] = {"headers": JSON} if response.suffix == ".json" else {}
    status = info.get("status", 200)
    script = provider.script(
        response.read_bytes(), status=status, framing="length", **made
    )
    body, _ = post(mitmdump, script, request_of(info["asked"]))
    return script, body


def test_strict_answers_have_only_what_openai_defines(
    reverse: Mitmdump, provider: Provider
) -> None:
    spoken = event(
        {
            "id": "chatcmpl-brook",
            "object": "chat.completion.chunk",
            "created": 1790000000,
            "model": "acme/brook-8b",
            "provider": "Brook",
            "choices": [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": "Hi", "reasoning": "so"},
                    "finish_reason": None,
                }
            ],
        }
    )
    script = provider.script(spoken, chunk({}, "stop"), DONE)
    with reverse.options(normalize_strict=True):
        body, _ = post(reverse, script)
    assert b"provider" not in body
    assert b"reasoning" not in body
    assert b'"content":"Hi"' in body
    body, _ = post(reverse, provider.script(spoken, chunk({}, "stop"), DONE))
    assert b'"provider":"Brook"' in body


def test_a_body_with_only_an_error_gets_its_status(
    reverse: Mitmdump, provider: Provider
) -> None:
    error = dumps({"error": {"message": "Provider returned error", "code": 502}})
    script = provider.script(error, headers=JSON, framing="length")
    body, reply = post(reverse, script, WHOLE)
    assert reply.status == 502
    assert json.loads(body)["error"]["code"] == "502"
    assert reverse.records(script)[-1]["status"] == 502
    skipped = provider.script(error, headers=JSON, framing="length")
    with reverse.options(normalize_skip=["error-status"]):
        body, reply = post(reverse, skipped, WHOLE)
    assert (reply.status, body) == (200, error)


# -- whose TLS is opened -----------------------------------------------------------


def issuer(
    mitmdump: Mitmdump, target: str, *, ca: Path, body: Json = ASKED, path: str
) -> tuple[str, bytes]:
    """Return who signed the certificate that the client sees, and the answer."""
    tunnel = connect(mitmdump.port, tunnel=target, ca=ca)
    assert isinstance(tunnel, ssl.SSLSocket)
    certificate = tunnel.getpeercert()
    assert certificate
    names: Any = certificate["issuer"]
    with Http1Client(tunnel, target) as client:
        answer = client.post(path, body).rest()
    return dict(pair for (pair,) in names)["commonName"], answer


def test_tls_of_a_host_that_is_not_listed_stays_closed(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    provider = secure["http/1.1"]
    script = provider.script(*NIM)
    target = f"{LOOPBACK}:{provider.port}"
    seen = issuer(explicit, target, ca=provider_ca, path=script.path)
    assert seen == ("provider", body_of(NIM))


def test_tls_of_every_host_is_opened_without_normalize_only(
    explicit: Mitmdump, secure: dict[str, Provider]
) -> None:
    provider = secure["http/1.1"]
    script = provider.script(*NIM)
    target = f"{LOOPBACK}:{provider.port}"
    with explicit.options(normalize_only=False):
        seen = issuer(explicit, target, ca=explicit.ca, path=script.path)
    assert seen == ("mitmproxy", body_of(NIM))  # opened, but not one of ours


def test_allow_hosts_of_the_user_wins(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    provider = secure["http/1.1"]
    script = provider.script(*NIM)
    target = f"{LOOPBACK}:{provider.port}"
    with explicit.options(allow_hosts=[target]):  # although it is not listed
        seen = issuer(explicit, target, ca=explicit.ca, path=script.path)
        assert seen[0] == "mitmproxy"
    target = f"localhost:{provider.port}"
    with explicit.options(allow_hosts=["elsewhere.test"]):  # although it is listed
        seen = issuer(explicit, target, ca=provider_ca, path=script.path)
        assert seen == ("provider", body_of(NIM))


def test_ignore_hosts_of_the_user_wins(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    port = secure["http/1.1"].port
    script = secure["http/1.1"].script(*NIM)
    with explicit.options(ignore_hosts=[rf"localhost:{port}"]):
        seen = issuer(explicit, f"localhost:{port}", ca=provider_ca, path=script.path)
    assert seen == ("provider", body_of(NIM))


def test_plain_http_through_the_proxy_is_repaired_on_listed_hosts_only(
    explicit: Mitmdump, provider: Provider
) -> None:
    for host, expected in (("localhost", OPENAI), (LOOPBACK, NIM)):
        script = provider.script(*NIM)
        authority = f"{host}:{provider.port}"
        with Http1Client(connect(explicit.port), authority) as client:
            reply = client.post(f"http://{authority}{script.path}", ASKED)
            assert reply.rest() == body_of(expected)


def test_client_may_speak_tls_with_the_proxy_itself(
    explicit: Mitmdump, provider: Provider
) -> None:
    # A "secure web proxy": the first TLS is the proxy's own, not a host's.
    script = provider.script(*NIM)
    for host in ("localhost", "proxy.invalid"):
        connection = connect(explicit.port, ca=explicit.ca, over_tls=host)
        with Http1Client(connection, f"localhost:{provider.port}") as client:
            url = f"http://localhost:{provider.port}{script.path}"
            assert client.post(url, ASKED).rest() == body_of(OPENAI), host


def test_client_that_hangs_up_in_the_handshake_is_not_called_distrustful(
    start: Start, secure: dict[str, Provider]
) -> None:
    options = {"normalize_hosts": "localhost", "ssl_insecure": "true"}
    mitmdump = start(options=options)
    target = f"localhost:{secure['http/1.1'].port}"
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    hello = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        hello.do_handshake()
    with connect(mitmdump.port) as raw:
        raw.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        assert b" 200 " in raw.recv(65536)
        raw.sendall(outgoing.read())
        raw.recv(65536)  # the certificate is on its way
    mitmdump.wait_for("client disconnect")
    mitmdump.stop()
    assert "does not trust mitmproxy's CA" not in mitmdump.log


def test_client_that_does_not_trust_the_ca_is_told_what_to_do(
    explicit: Mitmdump, secure: dict[str, Provider], provider_ca: Path
) -> None:
    target = f"localhost:{secure['http/1.1'].port}"
    with pytest.raises(ssl.SSLCertVerificationError):
        connect(explicit.port, tunnel=target, ca=provider_ca)
    explicit.wait_for("it does not trust mitmproxy's CA. To fix this: ")
    explicit.wait_for(str(explicit.ca))
    explicit.wait_for("NODE_EXTRA_CA_CERTS")


# -- broken ends -------------------------------------------------------------------


@pytest.mark.parametrize("how", [Break.RESET, Break.CUT])
def test_broken_stream_is_not_made_whole(
    reverse: Mitmdump, provider: Provider, how: Break
) -> None:
    gate = threading.Event()
    script = provider.script(*NIM[:2], NIM[2][:30], gate, how)
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        reply.until(OPENAI[1])
        gate.set()
        body = reply.broken()
    assert body.startswith(body_of(OPENAI[:2]))
    assert b'finish_reason":"' not in body
    assert b"[DONE]" not in body
    *_, flow = reverse.records(script)
    assert flow["end"] == "upstream-broke"
    assert flow["status"] == 200


def test_break_is_an_end_once_the_finish_reason_has_come(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    script = provider.script(*NIM[:3], gate, NIM[3], Break.CUT)
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(script.path, ASKED)
        reply.until(OPENAI[2])
        gate.set()
        assert reply.rest() == body_of(OPENAI)
    assert reverse.records(script)[-1]["end"] == "complete"


@pytest.mark.parametrize("how", [Break.RESET, Break.CUT])
@pytest.mark.parametrize("mine", ["http/1.1", "h2"])
def test_broken_http2_stream_is_the_upstreams_fault(
    explicit: Mitmdump, secure: dict[str, Provider], mine: str, how: Break
) -> None:
    provider = secure["h2"]
    gate = threading.Event()
    script = provider.script(*NIM[:2], gate, how)
    with client_of(explicit, f"localhost:{provider.port}", mine) as client:
        reply = client.post(script.path, ASKED)
        reply.until(OPENAI[1])
        gate.set()
        assert reply.broken() == body_of(OPENAI[:2])
    assert explicit.records(script)[-1]["end"] == "upstream-broke"


def test_client_that_leaves_is_recorded(reverse: Mitmdump, provider: Provider) -> None:
    never = threading.Event()
    script = provider.script(NIM[0], never)
    with Http1Client(connect(reverse.port)) as client:
        client.post(script.path, ASKED).until(b"\n\n")
    assert reverse.records(script)[-1]["end"] == "client-left"
    never.set()


@pytest.mark.parametrize("upstream", ["http/1.1", "h2"])
def test_http2_client_that_cancels_is_recorded(
    explicit: Mitmdump, secure: dict[str, Provider], upstream: str
) -> None:
    provider = secure[upstream]
    never = threading.Event()
    script = provider.script(NIM[0], never)
    with client_of(explicit, f"localhost:{provider.port}", "h2") as client:
        assert isinstance(client, Http2Client)
        reply = client.post(script.path, ASKED)
        reply.until(b"\n\n")
        reply.cancel()
        assert explicit.records(script)[-1]["end"] == "client-left"
    never.set()


def test_http2_client_that_hangs_up_is_recorded(
    explicit: Mitmdump, secure: dict[str, Provider]
) -> None:
    never = threading.Event()
    script = secure["h2"].script(NIM[0], never)
    target = f"localhost:{secure['h2'].port}"
    with client_of(explicit, target, "h2") as client:
        client.post(script.path, ASKED).until(b"\n\n")
    assert explicit.records(script)[-1]["end"] == "client-left"
    never.set()


def test_client_that_leaves_before_the_answer_is_recorded(
    reverse: Mitmdump, provider: Provider
) -> None:
    script = provider.script(*NIM, silent=(never := threading.Event()))
    with Http1Client(connect(reverse.port)) as client:
        client.send(script.path, ASKED)
        assert script.asked.wait(5)
    *_, flow = reverse.records(script)
    assert flow["end"] == "error"
    assert flow["status"] is None
    never.set()


def test_answer_that_never_arrived_is_recorded(
    explicit: Mitmdump, provider: Provider
) -> None:
    script = provider.script()
    with socket.socket() as nobody:
        nobody.bind((LOOPBACK, 0))  # reserved, and not listening
        url = f"http://localhost:{nobody.getsockname()[1]}{script.path}"
        with Http1Client(connect(explicit.port)) as client:
            assert client.post(url, ASKED).status == 502
    *_, flow = explicit.records(script)
    assert flow["end"] == "error"
    assert flow["model"] == ASKED["model"]
    assert flow["stream"] is True
    assert flow["status"] == 502


def test_broken_body_is_recorded_with_the_status_that_the_client_got(
    reverse: Mitmdump, provider: Provider
) -> None:
    script = provider.script(b'{"choices":', Break.CUT, b"[]}", framing="length")
    _, reply = post(reverse, script, WHOLE)
    *_, flow = reverse.records(script)
    assert flow["end"] == "upstream-broke"
    assert flow["status"] == reply.status == 502


def test_empty_http2_frame_does_not_end_the_stream(
    explicit: Mitmdump, secure: dict[str, Provider]
) -> None:
    provider = secure["h2"]
    script = provider.script(*NIM[:2], b"", *NIM[2:])
    with client_of(explicit, f"localhost:{provider.port}", "http/1.1") as client:
        assert client.post(script.path, ASKED).rest() == body_of(OPENAI)


def test_empty_http2_frame_after_the_finish_does_not_double_done(
    explicit: Mitmdump, secure: dict[str, Provider]
) -> None:
    provider = secure["h2"]
    script = provider.script(*NIM[:4], b"", NIM[4])
    with client_of(explicit, f"localhost:{provider.port}", "http/1.1") as client:
        assert client.post(script.path, ASKED).rest() == body_of(OPENAI)


# -- the pairs log -----------------------------------------------------------------


def test_pairs_log_says_what_became_of_each_event(
    reverse: Mitmdump, provider: Provider
) -> None:
    keep_alive = b": still here\n\n"
    parts = (keep_alive, *NIM)
    script = provider.script(*parts)
    body, _ = post(reverse, script, {**ASKED, "user": "canary"}, headers={"x-a": "b"})
    *pairs, flow = reverse.records(script)
    assert [set(pair) for pair in pairs] == [
        {"type", "v", "flow", "n", "ms", "fixes", "before", "after"}
    ] * len(pairs)
    assert [
        (pair["type"], pair["v"], pair["n"], pair["fixes"], pair["before"])
        for pair in pairs
    ] == [
        ("pair", 1, 0, ["comment-sent"], keep_alive.decode()),
        ("pair", 1, 1, ["content-null"], NIM[0].decode()),
        ("pair", 1, 2, ["role-null"], NIM[1].decode()),
        ("pair", 1, 3, ["role-null"], NIM[2].decode()),
        (
            "pair",
            1,
            4,
            ["role-null", "finish-with-delta", "field-null"],
            NIM[3].decode(),
        ),
    ]
    assert [pair["after"] for pair in pairs] == [
        ["\n"],
        *([each.decode()] for each in OPENAI[:4]),
    ]
    assert all(
        isinstance(pair["ms"], int | float) and pair["ms"] >= 0 for pair in pairs
    )
    assert set(flow) == {
        *("type", "v", "flow", "time", "host", "path", "status", "model", "stream"),
        *("events", "changed", "fixes", "bytes_in", "bytes_out", "first_ms"),
        *("total_ms", "end"),
    }
    assert flow["time"].endswith("Z")
    assert 0 < flow["first_ms"] <= flow["total_ms"]
    expected = {
        "type": "flow",
        "v": 1,
        "host": f"{LOOPBACK}:{provider.port}",
        "path": script.path,
        "status": 200,
        "model": "acme/brook-8b",
        "stream": True,
        "events": 6,
        "changed": 5,
        "fixes": {
            "role-null": 3,
            "comment-sent": 1,
            "content-null": 1,
            "finish-with-delta": 1,
            "field-null": 1,
        },
        "bytes_in": len(script.bytes),
        "bytes_out": len(body),
        "end": "complete",
    }
    assert {name: flow[name] for name in expected} == expected


def test_added_event_has_no_before_and_the_number_of_events(
    reverse: Mitmdump, provider: Provider
) -> None:
    script = provider.script(*OPENAI[:4])
    body, _ = post(reverse, script)
    assert body == body_of(OPENAI)
    pair, flow = reverse.records(script)
    assert (pair["n"], pair["before"], pair["after"], pair["fixes"]) == (
        4,
        None,
        [DONE.decode()],
        ["done-missing"],
    )
    assert flow["changed"] == 0
    assert flow["fixes"] == {"done-missing": 1}


def test_query_is_in_no_record(reverse: Mitmdump, provider: Provider) -> None:
    script = provider.script(*NIM)
    provider.alias(script, f"{script.path}?key={KEY}")
    with Http1Client(connect(reverse.port)) as client:
        client.post(f"{script.path}?key={KEY}", ASKED).rest()
    reverse.records(script)
    assert KEY not in reverse.pairs_path.read_text()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_pairs_log_is_for_its_owner_only(reverse: Mitmdump, provider: Provider) -> None:
    script = provider.script(*NIM)
    post(reverse, script)
    reverse.records(script)
    path = reverse.pairs_path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_nothing_of_the_request_is_logged(
    reverse: Mitmdump, provider: Provider
) -> None:
    asked = {**ASKED, "messages": [{"role": "user", "content": PROMPT}]}
    secret = {"authorization": f"Bearer {KEY}", "cookie": f"session={KEY}"}
    echo = {
        "detail": [
            {
                "type": "missing",
                "loc": ["body", "messages"],
                "msg": "no",
                "input": asked,
            }
        ]
    }
    scripts = [
        provider.script(*NIM),
        provider.script(dumps(echo), status=422, headers=JSON),
        provider.script(
            dumps({"message": f"bad key {KEY}", "request": asked}),
            status=401,
            headers=JSON,
        ),
        provider.script(
            event({"error": {"message": "no", "code": 422, "input": PROMPT}}), DONE
        ),
    ]
    for script in scripts:
        post(reverse, script, asked, headers=secret)
        reverse.records(script)
    text = reverse.pairs_path.read_text()
    printed = reverse.printed()
    for secret_text in (KEY, PROMPT):
        assert secret_text not in printed
    assert KEY not in text
    for line in text.splitlines():
        assert PROMPT not in line, json.loads(line)["fixes"]


@pytest.mark.parametrize(
    ("header", "query"),
    [
        ({"authorization": f"Bearer {KEY}"}, ""),
        ({"authorization": f"bearer {KEY}"}, ""),
        ({"api-key": KEY}, ""),
        ({"cookie": f"theme=dark; session={KEY}"}, ""),
        ({}, f"?key={KEY}"),
    ],
    ids=["Bearer", "bearer", "api-key", "cookie", "query"],
)
def test_key_that_an_error_quotes_is_masked(
    reverse: Mitmdump, provider: Provider, header: dict[str, str], query: str
) -> None:
    data = dumps({"message": f"Incorrect key provided: {KEY}."})
    script = provider.script(data, status=401, headers=JSON)
    provider.alias(script, script.path + query)
    with Http1Client(connect(reverse.port)) as client:
        client.post(script.path + query, ASKED, header).rest()
    pair, _ = reverse.records(script)
    assert KEY not in json.dumps(pair)


def test_echo_in_an_error_event_is_masked(
    reverse: Mitmdump, provider: Provider
) -> None:
    echo = event(
        {
            "error": {
                "message": "no",
                "type": None,
                "param": None,
                "code": None,
                "input": PROMPT,
            }
        }
    )
    script = provider.script(echo.replace(b"\n", b"\r\n"))
    body, _ = post(reverse, script)
    assert body == echo
    pair, _ = reverse.records(script)
    assert PROMPT not in json.dumps(pair)


def test_echo_of_the_request_is_masked_before_and_after(
    reverse: Mitmdump, provider: Provider
) -> None:
    echo = {"detail": [{"loc": ["body"], "msg": "too long", "input": PROMPT}]}
    script = provider.script(dumps(echo), status=422, headers=JSON)
    body, _ = post(reverse, script)
    assert PROMPT.encode() in body  # the client may know what it sent
    pair, _ = reverse.records(script)
    assert PROMPT not in pair["before"]
    assert PROMPT not in pair["after"][0]
    assert "too long" in pair["after"][0]


QUOTES = {
    "a message": lambda text: event({"error": {"message": f"Bad prompt: {text}"}}),
    "a list": lambda text: event({"detail": [{"msg": text.upper(), "loc": ["body"]}]}),
    "what Python prints": lambda text: event({"error": {"message": repr([text])}}),
    "JSON in JSON": lambda text: event({"error": json.dumps({"messages": [text]})}),
    "a part": lambda text: event({"message": f"no: {text[:15]}...", "code": 400}),
    "beside choices": lambda text: event({"choices": [], "error": {"message": text}}),
    "words": lambda text: f"Oops: {text}\n\n".encode(),
    "no JSON": lambda text: f"event: error\ndata: {text}\n\n".encode(),
    "HTML": lambda text: f"<html><p>{text.replace(' ', '<br>')}</p></html>".encode(),
}


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("form", QUOTES)
def test_prompt_that_an_error_quotes_is_masked_wherever_it_stands(
    reverse: Mitmdump, provider: Provider, form: str, status: int
) -> None:
    prompt = f"please keep {PROMPT} between us"
    asked = {**ASKED, "messages": [{"role": "user", "content": prompt}]}
    quote = QUOTES[form](prompt)
    if status == 200:
        script = provider.script(*NIM[:2], quote)
    else:
        script = provider.script(quote.removeprefix(b"data: "), status=status)
    got, _ = post(reverse, script, asked)
    assert b"please" in got.lower()  # the client may know what it sent
    logged = json.dumps([*reverse.records(script)]).lower()
    assert not [word for word in ("canary", "please", "between") if word in logged]
    assert PROMPT not in reverse.printed()


def test_what_a_model_quotes_of_the_prompt_is_its_answer(
    reverse: Mitmdump, provider: Provider
) -> None:
    asked = {**ASKED, "messages": [{"role": "user", "content": PROMPT}]}
    script = provider.script(chunk({"content": PROMPT, "role": None}), DONE)
    post(reverse, script, asked)
    assert PROMPT in json.dumps(reverse.records(script))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM")
def test_sigterm_in_mid_stream_loses_no_record(
    start: Start, provider: Provider
) -> None:
    never = threading.Event()
    mitmdump = start(*to(provider))
    script = provider.script(*NIM[:3], never)
    with Http1Client(connect(mitmdump.port)) as client:
        client.post(script.path, ASKED).until(OPENAI[2])
        mitmdump.terminate()
    never.set()
    *pairs, flow = mitmdump.pairs()
    assert [pair["n"] for pair in pairs] == [0, 1, 2]
    assert flow["type"] == "flow"
    assert flow["changed"] == 3


def test_second_instance_takes_the_next_free_name(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "pairs.jsonl"
    options = {"normalize_pairs": str(path)}
    mitmdumps = [start(*to(provider), options=options) for _ in range(2)]
    scripts = [provider.script(*NIM) for _ in mitmdumps]
    for mitmdump, script in zip(mitmdumps, scripts, strict=True):
        post(mitmdump, script)
        found = path if script is scripts[0] else path.with_name("pairs-2.jsonl")
        assert mitmdump.records(script, found)
    mitmdumps[1].wait_for(f"{path} is written by another instance")
    assert "another instance" not in mitmdumps[0].printed()


def test_pairs_log_rotates_and_four_old_files_stay(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "logs" / "pairs.jsonl"
    options = {"normalize_pairs": str(path), "normalize_pairs_size": "1500"}
    mitmdump = start(*to(provider), options=options)
    names = {path.name, *(f"{path.name}.{number}" for number in range(1, 5))}
    for _ in range(8):
        post(mitmdump, provider.script(*NIM))
    mitmdump.stop()
    files = [each for each in path.parent.iterdir() if not each.name.startswith(".")]
    assert {each.name for each in files} == names
    for each in files:
        lines = each.read_text().splitlines(keepends=True)
        assert sum(map(len, lines[:-1])) < 1500
        for line in lines:
            json.loads(line)


def test_pairs_log_is_off_with_an_empty_path(start: Start, provider: Provider) -> None:
    mitmdump = start(*to(provider), options={"normalize_pairs": ""})
    body, _ = post(mitmdump, provider.script(*NIM))
    assert body == body_of(OPENAI)
    mitmdump.stop()
    assert not (mitmdump.confdir / "normalize").exists()


def test_pairs_log_lies_where_the_option_says(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "REPORTS" / "pairs.jsonl"
    mitmdump = start(*to(provider), options={"normalize_pairs": str(path)})
    script = provider.script(*NIM)
    post(mitmdump, script)
    assert mitmdump.records(script, path)


def test_log_that_cannot_be_written_costs_no_stream(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "pairs.jsonl"
    mitmdump = start(*to(provider), options={"normalize_pairs": str(path)})
    for _ in range(2):
        body, _ = post(mitmdump, provider.script(*NIM))
        assert body == body_of(OPENAI)
    mitmdump.wait_for("cannot write the pairs log")
    mitmdump.stop()
    assert mitmdump.log.count("cannot write the pairs log") == 1


def test_running_answer_keeps_its_pairs_log(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    mitmdump = start(*to(provider))
    other = tmp_path / "other.jsonl"
    gate = threading.Event()
    running = provider.script(*NIM[:2], gate, *NIM[2:])
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(running.path, ASKED)
        reply.until(OPENAI[1])
        mitmdump.set(normalize_pairs=str(other))
        gate.set()
        reply.rest()
    assert len(mitmdump.records(running)) == 5
    assert not other.exists()


def test_pairs_log_may_change_while_running_and_change_back(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    mitmdump = start(*to(provider))
    default = mitmdump.control(get="normalize_pairs")
    other = tmp_path / "other.jsonl"
    for value, path in ((default, None), (str(other), other), (default, None)):
        mitmdump.set(normalize_pairs=value)
        script = provider.script(*NIM)
        post(mitmdump, script)
        assert mitmdump.records(script, path)
    assert "another instance" not in mitmdump.printed()


# -- options -----------------------------------------------------------------------


def test_option_counts_for_new_answers_and_running_ones_keep_theirs(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    running = provider.script(*NIM[:2], gate, *NIM[2:])
    with Http1Client(connect(reverse.port)) as client:
        reply = client.post(running.path, ASKED)
        reply.until(OPENAI[1])
        with reverse.options(normalize_skip=["content-null"]):
            body, _ = post(reverse, provider.script(*NIM))
            assert body == body_of([NIM[0], *OPENAI[1:]])
            with reverse.options(normalize_mode="observe"):
                body, _ = post(reverse, provider.script(*NIM))
                assert body == body_of(NIM)
                gate.set()
                assert reply.rest() == body_of(OPENAI)
    assert "mode" not in reverse.records(running)[-1]


def test_host_may_be_added_while_running(
    explicit: Mitmdump, secure: dict[str, Provider]
) -> None:
    provider = secure["http/1.1"]
    target = f"{LOOPBACK}:{provider.port}"
    with explicit.options(normalize_hosts=["localhost", target]):
        script = provider.script(*NIM)
        seen = issuer(explicit, target, ca=explicit.ca, path=script.path)
    assert seen == ("mitmproxy", body_of(OPENAI))


def test_skip_may_name_a_host(reverse: Mitmdump, provider: Provider) -> None:
    with reverse.options(normalize_skip=[f"{LOOPBACK}:content-null"]):
        body, _ = post(reverse, provider.script(*NIM))
        assert body == body_of([NIM[0], *OPENAI[1:]])
    with reverse.options(normalize_skip=["elsewhere.test:content-null"]):
        body, _ = post(reverse, provider.script(*NIM))
        assert body == body_of(OPENAI)


@pytest.mark.parametrize(
    ("name", "value", "named"),
    [
        ("normalize_hosts", ["https://brook.test/v1"], "https://brook.test/v1"),
        ("normalize_hosts", ["brook.test:banana"], "banana"),
        ("normalize_mode", "obsrve", "obsrve"),
        ("normalize_skip", ["rolle-null"], "rolle-null"),
        ("normalize_pairs_size", "big", "big"),
        ("normalize_pairs_size", "-1", "-1"),
    ],
)
def test_bad_value_is_refused_with_option_and_value_and_the_old_one_stays(
    reverse: Mitmdump, provider: Provider, name: str, value: Json, named: str
) -> None:
    old = reverse.control(get=name)
    try:
        with pytest.raises(ValueError, match=name) as refusal:
            reverse.set(**{name: value})
        assert named in str(refusal.value)
        assert reverse.control(get=name) == old
    finally:
        reverse.set(**{name: old})
    body, _ = post(reverse, provider.script(*NIM))
    assert body == body_of(OPENAI)


def test_bad_value_on_the_command_line_ends_it_with_a_sentence(
    tmp_path: Path, mitm_ca: Path, provider: Provider
) -> None:
    options = {"normalize_skip": "rolle-null"}
    mitmdump = Mitmdump(tmp_path, mitm_ca, *to(provider), options=options)
    with pytest.raises(AssertionError, match="ended as it started"):
        mitmdump.__enter__()
    assert "invalid normalize_skip 'rolle-null'" in mitmdump.log


# -- bugs, reloads, commands -------------------------------------------------------

BUGGY = """\
from llm_normalize.fixes.delta.content_null import ContentNull

def edit(self, chunk):
    raise RuntimeError("on purpose")

def request(flow):
    if "buggy" in flow.request.headers:
        ContentNull.edit = edit
"""


def test_bug_in_a_fix_costs_that_fix_only(start: Start, provider: Provider) -> None:
    mitmdump = start(*to(provider), scripts=[BUGGY])
    script = provider.script(*NIM)
    body, _ = post(mitmdump, script, headers={"buggy": "1"})
    # The event at hand is raw; later ones lack that fix alone.
    assert body == body_of([NIM[0], *OPENAI[1:]])
    assert mitmdump.records(script)[-1]["end"] == "complete"
    assert mitmdump.printed().count("fix content-null failed") == 1


MADE = f"""\
from mitmproxy import http

def request(flow):
    if "made" in flow.request.headers:
        headers = {{"content-type": "text/event-stream"}}
        flow.response = http.Response.make(200, {body_of(NIM)!r}, headers)
"""


def test_stream_that_another_addon_made_is_repaired_too(
    start: Start, provider: Provider
) -> None:
    # As with mitmproxy's server replay.
    mitmdump = start(*to(provider), scripts=[MADE])
    script = provider.script()
    body, _ = post(mitmdump, script, headers={"made": "1"})
    assert body == body_of(OPENAI)
    flow = mitmdump.records(script)[-1]
    assert flow["events"] == len(NIM)
    assert flow["bytes_out"] == len(body)


def test_touching_the_script_reloads_it(
    start: Start, provider: Provider, addon: Path
) -> None:
    mitmdump = start(*to(provider), addon=addon)
    first = provider.script(*NIM)
    post(mitmdump, first)
    gate = threading.Event()
    running = provider.script(*NIM[:4], gate, NIM[4])
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(running.path, ASKED)
        reply.until(OPENAI[2])
        # The code on the disk changes too, as with an update.
        code = addon / "llm_normalize" / "fixes" / "delta" / "role_null.py"
        code.write_text(code.read_text().replace('"role-null"', '"role-naught"'))
        touch(addon / "normalize.py")
        mitmdump.wait_for(f"Loading script {addon / 'normalize.py'}", times=2)
        gate.set()
        assert reply.rest() == body_of(OPENAI)
    later = provider.script(*NIM)
    body, _ = post(mitmdump, later)
    assert body == body_of(OPENAI)
    assert mitmdump.records(later)[-1]["fixes"]["role-naught"] == 3
    printed = mitmdump.printed()
    assert "rror" not in printed
    assert "another instance" not in printed


def touch(path: Path) -> None:
    later = path.stat().st_mtime + 10
    os.utime(path, (later, later))


def test_open_stream_keeps_its_record_over_a_reload(
    start: Start, provider: Provider, addon: Path
) -> None:
    mitmdump = start(*to(provider), addon=addon)
    gate = threading.Event()
    running = provider.script(*NIM[:2], gate, *NIM[2:])
    with Http1Client(connect(mitmdump.port)) as client:
        reply = client.post(running.path, ASKED)
        reply.until(OPENAI[1])
        touch(addon / "normalize.py")
        mitmdump.wait_for(f"Loading script {addon / 'normalize.py'}", times=2)
        gate.set()
        assert reply.rest() == body_of(OPENAI)
    mitmdump.stop()
    *pairs, flow = [
        each for each in mitmdump.pairs() if each.get("path") in (None, running.path)
    ]
    assert [pair["n"] for pair in pairs] == [0, 1, 2, 3]
    assert flow["end"] == "complete"


def test_commands_tell_what_was_repaired_and_what_is_skipped(
    reverse: Mitmdump, provider: Provider
) -> None:
    asked = {**ASKED, "model": "acme/counted"}
    for _ in range(2):
        script = provider.script(*NIM)
        post(reverse, script, asked)
    rows = reverse.control(command="normalize.stats")
    assert [
        f"{LOOPBACK}:{provider.port}",
        "acme/counted",
        "2",
        "2",
        "role-null",
        "6",
    ] in rows
    with reverse.options(normalize_skip=["role-null", "a.test:bom-sent"]):
        rows = reverse.control(command="normalize.fixes")
    skipped = {row[0]: row[1] for row in rows[1:]}
    assert skipped["role-null"] == "everywhere"
    assert skipped["bom-sent"] == "on a.test"
    assert skipped["content-null"] == ""


def test_flow_that_is_loaded_from_a_file_stays_what_it_was(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    mitmdump = start(*to(provider), "-w", str(first))
    post(mitmdump, provider.script(*NIM))
    mitmdump.stop()
    copies = ("-n", "-r", str(first), "-w", str(second))
    options = {"confdir": str(tmp_path)}
    again = subprocess.run(
        command([ADDON / "normalize.py"], options, *copies, listen=None),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "repaired" not in again.stdout
    states = []
    for path in (first, second):
        with path.open("rb") as file:
            (flow,) = flow_io.FlowReader(file).stream()
        assert isinstance(flow, http.HTTPFlow)
        states.append((flow.metadata, flow.response and flow.response.raw_content))
    assert states[0] == states[1]
    assert not list(tmp_path.glob("normalize/*.jsonl"))


def test_flow_file_holds_what_was_sent_and_what_the_view_needs(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    path = tmp_path / "flows"
    mitmdump = start(*to(provider), "-w", str(path))
    post(mitmdump, provider.script(*NIM))
    whole = dumps(completion({"role": "assistant", "content": None}))
    post(mitmdump, provider.script(whole, headers=JSON), WHOLE)
    mitmdump.stop()
    with path.open("rb") as file:
        flows = list(flow_io.FlowReader(file).stream())
    contentviews.add(BeforeAfter)
    expected = body_of(OPENAI), b'"content":""'
    for flow, body in zip(flows, expected, strict=True):
        assert isinstance(flow, http.HTTPFlow)
        assert flow.response
        assert flow.response.content
        assert body in flow.response.content
        shown = contentviews.Metadata(flow=flow, http_message=flow.response)
        view = contentviews.registry.get_view(flow.response.content, shown)
        assert view.name == "Before/After"
        text = view.prettify(flow.response.content, shown)
        assert " repaired\n" in text
        assert "x content-null: " in text
        assert "\nevent 0, " in text
