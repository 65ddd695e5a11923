"""Counters: what was repaired, by host, model and fix."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from ..text.printable import brief

PAIRS = 1000
"""Pairs of host and model that are counted apart; whoever asks chooses both names."""

TOKENS = ("prompt_tokens", "completion_tokens")
"""What is counted of an answer's usage."""

OTHER_MODELS = "other models"
OTHER_HOSTS = "other hosts"


@dataclass(slots=True)
class _Counts:
    """What was counted of one host and model."""

    responses: int = 0
    repaired: int = 0
    fixes: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    protocols: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)


class Stats:
    """Counts since mitmproxy started; counts only, no content.

    Bounded, whatever is asked for: names are cut at 200 characters and escaped. After
    `PAIRS` pairs of host and model, new ones count under `OTHER_MODELS` of their host;
    after as many hosts of that kind, under `OTHER_HOSTS`.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], _Counts] = {}

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
        counts = self._of.get((host, model))  # a known pair is brief already
        if counts is None:
            pair = self._pair(brief(host), brief(model))
            counts = self._of.setdefault(pair, _Counts())
        counts.responses += 1
        counts.repaired += bool(fixes)
        for name, count in fixes.items():
            counts.fixes[name] = counts.fixes.get(name, 0) + count
        for name in adaptations:
            counts.requests[name] = counts.requests.get(name, 0) + 1
        for name, number in zip(TOKENS, tokens, strict=False):
            if number is not None:
                counts.tokens[name] = counts.tokens.get(name, 0) + number
        if protocol is not None:
            counts.protocols[protocol] = counts.protocols.get(protocol, 0) + 1

    def _pair(self, host: str, model: str) -> tuple[str, str]:
        for pair, room in (((host, model), PAIRS), ((host, OTHER_MODELS), 2 * PAIRS)):
            if pair in self._of or len(self._of) < room:
                return pair
        return OTHER_HOSTS, OTHER_MODELS

    def rows(self) -> Iterable[list[str]]:
        """Yield the table: host, model, responses, repaired, fix, count.

        Changes of requests are rows named `request: NAME`, with their count, translated
        responses `protocol: NAME`; tokens are rows named as in OpenAI's usage.
        """
        yield ["host", "model", "responses", "repaired", "fix", "events"]
        for pair, counts in sorted(self._of.items(), key=itemgetter(0)):
            line = [*pair, str(counts.responses), str(counts.repaired)]
            repairs = [
                *_sorted(counts.fixes, ""),
                *_sorted(counts.requests, "request: "),
                *_sorted(counts.protocols, "protocol: "),
                *(
                    [name, str(n)]
                    for name, n in sorted(counts.tokens.items(), reverse=True)
                ),
            ]
            yield from ([*line, *each] for each in repairs or [["", ""]])


def _sorted(found: dict[str, int], kind: str) -> list[list[str]]:
    """Return names and counts, the highest first."""
    by_count = sorted(found.items(), key=lambda each: (-each[1], each))
    return [[kind + name, str(count)] for name, count in by_count]
