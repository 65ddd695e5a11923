"""Options as a start sets them: values that were given before the addon was there.

mitmproxy keeps those, and sets them when the addon has declared its options. Each bad one
is logged as an error, which ends mitmproxy's start (mitmproxy/addons/errorcheck.py).
"""

import difflib
import logging
from collections.abc import Callable
from typing import Any

from mitmproxy import ctx, exceptions

from ..text.printable import brief

logger = logging.getLogger(__name__)

_SECRET = ("normalize_gate", "normalize_keys")
_YES = ("true", "yes", "on", "y", "1")
_NO = ("false", "no", "off", "n", "0")


def _names() -> list[str]:
    """Return the names of the options, the gate first: no bug may leave it open."""
    ours = [name for name, _ in ctx.options.items() if name.startswith("normalize_")]
    ours = [
        name for name in ours if name != "normalize_outbound_headers"
    ]  # mitmproxy's
    return sorted(ours, key=lambda name: (name != "normalize_gate", name))


def take_each(take: Callable[[set[str]], None]) -> None:
    """Let *take* apply each option on its own.

    An addon that refuses one now stays as it is, and the others count all the same
    (mitmproxy/addons/script.py, `loadscript`).
    """
    wrong = []
    for name in _names():
        try:
            take({name})
        except exceptions.OptionsError as error:
            wrong.append(error)
    for each in wrong:
        logger.error("normalize: %s", each)


def take_deferred() -> None:
    """Set what was given before there were these options.

    At the first bad value, whichever addon it is for, mitmproxy would drop this one and
    say nothing (mitmproxy/addons/script.py, `watcher`). Names that it does not know it
    keeps, in silence, too.
    """
    ours = _names()
    wrong = []
    for name, value in [*ctx.options.deferred.items()]:
        if name not in ctx.options:
            wrong.append(_misspelled(name, ours))
            continue
        del ctx.options.deferred[name]
        try:
            _assign(name, value)
        except (exceptions.OptionsError, TypeError) as error:
            message = str(error)
            # The message of mitmproxy 12.0 does not name the option.
            own = message if name in message else f"{name}: {message}"
            wrong.append(_mistyped(name, value) if name in ours else own)
    for each in filter(None, wrong):
        logger.error("normalize: %s", each)


def _misspelled(name: str, ours: list[str]) -> str:
    """The error in a name; empty if it is another addon's."""
    plain = name.lower().replace("-", "_")
    near = difflib.get_close_matches(plain, ours, 1, 0.85)
    if near:
        return f"unknown option {brief(name)}: did you mean {near[0]}?"
    if plain.startswith(("normalize", "normalise")):
        return f"unknown option {brief(name)}: expected one of {', '.join(ours)}"
    return ""


def _assign(name: str, value: Any) -> None:
    texts = getattr(value, "val", None)
    if texts is None:  # of config.yaml
        ctx.options.update(**{name: value})
    else:  # of --set
        ctx.options.set(*([f"{name}={text}" for text in texts] or [name]))


def _mistyped(name: str, value: Any) -> str:
    """The error in a value of the wrong type; a key is not quoted."""
    found = getattr(value, "val", value)
    if found is not value and len(found) == 1:  # of --set
        found = found[0]
    shown = "(empty)" if found in (None, []) else brief(repr(found))
    named = name if name in _SECRET else f"{name} {shown}"
    default = ctx.options.default(name)
    if isinstance(default, bool):
        message = str(found).lower()
        meant = "true" if message in _YES else "false" if message in _NO else ""
        form = "true or false" + (f" (did you mean {meant}?)" if meant else "")
    elif isinstance(default, int):
        form = "a whole number, without quotes"
    elif isinstance(default, list):
        form = "a list of texts, each on a line of its own that begins with `- `"
    else:
        form = "one text, in quotes"
    return f"invalid {named}: expected {form}"
