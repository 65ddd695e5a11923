"""The scripts as modules, and programs that stand in for others."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SHARED = ("workshop", "_bootstrap", "_uv", "drain")
"""What tests import of the scripts: what these share, and a program that is shipped."""


def load(name: str) -> Any:
    """Return a module of the scripts, which a test may damage."""
    if name.partition(".")[0] in SHARED:
        return importlib.import_module(name)
    # By path: their names are those of folders of tests, and "test" is Python's, too.
    spec = importlib.util.spec_from_file_location(
        f"script_{name}", f"{SCRIPTS}/{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def executable(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)
    return path


def stand_in(
    path: Path,
    version: str,
    implementation: str = "cpython",
    makes: str = "1",
    pip: str = "",
) -> Path:
    """Make a Python that writes down what it is asked, and makes environments.

    Args:
        path: Where.
        version: What it says that it is; likewise *implementation*.
        implementation: See there.
        makes: Empty if it makes no environment.
        pip: Why its pip fails; empty if it does not.
    """
    asked = path.parents[1] / "asked"
    return executable(
        path,
        f"""case "$*" in *implementation*) echo '{implementation} {version}'; exit;; esac""",
        f'echo "$(basename "$0") $*" >> {asked}',
        """case "$*" in *-m\\ venv*)""",
        f"""  [ -n '{makes}' ] || {{ echo 'no ensurepip'; exit 1; }}""",
        """  for last; do :; done; mkdir -p "$last/bin"; ln -s "$0" "$last/bin/python";;""",
        f"""*pip\\ install*) [ -z '{pip}' ] || {{ echo '{pip}'; exit 1; }};;""",
        """*) echo pip;; esac""",
    )
