from pathlib import Path

import pytest

from workshop.release import sizes

MODULE = '''"""A module.

Of two paragraphs.
"""

import os  # a comment

# a comment

TEXT = """a text
of two lines"""


def name() -> str:
    """Return it."""

    return os.name
'''


def test_lines_of_code_are_counted() -> None:
    assert sizes.code_lines(MODULE) == len(
        ["import", "TEXT", "of two lines", "def", "return"]
    )


def test_part_beyond_its_budget_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "addon").mkdir()
    for name in ("one.py", "two.py"):
        (tmp_path / "addon" / name).write_text(MODULE)
    monkeypatch.setattr(sizes, "ROOT", tmp_path)
    for budget, modules, code in ((10, 2, 0), (10, 1, 1), (9, 2, 1)):
        monkeypatch.setattr(sizes, "BUDGETS", {"addon": budget})
        monkeypatch.setattr(sizes, "MODULES", modules)
        assert sizes.main() == code
    assert "addon: 10 code lines, budget 9; 2 modules" in capsys.readouterr().out
