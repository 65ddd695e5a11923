"""What every client reported of every family, in three ways, and the table of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from clients.environments import Runner, runners
from clients.families import FAMILIES

CLIENTS = {name: runner for runner in runners() for name in runner.clients}
COLUMNS = 8


@dataclass(frozen=True)
class Cell:
    """One client's reports of one conversation.

    Attributes:
        wanted: Of OpenAI's own shape, from the provider itself.
        before: Of the quirk, from the provider itself.
        after: Of the quirk, through the addon.
    """

    wanted: dict[str, Any]
    before: dict[str, Any]
    after: dict[str, Any]

    @property
    def fails_before(self) -> bool:
        """Whether the caller ends up with something else; the way there may differ."""
        return bool(self.before["outcome"] != self.wanted["outcome"])

    @property
    def fails_after(self) -> bool:
        return self.after != self.wanted

    def __str__(self) -> str:
        words = (
            "FAIL" if failed else "ok"
            for failed in (self.fails_before, self.fails_after)
        )
        return " -> ".join(words)


@dataclass
class Matrix:
    """Starts a client program when a cell of it is first wanted."""

    provider: str
    proxy: str
    _cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    _failed: dict[str, Exception] = field(default_factory=dict)

    def cell(self, client: str, family: str) -> Cell:
        """Return the reports.

        Raises:
            EnvironmentLackingError: The client has no environment.
        """
        runner = CLIENTS[client]
        if runner.name in self._failed:
            raise self._failed[runner.name]
        if (client, family) not in self._cells:
            try:
                self._cells.update(self._run(runner))
            except Exception as error:
                self._failed[runner.name] = error
                raise
        return self._cells[client, family]

    def _run(self, runner: Runner) -> Iterator[tuple[tuple[str, str], Cell]]:
        keys = [(client, family) for client in runner.clients for family in FAMILIES]
        cases = [
            {"client": client, "url": url, "request": FAMILIES[family].request}
            for client, family in keys
            for url in (
                f"{self.provider}/openai/{family}/v1",
                f"{self.provider}/quirk/{family}/v1",
                f"{self.proxy}/quirk/{family}/v1",
            )
        ]
        reports = iter(runner.run(cases))
        for key, three in zip(
            keys, zip(reports, reports, reports, strict=True), strict=True
        ):
            yield key, Cell(*three)

    def table(self, *, markdown: bool = False) -> list[str]:
        """Return family x client as lines; empty if nothing was run."""
        names = [name for name in CLIENTS if any(name == key[0] for key in self._cells)]
        lines = []
        for start in range(0, len(names), COLUMNS):
            some = names[start : start + COLUMNS]
            rows = [["family", *some]]
            for family in FAMILIES:
                cells = [self._cells[name, family] for name in some]
                rows.append([family, *map(str, cells)])
            lines += _as_markdown(rows) if markdown else _as_text(rows)
            lines.append("")
        return lines


def _as_text(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            word.ljust(width) for word, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]


def _as_markdown(rows: list[list[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |".replace("->", "→") for row in rows]
    return [lines[0], "| --- " * len(rows[0]) + "|", *lines[1:]]
