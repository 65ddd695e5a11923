"""Write the catalogues of fixes and adaptations, the command's completions and manual."""

from __future__ import annotations

import argparse
from pathlib import Path

import _bootstrap


def documents() -> dict[Path, str]:
    """Return the generated files as they should be."""
    from workshop.release import catalogues, command_line  # noqa: PLC0415 - in .venv

    return {**command_line.documents(), **catalogues.documents()}


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description="Write the generated docs.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail if something is stale"
    )
    return parser.parse_args(given)


def run(flags: argparse.Namespace) -> int:
    """Write the files, or with --check say which are stale."""
    stale = [
        (path, text)
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        name = path.relative_to(_bootstrap.ROOT)
        if flags.check:
            print(f"{name} is stale: run python3 scripts/docs.py")
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"{name} written")
    return int(flags.check and bool(stale))


if __name__ == "__main__":
    _bootstrap.main(parse, run)
