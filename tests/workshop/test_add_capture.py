"""scripts/add_capture.py: from a file of flows to folders that run as tests."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from mitmproxy import http
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


@pytest.fixture
def flows(tmp_path: Path) -> Path:
    """A file of flows: repaired, broken off, no chat completion, no HTTP, beyond repair."""
    made = [chat_flow() for _ in range(3)]
    with Proxy(tmp_path) as proxy:
        proxy.stream(made[0], BAD)
        proxy.addon.responseheaders(made[1])
        proxy.feed(made[1], BAD[:400])
        broken(made[1], "connection closed")
        proxy.addon.error(made[1])
        proxy.stream(made[2], b'data: {"choices":[{"delta":{"x":NaN}}]}\n\n' + GOOD)
    other = chat_flow(path="/v1/models")
    response_of(other).content = b"{}"
    path = tmp_path / "flows"
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for each in (*made, other, tflow.ttcpflow()):
            writer.add(each)
    return path


def ids(path: Path) -> list[str]:
    from mitmproxy.io import FlowReader  # noqa: PLC0415

    with path.open("rb") as file:
        return [
            each.id
            for each in FlowReader(file).stream()
            if isinstance(each, http.HTTPFlow)
        ]


def test_folders_run_as_tests_at_once(
    flows: Path, tmp_path: Path, added: Callable[..., tuple[int, str, str]]
) -> None:
    first, broke, *_ = ids(flows)
    for flow in (first, broke):
        code, out, err = added("flows", "-o", "report", "--fill", "--only", flow)
        assert (code, err) == (0, "")
        assert "data-space-missing" in out
        assert "1 of 1 have the form that OpenAI gives them" in out
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
    with Proxy(tmp_path) as proxy, (tmp_path / "flows").open("wb") as file:
        sent = proxy.stream(flow, received)
        assert proxy.addon.rerun_command([flow])[1][-1] == "the same"
        proxy.addon.responseheaders(cut)
        proxy.feed(cut, received[:700])
        broken(cut, "connection closed")
        proxy.addon.error(cut)
        FlowWriter(file).add(flow)
        FlowWriter(file).add(cut)
    assert sent != received
    code, out, err = added("flows", "-o", "report")
    assert (code, err) == (0, "")
    assert "2 of 2 have the form that OpenAI gives them" in out


@pytest.mark.usefixtures("flows")
def test_what_is_beyond_repair_fails_and_says_where_to_look(
    tmp_path: Path, added: Callable[..., tuple[int, str, str]]
) -> None:
    code, out, _ = added("flows")
    folder = Path("captures/integrate.api.nvidia.com-m-stream-3")
    assert code == 1
    assert f"{folder}: not yet as OpenAI would send it" in out
    assert "E   AssertionError: assert [" in out
    assert "left out: it asks for no chat completion" in out
    assert "left out: not an HTTP flow" in out
    assert (tmp_path / folder / "response.sse").exists()
