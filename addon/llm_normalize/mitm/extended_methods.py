"""Methods of mitmproxy's classes that do more while the addon is loaded: there is no hook.

They are known by a mark, not by their module: one may be of the package before a reload.
"""

import functools
from collections.abc import Callable
from typing import Any

_MARK = "llm_normalize_extended"


def extend(owner: type, name: str, make: Callable[[Any], Any]) -> None:
    """Put what *make* returns for a method in its place; what was put there before goes.

    Raises:
        AttributeError: This mitmproxy has no such method.
    """
    restore(owner, name)
    method = getattr(owner, name)
    extended = functools.wraps(method)(make(method))
    setattr(extended, _MARK, extended)
    setattr(owner, name, extended)


def is_extended(owner: type, name: str) -> bool:
    """Tell whether a method is replaced, and its replacement not wrapped."""
    found = vars(owner).get(name)
    return found is not None and getattr(found, _MARK, None) is found


def restore(owner: type, name: str) -> None:
    """Let a method be as it was, also if the package before a reload has extended it."""
    if is_extended(owner, name):
        method = getattr(owner, name).__wrapped__
        delattr(owner, name)
        if getattr(owner, name, None) is not method:  # it was not inherited
            setattr(owner, name, method)
