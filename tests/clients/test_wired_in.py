"""A real SDK that believes it talks to api.openai.com: proxy variables and a CA only."""

import json
from pathlib import Path
from typing import Any

import pytest

import environments
from clients import servers
from clients.missing_environment import needed
from clients.programs import RUNNERS
from nim_stream import STREAM
from script_runs import ended
from support import LOOPBACK, Mitmdump, Provider, body_script

KEY = "nvapi-canary-4711"
HOST = "api.openai.com"
PROGRAM = """
import json, sys
from openai import OpenAI

client = OpenAI(api_key="sk-the-clients-own", max_retries=0)
asked = json.loads(sys.argv[1])
text, ends, models = "", [], set()
for chunk in client.chat.completions.create(stream=True, **asked):
    models.add(chunk.model)
    for choice in chunk.choices:
        text += choice.delta.content or ""
        ends += [choice.finish_reason] if choice.finish_reason else []
listed = [model.id for model in client.models.list().data]
print(json.dumps([str(client.base_url), text, ends, sorted(models), listed]))
"""
ASKED = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Name a stream."}]}


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter that has the SDK."""
    lock = RUNNERS / "requirements-openai_3.txt"
    with needed("the SDK"):
        return environments.make_python("openai_3", lock)


def ask(python: Path, mitmdump: Mitmdump) -> list[Any]:
    environment = {
        name: value
        for name, value in servers.environment().items()
        if not name.upper().startswith(("OPENAI_", "NO_PROXY", "HTTP_PROXY"))
    }
    environment["HTTPS_PROXY"] = f"http://{LOOPBACK}:{mitmdump.port}"
    environment["SSL_CERT_FILE"] = str(mitmdump.ca)
    done = ended([str(python), "-c", PROGRAM, json.dumps(ASKED)], env=environment)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


TEXT = "Mill" + " brook" * 40 + "."


def test_stream_of_a_nim_like_provider(
    python: Path, tmp_path: Path, mitm_ca: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with Provider() as upstream:
        script = upstream.script(*STREAM)
        base = script.path.removesuffix("/chat/completions")
        listed = {"id": "acme/brook-8b", "object": "model", "created": 1}
        body = json.dumps({"object": "list", "data": [{**listed, "owned_by": "acme"}]})
        models = body_script(body.encode())
        upstream.alias(models, f"{base}/models")
        options = {
            "normalize_keys": f"{LOOPBACK}=env:A_KEY",
            "normalize_routes": f"{HOST}=http://{LOOPBACK}:{upstream.port}{base}",
            "normalize_models": "gpt-4o=acme/brook-8b",
        }
        with Mitmdump(tmp_path, mitm_ca, options=options) as mitmdump:
            assert ask(python, mitmdump) == [
                f"https://{HOST}/v1/",
                TEXT,
                ["stop"],
                ["gpt-4o"],
                ["acme/brook-8b", "gpt-4o"],
            ]
    for got in (*script.requests, *models.requests):
        assert got.headers["authorization"] == f"Bearer {KEY}"
