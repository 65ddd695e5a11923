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
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sizes, "BUDGETS", {"addon": 10**6})
    assert sizes.main() == 0
    monkeypatch.setattr(sizes, "MODULES", 10)
    assert sizes.main() == 1
    monkeypatch.setattr(sizes, "MODULES", 10**6)
    monkeypatch.setattr(sizes, "BUDGETS", {"addon": 10})
    assert sizes.main() == 1
    assert "budget 10" in capsys.readouterr().out
