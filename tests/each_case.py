"""Many quick cases in one test: a test for each would take longer than the case itself."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

PARAM: Any = type(pytest.param())


def each_case(
    cases: Iterable[Any], ids: Callable[[Any], object] = repr
) -> Callable[[Callable[..., None]], Callable[[pytest.Subtests], None]]:
    """Run a test for each of *cases*; each of them fails by its name, and for itself.

    Where a case takes longer than some milliseconds, `pytest.mark.parametrize` is better:
    these are all run by one worker.

    Args:
        cases: What the test takes: an argument, a tuple of them, or a `pytest.param`.
        ids: Returns the name of a case that is no `pytest.param` with an id.
    """
    every = list(cases)

    def decorate(test: Callable[..., None]) -> Callable[[pytest.Subtests], None]:
        def run(subtests: pytest.Subtests) -> None:
            if not every:
                pytest.skip("there are no cases")
            for case in every:
                values, name = case if isinstance(case, tuple) else (case,), None
                if isinstance(case, PARAM):
                    assert not case.marks
                    values, name = case.values, case.id
                with subtests.test(str(name or ids(case))):
                    test(*values)

        run.__name__, run.__doc__, run.__module__ = (
            test.__name__,
            test.__doc__,
            test.__module__,
        )
        return run

    return decorate
