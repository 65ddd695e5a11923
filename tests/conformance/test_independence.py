"""The judge shares nothing with the code it judges."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import llm_normalize
from llm_normalize import conformance

PACKAGE = Path(llm_normalize.__file__).parent
IMPORTED = """
import sys
sys.path.insert(0, sys.argv[1])
import llm_normalize.conformance
print(*(each for each in sys.modules if each.partition(".")[0] == "llm_normalize"))
"""


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that *path* imports from, dots and all."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def test_form_imports_nothing_of_the_package() -> None:
    command = [sys.executable, "-I", "-c", IMPORTED, str(PACKAGE.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {each for each in loaded if each.count(".") == 1} == {
        "llm_normalize.conformance"
    }
    assert len(loaded) > 2


def test_form_imports_only_itself_and_the_standard_library() -> None:
    for path in (PACKAGE / "conformance").glob("*.py"):
        for module in imported(path):
            own = module.startswith(".") and not module.startswith("..")
            assert own or module.partition(".")[0] in sys.stdlib_module_names


def test_every_public_name_is_there() -> None:
    assert all(hasattr(conformance, name) for name in conformance.__all__)
