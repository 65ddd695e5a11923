"""Which words of a refusal ask for which form of the request.

One row for each thing that providers say, whatever the status: 400, 404, 422 or 500. All
rows are looked for in all words: none hides another, and a refusal may ask for several
forms. What a text repeats of the request is no word of the provider's: see
`refusal_parser`.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .refusal_rows import TEXT, Row, rows_of

_FOREIGN = re.compile(
    r"\b(?:quotas?|credits?|balance|billing|subscription|upgrade|policy|policies|moderat\w+|safety"
    r"|flagged|filter(?:ed|ing)|overloaded|capacity|rate.?limit|tier|budget(?! 0\b)|recharge|too many"
    r"|not available|expired|restarting|worker|concurren\w+|model_not_found|out of memory)\b"
    r"|\b(?:your|this|the|per) (?:plan|account|organi[sz]ation|keys?|api key)\b|\bof (?:this|your) key\b"
    r"|\b(?:inputs?|prompt)\b[`'\"]? ?(?:tokens?|length)\b",
    re.IGNORECASE,
)
"""What no form of a request mends: money, rights, policies, the length of the context."""


class WantedForm(NamedTuple):
    """A form that words ask for.

    Attributes:
        name: The name of its adaptation.
        value: What it needs to know.
    """

    name: str
    value: str = ""


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows; compiled when a first refusal is read, for that takes long."""
    return tuple(rows_of(TEXT))


def forms_in(
    text: str, is_own: Callable[[re.Match[str]], bool]
) -> Iterator[WantedForm]:
    """Yield the forms that a *text* asks for.

    Args:
        text: What a provider has said, with single blanks.
        is_own: Tells whether what was found repeats the request.
    """
    if _FOREIGN.search(text):
        return
    for row in rows():
        if row.unless is not None and row.unless.search(text):
            continue
        for pattern in row.words:
            for found in pattern.finditer(text):
                if not is_own(found):
                    named = found["value"] if "value" in pattern.groupindex else ""
                    yield WantedForm(row.form.name, row.value or _plain(named))


def _plain(value: str) -> str:
    """Return the words or figures of a *value*, each once."""
    found = re.findall(r"\b(?!(?:and|or|to)\b)[\w.]+|\$\w+", value)
    return " ".join(dict.fromkeys(found))
