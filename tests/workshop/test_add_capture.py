"""scripts/add_capture.py: from a file of flows to folders that run as tests."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from mitmproxy.flow import Flow
from mitmproxy.http import HTTPFlow
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from launchers import load
from proxies import BAD, GOOD, Proxy, broken, chat_flow, response_of


@pytest.fixture
def added(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """Start it here, in this environment: the exit code, and what was printed."""
    monkeypatch.chdir(tmp_path)
    script = load("add_capture")

    def run(*args: str) -> tuple[int, str, str]:
        return (script.run(script.parse([*args])), *capfd.readouterr())

    return run


def broke_off(proxy: Proxy, made: HTTPFlow, data: bytes) -> None:
    """Play an answer that breaks off behind *data*."""
    proxy.addon.responseheaders(made)
    proxy.feed(made, data)
    broken(made, "connection closed")
    proxy.addon.error(made)


def saved(folder: Path, *flows: Flow) -> None:
    with (folder / "flows").open("wb") as file:
        for each in flows:
            FlowWriter(file).add(each)


def test_folders_run_as_tests_at_once(
    tmp_path: Path, added: Callable[..., tuple[int, str, str]]
) -> None:
    made = [chat_flow() for _ in range(2)]
    with Proxy(tmp_path) as proxy:
        proxy.stream(made[0], BAD)
        broke_off(proxy, made[1], BAD[:400])
    saved(tmp_path, *made)
    code, out, err = added("flows", "-o", "report", "--fill")
    assert (code, err) == (0, "")
    assert out.count("data-space-missing") == 2
    assert "2 of 2 have the form that OpenAI gives them" in out
    folders = sorted((tmp_path / "report").iterdir())
    assert len(folders) == 2
    # Two other letters may be the same ones, once.
    answers = [(folder / "response.sse").read_bytes() for folder in folders]
    assert not all(b'"Hi"' in each for each in answers)
    abouts = [tomllib.loads((each / "about.toml").read_text()) for each in folders]
    assert [about.get("ended", True) for about in abouts] == [True, False]


@pytest.mark.parametrize(
    ("protocol", "name"), [("messages", "tool-call"), ("responses", "text")]
)
def test_answer_in_its_clients_protocol_is_held_to_that_protocol(
    tmp_path: Path,
    protocol: str,
    name: str,
    captures: Path,
    added: Callable[..., tuple[int, str, str]],
) -> None:
    kept = captures / "vllm" / protocol / name
    request = {"model": "m", "stream": True, "stop_sequences": ["x"], "user": "u"}
    flow = chat_flow(path=f"/v1/{protocol}", request=request)
    cut = chat_flow(path=f"/v1/{protocol}", request=request)
    received = (kept / "response.sse").read_bytes()
    with Proxy(tmp_path) as proxy:
        sent = proxy.stream(flow, received)
        assert proxy.addon.rerun_command([flow])[1][-1] == "the same"
        broke_off(proxy, cut, received[:700])
    saved(tmp_path, flow, cut)
    assert sent != received
    code, out, err = added("flows", "-o", "report")
    assert (code, err) == (0, "")
    assert "2 of 2 have the form that OpenAI gives them" in out


def test_what_is_beyond_repair_fails_and_says_where_to_look(
    tmp_path: Path, added: Callable[..., tuple[int, str, str]]
) -> None:
    made, other = chat_flow(), chat_flow(path="/v1/models")
    response_of(other).content = b"{}"
    with Proxy(tmp_path) as proxy:
        proxy.stream(made, b'data: {"choices":[{"delta":{"x":NaN}}]}\n\n' + GOOD)
    saved(tmp_path, made, other, tflow.ttcpflow())
    code, out, _ = added("flows")
    folder = Path("captures/integrate.api.nvidia.com-m-stream")
    assert code == 1
    assert f"{folder}: not yet as OpenAI would send it" in out
    assert "E   AssertionError: assert [" in out
    assert "left out: it asks for no chat completion" in out
    assert "left out: not an HTTP flow" in out
    assert (tmp_path / folder / "response.sse").exists()
