"""What a report comes to, in sentences."""

from collections.abc import Iterator

from ..text.printable import counted
from . import figures as text
from . import log_reader as reader
from .collected import Collected
from .group import ranked

_MOST = 3  # names in a sentence


def summary(found: Collected, notes: reader.Notes) -> list[str]:
    """Return paragraphs, plain text with code between backticks."""
    paragraphs = [
        " ".join([*_answers(found), *_translated(found)]),
        " ".join(_ends(found)),
        " ".join(_losses(found, notes)),
    ]
    return [each for each in paragraphs if each]


def _answers(found: Collected) -> Iterator[str]:
    overall, hosts, rows = found.overall(), found.hosts(), found.rows()
    if not overall.responses:
        yield "The logs hold no answer that has ended."
        return
    models = len({(host, model) for (host, model, _), _ in rows})
    yield (
        f"{counted(overall.flows, 'answer')} of {counted(models, 'model')} "
        f"at {counted(len(hosts), 'host')}."
    )
    needed = ranked(overall.fixed)
    if not needed:
        yield "Nothing in them had to be repaired."
        return
    observed = sum(group.repaired for (_, _, mode), group in rows if mode == "observe")
    if overall.repaired:
        yield (
            f"{text.number(overall.repaired)} of them "
            f"({text.share(overall.repaired, overall.flows)}) had something to repair: "
            f"{text.number(overall.changed)} of {counted(overall.events, 'event')} "
            "were not as OpenAI sends them."
        )
    if observed:
        yield (
            f"{counted(observed, 'answer')} of those passed unchanged, since the "
            "addon only observed."
        )
    named = [
        f"`{text.cut(name)}` ({text.share(count, overall.responses)} of the "
        f"{overall.kinds})"
        for name, count in needed[:_MOST]
    ]
    yield f"Needed most: {_listed(named)}."
    clean = [name for name, group in hosts if not group.fixed]
    if clean:
        shown = [f"`{text.cut(name)}`" for name in clean[:_MOST]]
        more = len(clean) - len(shown)
        shown += [f"{more} more"] if more else []
        yield f"Nothing to repair was sent by {_listed(shown)}."


def _translated(found: Collected) -> Iterator[str]:
    overall = found.overall()
    if overall.translated:
        yield f"Translated from chat completions: {overall.translated}."
    if overall.untranslated:
        yield f"In their client's own protocol: {overall.untranslated}."


def _ends(found: Collected) -> Iterator[str]:
    overall = found.overall()
    if not overall.responses:
        return
    broke = overall.broken
    if broke:
        endings = {
            "upstream-broke": "broken off by the provider",
            "client-left": "abandoned by the client",
            "error": "without any response",
        }
        ends = [
            f"{text.number(overall.ends[end])} {words}"
            for end, words in endings.items()
            if overall.ends[end]
        ]
        other = broke - sum(overall.ends[end] for end in endings)
        ends += [f"{text.number(other)} ended in a way the log does not record"] * bool(
            other
        )
        yield f"{counted(broke, 'answer')} did not complete: {_listed(ends)}."
    elif overall.flows:
        yield "Every answer was complete."
    if overall.errors:
        count = overall.errors.total()
        errors = f"{'was' if count == 1 else 'were'} {counted(count, 'error')}"
        yield f"Apart from the answers there {errors} by status: {overall.failed}."
    if overall.begin.count:
        yield (
            f"Half of the answers began within {text.duration(overall.begin.at(0.5))}, "
            f"99 % within {text.duration(overall.begin.at(0.99))}."
        )


def _losses(found: Collected, notes: reader.Notes) -> Iterator[str]:
    if notes.lost:
        yield (
            f"{counted(notes.lost, 'line')} could not be written to the log (a full "
            "or a slow disk): the true figures are higher."
        )
    if notes.torn:
        yield (
            f"{counted(notes.torn, 'file')} ended in half a line: still being "
            "written, or cut off."
        )
    if notes.unreadable:
        yield f"{counted(notes.unreadable, 'line')} could not be read."
    if found.strange:
        yield (
            f"{counted(found.strange, 'record')} of a kind that this version does "
            "not know were passed over."
        )
    if found.timeline.undated:
        undated = counted(found.timeline.undated, "answer")
        yield f"{undated} without a time that can be are missing from the charts over time."


def _listed(words: list[str]) -> str:
    if len(words) < 2:  # noqa: PLR2004
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
