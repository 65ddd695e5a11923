"""What the documents say is what the code does."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.test import taddons

from llm_normalize import __version__
from llm_normalize.adaptations import ADAPTATIONS
from llm_normalize.addon import Normalize
from llm_normalize.fixes import FIXES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "addon" / "CHANGELOG.md").read_text(encoding="utf-8")


def test_generated_docs_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FRESH],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("", "")


# Not through main(), which would enter the project's own environment.
FRESH = """
import sys
sys.path.insert(0, "scripts")
import gen_docs
for path, text in gen_docs.documents().items():
    if path.read_text(encoding="utf-8") != text:
        print(path.name, "is stale: run python3 scripts/gen_docs.py")
"""


def rows(heading: str) -> list[list[str]]:
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]


@pytest.fixture
def context() -> Iterator[taddons.context]:
    with (
        taddons.context(Normalize()) as made,
        closing(made.master.event_loop),  # mitmproxy 12.0 leaves it open
    ):
        yield made


def test_every_option_is_documented_with_its_default(
    context: taddons.context,
) -> None:
    options = {
        name: context.options.default(name)
        for name in context.options.keys()  # noqa: SIM118 - no mapping
        if name.startswith("normalize_")
    }
    documented = {row[0].strip("`"): row[1] for row in rows("Options")}
    assert set(documented) == set(options)
    for name in ("normalize_mode", "normalize_pairs", "normalize_pairs_size"):
        assert documented[name] == f"`{options[name]}`"


def test_every_command_is_documented(context: taddons.context) -> None:
    names = context.master.commands.commands
    commands = {name for name in names if name.startswith("normalize.")}
    assert set(re.findall(r"`(normalize\.[a-z.]+)[ `]", README)) == commands


@pytest.mark.parametrize(
    ("folder", "every"), [("fixes", FIXES), ("adaptations", ADAPTATIONS)]
)
def test_table_has_every_one_in_its_order(folder: str, every: Any) -> None:
    link = rf"^\| \[`([a-z-]+)`\]\(addon/llm_normalize/{folder}/README.md#"
    table = re.findall(link, README, re.MULTILINE)
    assert table == [each.name for each in every]


@pytest.mark.parametrize("fix", [*FIXES, *ADAPTATIONS], ids=lambda fix: fix.name)
def test_every_fix_is_in_the_changelog(fix: type) -> None:
    assert f"`{fix.name}`" in CHANGELOG  # type: ignore[attr-defined]


def test_changelog_begins_with_the_version() -> None:
    newest, *_ = re.findall(
        r"(?m)^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", CHANGELOG
    )
    assert newest == __version__
    assert CHANGELOG.index(f"\n## {newest} ") == CHANGELOG.index("\n## ")


def test_every_script_that_readme_names_exists() -> None:
    for name in re.findall(r"python3 (scripts/\w+\.py)", README):
        assert (ROOT / name).exists()


def test_ci_runs_the_readmes_test_command() -> None:
    assert "`python3 scripts/test.py`" in README
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\npython3 scripts/test.py\n" in ci
