import gc
import weakref
from collections.abc import Iterator

import pytest

from llm_normalize import pause_limiter
from llm_normalize.pause_limiter import EACH, PauseLimiter


class Circle:
    """What refers to itself, as a connection of mitmproxy's does."""

    def __init__(self) -> None:
        self.own = self


@pytest.fixture
def pauses() -> Iterator[PauseLimiter]:
    others = gc.callbacks[:]
    gc.callbacks.clear()
    made = PauseLimiter()
    yield made
    made.end()
    gc.callbacks[:] = others


def test_what_a_collection_has_left_over_the_next_one_skips(
    pauses: PauseLimiter,
) -> None:
    pauses.begin(is_reloaded=True)
    gc.collect()
    before = gc.get_freeze_count()
    assert before > 0
    held = [Circle() for _ in range(100)]
    gc.collect()
    assert gc.get_freeze_count() >= before + len(held)
    assert len(gc.get_objects()) < before


def test_what_is_no_longer_used_is_freed_once_enough_has_ended(
    pauses: PauseLimiter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause_limiter, "MAX_UNUSED", 3 * EACH)
    pauses.begin(is_reloaded=True)
    made, later = Circle(), Circle()
    gone, there = weakref.ref(made), weakref.ref(later)
    gc.collect()
    del made
    pauses.ended()
    gc.collect()
    assert gone() is not None
    pauses.ended(size=EACH)  # bodies count
    gc.collect()
    assert gone() is None
    assert there() is later
    del later
    gc.collect()
    assert there() is not None  # it counts from there


def test_young_objects_are_freed_as_ever(pauses: PauseLimiter) -> None:
    pauses.begin(is_reloaded=False)
    gone = weakref.ref(Circle())
    gc.collect(0)
    assert gone() is None
