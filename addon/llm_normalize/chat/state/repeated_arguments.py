"""Arguments of a call that the provider sends more than once: find the part that is new.

Arguments are one JSON object, and no object can follow another. So if they start again,
they repeat what was sent, and possibly continue it: only the continuation is new. If a
nested value may start there, an object may also be part of the arguments: text that could
be either is held until it is clear.
"""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Protocol

_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_PART = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[^\s"]+', re.DOTALL)
_CUT = re.compile(r"-|\.|[eE][+-]?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?")
_ESCAPE = 6  # characters
_ESCAPED = re.compile(
    r'[^"\\]+|\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}'
    r"|u(?![dD][89abAB])[0-9a-fA-F]{4})"
)
_BLANKS = re.compile(r"\s*+")
_LONG = 256 * 1024  # characters
_BEGINS = 64  # places where a text may start again
_SPREAD = 4  # times the length of its repeat: no text has more whitespace


class Sent(Protocol):
    """The arguments of a call that have been sent: see `sent_call.Call`."""

    @property
    def arguments(self) -> str | None:
        """The arguments sent so far; None if they are too long to be stored."""

    @property
    def is_quoted(self) -> bool:
        """Whether they end within a string."""


def begins_object(text: str) -> bool:
    """Tell whether *text* starts like an object, or like one encoded as a string.

    This needs no state; nearly all fragments do not.
    """
    first = text[:1]
    if first.isspace():
        text = text.lstrip()
        first = text[:1]
    return first == "{" or (first == '"' and text[1:].lstrip().startswith("{"))


def _value(text: str) -> Any:
    try:
        return _DECODER.decode(text.strip())
    except (ValueError, RecursionError):
        return None


def is_object(text: str) -> bool:
    """Tell whether *text* is one complete JSON object."""
    return isinstance(_value(text), dict)


def may_go_on(text: str) -> bool:
    """Tell whether *text* is JSON, or a prefix of JSON."""
    try:
        _DECODER.decode(text.lstrip())
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos :].strip()
        is_escape = error.msg.startswith("Invalid \\") and len(rest) < _ESCAPE
        is_open = error.msg.startswith("Unterminated") or is_escape
        return not rest or is_open or bool(_CUT.fullmatch(rest))
    except RecursionError:
        pass
    return True


def is_blank(text: str) -> bool:
    """Tell whether *text* is an empty JSON object."""
    return bool(_value(text) == {})


def is_cut(text: str) -> bool:
    """Tell whether *text* is the begin of a JSON object, and not all of it."""
    begins = text.lstrip().startswith("{")
    return begins and may_go_on(text) and not is_object(text)


def _bare(text: str) -> str:
    """Return *text* without insignificant whitespace."""
    return "".join(_PART.findall(text))


def new_suffix(sent: str, text: str) -> str | None:
    """The suffix of *text* after *sent*, if it repeats *sent*; else None."""
    if text.startswith(sent):
        return text[len(sent) :]
    if len(sent) > _SPREAD * len(text):
        return None
    due = len(_bare(sent))
    if not _bare(text).startswith(_bare(sent)):
        value = _value(sent)
        same = isinstance(value, dict) and value == _value(text)
        return "" if same else None
    for part in _PART.finditer(text):
        if len(part[0]) >= due:
            return text[part.start() + due :]
        due -= len(part[0])
    return text


def decoded(text: str) -> str:
    """Return the object that *text* encodes as a string; else *text*."""
    value = _value(text) if begins_object(text) else None
    return value if isinstance(value, str) and is_object(value) else text


def without_repeats(text: str) -> str:
    """Return the object in *text* once if *text* repeats it, growing or encoded.

    Text that is one object already, or that is not understood, stays as it is.
    """
    if len(text) > _LONG or not begins_object(text) or is_object(text):
        return text
    inner = decoded(text)
    if inner is not text:
        return inner
    found = _values(text)
    if found:
        full = [each for each in found if _value(each)] or found[:1]
        alike = all(_value(each) == _value(full[0]) for each in full)
        return full[0] if alike else text
    at = text.find("{", 1)
    for _ in range(_BEGINS):
        if at < 0:
            break
        for place in (at, at - 1):
            last = decoded(text[place:])
            if is_object(last) and _is_begun(_bare(text[:place]), _bare(last)):
                return last
        at = text.find("{", at + 1)
    return text


def several_objects(text: str) -> list[str]:
    """Return the objects that follow each other in *text*, each once; none if it is one.

    Empty ones say nothing beside others.
    """
    if len(text) > _LONG or not begins_object(text) or is_object(text):
        return []
    values: list[Any] = []
    found: list[str] = []
    for each in _values(text)[:_BEGINS]:
        value = _value(each)
        if value and value not in values:
            values.append(value)
            found.append(each)
    return found if len(found) > 1 else []


