"""The report as one HTML page that stands alone."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..fixes import DECLARED
from ..home import rendering
from ..records import private_file
from ..text.printable import counted, visible
from . import charts
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

_OPEN = 3  # fixes whose examples are open
_DAY = 86_400
_MINUTE = 60
_CALLED = {ERROR: "error by status"}


class Chart(NamedTuple):
    """A drawing and what is beside it.

    Attributes:
        title: What it shows.
        drawing: The SVG.
        colours: Names of the style sheet's colours, a series each.
    """

    title: str
    drawing: str
    colours: list[str]


def parts(found: Collected, notes: reader.Notes) -> Iterator[str]:
    """Yield the page, part by part."""
    environment = rendering.environment(Path(__file__).parent)
    for filter_ in (
        *(text.cut, visible, counted),
        *(text.number, text.duration, text.share),
    ):
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
        "observed": sum(
            group.repaired for (_, _, mode), group in rows if mode == "observe"
        ),
        "rows": rows[:SHOWN],
        "folded_rows": rows[SHOWN:MODELS],
        "more_rows": len(rows) - MODELS,
        "ranked": ranked,
        "fixes": _fixes(found, overall),
        "time_charts": _time_charts(found),
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


def _figure(value: float) -> str:
    return text.number(round(value))
