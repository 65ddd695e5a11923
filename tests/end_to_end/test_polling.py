"""An answer that is not ready, in a real mitmdump: it is asked for on the same way."""

import contextlib
import threading
from typing import Any

import pytest

from llm_normalize.repair.fix import completion
from llm_normalize.wire.json_text import dumps
from support import (
    PATIENCE,
    Http1Client,
    Http1Reply,
    Mitmdump,
    Provider,
    Script,
    body_script,
    connect,
    tunnelled,
)

type Json = Any

WHOLE = {"model": "m", "stream": False, "messages": []}
KEY = "nvapi-canary-4711"
AUTH = {"authorization": f"Bearer {KEY}"}
GOOD = dumps(completion({"role": "assistant", "content": "Hi"}))


def ready() -> Script:
    return body_script(GOOD)


def pending(provider: Provider, result: Script) -> Script:
    """Return a script that answers 202; *result* is at its status address."""
    script = provider.script(b'{"status":"pending"}', status=202, framing="length")
    name = script.path.split("/")[1]
    script.headers = {"content-type": "application/json", "nvcf-reqid": name}
    provider.alias(result, f"/v2/nvcf/pexec/status/{name}")
    return script


def test_answers_do_not_wait_for_each_other(
    reverse: Mitmdump, provider: Provider
) -> None:
    gate = threading.Event()
    with contextlib.ExitStack() as opened:
        clients = []
        for _ in range(8):
            result = ready()
            result.silent = gate
            client = opened.enter_context(Http1Client(connect(reverse.port)))
            client.send(pending(provider, result).path, WHOLE, AUTH)
            assert result.asked.wait(PATIENCE)
            clients.append(client)
        # All of them are held back, and others pass.
        assert reverse.ask(pending(provider, ready()).path, WHOLE, AUTH).body == GOOD
        gate.set()
        for client in clients:
            assert Http1Reply(client).status == 200


@pytest.mark.parametrize("protocol", ["http/1.1", "h2"])
def test_result_is_fetched_securely_for_a_client_of_http2(
    explicit: Mitmdump, secure: dict[str, Provider], protocol: str
) -> None:
    provider = secure[protocol]
    kind = {"Content-Type": "application/json", "X-Upper": "y"}
    result = Script("", [GOOD], headers=kind, framing="length")
    script = pending(provider, result)
    place = f"localhost:{provider.port}"
    # Header names are lower case there, whatever mitmproxy is told.
    with (
        explicit.options(normalize_outbound_headers=protocol == "h2"),
        tunnelled(explicit, place, "h2") as client,
    ):
        reply = client.post(script.path, WHOLE, AUTH)
        assert (reply.status, reply.rest()) == (200, GOOD)
    assert reply.headers["x-upper"] == "y"
    (asked,) = result.requests
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.headers[":authority" if protocol == "h2" else "host"] == place
    assert provider.protocols[-2:] == [protocol] * 2
