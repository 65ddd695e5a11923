"""How many requests a host takes, in the order in which they came."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator

import pytest

from llm_normalize.routing.pace import Pace, Queue, Queues, Slot, paces, pause_of


class Clock:
    """Time that passes when the event loop waits, and at once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.loop = asyncio.SelectorEventLoop()
        self.loop.time = lambda: self.now  # type: ignore[method-assign]
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def run(self, play: Callable[[], object], seconds: float) -> None:
        """Run *play*, and then timers until *seconds* have passed."""
        end = self.now + seconds

        async def all_of_it() -> None:
            play()
            while self.now < end:
                await asyncio.sleep(0)
                self.now += 0.01

        self.loop.run_until_complete(all_of_it())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock(monkeypatch)
    yield made
    made.loop.close()


class Client:
    """Asks, notes when its turn comes, and is answered after a while."""

    def __init__(self, clock: Clock, queue: Queue, takes: float = 0.0) -> None:
        self.clock, self.takes, self.gone = clock, takes, False
        self.sent: float | None = None
        self.slot = queue.enter(lambda: self.gone)
        self.slot.ready.add_done_callback(lambda _: self.start())

    def start(self) -> None:
        if self.gone:
            self.slot.end()
            return
        self.sent = self.clock.now
        self.slot.answered(0)
        asyncio.get_running_loop().call_later(self.takes, self.slot.end)


def sent_by(clients: list[Client]) -> list[float]:
    return [each.sent for each in clients if each.sent is not None]


@pytest.mark.parametrize("text", ["h=40/60s", "h=40/1m", " h = 40/60s "])
def test_provider_that_counts_never_counts_too_many(clock: Clock, text: str) -> None:
    queue, clients = Queue(Pace.parse(text)), list[Client]()

    def ask() -> None:
        clients.extend(Client(clock, queue) for _ in range(100))

    clock.run(ask, 130)
    times = sent_by(clients)
    assert len(times) == 100
    assert times == sorted(times)
    assert all(b - a >= 60 for a, b in zip(times, times[40:], strict=False))
    assert times[40] - times[0] < 61.1  # and none waits longer than it has to


def test_request_counts_from_when_it_has_arrived(clock: Clock) -> None:
    queue, slots = Queue(Pace.parse("h=1/10s")), list[Slot]()
    clock.run(lambda: slots.extend(queue.enter(lambda: False) for _ in range(2)), 10.5)
    assert [each.ready.done() for each in slots] == [True, False]
    slots[0].answered(0)
    clock.run(queue.advance, 1)
    assert slots[1].ready.done()


def test_only_so_many_are_under_way(clock: Clock) -> None:
    queue, clients = Queue(Pace.parse("h=99/1s,2")), list[Client]()

    def ask() -> None:
        clients.extend(Client(clock, queue, takes=5) for _ in range(6))

    clock.run(ask, 20)
    begun = [round(each - clients[0].sent) for each in sent_by(clients)]  # type: ignore[operator]
    assert begun == [0, 0, 5, 5, 10, 10]


def test_client_that_leaves_gives_its_place_to_the_next(clock: Clock) -> None:
    queue, clients = Queue(Pace.parse("h=1/10s")), list[Client]()

    def ask() -> None:
        clients.extend(Client(clock, queue) for _ in range(3))
        clients[1].gone = True

    clock.run(ask, 2)
    assert queue.waiting == 1
    clock.run(queue.advance, 9)
    assert clients[1].sent is None
    assert clients[2].sent is not None


def test_request_that_is_sent_again_comes_first(clock: Clock) -> None:
    queue, order = Queue(Pace.parse("h=1/5s,1")), list[str]()

    def ask() -> None:
        first, second = queue.enter(lambda: False), queue.enter(lambda: False)
        second.ready.add_done_callback(lambda _: order.append("second"))
        first.again().add_done_callback(lambda _: order.append("again"))
        first.ready.add_done_callback(lambda _: first.end())

    clock.run(ask, 13)
    assert order == ["again", "second"]


def test_another_pace_counts_at_once(clock: Clock) -> None:
    queues, slots = Queues(), list[Slot]()
    queues.paces = paces(["h=1/60s"])
    queue = queues.queue_of("h", 443, b"k")
    assert queue is not None
    assert queues.queue_of("other", 443, b"k") is None
    assert queues.queue_of("h", 443, b"other") is not queue

    def ask() -> None:
        slots.extend(queue.enter(lambda: False) for _ in range(5))

    def change() -> None:
        queues.paces = paces(["h=3/60s"])
        assert [each.ready.done() for each in slots] == [True] * 3 + [False] * 2
        assert [each[:2] for each in queues.waiting()] == [("h", 2)]
        queues.clear()

    clock.run(ask, 0.1)
    clock.run(change, 0.1)
    assert all(each.ready.done() for each in slots)


def test_queues_of_keys_that_come_no_more_are_dropped(clock: Clock) -> None:
    queues = Queues()
    queues.paces = paces(["h=1/60s"])

    def ask() -> None:
        for number in itertools.count():
            queue = queues.queue_of("h", 443, b"%d" % number)
            assert queue is not None
            queue.enter(lambda: False).end()
            if number == 1023:
                break

    clock.run(ask, 62)
    clock.run(lambda: queues.queue_of("h", 443, b"new"), 0.1)
    assert len(queues._queues) == 1


def test_without_a_pace_nothing_waits_any_more(clock: Clock) -> None:
    queue = Queue(Pace.parse("h=1/60s"))
    queue.pause(300)

    def ask() -> None:
        slot = queue.enter(lambda: False)
        assert not slot.ready.done()
        queue.set_pace(None)
        assert slot.ready.done()
        assert slot.again().done()

    clock.run(ask, 0.1)


@pytest.mark.parametrize(
    "text",
    ["h", "h=40", "40/60s", "h=0/60s", "h=4/0s", "h=4/60s,0", "h=4/60", "a/b=4/60s"],
)
def test_invalid_pace_is_said(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        paces([text])


@pytest.mark.parametrize(
    ("status", "headers", "seconds"),
    [
        (200, {}, 0),
        (429, {"Retry-After": "7"}, 7),
        (200, {"retry-after": "7"}, 0),
        (200, {"X-RateLimit-Remaining-Requests": "0", "x-ratelimit-reset-requests": "1m2.5s"}, 62.5),
        (200, {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "250ms"}, 0.25),
        (200, {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "9s"}, 0),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "12", "retry-after": "5"}, 12),
        (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, 0),
        (200, {"x-ratelimit-remaining": "0"}, 0),
    ],
)  # fmt: skip
def test_headers_say_when_more_is_taken(
    status: int, headers: dict[str, str], seconds: float
) -> None:
    assert pause_of(status, headers.items()) == seconds


@pytest.mark.parametrize("unit", [1, 1000])
def test_time_of_a_reset_may_be_a_date(unit: int) -> None:
    reset = str(int((time.time() + 30) * unit))
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    assert 28 < pause_of(200, headers.items()) <= 30
