"""Which words of a refusal ask for which form of the request.

One row for each thing that providers say, whatever the status: 400, 404, 422 or 500. All
rows are looked for in all words: none hides another, and a refusal may ask for several
forms. What a text repeats of the request is no word of the provider's: see
`refusal_parser`.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .attachment_rows import ATTACHMENT_ROWS
from .message_rows import MESSAGE_ROWS
from .parameter_rows import PARAMETER_ROWS
from .refusal_row import Row

ROWS: tuple[Row, ...] = (*MESSAGE_ROWS, *ATTACHMENT_ROWS, *PARAMETER_ROWS)


class WantedForm(NamedTuple):
    """A form that words ask for.

    Attributes:
        name: The name of its adaptation.
        value: What it needs to know.
    """

    name: str
    value: str = ""


def forms_in(
    text: str, is_own: Callable[[re.Match[str]], bool]
) -> Iterator[WantedForm]:
    """Yield the forms that a *text* asks for.

    Args:
        text: What a provider has said, with single blanks.
        is_own: Tells whether what was found repeats the request.
    """
    for row in ROWS:
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
