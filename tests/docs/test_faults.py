"""Every row of the table of faults has its tests, and every test of one its row."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workshop.fault_table import FAULTS, markdown

HERE = Path(__file__).parents[1] / "faults"

COLLECT = """
import json, sys
import pytest

class Collected:
    def pytest_collection_finish(self, session):
        for item in session.items:
            names = [mark.args[0] for mark in item.iter_markers("fault")]
            print("\\n" + json.dumps([item.nodeid, names]))

sys.exit(pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider", "-p",
                      "no:xdist", sys.argv[1]], plugins=[Collected()]))
"""


@pytest.fixture(scope="module")
def collected() -> dict[str, list[str]]:
    """The tests that pytest finds, each with the rows that it is about."""
    done = subprocess.run(
        [sys.executable, "-c", COLLECT, str(HERE)],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    return dict(map(json.loads, lines))


def test_every_test_of_a_fault_is_about_one_row(
    collected: dict[str, list[str]],
) -> None:
    assert collected
    assert {test: names for test, names in collected.items() if len(names) != 1} == {}


def test_names_are_unique() -> None:
    names = [row.name for rows in FAULTS.values() for row in rows]
    assert sorted(names) == sorted(set(names))


def test_every_row_has_a_test_in_its_module_and_every_test_a_row(
    collected: dict[str, list[str]],
) -> None:
    tested: dict[str, set[str]] = {}
    for test, names in collected.items():
        module = Path(test.partition("::")[0]).stem
        tested.setdefault(module, set()).update(names)
    assert tested == {
        module: {row.name for row in rows} for module, rows in FAULTS.items()
    }


def test_table_has_every_module_with_faults() -> None:
    assert {path.stem for path in HERE.glob("test_*.py")} == set(FAULTS)


def test_rows_say_something_and_break_no_table() -> None:
    rows = [row for each in FAULTS.values() for row in each]
    for row in rows:
        for cell in row:
            assert cell.strip() == cell != ""
            assert not set(cell) & set("|\n[]") - set("[]" if "[DONE]" in cell else "")
    assert len(markdown().splitlines()) == len(rows) + 2
