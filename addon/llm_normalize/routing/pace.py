"""How many requests a host takes: the others wait in order until it takes more.

NVIDIA NIM takes 40 a minute of one key, and answers 429 to the rest. The headers of an
answer may say when a provider takes requests again.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from typing import Self

from mitmproxy import http

from ..wire.content_encoding import beginning
from .hosts import HostPattern

_ARRIVAL = 1.0
"""Seconds after which a request has arrived, if it was not answered before.

The provider counts it from then on.
"""
_LOOK = 1.0
"""Seconds between looks which of those that wait have left."""
_MOST = 100_000
"""Requests of a window."""
_LONGEST = 86_400.0
"""Seconds of a window."""
_PAUSE = 600.0
"""Seconds that a provider may have its requests wait."""
_QUEUES = 1024
"""Each time that there are so many more queues, those go that say nothing any more."""
_UNITS = {"s": 1, "m": 60, "h": 3600}
_RULE = re.compile(r"(\d{1,9})/(\d{1,9})([smh])(?:,(\d{1,9}))?", re.ASCII)
_EXPECTED = "expected host=REQUESTS/SECONDS such as integrate.api.nvidia.com=40/60s, and ,4 behind it for four at once"
_REMAINING, _RESET = "x-ratelimit-remaining", "x-ratelimit-reset"
"""Behind each may stand of what: `-requests`, `-tokens`.

https://platform.openai.com/docs/guides/rate-limits
"""
_BUSY = (429, 503)
_PART = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h|d)?", re.ASCII)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "": 1.0}
_TOLD = re.compile(rb'"retryDelay" ?: ?"(\d{1,5}(?:\.\d{1,9})?)s"')
"""How Google says it: https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto."""
_LARGE = 64 * 1024  # bytes of an error that are looked at
_DATES = 1e9
"""Numbers from here on are times, in seconds since 1970; a thousand times that, in ms."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How many requests of one credential a host takes.

    Attributes:
        hosts: The hosts.
        requests: How many in a window.
        seconds: How long a window is.
        at_once: How many at once; None for any number.
    """

    hosts: HostPattern
    requests: int
    seconds: float
    at_once: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the pace that *text* spells: `host=40/60s`, `host=40/60s,4`.

        Raises:
            ValueError: It spells none; the message says what was expected.
        """
        host, _, rest = text.strip().rpartition("=")
        found = _RULE.fullmatch(rest.replace(" ", ""))
        if not host or found is None:
            raise ValueError(f"{text!r}: {_EXPECTED}")
        requests, seconds = int(found[1]), float(int(found[2]) * _UNITS[found[3]])
        at_once = int(found[4]) if found[4] else None
        if not (0 < requests <= _MOST and 0 < seconds <= _LONGEST) or at_once == 0:
            raise ValueError(
                f"{text!r}: expected 1 to {_MOST} requests in 1 second to 24 hours"
            )
        try:
            return cls(HostPattern.parse(host), requests, seconds, at_once)
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from None


def paces(texts: Sequence[str]) -> list[Pace]:
    """Return the paces that *texts* spell, see `Pace.parse`."""
    return [Pace.parse(text) for text in texts]


@dataclass(eq=False, slots=True)
class Slot:
    """The place of one request: it waits, is sent, and is answered.

    Attributes:
        queue: Where it waits.
        is_gone: Tells whether its client has left.
        ready: Done once it is to be sent, or its client has left.
        since: When it began to wait.
        holds: Whether it is one of those that are sent at once.
    """

    queue: "Queue" = field(repr=False)
    is_gone: Callable[[], bool]
    ready: asyncio.Future[None]
    since: float
    holds: bool = False
    _sent: "_Sent | None" = None

    def again(self) -> asyncio.Future[None]:
        """Wait in front of all others, to send the request once more."""
        self.ready = asyncio.get_running_loop().create_future()
        self.queue.wait_first(self)
        return self.ready

    def answered(self, pause: float) -> None:
        """Note that its answer has begun: its provider has counted it by now.

        Args:
            pause: Seconds for which the provider takes nothing more.
        """
        if self._sent is not None:
            self._sent.at = min(self._sent.at, time.monotonic())
        if pause:
            self.queue.pause(pause)

    def send(self, sent: "_Sent") -> None:
        """Let it be sent."""
        self.holds, self._sent = True, sent
        if not self.ready.done():
            self.ready.set_result(None)

    def end(self) -> None:
        """Give its place back: it is answered, or nobody waits for it any more."""
        self.queue.leave(self)


