import importlib
import json
import os
import re
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_normalize import __version__, cli
from llm_normalize.run import command

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "addon" / "normalize.py"
NAMES: dict[str, Any] = json.loads(
    Path(__file__).with_name("public_names.json").read_text("utf-8")
)


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
        f"llm_normalize: there is no tool {word}: did you mean {meant}?\n"
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
def test_help_of_a_tool_has_every_flag_that_it_had(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "llm_normalize", name, "--help"],
        cwd=ROOT / "addon",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert f"llm-normalize {name}" in done.stdout.replace("[run]", "run")
    told = set(re.findall(r"--[a-z][\w-]*", done.stdout))
    assert set(NAMES["flags"].get(name, ())) - OF_MITMPROXY <= told


def test_every_flag_that_is_promised_is_a_tools() -> None:
    assert set(NAMES["flags"]) == set(cli.TOOLS)


OF_MITMPROXY = {"--set", "--listen-host", "--mode"}
"""What is handed on, and may be an example only."""


# What every tool gets

CHILD = """
import importlib, os, signal, sys
from types import SimpleNamespace
from llm_normalize import cli
tool = SimpleNamespace(main=lambda _: exec(sys.argv[2]) or 7)
importlib.import_module = lambda *_: tool
sys.exit(cli.main([sys.argv[1]]))
"""


def child(name: str, does: str, **more: Any) -> subprocess.Popen[str]:
    """Start the tool *name*, which is a fake and *does* this; it returns 7."""
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, name, does],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "addon"),
            "PYTHONUNBUFFERED": "",
            "PYTHONIOENCODING": "ascii",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )


@pytest.mark.parametrize("name", cli.TOOLS)
def test_ctrl_c_is_no_traceback(name: str) -> None:
    with child(name, "raise KeyboardInterrupt") as process:
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    words = cli.TOOLS[name].interrupted
    assert said == (f"\nllm_normalize: interrupted; {words}\n" if words else "")


def test_a_letter_that_the_console_lacks_is_replaced() -> None:
    with child("doctor", "print('\u00e9')") as process:
        assert process.communicate(timeout=30) == ("?\n", "")
    assert process.returncode == 7


@pytest.mark.parametrize(
    ("does", "code"),
    [("print('x', flush=True)", 1), ("print('x')", 7), ("", 7)],
    ids=["it notices", "at its end", "it prints nothing"],
)
@pytest.mark.skipif(os.name == "nt", reason="needs a pipe that breaks as POSIX's does")
def test_a_reader_that_is_gone_is_no_traceback(does: str, code: int) -> None:
    wait = "sys.stdin.read()\n"
    with child("service", wait + does, stdin=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdin
        assert process.stderr
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == code


@pytest.mark.skipif(os.name == "nt", reason="has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_to_end_lets_a_tool_take_down_what_it_set_up(name: str) -> None:
    does = "try: signal.raise_signal(signal.%s)\nfinally: print('taken down')"
    ready = lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)  # noqa: E731 - under nohup
    with child("report", does % name, preexec_fn=ready) as process:
        assert process.communicate(timeout=30) == ("taken down\n", "")
    assert process.returncode == 128 + getattr(signal, name)


@pytest.mark.skipif(os.name == "nt", reason="has no such signal")
def test_a_hangup_that_is_ignored_stays_so() -> None:
    ready = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731 - nohup does
    does = "signal.raise_signal(signal.SIGHUP)"
    with child("demo", does, preexec_fn=ready) as process:
        assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == 7


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
    assert "no flag -web: did you mean --web?" in capsys.readouterr().err


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
