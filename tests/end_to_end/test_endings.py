"""Answers whose provider pauses, hangs or breaks off around their end, in a real mitmdump."""

import re
import time
from typing import Any

import pytest

from llm_normalize.conformance import meaning_of_stream
from llm_normalize.repair.fix import DONE, Wire, calling, chunk, head, rest, wire
from support import (
    Break,
    Http1Client,
    Http2Client,
    Mitmdump,
    Part,
    Provider,
    Script,
)

type Json = Any

TOOL = {"name": "get_time", "parameters": {"properties": {"zone": {"type": "string"}}}}
ASKED: dict[str, Json] = {
    "model": "acme-1",
    "stream": True,
    "messages": [],
    "tools": [{"type": "function", "function": TOOL}],
}
TEXT = chunk({"role": "assistant", "content": "Hi"})
STOP = chunk({}, finish="stop")
CALLS = chunk({}, finish="tool_calls")
ERROR = {"error": {"message": "worker died", "type": "x", "param": None, "code": None}}
OPENING = chunk({"role": "assistant", "content": None})
NAMED = {"name": "get_time", "arguments": ""}
HEAD = calling({**head(), "function": NAMED})
PAUSE = 0.3
FOREVER = 8.0
"""Longer than all that is waited for: who sees its end has waited too long."""
SOON = 4.0


def asked_of(script: Script) -> Json:
    """Return a request of a model of its own: what is learned of it is nobody else's."""
    return {**ASKED, "model": script.path}


def whole(client: Http1Client | Http2Client, script: Script) -> bytes:
    """Return the whole body, which must end long before its provider lets it."""
    begun = time.monotonic()
    body = client.post(script.path, asked_of(script)).rest()
    assert time.monotonic() - begun < SOON
    return body


def goes_on(client: Http1Client | Http2Client, upstream: Provider) -> None:
    """See that the connection serves the next request."""
    script = upstream.script(wire([TEXT, STOP, DONE]))
    reply = client.post(script.path, asked_of(script))
    assert reply.rest() == wire([TEXT, STOP, DONE])


def is_recorded(proxy: Mitmdump, script: Script, end: str = "complete") -> None:
    flows = [each for each in proxy.records(script) if each["type"] == "flow"]
    assert [each["end"] for each in flows] == [end]


# -- what waits for the next event, however long that takes ----------------------------


def in_turn(upstream: Provider, events: Wire) -> Script:
    """Return a script that pauses after each event."""
    parts: list[Part] = []
    for event in events:
        parts += [wire([event]), PAUSE]
    return upstream.script(*parts)


@pytest.mark.parametrize(
    ("events", "arguments"),
    [
        (
            [
                OPENING,
                calling({**head(), "function": {"name": "get_", "arguments": ""}}),
                calling({"index": 0, "function": {"name": "time"}}),
                calling(rest(0, '{"zone":1}')),
                *(CALLS, DONE),
            ],
            '{"zone":1}',
        ),
        (
            [
                OPENING,
                calling({"index": 0, "id": "c", "function": {"arguments": "{"}}),
                calling({"index": 0, "function": {"name": "get_time"}}),
                calling(rest(0, "}")),
                *(CALLS, DONE),
            ],
            "{}",
        ),
        (
            [OPENING, HEAD, CALLS, calling(rest(0, '{"zone":1}')), CALLS, DONE],
            '{"zone":1}',
        ),
    ],
    ids=["half a name", "late name", "early finish"],
)
def test_call_is_whole_although_its_provider_pauses(
    client: Http1Client | Http2Client,
    upstream: Provider,
    events: Wire,
    arguments: str,
) -> None:
    script = in_turn(upstream, events)
    out = client.post(script.path, asked_of(script)).rest()
    (call,) = meaning_of_stream(out).choices[0].calls
    assert (call.name, call.arguments) == ("get_time", arguments)
    assert out.index(b'"get_time"') < out.index(b'"finish_reason":"tool_calls"')
    assert out.count(b'"finish_reason":"tool_calls"') == 1


