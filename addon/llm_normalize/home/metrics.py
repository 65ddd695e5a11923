"""The proxy's figures for Prometheus, in its text format 0.0.4.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from ..records.statistics import OTHER_HOSTS, OTHER_MODELS, Counts
from .status import Facts

TYPE = "text/plain; version=0.0.4; charset=utf-8"
PAIRS = 100
"""Pairs of host and model that have labels of their own, the first seen: clients choose the
names, and each is stored for as long as Prometheus stores anything."""

_PREFIX = "llm_normalize_"
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class _Family(NamedTuple):
    """A metric: its name without the prefix, its type, and what it counts."""

    name: str
    kind: Literal["counter", "gauge"]
    about: str


type _Labels = tuple[str, ...]
"""Names and values of labels, in turn."""

_INFO = _Family("info", "gauge", "The addon, by its version and mode.")
_START = _Family("start_time_seconds", "gauge", "When the addon started, in Unix time.")
_WAITING = _Family("waiting_requests", "gauge", "Requests that wait for their turn.")
_LONGEST = _Family(
    "waiting_longest_seconds", "gauge", "How long the first of them has waited."
)
_REFUSED = _Family(
    "client_tls_refusals_total",
    "counter",
    "Connections that clients refused, since they do not trust the CA.",
)
_ANSWERS = _Family("responses_total", "counter", "Answers, without errors.")
_REPAIRED = _Family(
    "responses_repaired_total",
    "counter",
    "Answers that were repaired; in mode observe, that would have been.",
)
_ERRORS = _Family("errors_total", "counter", "Errors, by the HTTP status sent.")
_FIXES = _Family("fixed_events_total", "counter", "Events that a fix changed.")
_REQUESTS = _Family("changed_requests_total", "counter", "Requests that were changed.")
_PROTOCOLS = _Family(
    "translated_responses_total", "counter", "Answers translated, by protocol."
)
_TOKENS = _Family("tokens_total", "counter", "Tokens that providers counted.")


def text(
    facts: Facts,
    counted: Iterable[tuple[str, str, Counts]],
    refused: Mapping[str, int],
    started: float,
) -> str:
    """Return all figures.

    Args:
        facts: What the proxy reports of itself.
        counted: What was counted of each host and model, the first seen first.
        refused: Hosts that clients refused to connect to, and how often.
        started: When that began, in Unix time.
    """
    samples: dict[_Family, dict[_Labels, float]] = {
        _INFO: {("version", facts.version, "mode", facts.mode): 1},
        _START: {(): round(started, 3)},
        **_by_pair(counted),
        _WAITING: {("host", host): count for host, count, _ in facts.waiting},
        _LONGEST: {("host", host): round(s, 1) for host, _, s in facts.waiting},
        _REFUSED: {("host", host): n for host, n in refused.items()},
    }
    return "".join(
        line for family, found in samples.items() for line in _lines(family, found)
    )


def _by_pair(
    counted: Iterable[tuple[str, str, Counts]],
) -> Mapping[_Family, dict[_Labels, float]]:
    samples: dict[_Family, dict[_Labels, float]] = {
        each: defaultdict(int)
        for each in (
            *(_ANSWERS, _REPAIRED, _ERRORS, _FIXES, _REQUESTS, _PROTOCOLS, _TOKENS),
        )
    }
    for number, (host, model, counts) in enumerate(counted):
        pair = (host, model) if number < PAIRS else (OTHER_HOSTS, OTHER_MODELS)
        labels = ("host", pair[0], "model", pair[1])
        samples[_ANSWERS][labels] += counts.responses
        samples[_REPAIRED][labels] += counts.repaired
        for family, label, found in (
            (_ERRORS, "status", counts.errors),
            (_FIXES, "fix", counts.fixes),
            (_REQUESTS, "change", counts.requests),
            (_PROTOCOLS, "protocol", counts.protocols),
            (_TOKENS, "kind", counts.tokens),
        ):
            for name, count in found.items():
                samples[family][*labels, label, name.removesuffix("_tokens")] += count
    return samples


def _lines(family: _Family, samples: Mapping[_Labels, float]) -> Iterator[str]:
    name = _PREFIX + family.name
    yield f"# HELP {name} {family.about}\n# TYPE {name} {family.kind}\n"
    for labels, value in samples.items():
        pairs = zip(labels[::2], labels[1::2], strict=True)
        shown = ",".join(f'{key}="{each.translate(_ESCAPES)}"' for key, each in pairs)
        yield f"{name}{{{shown}}} {value}\n" if shown else f"{name} {value}\n"
