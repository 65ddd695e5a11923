"""What coverage is measured of: tracing takes several times as long as what it traces."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

type _Tracer = Callable[..., Any] | None
type Tracers = tuple[_Tracer, _Tracer]
"""What traces this thread, and what traces those that begin."""


@contextmanager
def traced_by(tracers: Tracers) -> Iterator[Tracers]:
    """Let *tracers* measure meanwhile, and yield those that did before."""
    before = sys.gettrace(), threading.gettrace()
    _set(tracers)
    try:
        yield before
    finally:
        _set(before)


@contextmanager
def unmeasured() -> Iterator[Tracers]:
    """Measure no coverage meanwhile, and yield what measures it otherwise."""
    with traced_by((None, None)) as before:
        yield before


def _set(tracers: Tracers) -> None:
    of_this, of_others = tracers
    sys.settrace(of_this)
    threading.settrace(of_others)
