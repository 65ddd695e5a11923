"""What scripts import of the tests, and tests of the scripts."""

import ast
from collections.abc import Iterator
from pathlib import Path

from each_case import each_case
from launchers import SHARED
from workshop import ROOT, SCRIPTS

MODULES = sorted(SCRIPTS.rglob("*.py"))
OF_SCRIPTS = {
    path.stem for path in MODULES if path.parent in (SCRIPTS, SCRIPTS / "deploy")
} | {"workshop"}
FOLDERS = (ROOT / "tests", ROOT / "tests" / "helpers")
TESTS = {path.stem for each in FOLDERS for path in each.iterdir()} - OF_SCRIPTS


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


@each_case(MODULES, ids=lambda path: path.stem)
def test_scripts_know_of_the_tests_their_judge_alone(path: Path) -> None:
    names = {each for each in imported(path) if each.partition(".")[0] in TESTS}
    assert not {each for each in names if each.partition(".")[0] != "judge"}


def test_path_is_changed_in_one_place() -> None:
    inside = [path for path in MODULES if path.is_relative_to(SCRIPTS / "workshop")]
    texts = {path: path.read_text(encoding="utf-8") for path in inside}
    assert [path.parent.name for path, text in texts.items() if "sys.path.append" in text or "sys.path.insert" in text] == ["workshop"]  # fmt: skip


def test_tests_know_of_the_scripts_what_these_share() -> None:
    """A script is started as its user starts it, or loaded by its path."""
    known = {
        f"{path.name}: {each}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for each in imported(path)
        if each.partition(".")[0] in OF_SCRIPTS - set(SHARED)
    }
    assert not known
