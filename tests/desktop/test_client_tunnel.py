"""The reverse proxy that Cursor's page sets up, asked as the end of a tunnel asks it."""

import json
from pathlib import Path

import pytest

from nim_stream import ASKED, STREAM
from support import LOOPBACK, Http1Client, Mitmdump, Provider, connect

TUNNEL = "words-of-a-tunnel.example.com"


def test_whoever_has_the_token_gets_a_repaired_stream_with_our_key(
    tmp_path: Path, mitm_ca: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_TOKEN", "the-token-of-the-gate")
    monkeypatch.setenv("A_KEY", "nvapi-canary-4711")
    script = provider.script(*STREAM)
    options = {
        "normalize_gate": "env:GATE_TOKEN",
        "normalize_keys": f"{LOOPBACK}=env:A_KEY",
    }
    mode = ("--mode", f"reverse:http://{LOOPBACK}:{provider.port}")
    with Mitmdump(tmp_path, mitm_ca, *mode, options=options) as mitmdump:
        for token, status in ("the-token-of-the-gate", 200), ("a-guess", 401):
            with Http1Client(connect(mitmdump.port), TUNNEL) as client:
                headers = {"authorization": f"Bearer {token}"}
                reply = client.post(script.path, ASKED, headers)
                assert reply.status == status
                reported = reply.rest()
                if status == 200:
                    first = json.loads(reported.split(b"\n")[0].removeprefix(b"data: "))
                    (choice,) = first["choices"]
                    assert choice["delta"] == {"role": "assistant", "content": ""}
    (asked,) = script.requests
    assert asked.headers["authorization"] == "Bearer nvapi-canary-4711"
