"""Check format, lint, types and generated docs: all of it, a line each."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import _venv


def tools(fix: bool) -> dict[str, list[str]]:
    """Return the arguments for Python of each tool, in the order to run them."""
    ruff = ["-m", "ruff"]
    found = {
        # Lint first when it edits: what it wrote gets formatted then.
        "lint": [*ruff, "check", *(["--fix"] if fix else []), "."],
        "format": [*ruff, "format", *([] if fix else ["--check"]), "."],
        "types": ["-m", "mypy"],
    }
    docs = _venv.ROOT / "scripts" / "gen_docs.py"
    if docs.exists():
        found["docs"] = [str(docs), *([] if fix else ["--check"])]
    return found


def main() -> int:
    """Run the tools and return the exit code."""
    parser = argparse.ArgumentParser(
        description="Check format, lint, types and generated docs.",
        epilog="The first start makes the environment in .venv.",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="format, apply ruff's safe fixes and regenerate the docs, then check types",
    )
    arguments = parser.parse_args()
    _venv.ensure()
    failed = False
    for name, command in tools(arguments.fix).items():
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, *command],
            cwd=_venv.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        result = "failed" if done.returncode else "ok"
        print(f"{name:8}{result:8}{time.monotonic() - start:.1f} s", flush=True)
        if done.returncode:
            failed = True
            print(done.stdout.rstrip(), flush=True)
    if failed and not arguments.fix:
        print("python3 scripts/check.py --fix mends what can be mended by itself")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
