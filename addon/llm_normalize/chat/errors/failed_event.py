"""Whether an event that is neither a chunk nor an error says what went wrong."""

import re

from ...wire.json_text import Json, begun_value, loads, loads_leniently
from ..chunks.chunk import Chunk, choices
from ..chunks.chunk_form import is_chunk, is_readable
from .chunk_errors import is_error, is_fine
from .errors import sounds_failed, words_of_page
from .failed_body import fails_instead, is_page_or_words, tells_only_failure

_AROUND = ("response", "data", "result", "payload")
"""Keys under which events of other protocols have what they are about."""
_NAMED = ("type", "object", "event", "tool", "name")
_WORD = re.compile(r"[^\W\d_]{2}")
_JSON_MARK = re.compile(r"""[{\["']""")
_CHOICE = re.compile(r"""["']choices["']\s*:\s*\[\s*[^\]\s]""")
_ERROR_KEY = re.compile(r"""["']error["']\s*:""")
_OBJECT = re.compile(rb'\{\s*"')
_DONE = re.compile(
    rb"\[DONE\]|^[^\w\n]*+(?:data:[^\w\n]*+)?done[^\w\n]*+$",
    re.IGNORECASE | re.MULTILINE,
)
_MOST = 32  # places where a chunk may begin
_CLOSED = (("{", "}"), ("[", "]"))


def failure_in(text: str, name: str = "") -> Json | None:
    """Return the error that *text* reports, the data of an event; None for none.

    Args:
        text: What no client can read: words, JSON of another kind, or a part of some.
        name: The name of the event, if it has one, so that it is another protocol's.
    """
    try:
        value = loads(text.encode())
    except RecursionError:
        return None
    except ValueError:
        says_so = sounds_failed(text) or not name
        fails = (says_so and _is_words(text)) or _is_broken_error(text)
        return _shown(text) if fails else None
    if isinstance(value, str):
        return value if sounds_failed(value) else None
    return _reported(value, name) if isinstance(value, dict) else None


def may_be_chunk(data: bytes) -> bool:
    """Tell whether *data*, not a chunk, may have been one, or a part of one.

    Words are none, nor is an object without choices, which is another protocol's event.
    What lenient clients read is no loss.
    """
    text = data.decode(errors="replace").strip()
    try:
        value = loads_leniently(text.encode())
    except (ValueError, RecursionError):
        return bool(_JSON_MARK.search(text)) and not _is_text(text.strip("[]"))
    if isinstance(value, dict):
        has_choices = value.get("choices") is not None
        return has_choices and not (is_chunk(value) and is_readable(value))
    return not isinstance(value, str)


def holds_answer(data: bytes) -> bool:
    """Tell whether a whole chunk, or the end of the stream, may be somewhere in *data*.

    What is not sure is not given up.
    """
    begins = [each.start() for each in _OBJECT.finditer(data)]
    values = [begun_value(data[at:]) for at in begins[:_MOST]]
    return (
        len(begins) > _MOST
        or bool(_DONE.search(data))
        or any(choices(each) for each in values if isinstance(each, dict))
    )


def _shown(text: str) -> str:
    return words_of_page(text) if text.lstrip().startswith("<") else text


def has_failed(text: str) -> str | None:
    """The text of a web page, or of words that report a failure; None for others.

    That is asked of words that need not be about a failure: clients skip those without a
    field name, and behind a chunk there may be anything.
    """
    fails = text.startswith("<") or sounds_failed(text)
    return (
        _shown(text) if (fails and _is_words(text)) or _is_broken_error(text) else None
    )


def _is_words(text: str) -> bool:
    """Tell whether *text*, no JSON, is a web page or words, and not a part of an event."""
    if text.lstrip().startswith("["):  # `[ERROR] Busy`
        return sounds_failed(text) and not _is_rest(text)
    return _is_text(text) and not is_fine({"status": text})


def _is_text(text: str) -> bool:
    """Tell whether *text*, no JSON, is a web page or words, whatever they say."""
    return (
        bool(_WORD.search(text))
        and is_page_or_words(text.encode(), "text/plain")
        and not _is_rest(text)
    )


def _is_rest(text: str) -> bool:
    """Tell whether *text* closes what it has not opened, as the rest of a value does."""
    return any(text.count(last) > text.count(first) for first, last in _CLOSED)


def _is_broken_error(text: str) -> bool:
    """Tell whether *text* is an object with an error, but for its spelling."""
    begins = text.lstrip().startswith("{") and not _CHOICE.search(text)
    return begins and bool(_ERROR_KEY.search(text))


def _reported(value: Chunk, name: str) -> Json | None:
    names = [name, *(value[key] for key in _NAMED if key in value)]
    is_named = any(names)
    # An event about a tool that failed is none about the answer.
    inner = [each for key in _AROUND if isinstance(each := value.get(key), dict)]
    for each in (
        inner if not is_named or sounds_failed(" ".join(map(str, names))) else ()
    ):
        if each.get("error") and is_error(each):
            return each["error"]
    if is_named:
        return None
    if value.get("choices"):
        return None
    fails = fails_instead({**value, "choices": []}, has_begun=False)
    words = " ".join(each for each in value.values() if isinstance(each, str))
    return (
        value if fails or (tells_only_failure(value) and sounds_failed(words)) else None
    )
