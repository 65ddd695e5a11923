"""The tables of the client tests, as they stand in Markdown files.

Cells are words for what was measured, nothing else, so that a run writes the same again.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clients.families import FAMILIES, GROUPS
from clients.matrix import CLIENTS, Cell, Key
from clients.programs import RUNNERS, Runner
from workshop import markers

FULL = Path(__file__).resolve().parent / "README.md"
COMPACT = markers.DOCS / "compatibility.md"

INTRODUCTION = """\
# Real clients, without the addon and with it

`python3 scripts/test.py --clients --update-table` writes this file; without
`--update-table` a test compares it with what it has measured.

A family is a conversation in which a provider does one thing otherwise than OpenAI
(`families/`). Each client gets it three times: as OpenAI would have sent it, as the
provider sends it, and as the provider sends it through the addon. A cell says how the
last two compare with the first.

| cell | means |
| --- | --- |
| `ok` | right without the addon, and right with it |
| `FAIL → ok` | the caller ends up with something else, or with an error; the addon repairs it |
| `FAIL → FAIL` | the addon does not repair it for this client |
| `ok → FAIL` | the caller ends up with the same, but with the addon not by the same parts |

Without the addon only the outcome counts (text, tool calls, finish reason, usage, error);
with it every part has to be the same, too. The few cells that do not end with `ok` have
their reasons in `test_clients.py`.

These ask for chat completions. Clients of Responses and of Messages, Codex, Claude Code, pi and
GitHub Copilot CLI among them, are in `test_translated.py`: each against a provider that serves
chat alone.

## The clients
"""


def word(cell: Cell) -> str:
    """Return a cell as the table has it."""
    before, after = (
        "FAIL" if failed else "ok" for failed in (cell.fails_before, cell.fails_after)
    )
    return "ok" if (before, after) == ("ok", "ok") else f"{before} → {after}"


def full(cells: Mapping[Key, Cell]) -> str:
    """Return the file with every cell."""
    lines = [INTRODUCTION]
    lines += _table(
        [
            ["client", "package", "what it does"],
            *(
                [f"`{name}`", package_of(name), runner.clients[name]]
                for name, runner in CLIENTS.items()
            ),
        ]
    )
    for group in GROUPS:
        rows = [
            [family.name, *(word(cells[name, family.name]) for name in CLIENTS)]
            for family in FAMILIES.values()
            if family.group == group
        ]
        head = ["family", *(f"`{name}`" for name in CLIENTS)]
        lines += ["", f"## {heading(group)}", "", *_table([head, *rows])]
    return "\n".join(lines) + "\n"


def compact(cells: Mapping[Key, Cell]) -> list[list[str]]:
    """Return a row for each client, a column for each group: how many of it fail."""
    groups = {
        group: [family.name for family in FAMILIES.values() if family.group == group]
        for group in GROUPS
    }
    rows = [
        [
            f"`{client}` ({package_of(client)})",
            *(
                _counted([cells[client, family] for family in families])
                for families in groups.values()
            ),
        ]
        for client in CLIENTS
    ]
    sizes = [f"{group} ({len(families)})" for group, families in groups.items()]
    return [["client", *sizes], *rows]


def _counted(cells: Sequence[Cell]) -> str:
    before = sum(cell.fails_before for cell in cells)
    after = sum(cell.fails_after for cell in cells)
    return f"{before} → {after}" if after else str(before)


def with_compact(text: str, cells: Mapping[Key, Cell]) -> str:
    """Return the document with the table in its place."""
    return markers.fill(text, "clients", "\n".join(_table(compact(cells))))


def documents(cells: Mapping[Key, Cell]) -> dict[Path, str]:
    """Return the text of both documents, by their paths."""
    text = with_compact(COMPACT.read_text(encoding="utf-8"), cells)
    return {COMPACT: text, FULL: full(cells)}


def heading(group: str) -> str:
    return group[0].upper() + group[1:]


def package_of(client: str) -> str:
    """Return the package that makes the client, and its version; or what it is."""
    runner = CLIENTS[client]
    manifest = RUNNERS / runner.name / "package.json"
    if manifest.exists():
        packages = json.loads(manifest.read_text(encoding="utf-8"))["dependencies"]
        name = _main_of(packages, runner, client)
        return f"{name} {packages[name]}"
    if not runner.lock.exists():
        return "a port"
    first = runner.lock.read_text(encoding="utf-8").partition("\n")[0]
    named = re.match(r"# (\S+ [\w.]+):", first)
    if named is None:
        raise ValueError(f"{runner.lock.name} does not begin with package and version")
    return named[1]


def _main_of(packages: Iterable[str], runner: Runner, client: str) -> str:
    """Return the package that the client's description names, else the first."""
    named = [name for name in packages if name in runner.clients[client]]
    others = [name for name in packages if not name.endswith("/core")]
    return max(named, key=len) if named else others[0]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "| " + " | ".join(["---"] * len(rows[0])) + " |", *lines[1:]]
