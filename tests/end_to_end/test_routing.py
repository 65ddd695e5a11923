"""Routes, model names, keys and the gate, through a real mitmdump."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nim_stream import ASKED, STREAM
from support import (
    LOOPBACK,
    Http1Client,
    Http2Client,
    Mitmdump,
    Provider,
    Script,
    connect,
    tunnelled,
)

OPENAI = "api.openai.com"
KEY = "nvapi-canary-4711"

type Start = Callable[..., Mitmdump]


def routed(provider: Provider, script: Script, host: str = OPENAI) -> str:
    """Return the route of *host* to the path of *script*."""
    base = script.path.removesuffix("/chat/completions")
    return f"{host}=http://{LOOPBACK}:{provider.port}{base}"


def nowhere_in(folder: Path, *words: str) -> None:
    """See that no file of *folder* has one of *words*."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    for path in files:
        data = path.read_bytes()
        assert [word for word in words if word.encode() in data] == [], path


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
def test_client_that_has_its_host_wired_in_gets_another_providers_stream(
    start: Start, provider: Provider, tmp_path: Path, alpn: str
) -> None:
    script = provider.script(*STREAM)
    flows = tmp_path / "flows"
    mitmdump = start(
        *("-w", str(flows)),
        normalize_routes=routed(provider, script),
        normalize_models="gpt-4o*=acme/brook-8b",
        normalize_keys=f"{LOOPBACK}=env:A_KEY",
    )
    with tunnelled(mitmdump, f"{OPENAI}:443", alpn, host=OPENAI) as client:
        own = {"authorization": "Bearer sk-the-clients-own"}
        asked = {**ASKED, "model": "gpt-4o-mini"}
        body = client.post("/v1/chat/completions", asked, own).rest()
    assert body.endswith(b"data: [DONE]\n\n")
    assert b'"role":null' not in body
    assert b'"model":"gpt-4o-mini"' in body
    assert b"acme" not in body
    (got,) = script.requests
    assert got.headers["authorization"] == f"Bearer {KEY}"
    assert got.headers["host"] == f"{LOOPBACK}:{provider.port}"
    assert json.loads(got.body)["model"] == "acme/brook-8b"
    mitmdump.terminate()
    assert OPENAI.encode() in flows.read_bytes()  # the address that was asked
    nowhere_in(tmp_path, KEY, "sk-the-clients-own")
    assert KEY not in mitmdump.log


def test_key_is_in_no_file_when_mitmdump_ends_in_mid_request(
    start: Start, provider: Provider, tmp_path: Path
) -> None:
    gate = threading.Event()
    script = provider.script(*STREAM, silent=gate)
    flows = tmp_path / "flows"
    mitmdump = start(
        *("--mode", f"reverse:http://{LOOPBACK}:{provider.port}", "-w", str(flows)),
        normalize_keys=f"{LOOPBACK}=env:A_KEY",
    )
    with Http1Client(connect(mitmdump.port)) as client:
        client.send(script.path, ASKED)
        assert script.asked.wait(20)
        mitmdump.terminate()
        gate.set()
    assert script.path.encode() in flows.read_bytes()
    nowhere_in(tmp_path, KEY)
    assert KEY not in mitmdump.log


@pytest.mark.parametrize("way", ["tunnel", "h2", "reverse"])
def test_one_address_serves_two_providers_by_model(
    start: Start, provider: Provider, way: str
) -> None:
    first, second = provider.script(*STREAM), provider.script(*STREAM)
    host = "nowhere.test"  # it cannot be connected to
    routes = [
        routed(provider, first, f"{host}/one-*"),
        routed(provider, second, host),
    ]
    args = ("--mode", f"reverse:https://{host}") if way == "reverse" else ()
    mitmdump = start(*args, normalize_routes=routes)
    for model, script in (("one-1", first), ("two", second), ("one-2", first)):
        asked = {**ASKED, "model": model}
        client: Http1Client | Http2Client
        if way == "reverse":
            client = Http1Client(connect(mitmdump.port))
        else:
            alpn = "h2" if way == "h2" else "http/1.1"
            client = tunnelled(mitmdump, f"{host}:443", alpn, host=host)
        with client:
            body = client.post("/v1/chat/completions", asked).rest()
        assert body.endswith(b"data: [DONE]\n\n")
        assert b'"role":null' not in body
        assert json.loads(script.requests[-1].body)["model"] == model
    assert (len(first.requests), len(second.requests)) == (2, 1)
