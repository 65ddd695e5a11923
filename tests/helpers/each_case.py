"""Many quick cases in one test: a test for each would take longer than the case itself."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

PARAM: Any = type(pytest.param())
_SUBTESTS = inspect.Parameter("subtests", inspect.Parameter.POSITIONAL_OR_KEYWORD)


def each_case(
    cases: Iterable[Any], ids: Callable[[Any], object] = repr
) -> Callable[[Callable[..., None]], Callable[[pytest.Subtests], None]]:
    """Run a test for each of *cases*, as subtests.

    A case fails under its own name, and the others still run. Neither `-k` nor the id of a
    test selects a single case. Where a case takes more than some milliseconds,
    `pytest.mark.parametrize` is better, because one worker runs all of these.

    Args:
        cases: What the test takes: an argument, a tuple of them, or a `pytest.param` with
            an id. Without cases the test fails.
        ids: Returns the name of a case that is no `pytest.param`.
    """
    every = [_named(case, ids) for case in cases]

    def decorate(test: Callable[..., None]) -> Callable[[pytest.Subtests], None]:
        @functools.wraps(test)
        def run(subtests: pytest.Subtests) -> None:
            assert every, "there are no cases"
            for name, values in every:
                with subtests.test(name):
                    test(*values)

        run.__signature__ = inspect.Signature([_SUBTESTS])  # type: ignore[attr-defined]
        return run

    return decorate


def _named(case: Any, ids: Callable[[Any], object]) -> tuple[str, tuple[Any, ...]]:
    """Return the name of a case, and what its test takes."""
    if isinstance(case, PARAM):
        assert case.id, f"{case} has no id"
        assert not case.marks, f"{case.id}: a subtest has no marks"
        return case.id, case.values
    return str(ids(case)), case if isinstance(case, tuple) else (case,)
