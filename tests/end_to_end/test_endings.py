"""Answers whose provider pauses, hangs or breaks off around their end, in a real mitmdump."""

import re
import time
from typing import Any

import pytest

from llm_normalize.repair.fix import DONE, Wire, calling, chunk, head, wire
from support import Break, Http1Client, Http2Client, Mitmdump, Part, Provider, Script

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