@pytest.mark.usefixtures("bridged")
def test_what_waits_for_the_next_event_leaves_in_a_long_silence(
    client: Http1Client | Http2Client, upstream: Provider
) -> None:
    parts: list[Part] = [wire([OPENING, HEAD, calling(rest())])]
    parts += [b": ping\n\n", 0.4] * 20
    script = upstream.script(*parts)
    reply = client.post(script.path, asked_of(script))
    reply.until(b'"arguments":"{}"')
    assert b"\n\n\n\n" in reply.body  # the comments overtake it


# -- a finish is an end ----------------------------------------------------------------


@pytest.mark.usefixtures("bridged")
@pytest.mark.parametrize("noise", [[], [b": ping\n\n", 0.3] * 20], ids=["", "comments"])
def test_stream_ends_in_the_silence_after_its_finish(
    client: Http1Client | Http2Client,
    upstream: Provider,
    proxy: Mitmdump,
    noise: list[Part],
) -> None:
    script = upstream.script(wire([TEXT, STOP]), *noise, FOREVER)
    body = re.sub(rb"\n{3,}", b"\n\n", whole(client, script))
    assert body == wire([TEXT, STOP, DONE])
    goes_on(client, upstream)
    is_recorded(proxy, script)


@pytest.mark.parametrize("how", [Break.RESET, Break.CUT])
@pytest.mark.parametrize("half", [b"", b'data: {"usa'], ids=["", "half an event"])
def test_stream_that_breaks_off_after_its_finish_ends_cleanly(
    client: Http1Client | Http2Client,
    upstream: Provider,
    proxy: Mitmdump,
    how: Break,
    half: bytes,
) -> None:
    script = upstream.script(wire([TEXT, STOP]) + half, PAUSE, how)
    assert whole(client, script) == wire([TEXT, STOP, DONE])
    goes_on(client, upstream)
    is_recorded(proxy, script)


def test_client_gets_the_end_at_once_although_the_provider_stays(
    client: Http1Client | Http2Client, upstream: Provider, proxy: Mitmdump
) -> None:
    with proxy.options(normalize_keepalive=0):
        for _ in range(2):
            script = upstream.script(wire([TEXT, STOP, DONE]), FOREVER, wire([TEXT]))
            assert whole(client, script) == wire([TEXT, STOP, DONE])
            is_recorded(proxy, script)
    goes_on(client, upstream)


@pytest.mark.usefixtures("bridged")
@pytest.mark.parametrize(
    "events",
    [[TEXT], [TEXT, STOP, ERROR]],
    ids=["no finish", "error after the finish"],
)
def test_stream_without_a_sure_finish_does_not_end(
    client: Http1Client | Http2Client,
    upstream: Provider,
    proxy: Mitmdump,
    events: Wire,
) -> None:
    script = upstream.script(wire(events), 1.8, Break.CUT)
    reply = client.post(script.path, asked_of(script))
    assert b"[DONE]" not in reply.broken()
    is_recorded(proxy, script, "upstream-broke")


def test_without_the_option_silence_ends_nothing(
    client: Http1Client | Http2Client, upstream: Provider, proxy: Mitmdump
) -> None:
    script = upstream.script(wire([TEXT, STOP]), 1.5, Break.CUT)
    with proxy.options(normalize_keepalive=0):
        reply = client.post(script.path, asked_of(script))
        begun = time.monotonic()
        assert reply.rest() == wire([TEXT, STOP, DONE])
        assert time.monotonic() - begun > 1


@pytest.mark.parametrize("parts", [[1.5], [wire([DONE]), 1.5, b"\n"]], ids=["", "done"])
def test_observed_stream_ends_as_its_provider_ends_it(
    client: Http1Client | Http2Client,
    upstream: Provider,
    proxy: Mitmdump,
    parts: list[Part],
) -> None:
    script = upstream.script(wire([TEXT, STOP]), *parts)
    with proxy.options(normalize_mode="observe", normalize_keepalive=1):
        begun = time.monotonic()
        assert client.post(script.path, asked_of(script)).rest() == script.bytes
        assert time.monotonic() - begun > 1
