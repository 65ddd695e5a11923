"""Every fault in the table has its tests, and every test of one is in a row."""

import json
import re
import sys
from pathlib import Path

import pytest

from script_runs import ended

HERE = Path(__file__).parents[1] / "faults"
RELIABILITY = HERE.parents[1] / "addon" / "docs" / "reliability.md"
HEAD = "| what happens | what the client gets | what the log says |\n"
LINK = re.compile(
    r"\[(?:\[DONE\]|[^]|[])+\]\(\.\./\.\./tests/faults/(\w+)\.py#([\w-]+)\)"
)
ROW = re.compile(
    rf"\| {LINK.pattern}(?:; {LINK.pattern})* \| [^|]*\w[^|]* \| [^|]*\w[^|]* \|"
)


def table() -> list[str]:
    """Return the rows of the table."""
    text = RELIABILITY.read_text(encoding="utf-8")
    return text.split(HEAD)[1].split("\n\n")[0].splitlines()[1:]


def rows() -> list[tuple[str, str]]:
    """Return the module and the name of each fault."""
    return [(at, name) for row in table() for at, name in LINK.findall(row)]


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
    done = ended([sys.executable, "-c", COLLECT, str(HERE)], cwd=HERE.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    return dict(map(json.loads, lines))


def test_every_test_of_a_fault_is_about_one_row(
    collected: dict[str, list[str]],
) -> None:
    assert collected
    assert {test: names for test, names in collected.items() if len(names) != 1} == {}


def test_every_row_has_a_test_in_its_module_and_every_test_a_row(
    collected: dict[str, list[str]],
) -> None:
    tested = {
        (Path(test.partition("::")[0]).stem, name)
        for test, names in collected.items()
        for name in names
    }
    assert tested == set(rows())


def test_table_has_every_module_with_faults() -> None:
    assert {path.stem for path in HERE.glob("test_*.py")} == {at for at, _ in rows()}


def test_rows_say_something_and_break_no_table() -> None:
    assert len(table()) > 50
    assert [row for row in table() if not ROW.fullmatch(row)] == []
    assert len(rows()) == len(set(rows()))
