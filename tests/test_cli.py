import runpy
import sys
from pathlib import Path

import pytest
from mitmproxy.tools import main as tools

from llm_normalize import __version__, cli

SCRIPT = Path(__file__).parents[1] / "addon" / "normalize.py"
LOADED = ["-s", str(SCRIPT)]


def test_a_checkouts_script_is_the_one_beside_the_package() -> None:
    assert cli.script() == SCRIPT


def test_an_installed_script_is_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "_PACKAGE", tmp_path)
    (tmp_path / "script").mkdir()
    (tmp_path / "script" / "normalize.py").touch()
    assert cli.script() == tmp_path / "script" / "normalize.py"


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ([], ["--listen-host", "127.0.0.1"]),
        (["-p", "8081"], ["--listen-host", "127.0.0.1", "-p", "8081"]),
        (["--listen-host", "::1"], ["--listen-host", "::1"]),
        (["--listen-host=::1"], ["--listen-host=::1"]),
        (["--set", "listen_host=::1"], ["--set", "listen_host=::1"]),
        (["--set=listen_host=::1"], ["--set=listen_host=::1"]),
    ],
)
def test_it_listens_on_loopback_unless_told_otherwise(
    given: list[str], more: list[str]
) -> None:
    assert cli.arguments(given) == LOADED + more


@pytest.mark.parametrize(
    ("given", "program", "handed"),
    [
        (["-p", "0"], "mitmdump", ["-p", "0"]),
        (["--web", "--set", "a=b"], "mitmweb", ["--set", "a=b"]),
        (["--console"], "mitmproxy", []),
        (["--", "--version"], "mitmdump", ["--version"]),
    ],
)
def test_it_starts_mitmproxys_programs(
    monkeypatch: pytest.MonkeyPatch, given: list[str], program: str, handed: list[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(tools, program, started.append)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert cli.main(given) == 0
    assert started == [[*LOADED, "--listen-host", "127.0.0.1", *handed]]


def test_flag_with_one_dash_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["-web"])
    assert "no flag -web: did you mean --web?" in capsys.readouterr().err


def test_console_without_a_terminal_gets_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--console"])
    assert "--console needs a terminal" in capsys.readouterr().err


def test_the_exit_code_is_mitmproxys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "mitmdump", lambda _: 3)
    assert cli.main([]) == 3


def test_it_tells_where_the_script_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--script"]) == 0
    assert capsys.readouterr().out == f"{SCRIPT}\n"


def test_the_module_is_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["llm_normalize", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("llm_normalize", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"llm_normalize {__version__}\n"


def test_it_starts_one_program_only(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--web", "--console"])
    assert ended.value.code == 2
    assert "not allowed with" in capsys.readouterr().err
