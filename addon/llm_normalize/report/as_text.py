"""The report as lines for a terminal: what is most telling."""

from collections.abc import Iterator

from ..records.statistics import TOKENS
from ..text.printable import counted, escaped
from . import figures as text
from . import log_reader as reader
from .collected import Collected
from .group import Group, ranked

MODELS = 15
FIXES = 12
BROKEN = 5
_OF_A_MODEL = 3  # fixes that are named beside it
_MOST_NAME = 40
_WORDS = 300


def as_text(found: Collected, notes: reader.Notes) -> Iterator[str]:
    """Yield the lines, none of which a terminal takes for a command."""
    yield _heading(found, notes)
    if not found.rows():
        return
    yield ""
    yield from _models(found)
    yield ""
    yield from _fixes(found)
    yield ""
    yield from _broken(found)
    yield from _refusals(found)


def _heading(found: Collected, notes: reader.Notes) -> str:
    """How many answers of what time, and what could not be read, as one line."""
    overall = found.overall()
    files = counted(len(notes.files), "file")
    parts = [f"{counted(overall.flows, 'answer')} in {files}"]
    if overall.errors:
        parts.append(f"errors by status: {overall.failed}")
    if found.since:
        parts.append(f"{found.since} to {found.until}")
    if overall.translated:
        parts.append(f"translated: {overall.translated}")
    if overall.untranslated:
        parts.append(f"in their own protocol: {overall.untranslated}")
    for count, what in (
        (notes.lost, "lost line"),
        (notes.torn, "torn end"),
        (notes.unreadable, "unreadable line"),
    ):
        parts += [counted(count, what)] if count else []
    return escaped("; ".join(parts))


def _models(found: Collected) -> Iterator[str]:
    rows = found.rows()
    overall = found.overall()
    tokens = [name for name in TOKENS if overall.tokens[name]]
    errors = ["errors"] if overall.errors else []
    table = [
        [
            *("host", "model", "most needed", "answers", "repaired"),
            *errors,
            *tokens,
            *("first p50", "p99"),
        ]
    ]
    for (host, model, mode), group in rows[:MODELS]:
        table.append(
            [
                text.cut(host, _MOST_NAME),
                text.cut(model or "-", _MOST_NAME),
                _needed(group, mode),
                text.number(group.flows),
                text.share(group.repaired, group.flows),
                *[text.cut(group.failed or text.NONE, _MOST_NAME) for _ in errors],
                *(text.number(group.tokens[name]) for name in tokens),
                text.duration(group.begin.at(0.5)),
                text.duration(group.begin.at(0.99)),
            ]
        )
    yield from text.aligned(table, table[0].index("answers"))
    if len(rows) > MODELS:
        yield f"and {counted(len(rows) - MODELS, 'line')} more: see -o FILE or --json"


def _needed(group: Group, mode: str) -> str:
    needed = ranked(group.fixed)
    names = [text.cut(name, _MOST_NAME) for name, _ in needed[:_OF_A_MODEL]]
    more = len(needed) - len(names)
    listed = ", ".join(names) or "nothing"
    listed += f" and {more} more" if more else ""
    return f"{listed} (observed)" if mode == "observe" else listed


def _fixes(found: Collected) -> Iterator[str]:
    overall, models = found.overall(), found.models_of()
    needed = ranked(overall.fixed)
    table = [["fix", "answers", "of all", "events", "models"]]
    for name, answers in needed[:FIXES]:
        events = text.number(overall.fixes[name])
        of_all = text.share(answers, overall.responses)
        table.append(
            [text.cut(name), text.number(answers), of_all, events, str(models[name])]
        )
    if not needed:
        yield "Nothing had to be repaired."
        return
    yield from text.aligned(table, 1)
    if len(needed) > FIXES:
        yield f"and {len(needed) - FIXES} more fixes"


def _refusals(found: Collected) -> Iterator[str]:
    if not found.refusals:
        return
    yield ""
    yield "Refused, and the words ask for no form that is known; please report them:"
    for (host, model, status, words), count in found.refusals.most_common(BROKEN):
        name = f"{text.cut(host, _MOST_NAME)} {text.cut(model or '-', _MOST_NAME)}"
        times = counted(count, "time")
        yield escaped(f"  {name}  {status}, {times}: {text.cut(words, _WORDS)}")


def _broken(found: Collected) -> Iterator[str]:
    overall = found.overall()
    total = overall.broken
    if not total:
        yield "Every answer was complete."
    else:
        ends = ", ".join(
            f"{name} {count:,}"
            for name, count in overall.ends.most_common()
            if name != "complete"
        )
        yield f"{counted(total, 'answer')} ended early: {ends}; the latest:"
        for each in found.latest()[:BROKEN]:
            when = text.moment(each.at) if each.at is not None else "without a time"
            name = (
                f"{text.cut(each.host, _MOST_NAME)} {text.cut(each.model, _MOST_NAME)}"
            )
            yield f"  {when}  {each.end}  {name}  {counted(each.events, 'event')}"
    first = f"half began within {text.duration(overall.begin.at(0.5))}"
    yield f"Of the answers, {first}, 99 % within {text.duration(overall.begin.at(0.99))}."
