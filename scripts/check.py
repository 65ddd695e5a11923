"""Check format, lint, types, generated docs, packages and sizes: a line each."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

import _bootstrap

NOT_DONE = 75  # what workshop.release.audit ends with where no advisory service answers


def tools(fix: bool, upgrade: bool = False) -> dict[str, list[str]]:
    """Return the arguments for Python of each tool, in the order to run them."""
    ruff = ["-m", "ruff"]
    found = {
        # Lint first when it edits: what it wrote gets formatted then.
        "lint": [*ruff, "check", *(["--fix"] if fix else []), "."],
        "format": [*ruff, "format", *([] if fix else ["--check"]), "."],
        "types": ["-m", "mypy"],
    }
    docs = str(_bootstrap.ROOT / "scripts" / "docs.py")
    found["docs"] = [docs, *([] if fix else ["--check"])]
    how = ["--upgrade"] if upgrade else ["--fix"] if fix else []
    found["locks"] = ["-m", "workshop.release.locks", *how]
    upgraded = ["--upgrade"] if upgrade else []
    found["hosts"] = ["-m", "workshop.release.hosts", *upgraded]
    found["sizes"] = ["-m", "workshop.release.sizes"]
    found["audit"] = ["-m", "workshop.release.audit"]
    return found


def outcome(name: str, code: int, output: str) -> tuple[str, str]:
    """Return the word for how a tool ended, and the lines of its output to show."""
    if code and not (name == "audit" and code == NOT_DONE):
        return "failed", output.rstrip()
    # What was audited, and whether anything was, is its result.
    last = output.rstrip().rpartition("\n")[2] if name == "audit" else ""
    return "not done" if code else "ok", last


def parse(given: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        description="Check format, lint, types, generated docs, whether the pinned "
        "packages are those that pyproject.toml asks for, the hosts that are opened "
        "against those that LiteLLM knows, code lines against their budgets, and whether a hole is known in a package (where an advisory service "
        "can be reached).",
        epilog="The first start makes the environment in .venv.",
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="format, apply ruff's safe fixes, regenerate the docs and pin what "
        "pyproject.toml asks for, then check types",
    )
    parser.add_argument(
        "--upgrade",
        action="store_true",
        help="likewise, and pin the newest of every package that pyproject.toml allows",
    )
    return parser.parse_args(given)


def run(flags: argparse.Namespace) -> int:
    """Run the tools and return the exit code."""
    fix = flags.fix or flags.upgrade
    failed = False
    for name, command in tools(fix, flags.upgrade).items():
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, *command],
            cwd=_bootstrap.ROOT,
            env={**os.environ, "PYTHONPATH": str(_bootstrap.ROOT / "scripts")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        result, shown = outcome(name, done.returncode, done.stdout)
        failed = failed or result == "failed"
        print(f"{name:8}{result:10}{time.monotonic() - start:.1f} s", flush=True)
        if shown:
            print(shown, flush=True)
    if failed and not fix:
        print("python3 scripts/check.py --fix repairs what it can")
    return int(failed)


if __name__ == "__main__":
    _bootstrap.main(parse, run)
