"""Every row of the table of faults has its tests, and every test of one its row."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults.table import MODULES, markdown, rows

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


def test_every_row_has_a_test_and_every_test_a_row(
    collected: dict[str, list[str]],
) -> None:
    tested = {name for names in collected.values() for name in names}
    assert tested == {row.name for row in rows()}


def test_a_rows_tests_are_in_the_module_that_it_names(
    collected: dict[str, list[str]],
) -> None:
    files = {row.name: f"/{row.module}.py::" for row in rows()}
    for test, (name,) in collected.items():
        assert files[name] in test


def test_table_has_every_module_with_faults() -> None:
    assert {path.stem for path in HERE.glob("test_*.py")} == set(MODULES)


def test_rows_say_something_and_break_no_table() -> None:
    for row in rows():
        for cell in (row.name, row.happens, row.client, row.log):
            assert cell.strip() == cell != ""
            assert not set(cell) & set("|\n[]") - set("[]" if "[DONE]" in cell else "")
    assert len(markdown().splitlines()) == len(rows()) + 2
