"""The report as one HTML page that stands alone."""

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..fixes import DECLARED
from ..home import rendering
from ..records import private_file
from ..text.printable import visible
from . import charts, sentences
from . import figures as text
from . import log_reader as reader
from .collected import Collected
from .group import ENDS, Group, ranked
from .histogram import ACCURACY
from .timeline import ERROR, OTHER_END, SPANS

TEMPLATE = "page.html.jinja"
SHOWN = 12  # models in the tables
MODELS = 100  # with those that are folded away
FILES = 50
FEW = 8  # changes of an example that are not folded away

_DRAWN = 12  # models in a chart
_COLUMNS = 16  # fixes in one
_NAME = 34  # characters of a fix's name in a chart
_LABEL = 60  # of a model's, with its host where models have the same: half of the chart
_OPEN = 3  # fixes whose examples are open
_DAY = 86_400
_MINUTE = 60
_CALLED = {ERROR: "error by status"}
_PARTS = (("half", 0.5), ("90 %", 0.9), ("99 %", 0.99))


class Chart(NamedTuple):
    """A drawing and what is beside it.

    Attributes:
        title: What it shows.
        drawing: The SVG.
        colours: Names of the style sheet's colours, a series each.
        note: What else there is to say about it.
    """

    title: str
    drawing: str
    colours: list[str]
    note: str = ""


def parts(found: Collected, notes: reader.Notes) -> Iterator[str]:
    """Yield the page, part by part."""
    environment = rendering.environment(Path(__file__).parent)
    for filter_ in (text.cut, visible, text.number, text.duration, text.share):
        environment.filters[filter_.__name__] = filter_
    environment.filters |= {"moment": text.moment, "size": text.size, "code": _code}
    template = environment.get_template(TEMPLATE)
    yield from template.generate(_content(found, notes))


def write(output: Path, found: Collected, notes: reader.Notes) -> int:
    """Write the page and return its size in bytes.

    Raises:
        OSError: It cannot be written; what was there before is there still.
    """
    page = "".join(parts(found, notes)).encode()
    # Its owner alone can read it: a model's words are in it.
    private_file.write(output.resolve(), page)  # a link stays one
    return len(page)


def _content(found: Collected, notes: reader.Notes) -> dict[str, Any]:
    overall = found.overall()
    rows = found.rows()
    return {
        "files": notes.files[:FILES],
        "more_files": max(0, len(notes.files) - FILES),
        "notes": notes,
        "found": found,
        "whole": overall,
        "broke": overall.broken,
        "words": sentences.summary(found, notes),
        "observed": {mode for (_, _, mode), _ in rows} == {"observe"},
        "rows": rows[:SHOWN],
        "folded_rows": rows[SHOWN:MODELS],
        "more_rows": len(rows) - MODELS,
        "ranked": ranked,
        "fixes": _fixes(found, overall),
        "fix_chart": _fix_chart(rows, overall),
        "time_charts": _time_charts(found),
        "latency_charts": _latency_charts(rows),
        "ends": [
            each
            for each in (*ENDS, OTHER_END)
            if each != "complete" and overall.ends[each]
        ],
        "broken_hosts": [
            (host, group) for host, group in found.hosts() if group.broken
        ][:MODELS],
        "latest": found.latest(),
        "few": FEW,
        "accuracy": ACCURACY,
    }


def _code(source: str) -> str:
    """*source* as HTML, with what is between backticks as code."""
    parts = re.split(r"`([^`]*)`", html.escape(visible(source)))
    return "".join(
        f"<code>{part}</code>" if at % 2 else part for at, part in enumerate(parts)
    )


def _fixes(found: Collected, overall: Group) -> list[dict[str, Any]]:
    known = DECLARED
    models = found.models_of()
    return [
        {
            "name": name,
            "anchor": f"fix-{name}" if name in known else "",
            "changes": known[name].changes.replace(" -> ", " → ")
            if name in known
            else "",
            "breaks": known[name].why if name in known else "",
            "answers": answers,
            "events": overall.fixes[name],
            "models": models[name],
            "examples": found.examples.of(name),
            "open": place < _OPEN,
        }
        for place, (name, answers) in enumerate(ranked(overall.fixed))
    ]


# The charts


