"""Sum up before/after logs: what was repaired, by host, model and fix."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Iterable, Iterator, Sequence

from . import log_reader as reader
from .log_reader import LogError, Notes, Record

DEFAULT = "~/.mitmproxy/normalize"
ENDS = ("complete", "client-left", "upstream-broke", "error")
_NO_MODEL = "-"


class Times:
    """Milliseconds, all of them kept, so that percentiles are exact."""

    def __init__(self) -> None:
        self._all: list[float] = []

    def add(self, ms: float) -> None:
        """Take in the time of one answer."""
        self._all.append(ms)

    def at(self, part: float) -> float | None:
        """Return the time that *part* of the answers needed at most; None without any."""
        if not self._all:
            return None
        place = max(0, -int(-part * len(self._all) // 1) - 1)  # the nearest rank
        return sorted(self._all)[place]


class Group:
    """The answers of one model on one host, repaired or only observed.

    Args:
        first: Takes the time until the first event, of each answer that had one.

    Attributes:
        flows: How many answers.
        events: How many events they had.
        changed: How many of those a fix changed.
        requests: How many requests were changed.
        ends: How often each end.
        fixes: Events that each fix changed.
        fixed: Answers that each fix changed.
    """

    def __init__(self, first: Times | None = None) -> None:
        self.flows = self.events = self.changed = self.requests = 0
        self.ends: Counter[str] = Counter()
        self.fixes: Counter[str] = Counter()
        self.fixed: Counter[str] = Counter()
        self.first = Times() if first is None else first

    def add(self, record: Record) -> None:
        """Take in the record of one answer."""
        self.flows += 1
        self.events += reader.number_of(record, "events")
        self.changed += reader.number_of(record, "changed")
        self.ends[reader.text_of(record, "end") or "?"] += 1
        fixes = record.get("fixes")
        if isinstance(fixes, dict):
            for name in fixes:
                self.fixes[name] += reader.number_of(fixes, name)
                self.fixed[name] += 1
        first = reader.time_of(record, "first_ms")
        if first is not None:
            self.first.add(first)

    def as_json(self) -> dict[str, Any]:
        """Return all of it, for a program."""
        return {
            "flows": self.flows,
            "events": self.events,
            "changed": self.changed,
            "requests": self.requests,
            "ends": dict(self.ends.most_common()),
            "first_ms": {name: self.percentile(at) for name, at in _PERCENTILES},
            "fixes": {
                name: {"events": count, "flows": self.fixed[name]}
                for name, count in ranked(self.fixes)
            },
        }

    def percentile(self, part: float) -> float | None:
        """Return the time until the first event that *part* of the answers had at most."""
        return self.first.at(part)


_PERCENTILES = (("p50", 0.5), ("p99", 0.99))


class Summary:
    """What the records say, by (host, model, mode)."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str, str], Group] = {}
        self.since = self.until = ""

    def add(self, record: Record) -> None:
        """Take in a record; pairs are told by the record of their answer."""
        kind = record.get("type")
        if kind not in ("flow", "request"):
            return
        mode = reader.text_of(record, "mode") or "repair"
        host, model = reader.text_of(record, "host"), reader.text_of(record, "model")
        group = self.group(host, model, mode)
        if kind == "request":
            group.requests += 1
            return
        group.add(record)
        time = reader.text_of(record, "time")
        if time:
            self.since = min(self.since or time, time)
            self.until = max(self.until, time)

    def group(self, host: str, model: str, mode: str) -> Group:
        """Return where the answers of these are counted."""
        return self.groups.setdefault((host, model, mode), Group())

    def ordered(self) -> list[tuple[tuple[str, str, str], Group]]:
        """Return the groups by host, model and mode."""
        return sorted(self.groups.items())


