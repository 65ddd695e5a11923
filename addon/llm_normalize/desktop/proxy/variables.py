"""The proxy variables of a shell, as curl and Python read them."""

from collections.abc import Mapping


def spelled(environ: Mapping[str, str], name: str) -> str:
    """Return the spelling of a variable that counts: in lower case, if that is set."""
    return name.lower() if environ.get(name.lower()) else name


def value(environ: Mapping[str, str], name: str) -> str:
    """Return a variable's value, empty where it is not set."""
    return environ.get(spelled(environ, name)) or ""
