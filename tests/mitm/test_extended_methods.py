import functools
from collections.abc import Callable

from llm_normalize.mitm.extended_methods import extend, is_extended, restore


class Base:
    def says(self) -> str:
        return "base"


def louder(says: Callable[[Base], str]) -> Callable[[Base], str]:
    return lambda self: says(self) + "!"


def test_method_is_extended_once_and_restored() -> None:
    class Own(Base):
        def says(self) -> str:
            return "own"

    before = Own.says
    for _ in range(2):  # as the package does when it is reloaded
        extend(Own, "says", louder)
        assert Own().says() == "own!"
    assert is_extended(Own, "says")
    for _ in range(2):
        restore(Own, "says")
        assert Own.says is before


def test_method_that_somebody_else_has_wrapped_stays() -> None:
    class Other(Base):
        pass

    extend(Other, "says", louder)
    theirs = functools.wraps(Other.says)(louder(Other.says))
    setattr(Other, "says", theirs)  # noqa: B010 - as another addon does it
    restore(Other, "says")
    assert not is_extended(Other, "says")
    assert Other.says is theirs
