"""The subpackages of the addon, and the imports between them."""

import ast
import functools
import itertools
import os
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from llm_normalize import cli
from llm_normalize.fixes import EVERY_FIX
from llm_normalize.native_fixes import NATIVE_FIXES
from llm_normalize.repair.fix import Fix
from llm_normalize.request.adaptations import ADAPTATIONS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "addon" / "llm_normalize"
MODULES = sorted(PACKAGE.rglob("*.py"))
FIX_MODULES = sorted(PACKAGE.glob("fixes/[a-z]*.py"))
NATIVE_FIX_MODULES = sorted(
    {
        PACKAGE.parent / f"{each.__module__.replace('.', '/')}.py"
        for each in NATIVE_FIXES
    }
)
ADAPTATION_MODULES = sorted(PACKAGE.glob("request/adaptations/[a-z]*.py"))

SUBPACKAGES = {
    "text": set(),
    "conformance": set(),
    "wire": set(),
    "chat": {"text", "wire"},
    "repair": {"wire", "chat"},
    "mitm": {"text", "wire", "chat"},
    "native_fixes": {"wire", "repair", "protocols"},
    "fixes": {"wire", "chat", "repair", "native_fixes"},
    "records": {"text", "wire"},
    "routing": {"text", "wire", "chat", "records", "mitm"},
    "request": {"text", "wire", "routing"},
    "exchange": {
        "text",
        "wire",
        "chat",
        "repair",
        "records",
        "routing",
        "request",
        "protocols",
        "mitm",
    },
    "protocols": {"text", "wire"},
    "views": {"text", "wire", "chat", "repair", "fixes", "records", "protocols"},
    "capture": {"text", "wire", "chat", "repair", "records", "routing"},
    "home": {"text", "wire", "records", "routing", "mitm"},
}
"""From which subpackages each may import. Top-level modules may import from all."""
ROOMS = {
    "chat/chunks": set(),
    "chat/errors": {"chat/chunks"},
    "chat/state": {"chat/chunks", "chat/errors"},
    "chat/tool_calls": {"chat/chunks", "chat/state"},
    "chat": {"chat/chunks", "chat/errors", "chat/state"},
    "repair": set(),
    "repair/machine": {"repair"},
    "repair/engine": {"repair", "repair/machine"},
    "request": set(),
    "request/adaptations": {"request"},
    "request/refusals": {"request", "request/adaptations"},
    "exchange/message": set(),
    "exchange/request": {"exchange/message", "exchange/stream"},
    "exchange/record": {"exchange/message", "exchange/request"},
    "exchange/stream": set(),
    "exchange/state": {
        "exchange/message",
        "exchange/request",
        "exchange/record",
        "exchange/stream",
    },
    "exchange/delivery": {
        "exchange/message",
        "exchange/request",
        "exchange/stream",
        "exchange/state",
    },
    "exchange/source": {
        "exchange/message",
        "exchange/request",
        "exchange/state",
        "exchange/delivery",
    },
    "exchange": {
        "exchange/message",
        "exchange/request",
        "exchange/stream",
        "exchange/state",
        "exchange/delivery",
        "exchange/source",
    },
}
"""From which other rooms of its subpackage a room may import: no two from each other."""
TOOLS = {
    "desktop": set(),
    "report": set(),
    "run": {"desktop"},
    "demo": {"desktop", "run"},
    "check": {"desktop", "run", "demo"},
    "client": {"desktop", "run"},
    "setup": {"demo", "desktop", "run"},
    "doctor": {"run"},
}
"""The subpackages of the tools, and from which others of them each may import. They may use
every subpackage of the addon, and mitmproxy never loads one."""
COMMAND = {"cli", "__main__"}
"""What starts the tools: only these modules name their subpackages."""
HAS_MITMPROXY = {"mitm", "routing", "exchange", "views", "home", ""}
"""The subpackages that import mitmproxy; the rest runs without it."""
BRINGS = {
    "home": {"certifi", "jinja2"},
    "wire": {"brotli", "zstandard", "compression", "backports"},
}
"""What mitmproxy itself depends on, and which subpackages use it."""
TOOLS_BRING = {
    "certifi", "cryptography", "h11", "h2", "jinja2", "markupsafe", "mitmproxy", "ruamel", "tornado",
}  # fmt: skip
"""Likewise, what a tool may import; and, in one module, psutil."""
# The standalone binary lacks parts of the standard library (sqlite3, zoneinfo,
# logging.handlers, unittest.mock, ...): what is imported is listed, to be checked.
STDLIB = {
    "__future__", "abc", "argparse", "asyncio", "atexit", "base64", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "difflib", "email", "enum", "errno", "fcntl",
    "functools", "gc", "hashlib", "hmac", "html", "http", "importlib", "ipaddress", "itertools", "json", "logging", "math", "msvcrt", "operator", "os", "pathlib", "queue", "re", "secrets", "shlex", "shutil", "socket", "ssl", "stat", "string", "sys",
    "textwrap", "threading", "time", "types", "typing", "urllib", "weakref", "zlib",
}  # fmt: skip
LINES = 560
FIX_LINES = 376
CONTRACT = {"repair/cumulative_text", "repair/fix", "repair/look"}
"""What a fix may import from the repair: what it overrides."""


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE).with_suffix(""))


