"""Records of the pairs log, each as a line of JSON."""

import json
from json.encoder import encode_basestring as _quoted
from typing import Any

from .masking import is_clean, mask, text_of

type Record = dict[str, Any]


_PIECES: dict[tuple[str, ...], dict[bytes, str]] = {}
"""Pieces of pairs as JSON spells them, by the secrets that are known not to be there."""
_MOST = 2048  # pieces of requests with the same secrets
_MOST_KEYS = 256


def line(record: Record, secrets: tuple[str, ...] = ()) -> bytes:
    """Return *record* as a line of the log.

    Args:
        record: What is to be logged; blocks of a pair as the bytes they were.
        secrets: Strings of the request that must not be there.
    """
    if record["type"] == "pair":
        text = _pair(record, secrets)
    else:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace") + b"\n"


def _pair(record: Record, secrets: tuple[str, ...]) -> str:
    """Return a pair as JSON, in a third of the time that `json.dumps` takes."""
    quoted = _known(record, secrets)
    if quoted is None:
        texts = [text_of(each) for each in record["after"]]
        added = record["before"] is None
        if not added:
            texts.append(text_of(record["before"]))
        if not is_clean("".join(texts), secrets):
            texts = [mask(each, secrets) for each in texts]
        after = [*map(_quoted, texts)]
        quoted = "null" if added else after.pop(), ",".join(after)
    fixes = ",".join(map(_quoted, record["fixes"]))
    mode = ',"mode":"observe"' if "mode" in record else ""
    return (
        f'{{"type":"pair","v":1,"flow":{_quoted(record["flow"])},"n":{record["n"]},'
        f'"ms":{record["ms"]},"fixes":[{fixes}],"before":{quoted[0]},'
        f'"after":[{quoted[1]}]{mode}}}'
    )


def _known(record: Record, secrets: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the texts of a pair that comes in pieces, quoted; None if they need more.

    Most pieces are those of the pair before. Between two of them is a mark of JSON, so
    that nothing which has to be masked can reach from one into another.
    """
    pieces = record.get("pieces")
    known = _PIECES.get(secrets)
    if pieces is None or (known is None and any(map(_has_mark, secrets))):
        return None
    if known is None or len(known) > _MOST:
        if len(_PIECES) > _MOST_KEYS:
            _PIECES.clear()
        known = _PIECES[secrets] = {}
    sides = []
    for side in pieces:
        quoted = []
        for piece in side:
            told = known.get(piece)
            if told is None:
                text = piece.decode()
                if not is_clean(text, secrets):
                    return None
                told = known[piece] = _quoted(text)[1:-1]
            quoted.append(told)
        sides.append("".join(quoted))
    return f'"{sides[0]}"', f'"{sides[1]}"'


def _has_mark(secret: str) -> bool:
    return any(mark in secret for mark in '":,}')
