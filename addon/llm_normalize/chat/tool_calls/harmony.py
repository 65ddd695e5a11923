"""Headers of harmony, in which gpt-oss writes its messages, where they are left as text.

A message is a header, `<|message|>`, a text, and an end, or the begin of the next one:
https://github.com/openai/harmony/blob/main/docs/format.md
"""

import re
from dataclasses import dataclass

START, CHANNEL = "<|start|>", "<|channel|>"
ENDS = ("<|end|>", "<|return|>", "<|call|>")
_CHANNELS = ("analysis", "commentary", "final")
BEGINS = (START, CHANNEL, "to=functions.", *_CHANNELS)
"""What an answer may begin with: servers leave out what the prompt has ended with."""
_MESSAGE = "<|message|>"
_CHANNEL = "|".join(_CHANNELS)
_HEADER = re.compile(
    rf"(?:<\|start\|>\s*+assistant|(?P<first>{_CHANNEL})\b)?"
    rf"(?:\s*+(?:<\|channel\|>\s*+(?P<channel>{_CHANNEL})|to=(?P<to>[\w.:/-]+)))*"
    r"(?:\s*+(?:<\|constrain\|>\s*+)?[\w./+-]{1,32})?\s*+"
    r"(?:<\|message\|>|(?(to)(?=\{)|(?!)))"  # servers drop it as a special token
)
_LAST = re.compile(r"(?:<[^>]*|[^\s<>]*)\Z")
_WORDS = ("", "assistant", f"{START}assistant", "<|constrain|>json", "to=f", *_CHANNELS)
_RESTS = (
    *(f"{word}{_MESSAGE}" for word in _WORDS),
    *(f"{CHANNEL}{channel}{_MESSAGE}" for channel in _CHANNELS),
)
"""How headers go on from the begin of a word."""
_LONG = 512  # characters: no header is longer


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a message.

    Attributes:
        size: How many characters it has; 0 as long as its end is missing.
        channel: What the message is for, maybe empty.
        recipient: The tool that it calls, maybe empty.
    """

    size: int = 0
    channel: str = ""
    recipient: str = ""


def header_of(text: str) -> Header | None:
    """Return the header that *text* begins with, or may when it goes on; None if not."""
    text = text[:_LONG]
    found = _HEADER.match(text)
    if found is not None:
        channel = found["channel"] or found["first"] or ""
        return Header(found.end(), channel, found["to"] or "")
    last = _LAST.search(text)
    begun = text[: last.start()] if last and len(text) < _LONG else None
    word = text[len(begun or "") :]
    may_be = begun is not None and any(
        _HEADER.fullmatch(begun + rest if rest.startswith(word) else text + rest)
        for rest in _RESTS
    )
    return Header() if may_be else None
