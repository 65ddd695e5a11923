import importlib
import json
import os
import re
import runpy
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_normalize import __version__, cli
from llm_normalize.run import command

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "addon" / "normalize.py"
NAMES: dict[str, Any] = json.loads(
    Path(__file__).with_name("public_names.json").read_text("utf-8")
)


pytestmark = pytest.mark.usefixtures("signal_handlers")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """Have every tool do nothing but report its arguments here."""
    found: list[tuple[str, list[str]]] = []

    def tool(name: str, _package: str) -> SimpleNamespace:
        def main(words: list[str]) -> int:
            found.append((name, words))
            return 5

        return SimpleNamespace(main=main)

    monkeypatch.setattr(importlib, "import_module", tool)
    return found


@pytest.mark.parametrize("name", cli.TOOLS)
def test_a_tool_gets_what_follows_its_name(
    asked: list[tuple[str, list[str]]], name: str
) -> None:
    assert cli.main([name, "--help", "run"]) == 5
    assert asked == [(f".{cli.TOOLS[name].module}", ["--help", "run"])]


@pytest.mark.parametrize(
    "given",
    [[], ["-p", "1", "doctor"], ["--demo"], ["--check"], ["--", "docter"], ["~u /a"]],
)
def test_without_a_tools_name_it_runs(
    asked: list[tuple[str, list[str]]], given: list[str]
) -> None:
    assert cli.main(given) == 5
    assert asked == [(".run.command", given)]


@pytest.mark.parametrize(
    "first",
    ["nvidia", "https://a.test/v1", "http://127.0.0.1:1234/v1", "HTTPS://A.test"],
)
def test_a_provider_by_its_name_or_its_base_url_is_run(
    asked: list[tuple[str, list[str]]], first: str
) -> None:
    assert cli.main([first, "-p", "1"]) == 5
    assert asked == [(".run.command", ["--provider", first, "-p", "1"])]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("docter", "doctor"),
        ("dcotor", "doctor"),
        ("Report", "report"),
        ("reports", "report"),
        ("sevice", "service"),
        ("chekc", "check"),
        ("--doctor", "doctor"),
        ("-trust", "trust"),
        ("help", "--help"),
        ("hlep", "--help"),
        ("nvidai", "nvidia"),
        ("version", "--version"),
        ("web", "--web"),
        ("system-proxy", "--system-proxy"),
    ],
)
def test_a_misspelled_tool_is_no_filter_for_mitmproxy(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main([word])
    assert capsys.readouterr().err == (
        f"llm_normalize: unknown tool {word}: did you mean {meant}?\n"
    )


def test_a_word_like_no_tool_is_refused_with_the_way_to_a_filter(
    capsys: pytest.CaptureFixture[str], asked: list[tuple[str, list[str]]]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["obviously"])
    assert "--help lists them; a filter for mitmproxy" in capsys.readouterr().err
    assert cli.main(["run", "obviously"]) == 5
    assert asked == [(".run.command", ["obviously"])]


def test_help_shows_the_tools_and_what_run_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main(["--help"])
    said = capsys.readouterr().out
    assert re.findall(r"(?m)^  ([a-z]+)  +\w", said) == list(cli.TOOLS)
    assert "--upstream-proxy URL" in said
    assert max(map(len, said.splitlines())) <= 88


@pytest.mark.parametrize("name", cli.TOOLS)
def test_help_of_a_tool_has_every_flag_that_it_had(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="0"):
        cli.main([name, "--help"])
    said = capsys.readouterr().out
    assert f"llm-normalize {name}" in said.replace("[run]", "run")
    reported = set(re.findall(r"--[a-z][\w-]*", said))
    assert set(NAMES["flags"].get(name, ())) - OF_MITMPROXY <= reported


def test_every_flag_that_is_promised_is_a_tools() -> None:
    assert set(NAMES["flags"]) == set(cli.TOOLS)


OF_MITMPROXY = {"--set", "--listen-host", "--mode"}
"""What is handed on, and may be an example only."""


# What every tool gets


type Act = Callable[[], object]


@pytest.fixture
def does(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], None]:
    """Have every tool call something here, and return 7."""

    def have(act: Act) -> None:
        tool = SimpleNamespace(main=lambda _: act() or 7)
        monkeypatch.setattr(importlib, "import_module", lambda *_: tool)

    return have


