"""A row of the table of refusals: what providers say, and the form that they mean."""

import re
from typing import NamedTuple

from ..adaptation import Adaptation

QUOTES = r"[\"'`\\]{0,4}"
"""What may be around a name, maybe in JSON in JSON."""


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


def words(*patterns: str) -> tuple[re.Pattern[str], ...]:
    """*patterns*, compiled to match in either case."""
    return tuple(re.compile(each, re.IGNORECASE) for each in patterns)


def said(lines: str) -> tuple[Said, ...]:
    """What providers have said, a line each: who, the status, a colon, the words."""
    found = re.findall(r"(?m)^ *(.+?) (\d{3}): (.+)$", lines)
    return tuple(
        Said(who, int(at), text.replace(r"\n", "\n")) for who, at, text in found
    )