@dataclass(slots=True)
class _Sent:
    """A request that was sent, and when its provider counted it at the latest."""

    at: float


class Queue:
    """The requests of one credential to one host, in the order of their arrival.

    Args:
        pace: How many its host takes.
    """

    def __init__(self, pace: Pace) -> None:
        self._pace: Pace | None = pace
        self._waiting: deque[Slot] = deque()
        self._sent: deque[_Sent] = deque()
        self._under_way = 0
        self._paused_until = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def enter(self, is_gone: Callable[[], bool]) -> Slot:
        """Return the slot of a request, which waits behind all others."""
        future = asyncio.get_running_loop().create_future()
        slot = Slot(self, is_gone, future, time.monotonic())
        self._waiting.append(slot)
        self.advance()
        return slot

    def wait_first(self, slot: Slot) -> None:
        """Have *slot*, which was sent, wait in front of all others."""
        self._waiting.appendleft(slot)
        self.advance()

    def leave(self, slot: Slot) -> None:
        """Take *slot* out."""
        if slot in self._waiting:
            self._waiting.remove(slot)
        if slot.holds:
            slot.holds = False
            self._under_way -= 1
        self.advance()

    def pause(self, seconds: float) -> None:
        """Send nothing for so long: the provider asks for it."""
        until = time.monotonic() + min(seconds, _PAUSE)
        self._paused_until = max(self._paused_until, until)

    def set_pace(self, pace: Pace | None) -> None:
        """Take another pace; without one, all that wait are sent."""
        self._pace = pace
        if pace is None:
            self._paused_until = 0.0
        self.advance()

    @property
    def is_idle(self) -> bool:
        """Whether it says nothing about a request to come."""
        now = time.monotonic()
        self._forget(now)
        busy = self._waiting or self._sent or self._under_way
        return not busy and self._paused_until <= now

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    @property
    def longest(self) -> float:
        """Seconds for which the first of them has waited."""
        return time.monotonic() - self._waiting[0].since if self._waiting else 0.0

    def advance(self) -> None:
        """Send what may be sent, and come back when more may be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wait = 0.0
        while self._waiting and not wait:
            slot = self._waiting[0]
            if slot.is_gone():
                self._drop(slot)
            elif not (wait := self._wait(slot)):
                self._release()
        if self._waiting:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(min(wait, _LOOK), self._look)

    def _look(self) -> None:
        self._timer = None
        for slot in [each for each in self._waiting if each.is_gone()]:
            self._drop(slot)
        self.advance()

    def _drop(self, slot: Slot) -> None:
        self._waiting.remove(slot)
        if not slot.ready.done():
            slot.ready.set_result(None)

    def _release(self) -> None:
        slot = self._waiting.popleft()
        sent = _Sent(time.monotonic() + _ARRIVAL)
        self._sent.append(sent)
        self._under_way += not slot.holds
        slot.send(sent)

    def _wait(self, slot: Slot) -> float:
        """Seconds until *slot* may be sent, as far as it is known; 0 for at once."""
        now, pace = time.monotonic(), self._pace
        if pace is None:
            return 0.0
        self._forget(now)
        wait = max(0.0, self._paused_until - now)
        if pace.at_once is not None and not slot.holds:
            wait = max(wait, _LOOK * (self._under_way >= pace.at_once))
        if len(self._sent) >= pace.requests:
            oldest = self._sent[len(self._sent) - pace.requests]
            wait = max(wait, oldest.at + pace.seconds - now)
        return wait

    def _forget(self, now: float) -> None:
        seconds = self._pace.seconds if self._pace is not None else 0.0
        while self._sent and self._sent[0].at + seconds <= now:
            self._sent.popleft()


class Queues:
    """The queues of all hosts and credentials, by what the user said of their pace."""

    def __init__(self) -> None:
        self._paces: Sequence[Pace] = ()
        self._queues: dict[tuple[str, int, bytes], Queue] = {}

    @property
    def paces(self) -> Sequence[Pace]:
        """How many requests each host takes; the first that fits counts."""
        return self._paces

    @paces.setter
    def paces(self, paces: Sequence[Pace]) -> None:
        self._paces = paces
        for (host, port, _), queue in [*self._queues.items()]:
            queue.set_pace(self._pace_of(host, port))

    def _pace_of(self, host: str, port: int) -> Pace | None:
        found = (each for each in self._paces if each.hosts.matches(host, port))
        return next(found, None)

    def queue_of(self, host: str, port: int, credential: bytes) -> Queue | None:
        """Return where requests of a *credential*, a mark of it, wait; None if none does."""
        pace = self._pace_of(host, port)
        if pace is None:
            return None
        key = host, port, credential
        if key not in self._queues:
            if not len(self._queues) % _QUEUES:
                for known in [k for k, queue in self._queues.items() if queue.is_idle]:
                    del self._queues[known]
            self._queues[key] = Queue(pace)
        return self._queues[key]

    def waiting(self) -> list[tuple[str, int, float]]:
        """Return the hosts with waiting requests: how many, and for how many seconds at most."""
        hosts: dict[str, tuple[int, float]] = {}
        for (host, _, _), queue in self._queues.items():
            if queue.waiting:
                count, longest = hosts.get(host, (0, 0.0))
                hosts[host] = count + queue.waiting, max(longest, queue.longest)
        return [(host, *figures) for host, figures in hosts.items()]

    def clear(self) -> None:
        """Send all that waits: nothing is to be paced any more."""
        self.paces = ()
        self._queues.clear()


def pause_of(status: int, fields: Iterable[tuple[str, str]]) -> float:
    """The seconds for which a provider takes no request, by its answer; mostly 0.

    Args:
        status: The answer's status.
        fields: Its headers.
    """
    headers = {name.lower(): value for name, value in fields}
    asked = retry_after(headers) if status in _BUSY else None
    return max(asked or 0.0, _exhausted(headers))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a provider asks to wait for, in either form; None without any.

    https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
    """
    text = headers.get("retry-after", "")
    exact, seconds = _number(headers.get("retry-after-ms", "")), _number(text)
    if exact is not None:
        return exact / 1000
    if seconds is not None:
        return seconds
    try:
        date = parsedate_tz(text)
        return max(mktime_tz(date) - time.time(), 0.0) if date is not None else None
    except (ValueError, OverflowError):  # a year that no calendar has
        return None


