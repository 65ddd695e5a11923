"""Counters: what was repaired, by host, model and fix."""

from collections import Counter
from collections.abc import Iterable


class Stats:
    """Counts since mitmproxy started; counts only, no content."""

    def __init__(self) -> None:
        self.responses: Counter[tuple[str, str]] = Counter()
        self.repaired: Counter[tuple[str, str]] = Counter()
        self.fixes: Counter[tuple[str, str, str]] = Counter()

    def add(self, host: str, model: str, fixes: dict[str, int]) -> None:
        """Count one response and the *fixes* that changed it."""
        self.responses[host, model] += 1
        if fixes:
            self.repaired[host, model] += 1
        for name, count in fixes.items():
            self.fixes[host, model, name] += count

    def rows(self) -> Iterable[list[str]]:
        """Yield the table: host, model, responses, repaired, fix, count."""
        yield ["host", "model", "responses", "repaired", "fix", "events"]
        for (host, model), count in sorted(self.responses.items()):
            line = [host, model, str(count), str(self.repaired[host, model])]
            names = sorted(
                (-times, name)
                for (at, of, name), times in self.fixes.items()
                if (at, of) == (host, model)
            )
            if not names:
                yield [*line, "", ""]
            for times, name in names:
                yield [*line, name, str(-times)]
