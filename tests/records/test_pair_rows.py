from typing import Any

import pytest

from llm_normalize.records import pair_rows
from llm_normalize.records.pair_rows import LastPair, Row, Rows


def add(made: Rows, n: int, block: bytes = b"b", count: int = 1) -> Any:
    row = made.add(n, 1.5, ["x"], block, [b"a"])
    made.count(row, count, (n + count - 1, block, (b"a",)))
    return row


def test_what_was_stored_does_not_change_later() -> None:
    made = Rows()
    row = add(made, 0)
    stored = made.stored()
    made.count(row, 1, (1, None, ()))
    assert stored["pairs"][0][5:] == [0, []]
    assert made.stored()["pairs"][0][5:] == [1, [1, None, []]]


def test_a_row_is_read_as_it_was_stored() -> None:
    for last in (None, LastPair(4, b"b", [b"a"])):
        row = Row(1, 1.5, ["x"], None, [b"a"], 3 if last else 0, last)
        assert Row.from_stored(row.stored()) == row


def test_large_rows_are_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_rows, "_BYTES", 10)
    monkeypatch.setattr(pair_rows, "_LONG", 5)
    made = Rows()
    add(made, 0, b"x" * 8)
    add(made, 1, b"x" * 5)
    add(made, 2, b"x" * 4)
    add(made, 3, b"")  # it would fit, but the gap is there
    stored = made.stored()
    assert [row[0] for row in stored["pairs"]] == [0, 2, 3]
    assert (stored["left_out"], stored["left_out_at"]) == (1, 1)


def test_long_last_pair_of_a_row_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_rows, "_LONG", 5)
    made = Rows()
    row = add(made, 0)
    made.count(row, 1, (1, b"x" * 5, [b"y"]))
    assert made.stored()["pairs"][0][5:] == [1, [1, b"b", [b"a"]]]
