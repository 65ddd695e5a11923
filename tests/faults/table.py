"""Tests of several faults by one function."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest


def faults[T: Callable[..., Any]](
    cases: Mapping[str, Mapping[str, Any]],
) -> Callable[[T], T]:
    """Declare what a test is about that gets each value of *cases* as `scenario`.

    Args:
        cases: The faults, each with the ways in which it happens, by name.
    """
    values = [
        pytest.param(scenario, id=f"{fault}: {name}", marks=pytest.mark.fault(fault))
        for fault, scenarios in cases.items()
        for name, scenario in scenarios.items()
    ]

    def mark(test: T) -> T:
        parametrized: T = pytest.mark.parametrize("scenario", values)(test)
        return parametrized

    return mark
