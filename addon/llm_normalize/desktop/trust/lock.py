"""One `llm-normalize trust` at a time: folders are locked, without a file that would stay in them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from ...records.file_lock import lock

_STEP = 0.1  # seconds between looks


class BusyError(Exception):
    """Another one is at work, as one sentence."""


@contextlib.contextmanager
def locked(
    folders: Iterable[Path], shared: Iterable[Path] = (), seconds: float = 30
) -> Iterator[list[str]]:
    """Hold *folders*, which are there, against other starts; lend what could not be locked.

    Args:
        folders: What is this user's.
        shared: What other users' starts hold, too, for a moment.
        seconds: How long to wait for one of those.

    Raises:
        BusyError: Another start holds one of them.
    """
    warnings = []
    waits = {**dict.fromkeys(folders, 0.0), **dict.fromkeys(shared, seconds)}
    with contextlib.ExitStack() as stack:
        for folder, wait in waits.items():
            try:
                _lock(folder, stack, time.monotonic() + wait)
            except BlockingIOError:
                raise BusyError(
                    f"another `trust` is at work (it holds {folder}): wait until it has "
                    "ended, or answer what it asks, then start this again"
                ) from None
            except OSError as error:
                warnings.append(
                    f"{folder} cannot be locked ({error.strerror}): start no second "
                    "`trust` until this one has ended"
                )
        yield warnings


def _lock(folder: Path, stack: contextlib.ExitStack, until: float) -> None:
    number = os.open(folder, os.O_RDONLY)
    stack.callback(os.close, number)
    while True:
        try:
            lock(number)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise
            time.sleep(_STEP)
        else:
            return
