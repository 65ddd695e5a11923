"""The scripts as modules, and programs that stand in for others."""

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
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


def stand_in(path: Path, version: str, **has: bool) -> Path:
    """Make a program that answers the probe as a Python of that version would."""
    numbers = [int(number) for number in version.split(".")]
    has = {"wheels": True, "venv": True, "ensurepip": True, "pip": True, **has}
    answer = json.dumps([str(path), str(path), numbers, *has.values()])
    return executable(path, f"echo '{answer}'")
