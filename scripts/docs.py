"""Write the catalogues of fixes and adaptations, the command's completions and manual."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _bootstrap
from workshop import ADDON

if TYPE_CHECKING:
    from llm_normalize.native_fixes.native_fix import NativeExample
    from llm_normalize.repair.declaration import Declaration
    from llm_normalize.repair.fix import Example, Fix
    from llm_normalize.request.adaptation import Adaptation, RequestExample

CATALOGUE = ADDON / "llm_normalize" / "fixes" / "README.md"
NATIVE = ADDON / "llm_normalize" / "native_fixes" / "README.md"
REQUESTS = ADDON / "llm_normalize" / "request" / "adaptations" / "README.md"
DONE = b"data: [DONE]\n\n"
ENVELOPE = re.compile(
    r'"id":"chatcmpl-1","object":"chat.completion(.chunk)?",'
    r'"created":1700000000,"model":"acme-1",'
    r'|"object":"response","created_at":1700000000,.*?"completed_at":null,'
)


def table(fixes: tuple[type[Declaration], ...]) -> str:
    """Return the catalogue's table: a line each."""
    lines = ["| fix | change | whom it breaks |", "| --- | --- | --- |"]
    lines += [
        f"| [`{fix.name}`](#{fix.name}) | {_cell(fix.changes)} | {_cell(fix.why)} |"
        for fix in fixes
    ]
    return "\n".join(lines)


def catalogue(fixes: tuple[type[Fix], ...]) -> str:
    """Return the catalogue: the table, then a section each, with sources and examples."""
    head = (
        "# The fixes\n\n`scripts/docs.py` writes this file from the declarations in "
        "this folder; change those instead.\nThe fixes act in this order; "
        "`__init__.py` argues it.\n\n"
        "The quirk of a skipped fix (`normalize_skip`) stays as it is, unless its "
        "section names others that\nalso repair it. An event that any fix changes is "
        "written in OpenAI's framing."
    )
    return "\n\n".join([head, table(fixes), *map(_section, fixes)]) + "\n"


def native_catalogue(fixes: tuple[type[Declaration], ...]) -> str:
    """Return the catalogue of the fixes of answers in a client's own protocol."""
    head = (
        "# The fixes of Responses and Messages\n\n`scripts/docs.py` writes this file "
        "from the declarations in this folder; change those instead.\nThey repair "
        "answers of providers that speak their client's protocol themselves, nearly; one "
        "that is\ntranslated is repaired as chat. `normalize_skip` names them like any "
        "other."
    )
    return "\n\n".join([head, table(fixes), *map(_section, fixes)]) + "\n"


def _section(fix: type[Declaration]) -> str:
    from llm_normalize.repair.look import Finding  # noqa: PLC0415 - as in documents()

    doc = (fix.__doc__ or "").strip().splitlines()[0]
    sources = "\n".join(f"- <{source}>" for source in fix.sources)
    examples = "\n\n".join(_example(example) for example in fix.examples)
    rides = (
        "\n\nActs only on chunks that another fix has changed."
        if getattr(fix, "handles", 0) & Finding.LEFT
        else ""
    )
    others = " and ".join(f"`{name}`" for name in fix.also_covered_by)
    covered = f"\n\nTo keep the quirk, also skip {others}." if others else ""
    return (
        f"## {fix.name}\n\n{doc}{rides}{covered}\n\n"
        f"- change: {fix.changes}\n- why: {fix.why}\n"
        f"- sent by: {', '.join(fix.providers)}\n\nSources:\n{sources}\n\n{examples}"
    )


def _example(example: Example | NativeExample) -> str:
    if not example.changes:
        return f"Untouched: {example.name}."
    before, after = list(example.before), list(example.after)
    if hasattr(example, "protocol"):  # a whole stream: what stays is not shown
        for at in (0, -1):
            while before and after and before[at] == after[at]:
                del before[at], after[at]
    # Where the framing is what matters, it is shown.
    framed = any(isinstance(event, bytes) and event != DONE for event in before + after)
    diff = [f"-{_line(event, framed)}" for event in before]
    diff += [f"+{_line(event, framed)}" for event in after]
    if status := getattr(example, "changes_status", None):
        diff = ["-HTTP 200", f"+HTTP {status}", f" {diff[0][1:]}"]
    text = "\n".join(diff)
    return f"{example.name[0].upper()}{example.name[1:]}:\n\n```diff\n{text}\n```"


