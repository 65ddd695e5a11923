"""mitmproxy addon, a yardstick: the least that a repair of every event costs.

It reads each event with `json`, drops what is null in a delta, and writes what has
changed anew. What is around the text of an event is remembered, so that the next one of
the same form is not parsed. It does no more: no framing but OpenAI's, no other quirk.
"""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from mitmproxy import addonmanager, ctx, http

END = b"\n\n"
TEXT = re.compile(rb'"(?:content|reasoning|reasoning_content)":"([^"\\]+)"')
PLAIN = re.compile(rb"[ !#-\[\]-~]+")
"""A text that JSON spells as it is."""
PAUSE = 0.2  # seconds in which pairs gather

_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_pairs: deque[tuple[str, bytes, bytes]] = deque()


def repaired(event: bytes) -> bytes:
    """Return an event without nulls in its deltas."""
    try:
        chunk = json.loads(event.removeprefix(b"data:"))
        deltas = [choice["delta"] for choice in chunk["choices"]]
        nulls = [
            (delta, key) for delta in deltas for key in delta if delta[key] is None
        ]
    except (ValueError, LookupError, TypeError):
        return event
    for delta, key in nulls:
        del delta[key]
    return f"data: {_write(chunk)}\n\n".encode() if nulls else event


def stream_of(name: str, *, pairs: bool) -> Callable[[bytes], bytes | list[bytes]]:
    """Return what the reads of the stream *name* go through."""
    rest = head = tail = new_head = new_tail = b""

    def one(event: bytes) -> bytes:
        nonlocal head, tail, new_head, new_tail
        if head and event.startswith(head) and event.endswith(tail):
            text = event[len(head) : -len(tail)]
            if PLAIN.fullmatch(text):
                return new_head + text + new_tail
        after = repaired(event)
        old, new = TEXT.search(event), TEXT.search(after)
        if old and new and old[1] == new[1]:
            head, tail = event[: old.start(1)], event[old.end(1) :]
            new_head, new_tail = after[: new.start(1)], after[new.end(1) :]
        return after

    def stream(data: bytes) -> bytes | list[bytes]:
        nonlocal rest
        if not data:
            return rest or []
        *events, rest = (rest + data).split(END)
        found = []
        for part in events:
            event = part + END
            after = one(event)
            if pairs and after != event:
                _pairs.append((name, event, after))
            found.append(after)
        return b"".join(found) or []

    return stream


def load(loader: addonmanager.Loader) -> None:
    """Declare where pairs go."""
    loader.add_option("lean_pairs", str, "", "The log; empty for none.")


def running() -> None:
    """Begin the log."""
    if ctx.options.lean_pairs:
        path = Path(ctx.options.lean_pairs)
        threading.Thread(target=_log, args=(path,), daemon=True).start()


def responseheaders(flow: http.HTTPFlow) -> None:
    """Let an answer that is a stream go through it."""
    assert flow.response is not None
    pairs = bool(ctx.options.lean_pairs)
    flow.response.stream = stream_of(flow.id, pairs=pairs)


def _log(path: Path) -> None:
    with path.open("ab", buffering=0) as file:
        while True:
            time.sleep(PAUSE)
            lines = []
            while _pairs:
                name, before, after = _pairs.popleft()
                pair = {
                    "flow": name,
                    "before": before.decode(),
                    "after": after.decode(),
                }
                lines.append(f"{_write(pair)}\n")
            file.write("".join(lines).encode())
