"""The faults that are tested, as addon/docs/reliability.md lists them.

A row is declared where its test is, so that neither can be without the other;
`tests/docs/test_faults.py` asks pytest whether that holds.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

MODULES = (
    "test_provider",
    "test_large",
    "test_bursts",
    "test_aside",
    "test_provider_http2",
    "test_down",
    "test_client",
    "test_many_streams",
    "test_signals",
    "test_disk",
    "test_log_folder",
    "test_changes",
    "test_bugs",
)
"""The modules with faults, in the table's order."""


@dataclass(frozen=True)
class Fault:
    """One row of the table.

    Attributes:
        name: What pytest's marker calls it; unique.
        happens: What happens.
        client: What the client gets.
        log: What the log says.
        module: The module with its test.
    """

    name: str
    happens: str
    client: str
    log: str
    module: str = ""


_ROWS: dict[str, Fault] = {}


def _declare(row: Fault, module: str) -> None:
    row = replace(row, module=module.rpartition(".")[2])
    if _ROWS.setdefault(row.name, row) != row:
        message = f"two faults are called {row.name}"
        raise ValueError(message)


def fault[T: Callable[..., Any]](
    name: str, *, happens: str, client: str, log: str
) -> Callable[[T], T]:
    """Declare what a test is about."""

    def mark(test: T) -> T:
        _declare(Fault(name, happens, client, log), test.__module__)
        marked: T = pytest.mark.fault(name)(test)
        return marked

    return mark


def faults[T: Callable[..., Any]](
    cases: Mapping[Fault, Mapping[str, Any]],
) -> Callable[[T], T]:
    """Declare what a test is about that gets each value of *cases* as `play`.

    Args:
        cases: The rows, each with the ways in which it happens, by name.
    """

    def mark(test: T) -> T:
        values = []
        for row, plays in cases.items():
            _declare(row, test.__module__)
            marks = pytest.mark.fault(row.name)
            values += [
                pytest.param(play, id=f"{row.name}: {name}", marks=marks)
                for name, play in plays.items()
            ]
        parametrized: T = pytest.mark.parametrize("play", values)(test)
        return parametrized

    return mark


def rows() -> list[Fault]:
    """Return all rows, in the table's order."""
    for module in MODULES:
        importlib.import_module(f"faults.{module}")
    return sorted(_ROWS.values(), key=lambda row: MODULES.index(row.module))


def markdown() -> str:
    """Return the table."""
    lines = [
        "| what happens | what the client gets | what the log says |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| [{row.happens}](../../tests/faults/{row.module}.py) | {row.client} | {row.log} |"
        for row in rows()
    ]
    return "\n".join(lines)
