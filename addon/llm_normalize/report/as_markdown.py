"""The report as tables in Markdown: every model, and every fix of it."""

from collections.abc import Iterator

from ..records.statistics import TOKENS
from ..text.printable import visible
from . import log_reader as reader
from .collected import Collected
from .group import ENDS, ranked
from .heading import heading
from .timeline import OTHER_END

_SPECIAL = "\\`*_{}[]<>|#&"
_NAMES = 3  # columns with names, before those with figures


def as_markdown(found: Collected, notes: reader.Notes) -> Iterator[str]:
    """Yield the lines, none of which says anything but what it shows."""
    yield _escaped(heading(found, notes))
    for table, names in ((_models(found), _NAMES), (_fixes(found), _NAMES + 1)):
        head, *rows = [[_escaped(cell) for cell in row] for row in table]
        rule = ["---:" if at >= names else "---" for at in range(len(head))]
        if rows:
            yield ""
            yield from (f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def _models(found: Collected) -> Iterator[list[str]]:
    overall = found.overall()
    more = ["requests"] if overall.requests else []
    ends = [end for end in (*ENDS, OTHER_END) if overall.ends[end]]
    errors = ["errors by status"] if overall.errors else []
    first = ["first ms p50", "p99"]
    counted = [name for name in TOKENS if overall.tokens[name]]
    yield [
        "host",
        "model",
        "mode",
        "answers",
        "events",
        "changed",
        *more,
        *ends,
        *errors,
        *counted,
        *first,
    ]
    for (host, model, mode), group in sorted(found.groups.items()):
        counts = [group.flows, group.events, group.changed]
        counts += [group.requests] if more else []
        counts += [group.ends[end] for end in ends]
        failed = [group.failed or "-" for _ in errors]
        tokens = [group.tokens[name] for name in counted]
        times = [group.begin.at(part) for part in (0.5, 0.99)]
        shown = ["-" if each is None else f"{each:.1f}" for each in times]
        figures = [*map(str, counts), *failed, *map(str, tokens)]
        yield [host, model or "-", mode, *figures, *shown]


def _fixes(found: Collected) -> Iterator[list[str]]:
    yield ["host", "model", "mode", "fix", "events", "answers"]
    for (host, model, mode), group in sorted(found.groups.items()):
        for fix, count in ranked(group.fixes):
            yield [host, model or "-", mode, fix, str(count), str(group.fixed[fix])]


def _escaped(text: str) -> str:
    return "".join(f"\\{each}" if each in _SPECIAL else each for each in visible(text))
