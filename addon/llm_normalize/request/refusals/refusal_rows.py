"""The rows of the table of refusals: what providers say, and the form that they mean.

`refusal_words.txt` holds them. Its head tells how it is written.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..adaptation import Adaptation
from ..adaptations import ADAPTATIONS

TEXT = Path(__file__).with_name("refusal_words.txt").read_text(encoding="utf-8")
_PART = re.compile(r"\{([A-Z_]+)\}")


class Said(NamedTuple):
    """What a provider has said.

    Attributes:
        provider: Who.
        status: The HTTP status.
        words: The words, with the request's own parts replaced.
    """

    provider: str
    status: int
    words: str


class Row(NamedTuple):
    """What providers say, and the form that they mean.

    Attributes:
        form: The adaptation that gives a request this form.
        words: Match what they say, each in its own way.
        said: What some have said.
        value: What the form needs to know; empty if the words hold it, or it needs nothing.
        unless: Matches words that mean something else.
    """

    form: type[Adaptation]
    words: tuple[re.Pattern[str], ...]
    said: tuple[Said, ...]
    value: str = ""
    unless: re.Pattern[str] | None = None


def rows_of(text: str) -> Iterator[Row]:
    """Yield the rows of a file's *text*.

    Raises:
        KeyError: It names a form, or a part of a pattern, that is not there.
    """
    forms = {each.name: each for each in ADAPTATIONS}
    head, *rest = re.split(r"(?m)^\[(.+)\]$", re.sub(r"\n +", "", text))
    shared = _lines(head)
    for title, row in zip(rest[::2], map(_lines, rest[1::2]), strict=True):
        name, _, value = title.partition(" ")
        parts = {**shared, **row}
        yield Row(
            forms[name],
            tuple(_patterns(row["match"], parts)),
            tuple(map(_said, row["said"])),
            value,
            next(_patterns(row["unless"], parts), None),
        )


def _lines(text: str) -> dict[str, list[str]]:
    """Return what stands behind each key of *text*."""
    found: dict[str, list[str]] = defaultdict(list)
    for key, value in re.findall(r"(?m)^(\w+): (.+)$", text):
        found[key].append(value)
    return found


def _patterns(
    lines: Iterable[str], parts: dict[str, list[str]]
) -> Iterator[re.Pattern[str]]:
    """Yield what *lines* stand for: one for each line of the parts that they name."""
    for line in lines:
        if named := _PART.search(line):
            filled = (line.replace(named[0], each) for each in parts[named[1]])
            yield from _patterns(filled, parts)
        else:
            yield re.compile(line, re.IGNORECASE)


def _said(line: str) -> Said:
    provider, status, words = re.split(r" (\d{3}): ", line, maxsplit=1)
    return Said(provider, int(status), words.replace(r"\n", "\n"))
