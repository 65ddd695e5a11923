"""Records of the pairs log, each as a line of JSON."""

import json
import re
from dataclasses import dataclass
from json.encoder import encode_basestring as _quoted
from typing import Any

from ..text.echo import Echo
from ..wire.json_text import PLAIN
from .masking import SHORTEST_ECHO, is_chunk, is_clean, mask, text_of

type Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A record to be logged; the blocks of a pair are bytes, as received and sent.

    Attributes:
        record: The content of the log line.
        secrets: Strings of the request that must not appear in it.
        echo: Finds what an error repeats of the request.
        is_error: Whether the answer has an error status.
    """

    record: Record
    secrets: tuple[str, ...] = ()
    echo: Echo | None = None
    is_error: bool = False


@dataclass(slots=True)
class TextPairs:
    """Fields shared by the pairs of one stream that differ in their text alone.

    Attributes:
        flow: The flow's id.
        secrets: Strings of the request that must not appear in them.
        fixes: Names of the fixes that change them.
        since: When the stream's headers arrived (`time.monotonic`).
        before: The bytes around the places of the one text that varies, as received.
        after: The bytes around its places, as sent.
        observe: Whether the stream is only observed.
        json_parts: The same as parts of a line, made when the first pair is logged; empty
            if something has to be masked.
        masked_from: How many bytes a text without quotes has at least if something in it
            has to be masked; known with those parts.
    """

    flow: str
    secrets: tuple[str, ...]
    fixes: tuple[str, ...]
    since: float
    before: tuple[bytes, ...]
    after: tuple[bytes, ...]
    observe: bool
    json_parts: tuple[bytes, ...] | None = None
    masked_from: int = 0


# Control characters, line ends and direction marks that JSON may contain unescaped:
# terminals obey them, and line readers take some of them for line ends.
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

type TextPair = tuple[TextPairs, int, float, bytes]
"""The pair of an event that was not parsed, as a plain tuple.

The shared fields, its n, when it was sent (`time.monotonic`), its text.
"""


def line(entry: Entry | TextPair) -> bytes:
    """Return *entry* as a line of the log."""
    if isinstance(entry, tuple):
        return _text_pair(entry)
    if entry.record["type"] == "pair":
        return _encoded(_pair(entry)) + b"\n"
    text = json.dumps(entry.record, ensure_ascii=False, separators=(",", ":"))
    return _encoded(text) + b"\n"


def _encoded(text: str) -> bytes:
    if not text.isascii() or "\x7f" in text:
        text = _UNSEEN.sub(_escaped, text)
    return text.encode("utf-8", "backslashreplace")


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else r"\u007f"


def _pair(entry: Entry) -> str:
    """Return a pair as JSON, three times as fast as `json.dumps`."""
    record, secrets, echo = entry.record, entry.secrets, entry.echo
    texts = [text_of(each) for each in record["after"]]
    added = record["before"] is None
    if not added:
        texts.append(text_of(record["before"]))
    texts = [
        each
        if is_clean(each, secrets)
        and (echo is None or (is_chunk(each) and not entry.is_error))
        else mask(each, secrets, echo, is_error=entry.is_error)
        for each in texts
    ]
    after = [*map(_quoted, texts)]
    before = "null" if added else after.pop()
    fixes = ",".join(map(_quoted, record["fixes"]))
    mode = ',"mode":"observe"' if "mode" in record else ""
    return (
        f'{{"type":"pair","v":1,"flow":"{record["flow"]}","n":{record["n"]},'
        f'"ms":{record["ms"]},"fixes":[{fixes}],"before":{before},'
        f'"after":[{",".join(after)}]{mode}}}'
    )


def _text_pair(pair: TextPair) -> bytes:
    """Return the line of an event that was not parsed, six times as fast as `_pair`.

    Everything except its text is encoded once for all pairs. JSON punctuation separates
    the parts, so that nothing that has to be masked spans two of them.
    """
    shared, n, at, text = pair
    parts = shared.json_parts
    if parts is None:
        parts = shared.json_parts = _json_parts(shared)
    tenths = int((at - shared.since) * 10_000 + 0.5)
    if parts:
        word = text
        if (
            len(text) >= shared.masked_from
            or text.strip(PLAIN)
            or text.find(b"'") >= 0  # quicker than `in`, which tries numbers first
        ):
            word = _word(text, shared.secrets)
        if word:
            known = parts[0], n, tenths // 10, tenths % 10, word.join(parts[1:])
            return b'%b%d,"ms":%d.%d%b' % known
    record = {
        "flow": shared.flow,
        "n": n,
        "ms": tenths / 10,
        "fixes": shared.fixes,
        "before": text.join(shared.before),
        "after": [text.join(shared.after)],
    }
    record |= {"mode": "observe"} if shared.observe else {}
    # A chunk, so nothing in it is an error.
    return _encoded(_pair(Entry(record, shared.secrets))) + b"\n"


def _json_parts(shared: TextPairs) -> tuple[bytes, ...]:
    secrets = shared.secrets
    sides = [each.decode() for each in (*shared.before, *shared.after)]
    if any('"' in secret for secret in secrets):
        return ()
    if not all(is_clean(side, secrets) for side in sides):
        return ()
    shared.masked_from = min([SHORTEST_ECHO, *map(len, secrets)])
    quoted = [_quoted(side)[1:-1] for side in sides]
    before, after = quoted[: len(shared.before)], quoted[len(shared.before) :]
    fixes = ",".join(map(_quoted, shared.fixes))
    mode = ',"mode":"observe"' if shared.observe else ""
    before[0] = f',"fixes":[{fixes}],"before":"{before[0]}'
    before[-1] += f'","after":["{after[0]}'
    after[-1] += f'"]{mode}}}\n'
    begin = f'{{"type":"pair","v":1,"flow":"{shared.flow}","n":'
    return tuple(map(_encoded, (begin, *before, *after[1:])))


def _word(word: bytes, secrets: tuple[str, ...]) -> bytes:
    """Return *word* encoded as JSON; empty if it has to be masked.

    Nothing is cached: neither a stream's text nor the keys of its request may stay in
    memory after its end.
    """
    text = word.decode()
    return _encoded(_quoted(text)[1:-1]) if is_clean(text, secrets) else b""
