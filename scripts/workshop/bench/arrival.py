"""One stream as it arrives at the benchmark's client: counted, timed and verified."""

import json

from workshop.bench.traffic import (
    SENT,
    Form,
    Plan,
    expected,
    expected_events,
    new_digest,
)

_HEAD_END = b"\r\n\r\n"
_EVENT_END = b"\n\n"


class Arrival:
    """One stream.

    Args:
        plan: What was asked for.
        form: What has to arrive.
        late: Takes how many nanoseconds each event with a time was under way.
        counts_from: The event from which on it does.
    """

    def __init__(
        self, plan: Plan, form: Form, late: list[int], counts_from: int = 0
    ) -> None:
        self.asked_at = 0
        """When the request was sent, in nanoseconds."""
        self.first_at = 0
        """When the first event was there; 0 before."""
        self.events = 0
        self.over = False
        self.fault = ""
        """Why it is not what had to arrive, as a sentence's end; empty for none."""
        self.plan = plan
        self._form = form
        self._late = late
        self._counts_from = counts_from
        self._digest = new_digest()
        self._expected = expected(plan, form)  # now: it takes its time
        self._to_come = expected_events(plan, form)
        self._take_body = self._plain
        if form == "text":
            self._take_body = self._texts
        elif plan.gap_us:
            self._take_body = self._timed
        self._in_head = True
        self._chunked = False
        self._rest = b""  # of HTTP's framing
        self._part = b""  # of an event

    def receive(self, data: bytes, now: int) -> None:
        """Take what was read at *now* (nanoseconds); `b""` when the proxy has closed."""
        if not data:
            self._close()
            return
        after = self._head(data) if self._in_head else data
        if after is None:
            return
        body = self._chunks(after) if self._chunked else after
        if body:
            self._take_body(body, now)
        if self.events and not self.first_at:
            self.first_at = now
        if self.over:
            self._verify()

    def fail(self, fault: str) -> None:
        """Let it be over, for a reason."""
        self.over = True
        self.fault = self.fault or fault

    def _close(self) -> None:
        if not self._in_head and not self._chunked:
            self.over = True
            self._verify()
        else:
            self.fail(f"broke off {self._progress()}")

    def _verify(self) -> None:
        if self._part:
            self.fail(f"ended within an event {self._progress()}")
        elif self.events != self._to_come:
            self.fail(f"ended {self._progress()}")
        elif self._digest.hexdigest() != self._expected:
            what = "text" if self._form == "text" else "bytes"
            self.fail(f"has other {what} than it must have, {self._progress()}")

    def _progress(self) -> str:
        return f"after {self.events} of {self._to_come} events"

    # -- HTTP/1.1 ----------------------------------------------------------------

    def _head(self, data: bytes) -> bytes | None:
        """Return what follows the head; None without its end, or where it refuses."""
        head, end, body = (self._rest + data).partition(_HEAD_END)
        if not end:
            self._rest = head
            return None
        self._rest = b""
        self._in_head = False
        status = head.split(b" ", 2)[1:2]
        if status != [b"200"]:
            answer = (head + end + body)[:300].decode(errors="replace")
            self.fail(f"was refused: {answer!r}")
            return None
        fields = head.lower().split(b"\r\n")
        self._chunked = b"transfer-encoding: chunked" in fields
        return body

    def _chunks(self, data: bytes) -> bytes:
        """Return what is in the chunks that *data* completes."""
        data = self._rest + data
        found = []
        start = 0
        while (line := data.find(b"\r\n", start)) >= 0:
            try:
                size = int(data[start:line], 16)
            except ValueError:
                self.fail(f"has a broken chunk, {self._progress()}")
                return b""
            end = line + 2 + size
            if len(data) < end + 2:
                break
            start = end + 2
            if not size:
                self.over = True
                break
            found.append(data[line + 2 : end])
        self._rest = data[start:]
        return b"".join(found)

    # -- events ------------------------------------------------------------------

    def _plain(self, body: bytes, now: int) -> None:
        self._digest.update(body)
        joined = self._part + body
        self.events += joined.count(_EVENT_END)
        # What may be the first half of an event's end; a whole one is counted already.
        half = joined.endswith(b"\n") and not joined.endswith(_EVENT_END)
        self._part = b"\n" if half else b""

    def _timed(self, body: bytes, now: int) -> None:
        events = self._whole(body)
        self._note_times(events, now)
        self.events += events.count(_EVENT_END)
        self._digest.update(SENT.sub(b"", events))

    def _texts(self, body: bytes, now: int) -> None:
        events = self._whole(body)
        self._note_times(events, now)
        for event in events.split(_EVENT_END):
            data = event.removeprefix(b"data: ")
            if data in (b"", b"[DONE]"):
                continue
            try:
                choices = json.loads(data)["choices"]
                text = choices[0]["delta"].get("content") if choices else None
            except (ValueError, LookupError, TypeError, AttributeError):
                self.fail(f"has an event that is no chunk: {event[:200]!r}")
                return
            if text:
                self.events += 1
                self._digest.update(SENT.sub(b"", text.encode()))

    def _whole(self, body: bytes) -> bytes:
        """Return the events that *body* completes."""
        joined = self._part + body
        cut = joined.rfind(_EVENT_END) + 1
        cut += bool(cut)
        self._part = joined[cut:]
        return joined[:cut]

    def _note_times(self, events: bytes, now: int) -> None:
        if self.events >= self._counts_from:
            self._late += [now - int(sent) for sent in SENT.findall(events)]
