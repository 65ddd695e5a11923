"""Counters: what was repaired, by host, model and fix."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from operator import itemgetter

from ..text.printable import brief

PAIRS = 1000
"""Pairs of host and model that are counted apart; clients choose both names."""

TOKENS = ("prompt_tokens", "completion_tokens")
"""What is counted of an answer's usage."""

ERROR = "error: "
"""What precedes the status of errors, in the column of the fixes."""

OTHER_MODELS = "other models"
OTHER_HOSTS = "other hosts"


@dataclass(slots=True)
class Counts:
    """What was counted of one host and model.

    Attributes:
        responses: Answers.
        repaired: How many of them were repaired.
        errors: Errors, by HTTP status.
        fixes: Events that each fix changed.
        requests: Requests that each adaptation changed.
        protocols: Translated answers, by the protocol of their client.
        tokens: Tokens, by their names in OpenAI's usage.
    """

    responses: int = 0
    repaired: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    fixes: dict[str, int] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    protocols: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)

    @property
    def changes(self) -> dict[str, int]:
        """All repairs by their names in the table (see `Stats.rows`), the most first."""
        return {
            **ranked(self.fixes),
            **ranked(self.requests, "request: "),
            **ranked(self.protocols, "protocol: "),
        }


def is_error(status: int | None) -> bool:
    """Tell whether an HTTP status is that of an error, not of an answer."""
    return status is not None and status >= HTTPStatus.BAD_REQUEST


class Stats:
    """Counts since mitmproxy started; counts only, no content.

    Bounded, whatever is asked for: names are cut at 200 characters and escaped. After
    `PAIRS` pairs of host and model, new ones count under `OTHER_MODELS` of their host;
    after as many hosts of that kind, under `OTHER_HOSTS`.
    """

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], Counts] = {}

    def add(
        self,
        host: str,
        model: str,
        fixes: dict[str, int],
        adaptations: Iterable[str] = (),
        tokens: Sequence[int | None] = (),
        protocol: str | None = None,
        status: int | None = None,
    ) -> None:
        """Count one answer, or one error.

        Args:
            host: Where it was asked for.
            model: The model asked for.
            fixes: How often each fix changed it.
            adaptations: What changed its request.
            tokens: Of the prompt and of the completion; None where the provider did not
                count.
            protocol: What it was translated to, if it was.
            status: The HTTP status that the client got, if any.
        """
        counts = self._of.get((host, model))  # a known pair is brief already
        if counts is None:
            pair = self._pair(brief(host), brief(model))
            counts = self._of.setdefault(pair, Counts())
        if is_error(status):
            counts.errors[str(status)] = counts.errors.get(str(status), 0) + 1
        else:
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

    def by_pair(self) -> Iterator[tuple[str, str, Counts]]:
        """Yield each host and model that are counted apart, the first seen first."""
        for (host, model), counts in self._of.items():
            yield host, model, counts

    def rows(self) -> Iterable[list[str]]:
        """Yield the table: host, model, responses, repaired, fix, count.

        Errors are no responses, but rows named `error: STATUS`. Changes of requests are
        rows named `request: NAME`, with their count, translated responses
        `protocol: NAME`; tokens are rows named as in OpenAI's usage.
        """
        yield ["host", "model", "responses", "repaired", "fix", "events"]
        for pair, counts in sorted(self._of.items(), key=itemgetter(0)):
            line = [*pair, str(counts.responses), str(counts.repaired)]
            named = ranked(counts.errors, ERROR) | counts.changes
            named |= sorted(counts.tokens.items(), reverse=True)
            cells = [[name, str(count)] for name, count in named.items()]
            yield from ([*line, *each] for each in cells or [["", ""]])


def ranked(found: dict[str, int], kind: str = "") -> dict[str, int]:
    """Counts, the highest first, by names that *kind* precedes."""
    by_count = sorted(found.items(), key=lambda each: (-each[1], each))
    return {kind + name: count for name, count in by_count}
