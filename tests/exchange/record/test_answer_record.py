import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from llm_normalize.exchange.record import answer_record
from llm_normalize.exchange.record.answer_record import AnswerRecord
from llm_normalize.records.record_line import Entry, Record, TextPair, TextPairs
from llm_normalize.records.snapshot import VERSION, Snapshot
from llm_normalize.repair.engine.text_memory import Around
from llm_normalize.repair.outcome import EventRecord


@dataclass
class Clock:
    """Stands in for `time` in the module."""

    now: float = 1_700_000_000.25
    steady: float = 50.0
    strftime: Callable[..., str] = time.strftime
    gmtime: Callable[..., time.struct_time] = time.gmtime

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.steady

    def tick(self, seconds: float) -> None:
        self.now += seconds
        self.steady += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(answer_record, "time", made)
    return made


def answer(records: list[Record] | None = None, **more: Any) -> AnswerRecord:
    given: dict[str, Any] = {
        "flow": "f1",
        "host": "a.test",
        "path": "/v1/chat/completions",
        "model": "m",
        "stream": True,
        "observe": False,
        "asked_at": 1_700_000_000.0,
    }
    if records is not None:

        def write(entry: Entry | TextPair) -> None:
            reported: Any = entry if isinstance(entry, tuple) else entry.record
            records.append(reported)

        given["write"] = write
    made = AnswerRecord(**(given | more))
    clock: Any = vars(answer_record)["time"]
    made._headers_at = clock.monotonic()  # the default is the real clock's
    return made


def test_the_flow_record_says_it_all(clock: Clock) -> None:
    records: list[Record] = []
    each = answer(records)
    clock.tick(0.5)
    each.add_event(EventRecord(0, b"same", [b"same"]))
    clock.tick(0.5)
    each.add_event(EventRecord(1, b"a", [], ["y"]))
    each.add_event(EventRecord(2, b"a", [b"b"], ["x", "y"]))
    clock.tick(1)
    closed = each.close(200, "complete", 3, 100, 90)
    assert records[-1] is closed
    assert list(closed.items()) == [
        ("type", "flow"),
        ("v", 1),
        ("flow", "f1"),
        ("time", "2023-11-14T22:13:22.250Z"),
        ("host", "a.test"),
        ("path", "/v1/chat/completions"),
        ("status", 200),
        ("model", "m"),
        ("stream", True),
        ("events", 3),
        ("changed", 2),
        ("fixes", {"y": 2, "x": 1}),
        ("bytes_in", 100),
        ("bytes_out", 90),
        ("first_ms", 750.0),
        ("total_ms", 2250.0),
        ("end", "complete"),
    ]


def test_the_metadata_holds_what_the_view_shows(clock: Clock) -> None:
    each = answer()
    clock.tick(0.001)
    each.add_event(EventRecord(0, b"a", [b"b", b"c"], ["x"]))
    each.add_event(EventRecord(1, None, [b"d"], ["y"]))
    each.add_event(EventRecord(2, b"a", [], ["y"]))
    closed = each.close(200, "client-left", 2, 1, 2)
    assert each.metadata(closed, Snapshot()) == {
        "v": VERSION,
        "observe": False,
        "host": "a.test",
        "model": "m",
        "status": 200,
        "stream": True,
        "events": 2,
        "changed": 2,
        "first_ms": 251.0,
        "total_ms": 251.0,
        "end": "client-left",
        "fixes": [["y", 2], ["x", 1]],
        "pairs": [
            [0, 1.0, ["x"], b"a", [b"b", b"c"], 0, []],
            [1, 1.0, ["y"], None, [b"d"], 0, []],
            [2, 1.0, ["y"], b"a", [], 0, []],
        ],
        "request": [],
        "left_out": 0,
        "left_out_at": 3,
        "is_cut": False,
        "received": None,
    }


SIMPLE = Around((b"<", b">"), (b"[", b"]"), ("x", "y"))


def rows(each: AnswerRecord) -> list[Any]:
    closed = each.close(200, "complete", 9, 9, 9)
    return list(each.metadata(closed, Snapshot())["pairs"])


def test_events_that_were_changed_alike_are_one_row(clock: Clock) -> None:
    each = answer()
    for n, text in enumerate((b"a", b"b", b"c")):
        clock.tick(0.001)
        each.count(n, b"<%s>" % text, b"[%s]" % text, SIMPLE)
    assert rows(each) == [
        [0, 1.0, ["x", "y"], b"<a>", [b"[a]"], 2, [2, b"<c>", [b"[c]"]]]
    ]
    assert (each.changed, dict(each.fixes)) == (3, {"x": 3, "y": 3})


@pytest.mark.usefixtures("clock")
def test_what_is_changed_otherwise_begins_a_row_and_so_does_what_follows() -> None:
    each = answer()
    each.count(0, b"<a>", b"[a]", SIMPLE)
    each.add_event(EventRecord(1, b"same", [b"same"]))
    each.count(2, b"<a>", b"[a]", SIMPLE)
    each.add_event(EventRecord(3, b"a", [b"b"], ["z"]))
    each.count(4, b"<a>", b"[a]", SIMPLE)
    assert [(row[0], row[5]) for row in rows(each)] == [(0, 1), (3, 0), (4, 0)]
    assert dict(each.fixes) == {"x": 3, "y": 3, "z": 1}


def test_an_event_that_was_not_parsed_is_handed_over_in_brief(clock: Clock) -> None:
    records: list[Any] = []
    each = answer(records)
    each.add_event(EventRecord(0, b"<a>", [b"[a]"], ["x"]))
    clock.tick(0.0126)
    each.count(1, b"<b>", b"[b]", SIMPLE)
    form = TextPairs("f1", (), ("x", "y"), 50.0, (b"<", b">"), (b"[", b"]"), False)
    assert records[1] == (form, 1, clock.steady, b"b")
    assert each.close(200, "complete", 2, 9, 9)["changed"] == 2


@pytest.mark.usefixtures("clock")
def test_a_translated_event_is_handed_over_whole() -> None:
    """What is sent for it has numbers of its own around the text."""
    records: list[Any] = []
    each = answer(records, protocol="responses")
    each.count(0, b"<a>", b"0 a", SIMPLE)
    each.count(1, b"<b>", b"", SIMPLE)
    assert [record["after"] for record in records] == [[b"0 a"], []]
    assert [row[4:] for row in rows(each)] == [[[b"0 a"], 1, [1, b"<b>", []]]]
