"""One field of a message's head, found without the detours of a mapping."""

from collections.abc import Iterable


def header_in(fields: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """Return the value of a header, of several joined by commas; empty without any.

    Args:
        fields: The name and the value of each, as `http.Headers.fields` has them.
        name: The name, in lower case.
    """
    found = [value for each, value in fields if each.lower() == name]
    return b", ".join(found).decode("utf-8", "surrogateescape") if found else ""
