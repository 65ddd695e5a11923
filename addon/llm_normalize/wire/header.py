"""One field of a message's head, found and set without the detours of a mapping."""

from collections.abc import Iterable

type Fields = tuple[tuple[bytes, bytes], ...]
"""The name and the value of each header, as `http.Headers.fields` has them."""


def header_in(fields: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """Return the value of a header, of several joined by commas; empty without any.

    Args:
        fields: The name and the value of each, as `http.Headers.fields` has them.
        name: The name, in lower case.
    """
    found = [value for each, value in fields if each.lower() == name]
    return b", ".join(found).decode("utf-8", "surrogateescape") if found else ""


def with_header(fields: Fields, name: bytes, value: bytes | None) -> Fields:
    """Return *fields* with one header of that name, spelled as before, or with none.

    Args:
        fields: The headers.
        name: The name, in lower case.
        value: Its value; None for no such header.
    """
    names = [each.lower() for each, _ in fields]
    if name not in names:
        return fields if value is None else (*fields, (name, value))
    at = names.index(name)
    made = () if value is None else ((fields[at][0], value),)
    behind = (field for field in fields[at:] if field[0].lower() != name)
    return (*fields[:at], *made, *behind)
