import sys

import pytest

from llm_normalize.text.console import complain, say


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
