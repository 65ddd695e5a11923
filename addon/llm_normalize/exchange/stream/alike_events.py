"""Sends events that are all alike: what most reads of a settled stream pass, and no more.

mitmproxy calls a `Read` for each read; by then, all that it touches has left the
processor's caches. So it is a function with variables of its own: CPython calls that
within its own loop, and looks nothing up. An object with attributes costs twice as much.
"""

from __future__ import annotations  # else they are made anew with each function

from collections.abc import Callable

from ...repair.fast_path.template import Template, is_as_written
from ...wire.json_text import PLAIN
from ...wire.sse import LIMIT

_NEVER, _NOTHING = b"\0", slice(0)

type Log = Callable[[int, bytes, bytes], None]
"""Called with each event that is changed: its number, its text as received, and as sent.
Must not raise."""


type Read = Callable[[bytes], list[bytes]]
"""Returns what is sent for one read."""
type Expect = Callable[[Template | None, int, Log | None], None]
"""Sends events at once from now on that fit a template: the number of the first one, and
what logs them, if they are logged. None sends nothing at once."""
type Sent = tuple[int, int, int]
"""How many events were sent at once since the last call of `Expect`, how many bytes were
received for them, and how many were sent."""


def alike_events(  # noqa: C901 - three functions that share their variables
    slow_path: Read,
) -> tuple[Read, Expect, Callable[[], Sent]]:
    """Return the functions of a stream of which nothing is expected yet.

    Args:
        slow_path: Returns what is sent for a read that is not expected.
    """
    template: Template | None = None
    head = tail = _NEVER
    span = _NOTHING
    before: bytes | None = None  # None where events are sent as received
    behind = b""
    log: Log | None = None
    number = 0  # of the first event
    events = size = 0
    # Bytes sent minus bytes received: of each event, and beside that.
    longer_each = longer = 0

    def read(data: bytes) -> list[bytes]:
        nonlocal events, size, longer
        if (
            data.startswith(head)
            and data.endswith(tail)
            and (length := len(data)) <= LIMIT
        ):
            text = data[span]
            if text and (not text.strip(PLAIN) or is_as_written(text)):
                events += 1
                size += length
                if before is None:
                    return [data]
                if log is not None:
                    log(number + events - 1, text, text)
                return [before + text + behind]
            if template is None:  # a read may begin and end with `_NEVER`
                return slow_path(data)
            try:
                out = template.patch(data)  # its text may be spelled in another way
            except Exception:  # noqa: BLE001 - whoever asks it next reports it
                out = None
            if out is not None:
                events += 1
                size += length
                if before is not None:
                    longer += len(out) - length - longer_each
                    if log is not None:
                        log(number + events - 1, text, template.text_sent(out))
                return [out]
        return slow_path(data)

    def expect(wanted: Template | None, first: int, new_log: Log | None) -> None:
        nonlocal template, head, tail, span, before, behind
        nonlocal log, number, events, size, longer_each, longer
        events = size = longer_each = longer = 0
        template, number, log = wanted, first, new_log
        if wanted is None:
            head, span = _NEVER, _NOTHING
            return
        head, tail, span, before = wanted.head, wanted.tail, wanted.span, None
        if wanted.out:
            before, behind = wanted.sides
            longer_each = len(before) + len(behind) - len(head) - len(tail)

    def sent() -> Sent:
        return events, size, size + longer + events * longer_each

    return read, expect, sent
