import os
import sys
from pathlib import Path

import pytest

from llm_normalize.text import command_line as module
from llm_normalize.text.command_line import command_line, is_at_hand


def program(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / ("llm-normalize.exe" if os.name == "nt" else "llm-normalize")
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let nothing of a checkout be there, and return the folder of this Python."""
    monkeypatch.setattr(module, "CHECKOUT", tmp_path / "no" / "run.py")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python3"))
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    return tmp_path / "bin"


def test_a_checkout_has_a_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "a b" / "run.py"
    path.parent.mkdir()
    path.touch()
    monkeypatch.setattr(module, "CHECKOUT", path)
    assert command_line("trust", "install", system="linux") == (
        f"python3 '{path}' trust install"
    )
    assert command_line("", "--pac", system="windows") == f'py "{path}" --pac'
    assert is_at_hand()


def test_an_installed_command_that_a_shell_finds_goes_by_its_name(
    monkeypatch: pytest.MonkeyPatch, installed: Path
) -> None:
    program(installed)
    monkeypatch.setenv("PATH", str(installed))
    assert command_line("trust", "in stall", system="linux") == (
        "llm-normalize trust 'in stall'"
    )


def test_an_installed_command_that_no_shell_finds_goes_by_its_path(
    monkeypatch: pytest.MonkeyPatch, installed: Path, tmp_path: Path
) -> None:
    mine = program(installed)
    assert command_line("trust", system="linux") == f"{mine} trust"
    program(tmp_path / "elsewhere")  # which is another one
    assert command_line("trust", system="linux") == f"{mine} trust"
    monkeypatch.setattr(sys, "executable", "")
    assert command_line("trust", system="linux") == "llm-normalize trust"


@pytest.mark.usefixtures("installed")
def test_a_folder_that_was_copied_has_no_command() -> None:
    assert not is_at_hand()
    assert command_line("trust") == "llm-normalize trust"
