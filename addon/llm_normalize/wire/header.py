"""One field of a message's head, found or left out without the detours of a mapping."""

from collections.abc import Iterable

type Fields = Iterable[tuple[bytes, bytes]]
"""The name and the value of each header, as `http.Headers.fields` has them."""


def header_in(fields: Fields, name: bytes) -> str:
    """Return the value of the header of a *name*, which is in lower case.

    Several are joined by commas; without any it is empty.
    """
    found = [value for each, value in fields if each.lower() == name]
    return b", ".join(found).decode("utf-8", "surrogateescape") if found else ""


def without(fields: Fields, name: bytes) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers but those of a *name*, which is in lower case."""
    return tuple([each for each in fields if each[0].lower() != name])
