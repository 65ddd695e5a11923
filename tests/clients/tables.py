"""The tables of the client tests, as they stand in Markdown files.

Cells are words for what was measured, nothing else, so that a run writes the same again.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clients.families import FAMILIES, GROUPS
from clients.matrix import CLIENTS, Cell, Key
from clients.programs import RUNNERS, Runner
from workshop import markers

FULL = Path(__file__).resolve().parent / "README.md"
COMPACT = markers.DOCS / "compatibility.md"
_ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)
_NAMED = re.compile(r"`([^`]+)`")

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


def read_full(text: str) -> dict[Key, str]:
    """Return the cells of such a file."""
    found: dict[Key, str] = {}
    clients: list[str] = []
    for row in _rows(text):
        if row[0] == "family":
            clients = [name.strip("`") for name in row[1:]]
        elif len(row) == len(clients) + 1 and row[0] != "---":
            found |= {
                (client, row[0]): said
                for client, said in zip(clients, row[1:], strict=True)
            }
    return found


def compact(cells: Mapping[Key, Cell]) -> list[list[str]]:
    """Return a row for each client, a column for each group."""
    counted = by_group(cells, CLIENTS)
    rows = [
        [f"`{name}` ({package_of(name)})", *(counted[name, group] for group in GROUPS)]
        for name in CLIENTS
    ]
    sizes = Counter(family.group for family in FAMILIES.values())
    return [["client", *(f"{group} ({sizes[group]})" for group in GROUPS)], *rows]


def by_group(cells: Mapping[Key, Cell], clients: Iterable[str]) -> dict[Key, str]:
    """Return how many of each group fail, by client and group."""
    return {
        (client, group): _counted(
            [
                cells[client, family.name]
                for family in FAMILIES.values()
                if family.group == group
            ]
        )
        for client in clients
        for group in GROUPS
    }


def _counted(cells: Sequence[Cell]) -> str:
    before = sum(cell.fails_before for cell in cells)
    after = sum(cell.fails_after for cell in cells)
    return f"{before} → {after}" if after else str(before)


def read_compact(text: str) -> dict[Key, str]:
    """Return the cells of the table in `COMPACT`, by client and group."""
    head, *rows = _rows(markers.between(text, "clients")) or [[]]
    found: dict[Key, str] = {}
    for row in rows:
        client = _NAMED.match(row[0])
        if client is not None:
            found |= {
                (client[1], group.rpartition(" (")[0]): said
                for group, said in zip(head[1:], row[1:], strict=True)
            }
    return found


def with_compact(text: str, cells: Mapping[Key, Cell]) -> str:
    """Return the document with the table in its place."""
    return markers.fill(text, "clients", "\n".join(_table(compact(cells))))


def write(cells: Mapping[Key, Cell]) -> None:
    """Write both tables."""
    text = with_compact(COMPACT.read_text(encoding="utf-8"), cells)
    COMPACT.write_text(text, encoding="utf-8", newline="\n")
    FULL.write_text(full(cells), encoding="utf-8", newline="\n")


def written() -> tuple[dict[Key, str], dict[Key, str]]:
    """Return the cells of both tables as they stand."""
    text = FULL.read_text(encoding="utf-8") if FULL.exists() else ""
    return read_full(text), read_compact(COMPACT.read_text(encoding="utf-8"))


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


def _rows(text: str) -> list[list[str]]:
    return [row.split(" | ") for row in _ROW.findall(text)]


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "| " + " | ".join(["---"] * len(rows[0])) + " |", *lines[1:]]