def _values(text: str) -> list[str]:
    """Return the objects in *text*, decoded; none if it contains anything else."""
    found, at = [], 0
    while at < len(text):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return []
        value = decoded(text[at:end])
        if not is_object(value):
            return []
        found.append(value)
        blanks = _BLANKS.match(text, end)
        at = blanks.end() if blanks else end
    return found


def _is_begun(text: str, whole: str) -> bool:
    """Tell whether *text* consists only of prefixes of *whole*."""
    at = 0
    while at < len(text):
        size = 0
        most = min(len(whole), len(text) - at)
        while size < most and text[at + size] == whole[size]:
            size += 1
        if not size:
            return False
        at += size
    return True


@dataclass(frozen=True, slots=True)
class Waiting:
    """The held part of a call's arguments.

    Attributes:
        text: Text that was received, and may repeat what was sent.
        encoded: Whether the arguments are encoded as a JSON string; *text* is then the
            start of an escape sequence.
        ended: Whether that string has ended.
    """

    text: str = ""
    encoded: bool = False
    ended: bool = False


NOTHING = Waiting()


def first_fragment(waiting: Waiting, text: str) -> tuple[str, Waiting]:
    """The part to send of first, or encoded, arguments, and the part to hold."""
    if waiting.encoded:
        return _unescape(waiting, text)
    text = waiting.text + text
    bare = text.lstrip()
    if bare == '"':
        return "", Waiting(text)
    if not begins_object(text):
        return text, NOTHING
    if bare[0] != '"':
        return (text if may_go_on(text) else without_repeats(text)), NOTHING
    once = without_repeats(text)
    if once is not text:
        return once, NOTHING
    return _unescape(Waiting(encoded=True), bare[1:])


def _unescape(waiting: Waiting, text: str) -> tuple[str, Waiting]:
    if waiting.ended:
        return "" if not text.strip() else text, waiting
    text, at, parts = waiting.text + text, 0, []
    while part := _ESCAPED.match(text, at):
        parts.append(part[0])
        at = part.end()
    rest = text[at:]
    sent = json.loads(f'"{"".join(parts)}"', strict=False)
    if rest.startswith('"'):
        return sent, replace(waiting, text="", ended=True)
    return sent, replace(waiting, text=rest)


def next_fragment(
    call: Sent, waits: str, fragment: str, *, grows: bool = False
) -> tuple[str, str]:
    """The part of a *fragment* to send after the sent arguments, and the part to hold.

    Args:
        call: The arguments sent so far.
        waits: The held part.
        fragment: The new fragment.
        grows: Whether arguments of this stream have started again before.
    """
    sent, text = call.arguments or "", waits + fragment
    if not waits and call.is_quoted and '"' not in fragment.replace('\\"', ""):
        return text, ""  # within a string: what most code is made of
    may_begin = call.is_quoted or sent.rstrip()[-1:] in (":", "[", ",")
    meant = decoded(text)
    rest = new_suffix(sent, meant)
    more = _values((meant if rest is None else rest).strip())
    if more and not any(map(_value, more)) and is_object(sent):
        rest = ""  # empty objects after a complete one add nothing
    if rest is None and may_begin and not waits:
        return text, ""
    goes_on = may_begin and may_go_on(sent + text)
    if waits and begins_object(fragment) and not goes_on:
        added = new_suffix(sent, fragment)
        grew = is_object(waits) or new_suffix(waits, fragment) is not None
        if added is not None and grew:
            return added, ""
    if rest is not None:
        if grows or not goes_on:
            return rest, ""
        return ("", text) if may_go_on(meant) else (text, "")
    # A bracket alone proves nothing, unless all has been sent.
    tells = (len(text.strip()) > 1 or bool(_value(sent))) and len(text) < _LONG
    is_begin = tells and new_suffix(text, sent) is not None
    return ("", text) if is_begin and not goes_on else (text, "")


def flush_held(sent: str, text: str) -> str:
    """The part of a held *text* to send after the *sent* arguments."""
    whole = sent + text
    once = without_repeats(whole)
    meant = decoded(text) if once is whole else once
    rest = new_suffix(sent, meant)
    if rest is None:
        return ""
    own = is_object(whole) or (not is_object(meant) and may_go_on(whole))
    return text if own else rest


def is_repeat(call: Sent, arguments: str) -> bool:
    """Tell whether *arguments* repeat all that was sent of a *call*, or are empty."""
    sent = call.arguments
    if not sent or not begins_object(arguments):
        return False
    meant = decoded(arguments)
    is_empty = not _value(sent) or _value(meant) == {}
    return is_empty or new_suffix(sent, meant) is not None
