import sys

import pytest

from llm_normalize.text.console import complain, say, styled


def test_people_read_it_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("a", end=" ")
    say("b")
    complain(ValueError("no"))
    assert capsys.readouterr() == ("", "a b\nllm_normalize: no\n")


class Closed:
    def write(self, _text: str) -> int:
        raise OSError(5, "the terminal is gone")


def test_a_terminal_that_was_closed_ends_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", Closed())
    say("a")


@pytest.mark.parametrize(
    ("variables", "is_terminal", "shows"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_colours_are_for_terminals_that_have_them(
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    is_terminal: bool,
    shows: bool,
) -> None:
    given = {"NO_COLOR": "", "TERM": "xterm", "WT_SESSION": "1", **variables}
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    assert styled("x", "1;31") == ("\x1b[1;31mx\x1b[0m" if shows else "x")
    assert styled("x", "") == "x"
