import errno
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_normalize.records import log_file, pairs_log
from llm_normalize.records.pairs_log import PairsLog
from llm_normalize.records.record_line import Entry, TextPair, TextPairs

posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")


def until(true: Callable[[], bool]) -> None:
    """Wait for the log's thread; give up rather than hang."""
    for _ in range(20_000):
        if true():
            return
        time.sleep(0.001)
    pytest.fail("the log's thread did not get there")


def pair(n: int, before: bytes | None = b"a", after: tuple[bytes, ...] = ()) -> Entry:
    return Entry(
        {
            "type": "pair",
            "v": 1,
            "flow": "f",
            "n": n,
            "ms": 0.5,
            "fixes": ["x"],
            "before": before,
            "after": list(after),
        }
    )


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def numbers(path: Path) -> list[int]:
    return [line["n"] for line in lines(path) if line["type"] == "pair"]


class Disk:
    """Stands in for `os` in the module; its disk can be full, short or stuck."""

    def __init__(self) -> None:
        self.full = False
        self.room: int | None = None  # bytes until the disk is full
        self.can_truncate = True
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = threading.Event()
        self.writes: list[int] = []  # bytes of each

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, file: int, data: memoryview) -> int:
        self.waiting.set()
        assert self.gate.wait(20)
        if self.full or self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        size = min(len(data), len(data) if self.room is None else self.room)
        self.writes.append(size)
        if self.room is not None:
            self.room -= size
        return os.write(file, data[:size])

    def ftruncate(self, file: int, size: int) -> None:
        if not self.can_truncate:
            raise OSError(errno.EIO, "Input/output error")
        os.ftruncate(file, size)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk()
    monkeypatch.setattr(log_file, "os", made)
    yield made
    made.gate.set()


