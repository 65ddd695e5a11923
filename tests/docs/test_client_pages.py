"""The client pages: said to be tried or not, in the form that all who show them read."""

import json
import re
import sys
from contextlib import closing
from pathlib import Path

import pytest
from mitmproxy.addons.proxyserver import Proxyserver
from mitmproxy.proxy.mode_specs import ProxyMode
from mitmproxy.test import taddons
from ruamel.yaml import YAML

from llm_normalize.addon import Normalize
from script_runs import ended

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "addon" / "llm_normalize" / "home" / "clients.md").read_text(
    encoding="utf-8"
)
NAMES = [
    *("VS Code", "Continue", "Cline", "Cursor", "Zed", "JetBrains", "Chatbox"),
    *(
        "Cherry Studio",
        "AnythingLLM",
        "Electron programs",
        "Browsers",
        "Node",
        "Python",
        "curl",
    ),
    *("Go", "Programs that ignore proxies", "WSL", "Docker and devcontainers"),
]
PAGES = dict(
    page.split("\n", 1) for page in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
)
CODE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETS = {
    "powershell": re.compile(r'(?m)^\$env:(\w+) = "'),
    "bat": re.compile(r"(?m)^set (\w+)="),
}
"""How other shells set variables."""


def prose(page: str) -> list[str]:
    """Return the lines of a page that are not code, and not empty."""
    return [line for line in CODE.sub("", page).splitlines() if line]


def test_every_client_has_its_page() -> None:
    assert list(PAGES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_page_ends_with_what_was_tried(name: str) -> None:
    last = PAGES[name].strip().splitlines()[-1]
    assert re.match(r"(Tried|Not tried)[ :]", last)
    assert "2026-11" in last
    assert last.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_page_keeps_to_what_the_home_page_can_show(name: str) -> None:
    assert TEXT.count("```") % 2 == 0
    for line in prose(PAGES[name]):
        # No indented, nested or numbered things, no heading, no HTML but our comment.
        assert not re.match(r"\s|#|\d+\.|\*|>", line), line
        assert re.fullmatch(r"<!-- agents: [^<>]+ -->|[^<>]*", line), line
        assert line.count("`") % 2 == 0
        assert line.count("|") in (0, 3, 4) or not line.startswith("|"), line


def test_agents_are_of_one_page_each() -> None:
    named = re.findall(r"^<!-- agents: (.*) -->$", TEXT, re.MULTILINE)
    agents = [agent for line in named for agent in line.split(", ")]
    assert len(agents) == len(set(agents))


@pytest.mark.parametrize(("kind", "code"), CODE.findall(TEXT))
def test_code_is_of_its_language(kind: str, code: str) -> None:
    if kind == "json":
        json.loads(f"{{{code}}}")  # lines of a file that has more
    elif kind == "yaml":
        YAML(typ="safe").load(code)
    elif kind in SETS:
        assert SETS[kind].findall(code)
    else:
        assert kind == "sh"
        command = ["bash", "-n", "-c", code]
        done = ended(command)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "WSL"])
def test_each_export_has_its_lines_for_powershell_and_cmd(name: str) -> None:
    blocks = CODE.findall(PAGES[name])
    for at, (kind, code) in enumerate(blocks):
        lines = re.findall(r"(?m)^export (.*)", code) if kind == "sh" else []
        if names := re.findall(r"(\w+)=", " ".join(lines)):
            others = dict(blocks[at + 1 : at + 3])
            assert {
                kind: SETS[kind].findall(others[kind]) for kind in SETS
            } == dict.fromkeys(SETS, names)


def test_options_that_are_set_exist() -> None:
    with (
        taddons.context(Proxyserver(), Normalize()) as context,
        closing(context.master.event_loop),  # mitmproxy 12.0 leaves it open
    ):
        known = set(context.options.keys())
    assert set(re.findall(r"--set (\w+)=", TEXT)) <= known
    assert set(re.findall(r"\bnormalize_\w+", TEXT)) <= known


def test_modes_are_modes() -> None:
    modes = re.findall(r"--mode (\S+)", TEXT)
    assert len(modes) > 2
    for mode in modes:
        ProxyMode.parse(mode)


def test_flags_of_our_scripts_exist() -> None:
    for script, flags in re.findall(r"(scripts/\w+\.py)((?: --[a-z-]+)*)", TEXT):
        assert (ROOT / script).exists()
        helped = ended([sys.executable, str(ROOT / script), "--help"], check=True)
        for flag in flags.split():
            assert flag in helped.stdout


def test_tests_that_pages_speak_of_are_there() -> None:
    tried = {name for name in NAMES if "in the tests" in PAGES[name]}
    files = {
        path.name for path in (ROOT / "tests" / "desktop").glob("test_client_*.py")
    }
    kinds = {
        "test_client_chromium.py": {"Electron programs", "Browsers"},
        "test_client_commands.py": {"curl", "Python"},
        "test_client_java.py": {"JetBrains"},
        "test_client_node.py": {"Node", "VS Code"},
        "test_client_tunnel.py": {"Cursor"},
    }
    assert files == set(kinds)
    assert tried == set().union(*kinds.values())


def test_no_page_turns_checks_off() -> None:
    for line in TEXT.splitlines():
        for off in ("NODE_TLS_REJECT_UNAUTHORIZED", "-k", "verifySsl", "StrictSSL"):
            if f"`{off}" in line or f"{off}`" in line:
                assert re.search(r"Never|Not|Leave", line), line
