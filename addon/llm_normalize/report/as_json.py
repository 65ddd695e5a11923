"""The report as one JSON object, for programs."""

import json
from typing import Any

from ..fixes import DECLARED
from . import log_reader as reader
from .collected import Broken, Collected
from .examples import Example
from .figures import moment
from .group import ranked
from .histogram import ACCURACY


def as_json(found: Collected, notes: reader.Notes) -> str:
    """The object; ASCII, so that nothing in it is a terminal's command."""
    span, buckets = found.timeline.buckets()
    overall, models = found.overall(), found.models_of()
    known = DECLARED
    made: dict[str, Any] = {
        "files": [str(path) for path in notes.files],
        "bytes": notes.size,
        "records": found.records,
        "lost": notes.lost,
        "torn": notes.torn,
        "unreadable": notes.unreadable,
        "strange": found.strange,
        "since": _moment(found.timeline.since),
        "until": _moment(found.timeline.until),
        "percentiles_accuracy": ACCURACY,
        "answers": overall.flows,
        "errors": dict(ranked(overall.errors)),
        "whole": overall.as_json(),
        "groups": [
            {"host": host, "model": model, "mode": mode, **group.as_json()}
            for (host, model, mode), group in found.rows()
        ],
        "fixes": [
            {
                "name": name,
                "changes": known[name].changes if name in known else None,
                "breaks": known[name].why if name in known else None,
                "answers": answers,
                "events": overall.fixes[name],
                "models": models[name],
                "examples": [_example(each) for each in found.examples.of(name)],
            }
            for name, answers in ranked(overall.fixed)
        ],
        "over_time": {
            "bucket_seconds": span,
            "undated": found.timeline.undated,
            "buckets": [
                {
                    "from": _moment(at),
                    "ends": each.ends,
                    "events": each.events,
                    "changed": each.changed,
                }
                for at, each in buckets
            ],
        },
        "unknown_refusals": [
            {"host": host, "model": model, "status": status, "words": words, "count": n}
            for (host, model, status, words), n in found.refusals.most_common()
        ],
        "broken_off": [_broken(each) for each in found.latest()],
    }
    return json.dumps(made, indent=1, allow_nan=False)


def _example(example: Example) -> dict[str, Any]:
    return {
        "host": example.host,
        "model": example.model,
        "n": example.pair.n,
        "fixes": example.pair.fixes,
        "changes": [str(each) for each in example.changes],
    }


def _broken(broken: Broken) -> dict[str, Any]:
    return {
        "time": _moment(broken.at),
        "host": broken.host,
        "model": broken.model,
        "end": broken.end,
        "status": broken.status or None,
        "events": broken.events,
        "total_ms": broken.total,
    }


def _moment(at: float | None) -> str | None:
    return None if at is None else moment(at, "%Y-%m-%dT%H:%M:%SZ")
