"""How a user starts one of the tools on this machine, as a message shows it."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

NAME = "llm-normalize"
SYSTEM = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
CHECKOUT = Path(__file__).resolve().parents[3] / "scripts" / "run.py"
"""What starts the tools where the package was not installed."""
_PLAIN = re.compile(r"[\w\\/:.@%+=,-]+")


def quoted(word: str, *, system: str = SYSTEM) -> str:
    """Return *word* as the system's shell takes it for one."""
    if system != "windows":
        return shlex.quote(word)
    return word if _PLAIN.fullmatch(word) else f'"{word}"'


def command_line(tool: str, *words: str, system: str = SYSTEM) -> str:
    """Return the command that starts a tool here, as the system's shell takes it.

    Args:
        tool: Its name; empty for what runs without one.
        words: Its arguments.
        system: This machine's kind, `linux`, `macos` or `windows`.
    """
    if CHECKOUT.exists():
        start = ["py" if system == "windows" else "python3", str(CHECKOUT)]
    else:
        start = [_installed() or NAME]
    named = [tool] if tool else []
    return " ".join(quoted(each, system=system) for each in [*start, *named, *words])


def is_at_hand() -> bool:
    """Tell whether that command is there: where the addon's folder was copied it is not."""
    return CHECKOUT.exists() or _installed() is not None


def _installed() -> str | None:
    """Return the installed command, by its name alone if a shell finds that one."""
    folder = os.path.dirname(sys.executable)  # noqa: PTH120 - empty in some programs
    mine = shutil.which(NAME, path=folder) if folder else None
    found = shutil.which(NAME)
    return NAME if found and mine in {None, found} else mine