def _labels(rows: list[tuple[tuple[str, str, str], Group]]) -> list[str]:
    """A name for each of *rows*; with its host where models have the same, or none."""
    models = [model for (_, model, _), _ in rows]
    labels = []
    for (host, model, _), _ in rows:
        has_host = models.count(model) > 1 or not model
        room = _LABEL // 2 if has_host else _LABEL
        # What the one does not need, the other has.
        shown = text.cut(model or "no model", max(room, _LABEL - len(host)))
        more = text.cut(host, _LABEL - len(shown)) if has_host else ""
        labels.append(f"{shown} · {more}" if has_host else shown)
    return labels


def _fix_chart(
    rows: list[tuple[tuple[str, str, str], Group]], overall: Group
) -> Chart | None:
    columns = [name for name, _ in ranked(overall.fixed)[:_COLUMNS]]
    drawn = [row for row in rows if row[1].fixed][:_DRAWN]
    if not columns or not drawn:
        return None
    series = [
        (label, [100 * group.fixed[name] / group.responses for name in columns])
        for label, (_, group) in zip(_labels(drawn), drawn, strict=True)
    ]
    drawing = charts.dots(
        "Fixes that each model needed",
        [text.cut(name, _NAME) for name in columns],
        series,
        lambda percent: f"{percent:.0f} % of its {overall.kinds}",
    )
    left_out = []
    if len(rows) > len(drawn):
        left_out.append(f"the {len(drawn)} models with the most repaired events")
    if len(overall.fixed) > len(columns):
        left_out.append(f"the {len(columns)} fixes that most answers needed")
    note = f"The larger a dot, the more of the model's {overall.kinds} needed the fix."
    note += f" Shown: {' and '.join(left_out)}." if left_out else ""
    return Chart("Who needs which fix", drawing, ["one"], note)


def _time_charts(found: Collected) -> list[Chart]:
    span, buckets = found.timeline.buckets()
    if not buckets:
        return []
    days = {text.moment(at, "%x") for at, _ in buckets}
    clock = "%H:%M" if span >= _MINUTE else "%H:%M:%S"
    date = "%d %b" if buckets[-1][0] - buckets[0][0] < 300 * _DAY else "%d %b %Y"
    form = date if span >= _DAY else clock if len(days) == 1 else f"%d %b {clock}"
    labels = [text.moment(at, form) for at, _ in buckets]
    called = SPANS[span]
    ends = [
        end
        for end in (*ENDS, ERROR, OTHER_END)
        if any(bucket.ends.get(end) for _, bucket in buckets)
    ]
    answers = [
        (_CALLED.get(end, end), [bucket.ends.get(end, 0) for _, bucket in buckets])
        for end in ends
    ]
    changed = [bucket.changed for _, bucket in buckets]
    same = [bucket.events - bucket.changed for _, bucket in buckets]
    events = [("repaired", changed), ("unchanged", same)]
    return [
        Chart(
            f"Answers per {called}, by how they ended",
            charts.stacked("Answers over time", labels, answers, _figure),
            [f"end-{'other' if end == OTHER_END else end}" for end in ends],
        ),
        Chart(
            f"Events per {called}",
            charts.stacked("Events over time", labels, events, _figure),
            ["changed", "same"],
        ),
    ]


def _latency_charts(rows: list[tuple[tuple[str, str, str], Group]]) -> list[Chart]:
    by_answers = sorted(rows, key=lambda each: -each[1].flows)
    made = []
    for title, times_of in _TIMES:
        drawn = [row for row in by_answers if times_of(row[1]).count][:_DRAWN]
        if not drawn:
            continue
        series = [
            (part, [max(times_of(group).at(at) or 0, 0.1) for _, group in drawn])
            for part, at in _PARTS
        ]
        drawing = charts.bars(title, _labels(drawn), series, text.duration)
        note = "A logarithmic scale."
        if len(rows) > len(drawn):
            note += f" Shown: the {len(drawn)} models with the most answers."
        made.append(Chart(title, drawing, ["p50", "p90", "p99"], note))
    return made


_TIMES: tuple[tuple[str, Callable[[Group], Any]], ...] = (
    ("Time until the first event", lambda group: group.begin),
    ("Time until the answer was over", lambda group: group.total),
)


def _figure(value: float) -> str:
    return text.number(round(value))
