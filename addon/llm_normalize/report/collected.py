"""All that a report says, gathered from records one by one, in bounded memory."""

import heapq
import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..fixes import DECLARED
from ..protocols import PROTOCOLS
from ..records.statistics import OTHER_HOSTS, OTHER_MODELS, PAIRS, is_error
from ..repair.engine.translated_output import TRANSLATED
from . import figures
from . import log_reader as reader
from .examples import Examples
from .group import ENDS, Group
from .timeline import ERROR, OTHER_END, Timeline

OTHER_FIXES = "other fixes"
OTHER_PROTOCOL = "another protocol"
LATEST = 30  # answers that broke off, listed one by one

_NAME = 200  # characters of a name; clients choose it
_REFUSALS = 50  # of different words
_UNKNOWN = 50  # names of fixes that this version does not have
_PROTOCOLS = frozenset(each.name for each in PROTOCOLS)


@dataclass(frozen=True)
class Broken:
    """An answer that is not complete.

    Attributes:
        at: When, in seconds; None where the log has no time.
        host: Where it was to come from.
        model: The model that was asked for.
        end: `upstream-broke`, `client-left`, `error`, or `?` for any other.
        status: The HTTP status, 0 without one.
        events: Events that had come.
        total: Milliseconds from the request until then.
    """

    at: float | None
    host: str
    model: str
    end: str
    status: int
    events: int
    total: float | None


