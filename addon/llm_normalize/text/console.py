"""How a tool prints: sentences for people on stderr, and colours where they show."""

import contextlib
import os
import sys


def say(text: str = "", end: str = "\n") -> None:
    """Print *text* to stderr, if that is still there: a terminal may have been closed."""
    with contextlib.suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201 - for people


def complain(text: object) -> None:
    """Print what is wrong."""
    say(f"llm_normalize: {text}")


def styled(text: str, style: str) -> str:
    """Return *text* in an ANSI style such as "1;31", if stdout is a terminal with colours."""
    if not (style and sys.stdout.isatty()) or os.environ.get("NO_COLOR"):
        return text
    # An old console of Windows shows the codes themselves.
    plain = os.environ.get("TERM") == "dumb" or (
        os.name == "nt" and "WT_SESSION" not in os.environ
    )
    return text if plain else f"\x1b[{style}m{text}\x1b[0m"
