"""Records of the pairs log, each as a line of JSON."""

import json
import re
from dataclasses import dataclass
from json.encoder import encode_basestring as _quoted
from typing import Any

from ..text.echo import Echo
from .masking import is_chunk, is_clean, mask, text_of

type Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A record that is to be logged; blocks of a pair are the bytes they were.

    Attributes:
        record: What the log's line tells.
        secrets: Strings of the request that must not be there.
        echo: Finds what an error repeats of the request.
        is_error: Whether the answer's status says that it is one.
    """

    record: Record
    secrets: tuple[str, ...] = ()
    echo: Echo | None = None
    is_error: bool = False


@dataclass(slots=True)
class PatchedPairTemplate:
    """What all pairs have in common whose events one template knew, in one stream.

    Attributes:
        flow: The flow's id.
        secrets: Strings of the request that must not be there.
        fixes: Names of the fixes that change them.
        since: When the stream's headers arrived (`time.monotonic`).
        before: The bytes around the one text that varies, as they come.
        after: The bytes around it as they are sent.
        observe: Whether they are only observed.
        json_parts: The same as JSON spells it, made when the first of them is logged; empty
            where something has to be masked.
    """

    flow: str
    secrets: tuple[str, ...]
    fixes: tuple[str, ...]
    since: float
    before: tuple[bytes, bytes]
    after: tuple[bytes, bytes]
    observe: bool
    json_parts: tuple[str, ...] | None = None


# Control characters, line ends and marks of direction that JSON may have as they are: a
# terminal obeys them, and whoever reads lines takes some for one more.
_UNSEEN = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

type PatchedPair = tuple[PatchedPairTemplate, int, float, bytes, bytes]
"""The pair of an event that a template knew, in no more than a tuple.

What it has in common with others, its n, when it was sent (`time.monotonic`), its text before
and after.
"""


def line(entry: Entry | PatchedPair) -> bytes:
    """Return *entry* as a line of the log."""
    if isinstance(entry, tuple):
        text = _patched_pair(entry)
    elif entry.record["type"] == "pair":
        text = _pair(entry)
    else:
        text = json.dumps(entry.record, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii() or "\x7f" in text:
        text = _UNSEEN.sub(_escaped, text)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1] if found[0] != "\x7f" else r"\u007f"


def _pair(entry: Entry) -> str:
    """Return a pair as JSON, in a third of the time that `json.dumps` takes."""
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


def _patched_pair(pair: PatchedPair) -> str:
    """Return the pair of an event that a template knew, in a quarter of that time.

    All but its text is spelled once for all of them. Between the parts is a mark of
    JSON, so that nothing which has to be masked spans two of them.
    """
    template, n, at, before, after = pair
    tenths = int((at - template.since) * 10_000 + 0.5)
    secrets, json_parts = template.secrets, template.json_parts
    if json_parts is None:
        json_parts = template.json_parts = _json_parts(template)
    text = _word(before, secrets)
    repaired = text if after == before else _word(after, secrets)
    if json_parts and text and repaired:
        return (
            f'{json_parts[0]}{n},"ms":{tenths // 10}.{tenths % 10}{json_parts[1]}{text}{json_parts[2]}'
            f"{repaired}{json_parts[3]}"
        )
    record = {
        "flow": template.flow,
        "n": n,
        "ms": tenths / 10,
        "fixes": template.fixes,
        "before": before.join(template.before),
        "after": [after.join(template.after)],
    }
    record |= {"mode": "observe"} if template.observe else {}
    return _pair(Entry(record, secrets))  # of a chunk: none of it is an error


def _json_parts(template: PatchedPairTemplate) -> tuple[str, ...]:
    sides = [each.decode() for each in (*template.before, *template.after)]
    if any('"' in secret for secret in template.secrets):
        return ()
    if not all(is_clean(side, template.secrets) for side in sides):
        return ()
    head, tail, new_head, new_tail = (_quoted(side)[1:-1] for side in sides)
    fixes = ",".join(map(_quoted, template.fixes))
    mode = ',"mode":"observe"' if template.observe else ""
    return (
        f'{{"type":"pair","v":1,"flow":"{template.flow}","n":',
        f',"fixes":[{fixes}],"before":"{head}',
        f'{tail}","after":["{new_head}',
        f'{new_tail}"]{mode}}}',
    )


def _word(word: bytes, secrets: tuple[str, ...]) -> str:
    """Return *word* as JSON spells it; nothing if it has to be masked.

    Nothing is remembered for the next one: a stream's text, and the keys that its
    request had, must be in no memory once it is over.
    """
    text = word.decode()
    return _quoted(text)[1:-1] if is_clean(text, secrets) else ""