def raises(error: type[BaseException]) -> Act:
    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize("name", cli.TOOLS)
def test_ctrl_c_is_no_traceback(
    name: str, does: Callable[[Act], None], capsys: pytest.CaptureFixture[str]
) -> None:
    does(raises(KeyboardInterrupt))
    assert cli.main([name]) == 130
    words = cli.TOOLS[name].interrupted
    said = f"\nllm_normalize: interrupted; {words}\n" if words else ""
    assert capsys.readouterr() == ("", said)


def test_a_letter_that_the_console_lacks_is_replaced(
    does: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    does(lambda: sys.stdout.write("\u00e9"))
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["doctor"]) == 1  # what was written
    assert (tmp_path / "out").read_text() == "?"


def test_a_closed_stdout_is_no_traceback(
    does: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    does(lambda: None)
    monkeypatch.setattr(sys, "stdout", None)  # as Python has it then
    assert cli.main(["trust"]) == 7


@pytest.mark.parametrize(
    ("act", "code"),
    [(lambda: sys.stdout.write("x") and None, 7), (raises(BrokenPipeError), 1)],
    ids=["its end notices", "it notices"],
)
@pytest.mark.skipif(os.name == "nt", reason="needs a pipe that breaks as POSIX's does")
def test_a_reader_that_is_gone_is_no_traceback(
    act: Act, code: int, does: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    does(act)
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["service"]) == code
        out.write("more, which nobody reads")


@pytest.mark.skipif(os.name == "nt", reason="has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_end_lets_a_tool_take_down_what_it_set_up(
    name: str, does: Callable[[Act], None]
) -> None:
    number = getattr(signal, name)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # this may run under nohup
    does(lambda: signal.raise_signal(number))
    with pytest.raises(SystemExit) as ended:  # which `finally` sees
        cli.main(["report"])
    assert ended.value.code == 128 + number


@pytest.mark.skipif(os.name == "nt", reason="has no such signal")
def test_a_hangup_that_is_ignored_stays_so(does: Callable[[Act], None]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    does(lambda: signal.raise_signal(signal.SIGHUP))
    assert cli.main(["demo"]) == 7


def test_ctrl_c_interrupts_also_what_a_shell_starts_in_its_background(
    does: Callable[[Act], None],
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    does(lambda: signal.raise_signal(signal.SIGINT))
    assert cli.main(["check"]) == 130


# What run takes


@pytest.mark.parametrize(
    "given",
    [
        ["--demo", "-p", "1"],
        ["--demo", "--console"],
        ["--web", "--console"],
        ["--demo", "--pac"],
        ["--demo", "--upstream-proxy", "http://a:1"],
        ["--pac", "--system-proxy"],
        ["--restore", "--check"],
        ["--restore", "--system-proxy"],
    ],
)
def test_flags_that_contradict_each_other_are_refused(given: list[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        command.parse(given)


@pytest.mark.parametrize(
    ("given", "handed"), [(["--demo"], []), (["--demo", "--web"], ["--web"])]
)
def test_demo_is_a_flag_of_run_too(
    monkeypatch: pytest.MonkeyPatch, given: list[str], handed: list[str]
) -> None:
    demo = importlib.import_module("llm_normalize.demo.command")
    monkeypatch.setattr(demo, "main", lambda words: 7 if words == handed else 0)
    assert cli.main(given) == 7


def test_flag_with_one_dash_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["-web"])
    assert "unknown flag -web: did you mean --web?" in capsys.readouterr().err


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
    said = capsys.readouterr().out
    assert said.startswith(f"llm_normalize: {__version__}\nMitmproxy: ")
    assert "\nPython: " in said
