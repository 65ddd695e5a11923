"""What a tool says beside its output: sentences on stderr."""

import contextlib
import sys


def say(text: str = "", end: str = "\n") -> None:
    """Print *text* to stderr, if that is still there: a terminal may have been closed."""
    with contextlib.suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201 - for people


def complain(text: object) -> None:
    """Print what is wrong."""
    say(f"llm_normalize: {text}")
