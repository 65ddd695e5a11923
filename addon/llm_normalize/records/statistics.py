"""Counters: what was repaired, by host, model and fix."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from ..text.printable import brief

PAIRS = 1000
"""Pairs of host and model that are counted apart; whoever asks chooses both names."""

TOKENS = ("prompt_tokens", "completion_tokens")
"""What is counted of an answer's usage."""

OTHER_MODELS = "other models"
OTHER_HOSTS = "other hosts"


class Stats:
    """Counts since mitmproxy started; counts only, no content.

    Bounded, whatever is asked for: names are cut at 200 characters and escaped. After
    `PAIRS` pairs of host and model, new ones count under `OTHER_MODELS` of their host;
    after as many hosts of that kind, under `OTHER_HOSTS`.
    """

    def __init__(self) -> None:
        self.responses: Counter[tuple[str, str]] = Counter()
        self.repaired: Counter[tuple[str, str]] = Counter()
        self.fixes: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.requests: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.tokens: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self.protocols: defaultdict[tuple[str, str], Counter[str]] = defaultdict(
            Counter
        )

    def add(
        self,
        host: str,
        model: str,
        fixes: dict[str, int],
        adaptations: Iterable[str] = (),
        tokens: Sequence[int | None] = (),
        protocol: str | None = None,
    ) -> None:
        """Count one response: the *fixes* that changed it, its request's changes, *tokens*.

        Of the prompt and of the completion; None where the provider did not count. And the
        *protocol* that it was translated to, if it was.
        """
        pair = host, model
        if pair not in self.responses:  # a known pair is brief already
            pair = self._pair(brief(host), brief(model))
        self.responses[pair] += 1
        if fixes:
            self.repaired[pair] += 1
            self.fixes[pair].update(fixes)
        if names := list(adaptations):
            self.requests[pair].update(names)
        for kind, count in zip(TOKENS, tokens, strict=False):
            if count is not None:
                self.tokens[pair][kind] += count
        if protocol is not None:
            self.protocols[pair][protocol] += 1

    def _tokens(self, pair: tuple[str, str]) -> Iterable[tuple[str, int]]:
        return self.tokens[pair].items() if pair in self.tokens else ()

    def _pair(self, host: str, model: str) -> tuple[str, str]:
        for pair, room in (((host, model), PAIRS), ((host, OTHER_MODELS), 2 * PAIRS)):
            if pair in self.responses or len(self.responses) < room:
                return pair
        return OTHER_HOSTS, OTHER_MODELS

    def rows(self) -> Iterable[list[str]]:
        """Yield the table: host, model, responses, repaired, fix, count.

        Changes of requests are rows named `request: NAME`, with their count, translated
        responses `protocol: NAME`; tokens are rows named as in OpenAI's usage.
        """
        yield ["host", "model", "responses", "repaired", "fix", "events"]
        for pair, count in sorted(self.responses.items()):
            line = [*pair, str(count), str(self.repaired[pair])]
            repairs = [
                *_sorted(self.fixes.get(pair), ""),
                *_sorted(self.requests.get(pair), "request: "),
                *_sorted(self.protocols.get(pair), "protocol: "),
                *(
                    [name, str(n)]
                    for name, n in sorted(self._tokens(pair), reverse=True)
                ),
            ]
            yield from ([*line, *each] for each in repairs or [["", ""]])


def _sorted(found: Counter[str] | None, kind: str) -> list[list[str]]:
    """Return names and counts, the highest first."""
    by_count = sorted((found or {}).items(), key=lambda each: (-each[1], each))
    return [[kind + name, str(count)] for name, count in by_count]