class Collected:
    """What the records say; bounded, however many names, records and fixes there are.

    Attributes:
        groups: The answers by (host, model, mode).
        since: When the first answer ended, as text; empty where none has a time.
        until: When the last one ended.
        timeline: What ended when.
        examples: Events before and after, of each fix.
        records: How many there were.
        strange: Of those, how many of a kind that is not known.
        refusals: Refusals whose words ask for no form that is known, by host, model,
            status and words: how many there were.
    """

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str, str], Group] = {}
        self.since = self.until = ""
        self.timeline = Timeline()
        self.examples = Examples()
        self.records = 0
        self.strange = 0
        self.refusals = Counter[tuple[str, str, int, str]]()
        self._unknown: set[str] = set()
        self._latest: list[tuple[float, int, Broken]] = []
        self._numbers = itertools.count()

    def add(self, record: reader.Record) -> None:
        """Add a record of any kind, whatever its fields are."""
        self.records += 1
        kind = record.get("type")
        if kind == "pair":
            fixes = self._fixes(record.get("fixes"))
            if TRANSLATED not in fixes:  # else it shows what no fix does
                self.examples.add(record, fixes)
        elif kind in ("flow", "request"):
            self._add_answer(record)
        elif kind == "refusal":
            self._add_refusal(record)
        else:
            self.strange += 1

    def _add_refusal(self, record: reader.Record) -> None:
        host, model = reader.text_of(record, "host"), reader.text_of(record, "model")
        status, words = (
            reader.number_of(record, "status"),
            reader.text_of(record, "words"),
        )
        said = host[:_NAME], model[:_NAME], status, words
        if said in self.refusals or len(self.refusals) < _REFUSALS:
            self.refusals[said] += 1

    def group(self, host: str, model: str, mode: str) -> Group:
        """Where the answers of these are counted; see `Stats` for the bounds."""
        for key, room in (
            ((host, model, mode), PAIRS),
            ((host, OTHER_MODELS, mode), 2 * PAIRS),
        ):
            found = self.groups.get(key)
            if found is not None:
                return found
            if len(self.groups) < room:
                return self.groups.setdefault(key, Group())
        return self.groups.setdefault((OTHER_HOSTS, OTHER_MODELS, mode), Group())

    def rows(self) -> list[tuple[tuple[str, str, str], Group]]:
        """The groups that have answers or errors, those with the most repairs first."""
        found = [(key, group) for key, group in self.groups.items() if group.responses]
        return sorted(
            found, key=lambda each: (-each[1].changed, -each[1].responses, each[0])
        )

    def hosts(self) -> list[tuple[str, Group]]:
        """The sums by host, those with the most answers first."""
        sums: dict[str, Group] = {}
        for (host, _, _), group in self.rows():
            sums.setdefault(host, Group()).merge(group)
        return sorted(sums.items(), key=lambda each: (-each[1].responses, each[0]))

    def overall(self) -> Group:
        """The sum of all groups."""
        total = Group()
        for group in self.groups.values():
            total.merge(group)
        return total

    def models_of(self) -> Counter[str]:
        """How many pairs of host and model needed each fix."""
        return Counter(
            name
            for (_, group) in self.rows()
            for name in group.fixes
            if group.fixes[name]
        )

    def latest(self) -> list[Broken]:
        """The answers that broke off last, the latest first."""
        return [broken for _, _, broken in sorted(self._latest, reverse=True)]

    def _fixes(self, names: Any) -> list[str]:
        if not isinstance(names, (list, dict)):
            return []
        found = [self._fix(name) for name in names if isinstance(name, str)]
        return list(dict.fromkeys(found))

    def _fix(self, name: str) -> str:
        if name in DECLARED:
            return name
        name = name[:_NAME]
        if name not in self._unknown:
            if len(self._unknown) >= _UNKNOWN:
                return OTHER_FIXES
            self._unknown.add(name)
        return name

    def _add_answer(self, record: reader.Record) -> None:
        host = reader.text_of(record, "host")[:_NAME]
        model = reader.text_of(record, "model")[:_NAME]
        end = reader.text_of(record, "end")
        counts: Counter[str] = Counter()
        fixes = record.get("fixes")
        if isinstance(fixes, dict):
            for name in fixes:
                counts[self._fix(name)] += reader.number_of(fixes, name)
        mode = "observe" if record.get("mode") == "observe" else "repair"
        group = self.group(host, model, mode)
        if record["type"] == "request":
            group.requests += 1
            return
        clean = {**record, "host": host, "model": model, "fixes": +counts}
        clean["end"] = end if end in ENDS else OTHER_END
        protocol = reader.text_of(record, "protocol")
        if counts.pop(TRANSLATED, 0):  # no fault of its provider's
            clean["fixes"] = +counts
            clean["changed"] = max(counts.values(), default=0)  # at least
        known = not protocol or protocol in _PROTOCOLS
        clean["protocol"] = protocol if known else OTHER_PROTOCOL
        group.add(clean)
        self._add_end(record, clean)

    def _add_end(self, record: reader.Record, clean: reader.Record) -> None:
        events = reader.number_of(record, "events")
        changed = min(reader.number_of(clean, "changed"), events)
        time = reader.text_of(record, "time")
        if is_error(reader.number_of(record, "status")):
            is_whole = clean["end"] == "complete"
            at = self.timeline.add(time, ERROR if is_whole else clean["end"], 0, 0)
        else:
            at = self.timeline.add(time, clean["end"], events, changed)
        flow = reader.text_of(record, "flow")
        self.examples.close(flow, clean["host"], clean["model"])
        if clean["end"] == "complete":
            return
        broken = Broken(
            at,
            clean["host"],
            clean["model"],
            clean["end"],
            reader.number_of(record, "status"),
            events,
            reader.time_of(record, "total_ms"),
        )
        heapq.heappush(self._latest, (at or 0.0, next(self._numbers), broken))
        if len(self._latest) > LATEST:
            heapq.heappop(self._latest)


def collected(records: Iterable[reader.Record]) -> Collected:
    """Collect the figures of *records*."""
    gathered = Collected()
    for record in records:
        gathered.add(record)
    gathered.examples.finish()
    since, until = gathered.timeline.since, gathered.timeline.until
    if since is not None and until is not None:
        gathered.since, gathered.until = figures.moment(since), figures.moment(until)
    return gathered