def delay_in_body(response: http.Response) -> float | None:
    """The seconds that an error of Google's asks to wait for, which says so in its body alone."""
    if response.status_code not in _BUSY or retry_after(response.headers) is not None:
        return None
    encoding = response.headers.get("content-encoding", "")
    found = _TOLD.search(beginning(response.raw_content or b"", encoding, _LARGE))
    return float(found[1]) if found else None


def _number(text: str) -> float | None:
    """The number that *text* is, at least 0; None if it is none, or has no end."""
    try:
        number = float(text)
    except ValueError:
        return None
    return max(number, 0.0) if number < float("inf") else None


def _exhausted(headers: Mapping[str, str]) -> float:
    """The seconds until a limit is lifted of which nothing remains; else 0."""
    waits = [0.0]
    for name, value in headers.items():
        if name.startswith(_REMAINING) and value.strip() == "0":
            waits.append(
                _until(headers.get(_RESET + name.removeprefix(_REMAINING), ""))
            )
    return max(waits)


def _until(text: str) -> float:
    """The seconds that `6m0s`, `250ms`, a number of them or a time means; else 0."""
    text = text.strip()
    parts = _PART.findall(text)
    if "".join(map("".join, parts)) != text:
        return 0.0
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if seconds >= _DATES * 1000:
        seconds /= 1000
    return max(seconds - time.time(), 0.0) if seconds >= _DATES else seconds