class Logs:
    """Makes logs that are closed when the test ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.said: list[str] = []
        self.open: list[PairsLog] = []

    def make(self, size: int = 1_000_000) -> PairsLog:
        log = PairsLog(self.path, size, self.said.append)
        self.open.append(log)
        return log


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Logs]:
    monkeypatch.setattr(pairs_log, "_BATCH_SECONDS", 0)
    made = Logs(tmp_path / "deep" / "normalize" / "pairs.jsonl")
    yield made
    for log in made.open:
        log.close()


def written(log: PairsLog) -> Callable[[], bool]:
    return lambda: log._handed == log._taken


# -- lines -------------------------------------------------------------------------


def test_lines_are_made_by_turns_unless_they_pile_up(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, slept, entries = logs.make(), list[float](), [pair(n) for n in range(100)]
    monkeypatch.setattr(pairs_log, "time", SimpleNamespace(sleep=slept.append))
    log._write(entries)
    log._closed = True  # mitmproxy waits for it
    log._write(entries)
    log._closed = False
    monkeypatch.setattr(pairs_log, "_BATCH", 0)
    log._write(entries)
    assert slept == [pairs_log._BREATH_SECONDS] * 3  # of the first ones
    assert numbers(logs.path) == [*range(100)] * 3


def test_a_log_without_records_makes_no_file(logs: Logs) -> None:
    logs.make().close()
    assert not logs.path.parent.exists()


def test_a_line_that_a_crash_left_half_does_not_spoil_the_next(logs: Logs) -> None:
    logs.path.parent.mkdir(parents=True)
    logs.path.write_bytes(b'{"type":"pair","v":1,"flo')
    log = logs.make()
    log.write(pair(1))
    log.close()
    assert json.loads(logs.path.read_bytes().splitlines()[-1])["n"] == 1


@posix
def test_only_the_owner_can_read_the_log(logs: Logs) -> None:
    old = os.umask(0)
    try:
        log = logs.make(size=1)
        log.write(pair(1))
        log.write(pair(2))
        log.close()
    finally:
        os.umask(old)
    folder = logs.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for each in folder.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600, each.name
    assert len(list(folder.iterdir())) == 3


# -- another instance --------------------------------------------------------------


def test_a_second_instance_takes_the_next_free_name_and_says_so(logs: Logs) -> None:
    made = [logs.make() for _ in range(3)]
    for n, log in enumerate(made):
        log.write(pair(n))
        until(written(log))
    second, third = (logs.path.with_name(f"pairs-{n}.jsonl") for n in (2, 3))
    assert [log.file.path for log in made] == [logs.path, second, third]
    assert [numbers(log.file.path) for log in made] == [[0], [1], [2]]
    assert logs.said == [
        f"{logs.path} is written by another instance; the pairs log is {second}",
        f"{logs.path} is written by another instance; the pairs log is {third}",
    ]


def test_without_a_free_name_records_are_lost_and_the_wish_stays(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(log_file, "_locked", lambda _: False)
        log = logs.make()
        log.write(pair(1))
        until(written(log))
    assert log.lost == 1
    assert len(logs.said) == 1
    assert f"no free name for {logs.path}" in logs.said[0]
    log.write(pair(2))
    log.close()
    assert numbers(logs.path) == [2]


# -- a full or slow disk -----------------------------------------------------------


def test_a_full_disk_costs_lines_that_are_counted(logs: Logs, disk: Disk) -> None:
    log = logs.make()
    disk.full = True
    for n in range(3):
        log.write(pair(n))
        until(written(log))
    assert log.lost == 3
    assert len(logs.said) == 1
    assert str(logs.path) in logs.said[0]
    assert "No space left" in logs.said[0]
    disk.full = False
    log.write(pair(3))
    log.write(pair(4))
    log.close()
    first, *rest = lines(logs.path)
    assert first == {"type": "lost", "count": 3}
    assert [each["n"] for each in rest] == [3, 4]


def test_a_half_line_that_cannot_be_taken_back_does_not_spoil_the_next(
    logs: Logs, disk: Disk
) -> None:
    log = logs.make()
    disk.room = 10
    disk.can_truncate = False
    log.write(pair(1))
    until(written(log))
    disk.room = None
    log.write(pair(2))
    log.close()
    _, *rest = logs.path.read_bytes().splitlines()
    assert [json.loads(line)["type"] for line in rest] == ["lost", "pair"]


def test_a_stuck_disk_never_holds_a_writer_and_its_queue_is_bounded(
    logs: Logs, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs_log, "_QUEUE_BYTES", 10_000)
    log = logs.make()
    disk.gate.clear()
    log.write(pair(0))
    assert disk.waiting.wait(20)
    for n in range(1, 101):
        log.write(pair(n, b"x" * 744))  # a thousand with its overhead
    assert log.lost == 91
    log.write(pair(101, b"", (b"x" * 20_000,)))  # `after` counts as well
    assert log.lost == 92
    disk.gate.set()
    until(written(log))
    log.write(pair(102))
    log.close()
    reported = [each for each in lines(logs.path) if each["type"] == "lost"]
    assert sum(each["count"] for each in reported) == 92
    assert numbers(logs.path) == [*range(10), 102]
    assert len(logs.said) == 1


@pytest.mark.parametrize(
    "bad",
    [
        Entry({"type": "flow", "model": object()}),
        pair(7, b'{"error":{"input":' + b"[" * 100_000),
    ],
    ids=["no json", "deep nesting"],
)
def test_a_record_that_cannot_be_formatted_costs_at_most_itself(
    logs: Logs, disk: Disk, caplog: pytest.LogCaptureFixture, bad: Entry
) -> None:
    log = logs.make()
    disk.gate.clear()
    log.write(pair(0))
    assert disk.waiting.wait(20)
    for record in (pair(1), bad, pair(2)):  # all in one batch
        log.write(record)
    disk.gate.set()
    log.close()
    assert log.lost <= 1
    assert [n for n in numbers(logs.path) if n != 7] == [0, 1, 2]
    assert len(caplog.records) <= 1


def test_a_sentence_that_cannot_be_said_costs_nothing(logs: Logs, disk: Disk) -> None:
    # mitmproxy's log handlers raise once its event loop is closed.
    def fail(_: str) -> None:
        raise RuntimeError

    log = PairsLog(logs.path, 1000, fail)
    logs.open.append(log)
    disk.full = True
    log.write(pair(0))
    until(written(log))
    assert log.lost == 1
    disk.full = False
    log.write(pair(1))
    log.close()
    assert numbers(logs.path) == [1]


def test_whatever_fails_the_thread_goes_on(
    logs: Logs, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError

    log = logs.make()
    with monkeypatch.context() as patch:
        patch.setattr(log, "_write", fail)
        log.write(pair(0))
        until(written(log))
    assert log.lost == 1
    assert len(caplog.records) == 1
    log.write(pair(1))
    log.close()
    assert [each["type"] for each in lines(logs.path)] == ["lost", "pair"]


def test_long_lines_are_not_all_written_at_once(logs: Logs, disk: Disk) -> None:
    log = logs.make(size=1 << 30)
    disk.gate.clear()
    log.write(pair(0))
    assert disk.waiting.wait(20)
    for n in range(1, 1001):
        log.write(pair(n, b"x" * 7000))
    disk.gate.set()
    log.close()
    assert numbers(logs.path) == list(range(1001))
    assert 500_000 < max(disk.writes) <= 1024 * 1024


def test_a_log_that_shares_its_name_lets_go_of_it_at_once(logs: Logs) -> None:
    old = logs.make()
    old.write(pair(0))
    until(written(old))
    old.share()
    until(lambda: old.file._lock is None)
    new = logs.make()
    new.write(pair(1))
    until(written(new))
    assert new.file.path == old.file.path
    old.close()
    new.close()


def test_a_pair_that_was_not_parsed_is_written_and_weighed(
    logs: Logs, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logs.make()
    form = TextPairs("f", (), ("x",), 0.0, (b"<", b">"), (b"[", b"]"), False)
    known: TextPair = (form, 3, 1.5, b"a")
    log.write(known)
    until(written(log))
    monkeypatch.setattr(pairs_log, "_QUEUE_BYTES", 100)
    log.write(known)
    log.close()
    assert log.lost == 1
    (reported,) = [each for each in lines(logs.path) if each["type"] == "pair"]
    assert (reported["n"], reported["before"], reported["after"]) == (3, "<a>", ["[a]"])
