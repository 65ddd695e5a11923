"""Records of the pairs log, each as a line of JSON."""

import json
from json.encoder import encode_basestring as _quoted
from typing import Any

from .masking import is_clean, mask, text_of

type Record = dict[str, Any]


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
        f'{{"type":"pair","v":1,"flow":{_quoted(record["flow"])},"n":{record["n"]},'
        f'"ms":{record["ms"]},"fixes":[{fixes}],"before":{before},'
        f'"after":[{",".join(after)}]{mode}}}'
    )
