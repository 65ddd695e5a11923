"""The rows of the table of refusals: what providers say, and the form that they mean.

`refusal_words.txt` holds them. Its head tells how it is written.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..adaptation import Adaptation
from ..adaptations import ADAPTATIONS

PATH = Path(__file__).with_name("refusal_words.txt")
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
        unless = [each for line in row["unless"] for each in _patterns(line, parts)]
        yield Row(
            forms[name],
            tuple(each for line in row["match"] for each in _patterns(line, parts)),
            tuple(map(_said, row["said"])),
            value,
            unless[0] if unless else None,
        )


def _lines(text: str) -> dict[str, list[str]]:
    """Return what stands behind each key of *text*."""
    found: dict[str, list[str]] = defaultdict(list)
    for key, value in re.findall(r"(?m)^(\w+): (.+)$", text):
        found[key].append(value)
    return found


def _patterns(line: str, parts: dict[str, list[str]]) -> Iterator[re.Pattern[str]]:
    """Yield what a *line* stands for: one for each line of the parts that it names."""
    named = _PART.search(line)
    if named is None:
        yield re.compile(line, re.IGNORECASE)
        return
    for part in parts[named[1]]:
        yield from _patterns(line.replace(named[0], part), parts)


def _said(line: str) -> Said:
    about, words = line.split(": ", 1)
    provider, status = about.rsplit(" ", 1)
    return Said(provider, int(status), words.replace(r"\n", "\n"))
