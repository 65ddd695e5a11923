"""What the documents say is what the code does."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mitmproxy.test import taddons

from each_case import each_case
from llm_normalize import __version__
from llm_normalize.addon import Normalize
from llm_normalize.fixes import EVERY_FIX
from llm_normalize.home.markdown import slug
from llm_normalize.native_fixes import NATIVE_FIXES
from llm_normalize.request.adaptations import ADAPTATIONS
from workshop import markers

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "addon" / "CHANGELOG.md").read_text(encoding="utf-8")
DOCS = sorted((ROOT / "addon" / "docs").iterdir())
WRITTEN = [
    ROOT / "README.md",
    ROOT / "tests" / "clients" / "README.md",
    *sorted((ROOT / "addon").rglob("*.md")),
]
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def label(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def anchors(path: Path) -> set[str]:
    text = re.sub(r"(?ms)^```.*?^```$", "", path.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"(?m)^#+ +(.*?) *$", text)}


@pytest.mark.parametrize("path", WRITTEN, ids=label)
def test_every_link_leads_somewhere(path: Path) -> None:
    text = CODE.sub("`code`", path.read_text(encoding="utf-8"))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = link.partition("#")
        if re.match(r"https?://", file):
            continue
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        if anchor and target.suffix == ".py":  # the name of a fault
            assert f'"{anchor}"' in target.read_text(encoding="utf-8"), link
        else:
            assert not anchor or anchor in anchors(target), link


def test_every_peer_has_its_row() -> None:
    text = (ROOT / "addon" / "docs" / "compatibility.md").read_text(encoding="utf-8")
    linked = re.findall(r"(?m)^\| \[(.+)\]\(.+/tests/peers/known/(\w+)\.json\)", text)
    peers = (ROOT / "tests" / "peers" / "known").glob("*.json")
    declared = {path.stem: json.loads(path.read_bytes())["name"] for path in peers}
    assert {module: name for name, module in linked} == declared


def test_readme_is_short_and_lists_every_document() -> None:
    assert len(README.splitlines()) <= 300
    assert set(re.findall(r"\]\(addon/docs/([^)#]+)", README)) == {
        path.name for path in DOCS
    }


CLICKS = {
    "Cline on Windows": ("Which way is mine? > Cline", "on Windows"),
    "my own NIM with a company CA": (
        "Your own NIM, vLLM, Ollama or LM Studio; a company's CA or proxy",
        "SSL_CERT_FILE",
    ),
    "take it all off again": ("Take it all off", "llm-normalize uninstall"),
    "my team of twenty": ("For a team", "revoke a token"),
    "what was changed?": ("What was changed?", "llm-normalize report"),
    "does it see my key?": ("Does it see my key?", "It sees keys and prompts"),
    "Codex on NIM": ("Codex and Claude Code > Codex on NIM", "config.toml"),
    "Claude Code on a local vLLM with /v1/messages": (
        "Codex and Claude Code > on a server that serves the protocol itself",
        "llm-normalize vllm",
    ),
    "the proxy in Docker": ("Docker, Kubernetes, a service", "podman run"),
    "my client is in Docker": ("Which way is mine? > Docker", "host.docker.internal"),
    "how do I report a refusal?": (
        "Report a refusal, or what is not repaired",
        "A refusal of a request",
    ),
    "why is my provider not repaired?": (
        "Troubleshooting: why is nothing repaired?",
        "the host is not listed",
    ),
    "LM Studio": (
        "Your own NIM, vLLM, Ollama or LM Studio; a company's CA or proxy",
        "`lmstudio`",
    ),
    "macOS": ("Which way is mine?", "**macOS or Windows**"),
    "are Responses and Messages repaired?": (
        "repairs the answer in place",
        "is repaired in place",
    ),
    "which fixes are there?": ("The fixes", "`role-null`"),
    "is my provider compatible?": ("Providers", "llm-normalize doctor"),
    "which hosts are opened?": ("Which way is mine?", "Which hosts are opened?"),
    "it does not work": (
        "Troubleshooting: why is nothing repaired?",
        "llm-normalize check",
    ),
}
"""Questions, the texts of the links that answer them, and words of the answer."""


def section(path: Path, anchor: str) -> str:
    """Return the text under a heading of a page, or all of the page without an *anchor*."""
    parts = re.split(r"(?m)^(?=#+ )", path.read_text(encoding="utf-8"))
    heads = [slug(re.sub(r"^#+ +", "", part.partition("\n")[0])) for part in parts]
    return parts[heads.index(anchor)] if anchor else "".join(parts)


@pytest.mark.parametrize("question", CLICKS)
def test_answer_is_two_clicks_from_the_readme(question: str) -> None:
    clicks, words = CLICKS[question]
    path, shown = ROOT / "README.md", README
    assert clicks.count(" > ") < 2
    for text in clicks.split(" > "):
        found = re.findall(rf"\[{re.escape(text)}\]\(([^)#]*)#?([^)]*)\)", shown)
        assert found, text
        file, anchor = found[0]
        path = (path.parent / file).resolve() if file else path
        shown = section(path, anchor)
    assert words in shown


# -- what scripts write ----------------------------------------------------------------


MARKED = "a\n<!-- begin x (some.py writes this) -->\nold\n<!-- end x -->\nb\n"


def test_text_between_markers_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(MARKED, encoding="utf-8")
    for text in ("new\n", "new"):
        markers.update(path, "x", text)
        assert path.read_bytes().decode() == MARKED.replace("old", "new")


@pytest.mark.parametrize("text", ["none\n", MARKED + MARKED, "`" + MARKED[2:]])
def test_document_without_one_place_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.md"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(markers.MarkersError, match=r"a\.md has no lines .* begin x "):
        markers.update(path, "x", "new")
    assert path.read_text(encoding="utf-8") == text


def rows(heading: str) -> list[list[str]]:
    section = README.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]


@pytest.fixture
def context() -> Iterator[taddons.context]:
    with (
        taddons.context(Normalize()) as made,
        closing(made.master.event_loop),  # mitmproxy 12.0 leaves it open
    ):
        yield made


def test_every_option_is_documented_with_its_default(
    context: taddons.context,
) -> None:
    options = {
        name: context.options.default(name)
        for name in context.options.keys()  # noqa: SIM118 - no mapping
        if name.startswith("normalize_")
    }
    documented = {row[0].strip("`"): row[1] for row in rows("Options")}
    assert set(documented) == set(options)
    for name in ("normalize_mode", "normalize_pairs", "normalize_pairs_size"):
        assert documented[name] == f"`{options[name]}`"


def test_every_command_is_documented(context: taddons.context) -> None:
    names = context.master.commands.commands
    commands = {name for name in names if name.startswith("normalize.")}
    texts = "".join(path.read_text(encoding="utf-8") for path in DOCS)
    assert set(re.findall(r"`(normalize\.[a-z.]+)[ `]", README + texts)) == commands


@pytest.mark.parametrize(
    ("folder", "every"),
    [
        ("fixes", EVERY_FIX),
        ("native_fixes", NATIVE_FIXES),
        ("adaptations", ADAPTATIONS),
    ],
)
def test_table_has_every_one_in_its_order(folder: str, every: Any) -> None:
    (path,) = (ROOT / "addon").rglob(f"{folder}/README.md")
    text = path.read_text(encoding="utf-8")
    names = [each.name for each in every]
    assert re.findall(r"(?m)^\| \[`([a-z-]+)`\]\(#\1\) \|", text) == names


@each_case([*EVERY_FIX, *NATIVE_FIXES, *ADAPTATIONS], ids=lambda fix: fix.name)
def test_every_fix_is_in_the_changelog(fix: type) -> None:
    named = f"`{fix.name}`"  # type: ignore[attr-defined]
    line = f"- {named}: {fix.why}"  # type: ignore[attr-defined]
    assert named in CHANGELOG, f"add to addon/CHANGELOG.md, below its top:\n\n{line}"


def test_changelog_begins_with_the_version() -> None:
    newest, *_ = re.findall(
        r"(?m)^## (\S+) \((?:unreleased|\d{4}-\d\d-\d\d)\)$", CHANGELOG
    )
    line = f"## {__version__} (unreleased)"
    assert newest == __version__, (
        f"add to addon/CHANGELOG.md, above the rest:\n\n{line}"
    )
    assert CHANGELOG.index(f"\n## {newest} ") == CHANGELOG.index("\n## ")


@pytest.mark.parametrize("path", WRITTEN, ids=label)
def test_every_script_that_is_named_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"\b(scripts/[\w/]+\.py)", text):
        assert (ROOT / name).exists(), name


def test_every_module_that_contributing_names_exists() -> None:
    text = (ROOT / "addon" / "docs" / "contributing.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.py)`", text))
    package = ROOT / "addon" / "llm_normalize"
    folders = [ROOT, package, ROOT / "scripts"]
    lost = {
        name
        for name in names
        if not any((folder / name).exists() for folder in folders)
    }
    assert names
    assert not lost