def ranked(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return *counts*, the largest first."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


# What is printed


def tables(summary: Summary) -> Iterator[list[list[str]]]:
    """Yield the table of the models and, if there is anything in it, that of the fixes.

    Each with its heading first. The text is as it was logged.
    """
    groups = summary.ordered()
    more = any(group.requests for _, group in groups)
    ends = [end for end in ENDS if any(group.ends[end] for _, group in groups)]
    models = [["host", "model", "mode", "flows", "events", "changed"]]
    models[0] += ["requests"] if more else []
    models[0] += [*ends, "first ms p50", "p99"]
    fixes = [["host", "model", "mode", "fix", "events", "flows"]]
    for (host, model, mode), group in groups:
        name = [host, model or _NO_MODEL, mode]
        counts = [group.flows, group.events, group.changed]
        counts += [group.requests] if more else []
        counts += [group.ends[end] for end in ends]
        times = [group.percentile(part) for _, part in _PERCENTILES]
        shown = ["-" if each is None else f"{each:.1f}" for each in times]
        models.append([*name, *map(str, counts), *shown])
        for fix, count in ranked(group.fixes):
            fixes.append([*name, fix, str(count), str(group.fixed[fix])])
    yield models
    if len(fixes) > 1:
        yield fixes


def heading(summary: Summary, notes: Notes) -> str:
    """Return what was read, as one line."""
    flows = sum(group.flows for group in summary.groups.values())
    said = [f"{counted(flows, 'answer')} in {counted(len(notes.files), 'file')}"]
    if summary.since:
        said.append(f"{summary.since} to {summary.until}")
    said += [f"{counted(notes.lost, 'lost line')}"] if notes.lost else []
    said += [f"{counted(notes.torn, 'torn end')}"] if notes.torn else []
    said += (
        [f"{counted(notes.unreadable, 'unreadable line')}"] if notes.unreadable else []
    )
    return reader.printable("; ".join(said))


def counted(number: int, what: str) -> str:
    """Return `1 answer`, `2 answers` and the like."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def as_text(summary: Summary, notes: Notes) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield heading(summary, notes)
    for table in tables(summary):
        yield ""
        yield from aligned(table, _first_figure(table))


def aligned(table: Sequence[Sequence[str]], figures: int) -> Iterator[str]:
    """Yield the rows of *table* as lines, its columns from *figures* on to the right."""
    rows = [[reader.printable(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        cells = [
            cell.rjust(width) if at >= figures else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ]
        yield "  ".join(cells).rstrip()


def as_markdown(summary: Summary, notes: Notes) -> Iterator[str]:
    """Yield the lines for a page."""
    yield heading(summary, notes)
    for table in tables(summary):
        yield ""
        figures = _first_figure(table)
        rule = ["---:" if at >= figures else "---" for at in range(len(table[0]))]
        cells = [[_escaped(cell) for cell in row] for row in table]
        for row in (cells[0], rule, *cells[1:]):
            yield f"| {' | '.join(row)} |"


def _first_figure(table: Sequence[Sequence[str]]) -> int:
    return table[0].index("mode") + (2 if "fix" in table[0] else 1)


def _escaped(text: str) -> str:
    special = "\\`*_{}[]<>|#&"
    shown = reader.printable(text)
    return "".join(f"\\{each}" if each in special else each for each in shown)


def as_json(summary: Summary, notes: Notes) -> Iterator[str]:
    """Yield one object, for a program."""
    groups = [
        {"host": host, "model": model, "mode": mode, **group.as_json()}
        for (host, model, mode), group in summary.ordered()
    ]
    read = {"files": [str(path) for path in notes.files], "lost": notes.lost}
    read.update(torn=notes.torn, unreadable=notes.unreadable)
    read.update(since=summary.since or None, until=summary.until or None)
    yield json.dumps({**read, "groups": groups}, indent=1)


FORMATS = {"text": as_text, "json": as_json, "markdown": as_markdown}


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        description="Sum up before/after logs: what was repaired, by host, model and fix.",
        epilog="Reads logs that are still being written, and gzipped ones. Needs no "
        "environment: any Python 3.8 or newer will do.",
    )
    parser.add_argument(
        "logs",
        nargs="*",
        default=[DEFAULT],
        metavar="LOG",
        help="a log (its rotated files come along), a pattern, or a folder that is "
        f"searched for logs (default: {DEFAULT})",
    )
    parser.add_argument(
        "--format", choices=FORMATS, default="text", help="default: text"
    )
    return parser.parse_args(given)


def summed(logs: Iterable[str], notes: Notes) -> Summary:
    """Return what *logs* say.

    Raises:
        LogError: One of them cannot be read.
    """
    summary = Summary()
    for record in reader.read(reader.find(logs), notes):
        summary.add(record)
    return summary


def main() -> int:
    """Print what was asked for and return the exit code."""
    flags = parse()
    notes = Notes()
    if isinstance(sys.stdout, io.TextIOWrapper):  # a console may lack a model's letters
        sys.stdout.reconfigure(errors="replace")
    try:
        summary = summed(flags.logs, notes)
        for line in FORMATS[flags.format](summary, notes):
            print(line)
        sys.stdout.flush()
    except LogError as error:
        print(f"{Path(__file__).name}: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # into `head`: Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
