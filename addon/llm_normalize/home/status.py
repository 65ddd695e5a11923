"""What the proxy reports of itself: counts and settings, and nothing of any answer."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal

from ..records.statistics import Counts, ranked
from ..wire.json_text import dumps

ROWS = 100
"""Pairs of host and model that are shown."""
REFUSED = 20
"""Hosts, whose connections clients refused, that are shown."""


@dataclass(frozen=True)
class Row:
    """What was repaired for a host and a model.

    Attributes:
        host: The host.
        model: The model.
        responses: How many answers there were.
        repaired: How many of them were repaired.
        errors: How many errors there were beside them, by HTTP status.
        fixes: How many events each fix changed, the most first; what was done to
            requests as `request: NAME`.
        tokens: How many there were, by their names in OpenAI's usage.
    """

    host: str
    model: str
    responses: int
    repaired: int
    fixes: Mapping[str, int]
    errors: Mapping[str, int] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """What is reported.

    Attributes:
        version: The addon's version.
        pid: The process.
        confdir: mitmproxy's folder.
        mode: `repair` or `observe`.
        seconds: How long it has been running.
        hosts: Which hosts are opened, as patterns.
        routes: Hosts whose requests go elsewhere, and where.
        opens: Whose TLS is opened: `listed`, those hosts alone; `all`; `allowed`, as
            mitmproxy's `allow_hosts` says.
        ca_sha256: The fingerprint of mitmproxy's CA; empty where there is none.
        probe: The address of the probe, without scheme and ending.
        closed_probe: Whether mitmproxy's options keep the probe's TLS closed.
        rows: What was repaired.
        more: How many rows are not shown.
        waiting: Hosts whose requests wait until they take more: how many, and for how many
            seconds the longest has.
        refused: Hosts that clients refused to connect to, and how often.
        has_gate: Whether clients have to present a token.
        log: The before/after log; empty where there is none.
        web: mitmweb's address, without what lets one in; empty for other programs.
    """

    version: str
    pid: int
    confdir: str
    mode: str
    seconds: float
    hosts: Sequence[str]
    routes: Sequence[tuple[str, str]]
    opens: Literal["listed", "all", "allowed"]
    ca_sha256: str
    probe: str
    closed_probe: bool = False
    rows: Sequence[Row] = ()
    more: int = 0
    waiting: Sequence[tuple[str, int, float]] = ()
    refused: Mapping[str, int] = field(default_factory=dict)
    has_gate: bool = False
    log: str = ""
    web: str = ""

    def json(self) -> bytes:
        """Return them for programs."""
        shown: dict[str, Any] = {
            "name": "llm_normalize",
            "version": self.version,
            "pid": self.pid,
            "confdir": self.confdir,
            "mode": self.mode,
            "seconds": int(self.seconds),
            "hosts": list(self.hosts),
            "routes": dict(self.routes),
            "opens": self.opens,
            "ca_sha256": self.ca_sha256,
            "probe": self.probe,
            "counters": [
                {
                    "host": row.host,
                    "model": row.model,
                    "responses": row.responses,
                    "repaired": row.repaired,
                    "fixes": dict(row.fixes),
                    **({"errors": dict(row.errors)} if row.errors else {}),
                    **row.tokens,
                }
                for row in self.rows
            ],
            "counters_left_out": self.more,
            "waiting": [
                {"host": host, "requests": count, "longest_seconds": round(longest, 1)}
                for host, count, longest in self.waiting
            ],
            "refused": dict(self.refused),
        }
        return dumps(shown)

    @property
    def total(self) -> Row:
        """The sum of the rows that are shown."""
        errors = Counter[str]()
        for row in self.rows:
            errors.update(row.errors)
        answers = sum(row.responses for row in self.rows)
        return Row("", "", answers, sum(r.repaired for r in self.rows), {}, errors)

    @property
    def most_repaired(self) -> Sequence[Row]:
        """The rows, those with the most repaired answers first."""
        return sorted(self.rows, key=lambda row: (-row.repaired, -row.responses))

    @property
    def running(self) -> str:
        """For how long it has been running, in words."""
        minutes = int(self.seconds) // 60
        days, hours = minutes // 1440, minutes // 60 % 24
        parts = [f"{days} d"] * bool(days) + [f"{hours} h"] * bool(hours)
        return " ".join([*parts, f"{minutes % 60} min"])


def grouped(counted: Iterable[tuple[str, str, Counts]]) -> tuple[list[Row], int]:
    """The rows of what `Stats.by_pair` yields, by host and model.

    Returns:
        The first `ROWS` of them, and how many more there are.
    """
    rows = [
        Row(
            host,
            model,
            counts.responses,
            counts.repaired,
            counts.changes,
            ranked(counts.errors),
            dict(sorted(counts.tokens.items(), reverse=True)),
        )
        for host, model, counts in sorted(counted, key=itemgetter(0, 1))
    ]
    return rows[:ROWS], max(0, len(rows) - ROWS)


def fingerprint(der: bytes) -> str:
    """Return the SHA-256 fingerprint of a certificate, as systems show it."""
    return hashlib.sha256(der).digest().hex(":").upper()