def subpackage(path: Path) -> str:
    """Return the subpackage of a module; empty for top-level modules."""
    return path.relative_to(PACKAGE).parts[0] if path.parent != PACKAGE else ""


def is_addon(path: Path) -> bool:
    """Tell whether mitmproxy loads a module, in its standalone binary, too."""
    return subpackage(path) not in TOOLS and name(path) not in COMMAND


ADDON = list(filter(is_addon, MODULES))


@functools.cache
def imports(path: Path) -> tuple[set[str], set[str]]:
    """Return the top-level names that *path* imports, and its own package's modules."""
    absolute, own = set(), set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            absolute |= {each.name.split(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = path.parents[node.level - 1].joinpath(
                *(node.module.split(".") if node.module else [])
            )
            for each in node.names:
                inner = base / each.name
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                own.add(str((inner if is_module else base).relative_to(PACKAGE)))
        elif isinstance(node, ast.ImportFrom) and node.module:
            absolute.add(node.module.split(".")[0])
    return absolute, own - {"."}  # the version


def subpackages_used(path: Path) -> set[str]:
    return {each.split("/")[0] for each in imports(path)[1]} - {subpackage(path)}


def test_subpackage_imports_only_what_it_may() -> None:
    inside = [path for path in ADDON if subpackage(path)]
    too_many = {
        name(path): subpackages_used(path) - SUBPACKAGES[subpackage(path)]
        for path in inside
    }
    assert not any(too_many.values()), too_many


def test_addon_knows_no_tool() -> None:
    known = {name(path): subpackages_used(path) & {*TOOLS, *COMMAND} for path in ADDON}
    assert not any(known.values()), known


def test_tool_imports_from_the_tools_it_may() -> None:
    tools = [path for path in MODULES if subpackage(path) in TOOLS]
    too_many = {
        name(path): subpackages_used(path)
        & {*TOOLS, *COMMAND} - TOOLS[subpackage(path)]
        for path in tools
    }
    assert {tool: rooms for tool, rooms in too_many.items() if rooms} == {
        "run/command": {"cli"}  # its --help lists the others
    }


def test_tool_needs_what_mitmproxy_brings() -> None:
    allowed = set(sys.stdlib_module_names) | TOOLS_BRING
    tools = set(MODULES) - set(ADDON)
    more = {name(path): imports(path)[0] - allowed for path in tools}
    assert {tool: needs for tool, needs in more.items() if needs} == {
        "desktop/processes": {"psutil"},
        "run/hooks": {"llm_normalize"},  # mitmproxy loads it as a script
    }


def test_every_tool_is_a_command() -> None:
    modules = {each.module.replace(".", "/") for each in cli.TOOLS.values()}
    assert modules == {
        name(path)
        for path in MODULES
        if subpackage(path) in TOOLS
        and re.search(r"(?m)^def main\(", path.read_text("utf-8"))
    }


def test_judge_of_the_tests_knows_nothing_of_the_package() -> None:
    paths = [*(ROOT / "tests" / "judge").glob("*.py")]
    known = {path.stem: imports(path)[0] for path in paths}
    assert len(known) > 1
    others = set().union(*known.values()) - set(sys.stdlib_module_names)
    assert others == {"judge", "hypothesis"}, known


def test_subpackages_have_no_import_cycle() -> None:
    TopologicalSorter({**SUBPACKAGES, **TOOLS}).prepare()


def test_room_imports_only_from_the_rooms_it_may() -> None:
    TopologicalSorter(ROOMS).prepare()
    for path in ADDON:
        room = str(path.parent.relative_to(PACKAGE))
        used = {str(Path(each).parent) for each in imports(path)[1]}
        own = {each for each in used if each.split("/")[0] == subpackage(path)}
        if room in ROOMS:
            assert own - {room} <= ROOMS[room], name(path)


@pytest.mark.parametrize("at", sorted({*SUBPACKAGES, *TOOLS}))
def test_modules_of_a_subpackage_have_no_import_cycle(at: str) -> None:
    modules = {name(path): imports(path)[1] for path in (PACKAGE / at).rglob("*.py")}
    TopologicalSorter(modules).prepare()


def test_every_subpackage_is_listed_and_has_a_docstring() -> None:
    folders = [path.parent for path in PACKAGE.glob("*/__init__.py")]
    assert {each.name for each in folders} == {*SUBPACKAGES, *TOOLS}
    for path in PACKAGE.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_fix_knows_no_other_fix() -> None:
    for path in FIX_MODULES:
        absolute, own = imports(path)
        assert not [each for each in own if each.startswith("fixes")], path
        assert {each for each in own if each.startswith("repair")} <= CONTRACT, path
        assert absolute <= STDLIB, path


def above(path: Path, name: str) -> str:
    """Return the comment above a class of a module."""
    text = path.read_text(encoding="utf-8")
    lines = text[: text.index(f"\nclass {name}(")].splitlines()
    comment = itertools.takewhile(lambda line: line.startswith("# "), lines[::-1])
    return "\n".join([*comment][::-1])


def test_fix_that_only_declares_names_the_module_that_repairs() -> None:
    only_declare = [
        fix
        for fix in EVERY_FIX
        if fix.__bases__ == (Fix,) and not any(map(callable, vars(fix).values()))
    ]
    assert only_declare
    for fix in only_declare:
        comment = above(
            PACKAGE.parent / f"{fix.__module__.replace('.', '/')}.py", fix.__name__
        )
        module = re.search(r"^# The repair is in `(.+)`\.$", comment, re.MULTILINE)
        assert module, fix.name
        repairs = (PACKAGE / module[1]).read_text(encoding="utf-8")
        assert f'"{fix.name}"' in repairs, fix.name


def test_native_fix_only_declares() -> None:
    for path in NATIVE_FIX_MODULES:
        events = {"native_fixes/message_events", "native_fixes/response_events"}
        allowed = {"native_fixes/native_fix", "wire/json_text", *events}
        assert imports(path)[1] <= allowed, path
        assert imports(path)[0] == set(), path


def test_module_imports_what_the_standalone_binary_has() -> None:
    for path in ADDON:
        allowed = STDLIB | (
            {"mitmproxy"} if subpackage(path) in HAS_MITMPROXY else set()
        )
        assert imports(path)[0] <= allowed | BRINGS.get(subpackage(path), set()), path


def test_listed_stdlib_is_stdlib() -> None:
    assert set(sys.stdlib_module_names) >= STDLIB


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_modules_are_small() -> None:
    assert [name(path) for path in MODULES if lines_of(path) > LINES] == []
    assert [name(path) for path in FIX_MODULES if lines_of(path) > FIX_LINES] == []


def test_every_fix_is_in_the_order_and_named_as_its_class() -> None:
    texts = "\n".join(path.read_text("utf-8") for path in FIX_MODULES)
    declared = re.findall(r'(?m)^    name = "(.+)"', texts)
    assert sorted(each.name for each in EVERY_FIX) == sorted(declared)
    for each in EVERY_FIX:
        assert each.__name__ == each.name.title().replace("-", "")


def test_every_native_fix_is_in_the_order_and_named_as_its_class() -> None:
    texts = [path.read_text("utf-8") for path in PACKAGE.glob("native_fixes/**/*.py")]
    declared = re.findall(r"(?m)^class (\w+)\(NativeFix\)", "\n".join(texts))
    assert sorted(each.__name__ for each in NATIVE_FIXES) == sorted(declared)
    for each in NATIVE_FIXES:
        assert each.__name__ == each.name.title().replace("-", "")


@pytest.mark.parametrize("path", ADAPTATION_MODULES, ids=lambda path: path.stem)
def test_adaptation_module_is_small_and_needs_little(path: Path) -> None:
    assert lines_of(path) <= FIX_LINES
    assert imports(path)[0] == set()
    own = {"adaptation", "message_forms", "tool_schemas"}
    words = {"wire/json_text", "wire/call_arguments", "text/placeholder"}
    assert imports(path)[1] <= {f"request/{each}" for each in own} | words


def test_every_adaptation_is_in_the_order_and_named_as_its_class() -> None:
    text = "".join(path.read_text("utf-8") for path in ADAPTATION_MODULES)
    declared = re.findall(r"(?m)^class (\w+)\(Adaptation\)", text)
    assert sorted(each.__name__ for each in ADAPTATIONS) == sorted(declared)
    for each in ADAPTATIONS:
        assert each.__name__ == each.name.title().replace("-", "")


def test_adaptations_for_hosts_stand_apart() -> None:
    for each in ADAPTATIONS:
        module = each.__module__.rpartition(".")[2]
        assert module.startswith("host_") is bool(each.hosts), each.name


OF_A_FLOW = re.compile(
    r"flow\.id\]|\((self\.)?flow\.id\)|[dD]ict(ionary)?\[http\.HTTPFlow"
)
"""What finds something by its flow."""


def test_one_module_finds_what_is_known_of_a_flow() -> None:
    found = [name(p) for p in MODULES if OF_A_FLOW.search(p.read_text("utf-8"))]
    assert found == ["exchange/state/open_exchanges"]


def test_one_module_changes_how_flows_are_saved() -> None:
    changes = re.compile(
        r"\b(HTTPFlow|flow)\.(get_state|copy) = |(?:setattr|extend)\(http\.HTTPFlow"
    )
    found = [name(path) for path in MODULES if changes.search(path.read_text("utf-8"))]
    assert found == ["mitm/saved_flows"]


NAMES_PROVIDERS = ("hosts", "known_providers", "addon", "pending_result", "workers_ai")


def test_no_provider_is_named_in_the_core() -> None:
    for path in ADDON:
        if (
            subpackage(path) in ("fixes", "native_fixes", "request", "conformance")
            or path.stem in NAMES_PROVIDERS
        ):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        strings = {
            node.value.lower()
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        } - {ast.get_docstring(tree, clean=False), "x_groq"}  # the name of a field
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
    names = re.findall(r'(?m)^  "([a-z]+)>=.* ; python_version >= ', text)
    assert names == ["mitmproxy", "psutil"]


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
