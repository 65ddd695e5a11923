"""The catalogues: what the addon repairs and changes, written from the declarations."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from llm_normalize.fixes import EVERY_FIX
from llm_normalize.native_fixes import NATIVE_FIXES
from llm_normalize.native_fixes.native_fix import NativeExample
from llm_normalize.repair.declaration import Declaration
from llm_normalize.repair.fix import Example
from llm_normalize.repair.look import Finding
from llm_normalize.request.adaptation import Adaptation, RequestExample
from llm_normalize.request.adaptations import ADAPTATIONS
from llm_normalize.request.refusals.refusal_table import rows
from llm_normalize.wire.json_text import dumps
from workshop import ADDON

PACKAGE = ADDON / "llm_normalize"
DONE = b"data: [DONE]\n\n"
ENVELOPE = re.compile(
    r'"id":"chatcmpl-1","object":"chat.completion(.chunk)?",'
    r'"created":1700000000,"model":"acme-1",'
    r'|"object":"response","created_at":1700000000,.*?"completed_at":null,'
)

type Declared = type[Declaration | Adaptation]

FIXES_HEAD = """\
# The fixes

`scripts/docs.py` writes this file from the declarations in this folder; change those instead.
The fixes act in this order; `__init__.py` argues it.

The quirk of a skipped fix (`normalize_skip`) stays as it is, unless its section names others that
also repair it. An event that any fix changes is written in OpenAI's framing."""
NATIVE_HEAD = """\
# The fixes of Responses and Messages

`scripts/docs.py` writes this file from the declarations in this folder; change those instead.
They repair answers of providers that speak their client's protocol themselves, nearly; one that is
translated is repaired as chat. `normalize_skip` names them like any other."""
REQUESTS_HEAD = """\
# The adaptations

What is changed in requests. `scripts/docs.py` writes this file from the declarations in
this folder; change those instead. The adaptations act in this order."""


def documents() -> dict[Path, str]:
    """Return the catalogues as they should be."""
    fixes = "| fix | change | whom it breaks |"
    native = catalogue(NATIVE_HEAD, fixes, NATIVE_FIXES, map(_fix, NATIVE_FIXES))
    return {
        PACKAGE / "fixes/README.md": catalogue(
            FIXES_HEAD, fixes, EVERY_FIX, map(_fix, EVERY_FIX)
        ),
        PACKAGE / "native_fixes/README.md": native,
        PACKAGE / "request/adaptations/README.md": catalogue(
            REQUESTS_HEAD,
            "| adaptation | change | otherwise |",
            ADAPTATIONS,
            map(_adaptation, ADAPTATIONS),
        ),
    }


def catalogue(
    head: str, columns: str, declared: Sequence[Declared], sections: Iterable[str]
) -> str:
    """Return a catalogue: a table with a line each, then the sections."""
    lines = [columns, "| --- | --- | --- |"]
    lines += [
        f"| [`{each.name}`](#{each.name}) | {_cell(each.changes)} | {_cell(each.why)} |"
        for each in declared
    ]
    return "\n\n".join([head, "\n".join(lines), *sections]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _section(each: Declared, more: str, facts: str, words: str = "") -> str:
    doc = (each.__doc__ or "").strip().splitlines()[0]
    sources = "\n".join(f"- <{source}>" for source in each.sources)
    examples = "\n\n".join(map(_example, each.examples))
    return (
        f"## {each.name}\n\n{doc}{more}\n\n- change: {each.changes}\n{facts}\n\n"
        f"{words}Sources:\n{sources}\n\n{examples}"
    )


def _fix(fix: type[Declaration]) -> str:
    more = ""
    if getattr(fix, "handles", 0) & Finding.LEFT:
        more = "\n\nActs only on chunks that another fix has changed."
    if others := " and ".join(f"`{name}`" for name in fix.also_covered_by):
        more += f"\n\nTo keep the quirk, also skip {others}."
    facts = f"- why: {fix.why}\n- sent by: {', '.join(fix.providers)}"
    return _section(fix, more, facts)


def _adaptation(each: type[Adaptation]) -> str:
    hosts = ", ".join(f"`{host}`" for host in each.hosts) or "all, once they refuse it"
    models = f"\n- models: `{each.models}`" if each.models else ""
    facts = f"- otherwise: {each.why}\n- in requests to: {hosts}{models}"
    return _section(each, "", facts, _words_for(each))


def _words_for(form: type[Adaptation]) -> str:
    """Return what providers say that ask for a form; nothing for another adaptation."""
    said = [each for row in rows() if row.form is form for each in row.said]
    lines = (
        f"- {each.provider}, {each.status}: `` {' '.join(each.words.split())} ``\n"
        for each in said
    )
    return f"Words, among others:\n{''.join(lines)}\n" if said else ""


def _example(example: Example | NativeExample | RequestExample) -> str:
    refused = ""
    if isinstance(example, RequestExample):
        refusal = example.refusal.decode()
        refused = f" The provider says `{refusal}`." if refusal else ""
        before, after = (
            dumps(each).decode() for each in (example.before, example.after)
        )
        diff = [f"-{before}", *([f" {refusal}"] if refusal else []), f"+{after}"]
    else:
        diff = _diff(example)
    if not example.changes:
        return f"Untouched: {example.name}.{refused}"
    text = "\n".join(diff)
    return f"{example.name[0].upper()}{example.name[1:]}:\n\n```diff\n{text}\n```"


def _diff(example: Example | NativeExample) -> list[str]:
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
    return diff


def _line(event: Any, framed: bool) -> str:
    """Return an event of an example, without the envelope that all share."""
    if isinstance(event, bytes):
        text = event.decode("utf-8", "backslashreplace")
    else:
        text = dumps(event).decode()
        text = f"data: {text}\n\n" if framed else text
    if not framed:
        text = text.rstrip("\n")
    text = ENVELOPE.sub("…,", text)
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
