"""Records of the pairs log, each as a line of JSON."""

import json
from json.encoder import encode_basestring as _quoted
from typing import Any

from .masking import is_clean, mask, text_of

type Record = dict[str, Any]

type Known = tuple[
    str, int, float, tuple[str, ...], bytes, bytes, tuple[int, int, int, int], bool
]
"""The pair of an event that a template knew.

Flow, n, ms, fixes, the bytes before and after, how many of them stand around the one text
(before and behind it, in both), and whether it is only observed. A tuple, since a burst
leaves many of them to the garbage collector.
"""


_PIECES: dict[tuple[str, ...], dict[bytes, str]] = {}
"""Pieces of pairs as JSON spells them, by the secrets that are known not to be there."""
_MOST = 2048  # pieces of requests with the same secrets
_MOST_KEYS = 256


def line(record: Record | Known, secrets: tuple[str, ...] = ()) -> bytes:
    """Return *record* as a line of the log.

    Args:
        record: What is to be logged; blocks of a pair as the bytes they were.
        secrets: Strings of the request that must not be there.
    """
    if isinstance(record, tuple):
        text = _known_pair(record, secrets)
    elif record["type"] == "pair":
        text = _pair(record, secrets)
    else:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="backslashreplace") + b"\n"


def _pair(record: Record, secrets: tuple[str, ...]) -> str:
    """Return a pair as JSON, in a third of the time that `json.dumps` takes."""
    texts = [text_of(each) for each in record["after"]]
    added = record["before"] is None
    if not added:
        texts.append(text_of(record["before"]))
    if not is_clean("".join(texts), secrets):
        texts = [mask(each, secrets) for each in texts]
    after = [*map(_quoted, texts)]
    before = "null" if added else after.pop()
    fixes = ",".join(map(_quoted, record["fixes"]))
    mode = ',"mode":"observe"' if "mode" in record else ""
    return (
        f'{{"type":"pair","v":1,"flow":"{record["flow"]}","n":{record["n"]},'
        f'"ms":{record["ms"]},"fixes":[{fixes}],"before":{before},'
        f'"after":[{",".join(after)}]{mode}}}'
    )


def _known_pair(pair: Known, secrets: tuple[str, ...]) -> str:
    """Return the pair of an event that a template knew, in half of that time.

    Its pieces but for one are those of the pair before. Between two of them is a mark of
    JSON, so that nothing which has to be masked can reach from one into another.
    """
    flow, n, ms, fixes, before, after, _, observe = pair
    told = None if any(map(_has_mark, secrets)) else _pieces(pair, secrets)
    mode = {"mode": "observe"} if observe else {}
    if told is None:
        record = {"flow": flow, "n": n, "ms": ms, "fixes": fixes, "before": before}
        return _pair({**record, "after": [after], **mode}, secrets)
    names = '","'.join(fixes)
    return (
        f'{{"type":"pair","v":1,"flow":"{flow}","n":{n},"ms":{ms},"fixes":["{names}"],'
        f'"before":"{told[0]}","after":["{told[1]}"]'
        f"{',"mode":"observe"' if observe else ''}}}"
    )


def _pieces(pair: Known, secrets: tuple[str, ...]) -> tuple[str, str] | None:
    """Return what is between the quotes of before and after; None if it has secrets."""
    _, _, _, _, before, after, edges, _ = pair
    head, tail, out_head, out_tail = edges
    known = _PIECES.get(secrets)
    if known is None or len(known) > _MOST:
        if len(_PIECES) > _MOST_KEYS:
            _PIECES.clear()
        known = _PIECES[secrets] = {}
    quoted = []
    for piece in (
        before[:head],
        before[head:-tail],
        before[-tail:],
        after[:out_head],
        after[out_head:-out_tail],
        after[-out_tail:],
    ):
        told = known.get(piece)
        if told is None:
            text = piece.decode()
            if not is_clean(text, secrets):
                return None
            told = known[piece] = _quoted(text)[1:-1]
        quoted.append(told)
    return "".join(quoted[:3]), "".join(quoted[3:])


def _has_mark(secret: str) -> bool:
    return '"' in secret
