"""The figures of a soak, and their text."""

from collections import Counter
from dataclasses import dataclass, field

from workshop.traffic.memory import MIB, Verdict


@dataclass
class Figures:
    """The figures of a soak."""

    seed: int
    seconds: float = 0.0
    sessions: Counter[str] = field(default_factory=Counter)
    streams: int = 0
    events: int = 0
    bytes: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    quirks: Counter[str] = field(default_factory=Counter)
    reloads: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    flows: int = 0
    pairs: int = 0
    rss_start: int = 0
    rss_end: int = 0
    rss_most: int = 0
    memory: Verdict | None = None
    left_over: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    mismatches: int = 0

    @property
    def good(self) -> bool:
        """Whether nothing was wrong."""
        flat = self.memory is None or self.memory.flat
        return flat and not (self.wrong or self.mismatches)


def as_text(figures: Figures) -> str:
    """Return the figures, for people."""
    pace = figures.streams / max(figures.seconds, 1e-9)
    lines = {
        f"seed {figures.seed}, {figures.seconds:.0f} s": (
            f"{figures.streams:,} streams ({pace:.0f} a second), "
            f"{figures.events:,} events, {figures.bytes / 1e6:,.1f} MB"
        ),
        "sessions": _counts(figures.sessions),
        "asked": _counts(figures.kinds),
        "faults": _counts(figures.faults),
        "quirks": f"{len(figures.quirks)} kinds, {figures.quirks.total():,} times",
        "reloads": str(figures.reloads),
        "pairs log": (
            f"{figures.flows:,} flow records ({_counts(figures.ends)}), "
            f"{figures.pairs:,} pairs"
        ),
        "mitmdump": (
            f"{figures.rss_start / MIB:.0f} MiB at the start, "
            f"{figures.rss_end / MIB:.0f} at the end, {figures.rss_most / MIB:.0f} at "
            f"most; left over: {figures.left_over or 'nothing'}"
        ),
        "memory": str(figures.memory or "too short to be judged"),
        "mismatches": (
            f"{figures.mismatches}; other faults: "
            f"{len(figures.wrong) - figures.mismatches}"
        ),
    }
    text = [f"{name}: {line}" for name, line in lines.items()]
    return "\n".join(["--- summary", *text])


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())
