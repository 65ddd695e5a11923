import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_normalize.desktop import processes
from llm_normalize.desktop.processes import Listener
from llm_normalize.setup import status
from support import Provider, Request, Script, body_script


class Answers:
    """What listens on the port."""

    body = (
        b'{"name": "llm_normalize", "version": "0.1.0", "pid": 77, "mode": "repair", '
        b'"confdir": "/c", "counters": [{"responses": 3, "repaired": 2}, {"responses": 1}]}'
    )

    @classmethod
    def answer(cls, request: Request) -> Script:
        return body_script(cls.body, 200 if request.path == "/status.json" else 404)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.fixture
def port() -> Iterator[int]:
    with Provider(answer=Answers.answer) as server:
        yield server.port


def test_a_proxy_that_runs_is_told_with_its_answers(
    port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status.main(["-p", str(port)]) == 0
    said = capsys.readouterr().out
    assert (
        f"proxy         llm_normalize 0.1.0 on port {port} (repair, pid 77)\n" in said
    )
    assert "answers       2 of 4 repaired\n" in said
    assert "CA            none yet\n  system      not trusted\n" in said
    assert "system proxy  not set by llm-normalize\n" in said
    assert "service       not installed\n" in said


def test_programs_get_one_object(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert status.main(["-p", str(port), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["proxy"]["answers"] == 4
    assert found["proxy"]["confdir"] == "/c"
    assert (found["ca"], found["system_proxy"], found["service"]) == ("", "", None)


def test_reverse_proxy_is_not_asked_what_its_provider_would_get(
    port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listener = Listener(1, "mitmdump", ("mitmdump", "--mode", "reverse:https://a.test"))
    monkeypatch.setattr(processes, "listener", lambda _: listener)
    monkeypatch.setattr(Answers, "answer", None)
    assert status.main(["-p", str(port)]) == 1
    assert "; mitmdump in reverse mode, for clients" in capsys.readouterr().out


def test_state_of_a_switch_is_told(
    home: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = home / ".mitmproxy" / "normalize"
    folder.mkdir(parents=True)
    (folder / "system-proxy.json").write_text("{")
    status.main(["-p", str(port)])
    assert "was not written by this program" in capsys.readouterr().out
