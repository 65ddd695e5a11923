"""One field of a message's head, found without the detours of a mapping."""

from collections.abc import Iterable

type Fields = tuple[tuple[bytes, bytes], ...]
"""The name and the value of each, as `http.Headers.fields` has them."""

NEWER = (b"HTTP/2.0", b"HTTP/3")
"""Versions, as mitmproxy spells them, that have `:authority`, and no chunked coding."""


def header_in(fields: Iterable[tuple[bytes, bytes]], name: bytes) -> str:
    """Return the value of a header, of several joined by commas; empty without any.

    Args:
        fields: The name and the value of each, as `http.Headers.fields` has them.
        name: The name, in lower case.
    """
    found = [value for each, value in fields if each.lower() == name]
    return b", ".join(found).decode("utf-8", "surrogateescape") if found else ""


def host_in(http_version: bytes, authority: bytes, fields: Fields) -> str:
    """The client's name for the host, maybe empty; mitmproxy's own takes long.

    Args:
        http_version: Of the request, as `http.RequestData` has it, and so the others.
        authority: What names the host by HTTP/2 and 3, if it is there.
        fields: Its headers, of which `Host` does otherwise.
    """
    if not (authority and http_version in NEWER):
        return header_in(fields, b"host")
    try:
        return authority.decode("idna")
    except UnicodeError:
        return authority.decode("utf-8", "surrogateescape")


def with_header(fields: Fields, name: bytes, value: bytes) -> Fields:
    """Return *fields* with one header of this *name*, where the first one was.

    Args:
        fields: All of them.
        name: The name, in lower case; as a header that is there spells it.
        value: Its value.
    """
    found = list[tuple[bytes, bytes]]()
    is_due = True
    for field in fields:
        if field[0].lower() != name:
            found.append(field)
        elif is_due:
            found.append((field[0], value))
            is_due = False
    return (*found, (name, value)) if is_due else tuple(found)


def without_header(fields: Fields, name: bytes) -> Fields:
    """Return *fields* without a header; the same object if it is not there.

    Args:
        fields: All of them.
        name: The name, in lower case.
    """
    for each, _ in fields:
        if each.lower() == name:
            return tuple([field for field in fields if field[0].lower() != name])
    return fields
