"""The scripts as modules, and programs that stand in for others."""

import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


def load(name: str) -> Any:
    if str(SCRIPTS) not in sys.path:  # they import their neighbour _bootstrap
        sys.path.append(str(SCRIPTS))
    if name == "_bootstrap":
        return importlib.import_module(name)
    # By path: "test" is a package of the standard library, too.
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
