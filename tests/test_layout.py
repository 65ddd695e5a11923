"""The architecture, held by tests: who imports whom, and what mirrors what."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from llm_normalize.fixes import FIXES
from llm_normalize.request.adaptation import LEARNED
from llm_normalize.request.adaptations import ADAPTATIONS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "addon" / "llm_normalize"
MODULES = sorted(PACKAGE.glob("*.py"))
FIX_MODULES = sorted(PACKAGE.glob("fixes/[a-z]*.py"))
ADAPTATION_MODULES = sorted(PACKAGE.glob("adaptations/[a-z]*.py"))

# A module imports only from layers above its own.
LAYERS = (
    ("letters",),
    ("echo",),
    (
        "advice",
        "jsontext",
        "page",
        "boundary",
        "upstream",
        "decoding",
        "endpoint",
        "filler",
        "selection",
        "masking",
        "pieces",
        "itself",
        "kept",
        "legible",
        "proof",
        "rows",
        "scanner",
        "sending",
    ),
    (
        "adaptation",
        "chunk",
        "clients",
        "deferred",
        "difference",
        "distrust",
        "facts",
        "finish_words",
        "line",
        "logfile",
        "pac",
        "probe",
        "redaction",
        "refusal",
        "routes",
        "sse",
        "stats",
    ),
    (
        "adaptations",
        "homepage",
        "parameters",
        "step",
        "stream_state",
        "errors",
        "fields",
        "pairs",
    ),
    (
        "conversion",
        "failure",
        "fix",
        "finish",
        "flows",
        "joining",
        "learned",
        "opening",
        "leaving",
        "template",
        "opened",
        "workers_ai",
    ),
    ("adapting", "asking", "lesson", "patches", "record"),
    ("noted",),
    ("learning",),
    ("usage",),
    ("ending", "fixes", "chain"),
    ("pipeline",),
    ("assembly",),
    ("body",),
    ("again", "cors", "keys", "models", "stream", "view", "polling"),
    ("capture", "key_echo", "keyed", "running", "pending", "transcript"),
    ("gate", "repeating", "stored", "whole"),
    ("home", "keyed_requests", "native", "outage"),
    ("answers",),
    ("commands", "reach"),
    ("options",),
    ("addon",),
    ("cli",),
    ("__main__",),
)
KNOWS_MITMPROXY = {
    "adapting",
    "addon",
    "answers",
    "asking",
    "cli",
    "commands",
    "cors",
    "deferred",
    "distrust",
    "key_echo",
    "flows",
    "gate",
    "home",
    "itself",
    "keyed",
    "keyed_requests",
    "keys",
    "native",
    "options",
    "pending",
    "probe",
    "proof",
    "reach",
    "outage",
    "routes",
    "repeating",
    "running",
    "sending",
    "stored",
    "transcript",
    "view",
    "whole",
}
BRINGS = {
    "decoding": {"brotli", "zstandard", "compression", "backports"},
    "homepage": {"jinja2"},
    "upstream": {"certifi", "tornado"},
}
"""What mitmproxy depends on itself, and who uses it."""
# The standalone binary lacks parts of the standard library (sqlite3, zoneinfo,
# logging.handlers, unittest.mock, ...): what is imported is listed, to be checked.
STDLIB = {
    "__future__", "argparse", "asyncio", "atexit", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "difflib", "errno", "fcntl",
    "functools", "hashlib", "hmac", "html", "http", "ipaddress", "itertools", "json", "logging", "math", "msvcrt", "os", "pathlib", "queue", "re", "secrets", "shlex", "socket", "ssl", "stat", "string", "sys",
    "textwrap", "threading", "time", "typing", "urllib", "weakref", "zlib",
}  # fmt: skip
BUDGET = {
    "flows": 335,
    "addon": 340,
    "answers": 385,
    "boundary": 335,
    "decoding": 385,
    "reach": 380,
    "chunk": 390,
    "logfile": 285,
    "ending": 310,
    "stream_state": 286,
    "pipeline": 520,
    "sse": 425,
    "upstream": 290,
    "usage": 290,
}
LINES = 275
FIX_LINES = 84


def imports(path: Path) -> tuple[set[str], set[str]]:
    """Return the absolute and the relative modules that *path* imports."""
    absolute, relative = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            absolute |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            names = [node.module] if node.module else [each.name for each in node.names]
            relative |= {name.split(".")[0] for name in names} - {"__version__"}
        elif isinstance(node, ast.ImportFrom) and node.module:
            absolute.add(node.module.split(".")[0])
    return absolute, relative


def layer(name: str) -> int:
    return next(at for at, names in enumerate(LAYERS) if name in names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_imports_only_from_layers_above(path: Path) -> None:
    if path.stem == "__init__":
        assert imports(path) == (set(), set())
        return
    below = {name for name in imports(path)[1] if layer(name) >= layer(path.stem)}
    assert below == set()


@pytest.mark.parametrize("path", FIX_MODULES, ids=lambda path: path.stem)
def test_fix_knows_no_other_fix(path: Path) -> None:
    absolute, relative = imports(path)
    assert relative <= {
        "boundary", "chunk", "conversion", "errors", "fields", "finish_words", "fix", "joining", "jsontext", "opened", "sse", "stream_state"
    }  # fmt: skip
    assert absolute <= STDLIB


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_imports_what_the_standalone_binary_has(path: Path) -> None:
    absolute, _ = imports(path)
    allowed = STDLIB | ({"mitmproxy"} if path.stem in KNOWS_MITMPROXY else set())
    assert absolute <= allowed | BRINGS.get(path.stem, set())


def test_listed_stdlib_is_stdlib() -> None:
    assert set(sys.stdlib_module_names) >= STDLIB


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_module_has_its_tests_and_its_size(path: Path) -> None:
    if not path.stem.startswith("__"):
        assert (ROOT / "tests" / f"test_{path.stem}.py").exists()
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= BUDGET.get(path.stem, LINES)


@pytest.mark.parametrize("path", FIX_MODULES, ids=lambda path: path.stem)
def test_fix_module_is_one_fix_named_as_its_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^class (\w+)\(Fix\)", text, re.MULTILINE) == [
        "".join(part.title() for part in path.stem.split("_"))
    ]
    assert f'name = "{path.stem.replace("_", "-")}"' in text
    assert len(text.splitlines()) <= FIX_LINES


def test_every_fix_module_is_in_the_order() -> None:
    listed = {fix.__module__.rpartition(".")[2] for fix in FIXES}
    assert listed == {path.stem for path in FIX_MODULES}


@pytest.mark.parametrize("path", ADAPTATION_MODULES, ids=lambda path: path.stem)
def test_adaptation_module_is_one_adaptation_named_as_its_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"^class (\w+)\(Adaptation\)", text, re.MULTILINE) == [
        "".join(part.title() for part in path.stem.split("_"))
    ]
    name = path.stem.replace("_", "-")
    assert f'name = "{name}"' in text or (name == LEARNED and "name = LEARNED" in text)
    assert len(text.splitlines()) <= FIX_LINES
    assert imports(path)[0] == set()
    assert imports(path)[1] <= {"adaptation", "jsontext"}


def test_every_adaptation_module_is_in_the_order() -> None:
    listed = [each.__module__.rpartition(".")[2] for each in ADAPTATIONS]
    assert sorted(listed) == [path.stem for path in ADAPTATION_MODULES]


def test_no_provider_is_named_in_the_core() -> None:
    for path in MODULES:
        if path.stem in ("selection", "addon", "pending", "workers_ai"):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        strings = {
            node.value.lower()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        } - {ast.get_docstring(tree, clean=False)}
        names = ("nvidia", "sglang", "openrouter", "cloudflare", "mistral", "groq")
        short = {text for text in strings if len(text) < 60}
        assert not {text for text in short for name in names if name in text}


def test_script_is_small_and_read_by_python_3_9() -> None:
    text = (ROOT / "addon" / "normalize.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 155
    tree = ast.parse(text, feature_version=(3, 9))
    # What every mitmproxy has; the package comes after the look at the versions.
    (asks,) = (at for at, node in enumerate(tree.body) if isinstance(node, ast.If))
    nodes = [inner for node in tree.body[:asks] for inner in ast.walk(node)]
    brought = {
        a.name for node in nodes if isinstance(node, ast.Import) for a in node.names
    }
    assert brought == {"asyncio", "json", "logging", "platform", "sys"}
    (_, other) = (node for node in nodes if isinstance(node, ast.ImportFrom))
    assert (other.module, [each.name for each in other.names]) == (
        "mitmproxy",
        ["addonmanager", "ctx", "http", "tls", "version"],
    )


def test_wheel_holds_the_package_alone() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'packages = ["addon/llm_normalize"]' in text
    assert 'dependencies = ["mitmproxy>=12,<13"]' in text


LOADS = """
import gc
import runpy
import sys

def load():
    runpy.run_path(sys.argv[1], run_name="__mitmproxy_script__.normalize")
    gc.collect()
    found = (each for each in gc.get_objects() if type(each) is type(load))
    return sum((each.__module__ or "").startswith("llm_normalize") for each in found)

print(load(), load(), load())
"""


def test_a_reload_leaves_nothing_of_the_package_before() -> None:
    script = ROOT / "addon" / "normalize.py"
    command = [sys.executable, "-c", LOADS, str(script)]
    path = {"PYTHONPATH": str(ROOT / "addon")}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | path
    )
    first, *later = map(int, done.stdout.split())
    assert first > 100
    assert later == [first, first]