def _line(event: Any, framed: bool) -> str:
    """Return an event of an example, without the envelope that all share."""
    if isinstance(event, bytes):
        text = event.decode("utf-8", "backslashreplace")
    else:
        from llm_normalize.wire.json_text import dumps  # noqa: PLC0415 - as in documents()

        text = dumps(event).decode()
        text = f"data: {text}\n\n" if framed else text
    if not framed:
        text = text.rstrip("\n")
    text = ENVELOPE.sub("…,", text)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def requests_table(adaptations: tuple[type[Adaptation], ...]) -> str:
    """Return the table of what is changed in requests: a line each."""
    lines = ["| adaptation | change | otherwise |", "| --- | --- | --- |"]
    lines += [
        f"| [`{each.name}`](#{each.name}) | {_cell(each.changes)} | {_cell(each.why)} |"
        for each in adaptations
    ]
    return "\n".join(lines)


def requests_catalogue(
    adaptations: tuple[type[Adaptation], ...], not_dropped: tuple[tuple[str, str], ...]
) -> str:
    """Return the catalogue of what is changed in requests, likewise."""
    listed = "\n".join(f"- {what}: {reason}" for what, reason in not_dropped)
    head = (
        "# The adaptations\n\nWhat is changed in requests. `scripts/docs.py` writes "
        "this file from the declarations in\nthis folder; change those instead. The "
        "adaptations act in this order."
    )
    tail = (
        "## Never dropped\n\nThe addon keeps these even if a provider refuses them: the "
        f"client then gets the error.\n\n{listed}"
    )
    return (
        "\n\n".join(
            [
                head,
                requests_table(adaptations),
                *map(_request_section, adaptations),
                tail,
            ]
        )
        + "\n"
    )


def _request_section(each: type[Adaptation]) -> str:
    doc = (each.__doc__ or "").strip().splitlines()[0]
    hosts = ", ".join(f"`{host}`" for host in each.hosts) or "all, once they refuse it"
    models = f"\n- models: `{each.models}`" if each.models else ""
    sources = "\n".join(f"- <{source}>" for source in each.sources)
    examples = "\n\n".join(map(_request_example, each.examples))
    return (
        f"## {each.name}\n\n{doc}\n\n- change: {each.changes}\n- otherwise: {each.why}\n"
        f"- in requests to: {hosts}{models}\n\n{_words_for(each)}"
        f"Sources:\n{sources}\n\n{examples}"
    )


def _words_for(form: type[Adaptation]) -> str:
    """Return what providers say that ask for a form; nothing for another adaptation."""
    from llm_normalize.request.refusals.refusal_table import ROWS  # noqa: PLC0415

    said = [each for row in ROWS if row.form is form for each in row.said]
    lines = (
        f"- {each.provider}, {each.status}: `` {' '.join(each.words.split())} ``\n"
        for each in said
    )
    return f"Words, among others:\n{''.join(lines)}\n" if said else ""


def _request_example(example: RequestExample) -> str:
    from llm_normalize.wire.json_text import dumps  # noqa: PLC0415 - as in documents()

    before, after = dumps(example.before).decode(), dumps(example.after).decode()
    refusal = example.refusal.decode()
    if not example.changes:
        refused = f" The provider says `{refusal}`." if refusal else ""
        return f"Untouched: {example.name}.{refused}"
    lines = [f"-{before}", *([f" {refusal}"] if refusal else []), f"+{after}"]
    text = "\n".join(lines)
    return f"{example.name[0].upper()}{example.name[1:]}:\n\n```diff\n{text}\n```"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def documents() -> dict[Path, str]:
    """Return the generated files as they should be."""
    from llm_normalize.fixes import EVERY_FIX  # noqa: PLC0415 - in .venv
    from llm_normalize.native_fixes import NATIVE_FIXES  # noqa: PLC0415
    from llm_normalize.request.adaptations import ADAPTATIONS, NOT_DROPPED  # noqa: PLC0415
    from workshop.release import command_line  # noqa: PLC0415 - likewise

    return {
        **command_line.documents(),
        CATALOGUE: catalogue(EVERY_FIX),
        NATIVE: native_catalogue(NATIVE_FIXES),
        REQUESTS: requests_catalogue(ADAPTATIONS, NOT_DROPPED),
    }


def main() -> int:
    """Write the files, or with --check say which are stale."""
    parser = argparse.ArgumentParser(description="Write the generated docs.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail if something is stale"
    )
    arguments = parser.parse_args()
    _bootstrap.ensure()
    stale = [
        (path, text)
        for path, text in documents().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        name = path.relative_to(_bootstrap.ROOT)
        if arguments.check:
            print(f"{name} is stale: run python3 scripts/docs.py")
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"{name} written")
    return int(arguments.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
