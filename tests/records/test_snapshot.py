import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.records import snapshot
from llm_normalize.records.snapshot import Kept, unpacked


def came_of(made: Kept) -> bytes:
    """Return what came, of which not all left as it came."""
    assert made.came
    return unpacked(made.came)


def test_what_left_is_kept_and_what_came_is_not_unless_asked() -> None:
    made = Kept()
    made.take(b"came")
    assert made.add(b"left")
    assert (made.body, made.came, made.is_cut) == (b"left", None, False)


def test_what_came_is_kept_where_it_is_not_what_left() -> None:
    made = Kept(both=True)
    for came, left in ((b"same", b"same"), (b"before", b"after"), (b"dropped", b"")):
        made.take(came)
        made.add(left)
    assert made.body == b"sameafter"
    assert came_of(made) == b"samebeforedropped"


def test_what_left_as_it_came_is_kept_once() -> None:
    made = Kept(both=True)
    for _ in range(100):
        made.take(b"x" * 1000)
        made.add(b"x" * 1000)
    assert made.came == []
    assert made.body == b"x" * 100_000


@given(st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9))))
def test_both_are_kept_whole(reads: list[tuple[bytes, bytes]]) -> None:
    made = Kept(both=True)
    for came, left in reads:
        made.take(came)
        made.add(left)
    came = b"".join(each for each, _ in reads)
    assert made.body == b"".join(each for _, each in reads)
    assert (came_of(made) if made.came else made.body) == came
    assert not made.is_cut


@pytest.mark.parametrize("block", [1, 7, 16 * 1024])
@pytest.mark.parametrize("limit", [0, 1, 10, 100])
def test_both_are_kept_up_to_a_limit(
    block: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "_BLOCK", block)
    monkeypatch.setattr(snapshot, "LIMIT", limit)
    made = Kept(both=True)
    size = 0
    for at in range(20):
        made.take(b"%3d," % at)
        made.add(b"x" * 3)
        size += 3
        assert made.body == b"x" * min(size, limit)
        assert made.is_cut == (size // 3 * 4 > limit)
    assert (
        unpacked(made.came or []) == b"".join(b"%3d," % at for at in range(20))[:limit]
    )


def test_first_bytes_that_leave_make_a_block_and_then_a_number_of_them() -> None:
    made = Kept(both=True)
    for _ in range(100):  # it waits
        made.take(b"x")
        assert not made.add(b"")
    full = []
    for _ in range(40):
        made.take(b"x" * 1024)
        full.append(made.add(b"x" * 1024))
    assert full[0]
    assert sum(full) == 1 + 39 // 8


def test_what_is_cut_on_one_side_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LIMIT", 100)
    made = Kept(both=True)
    for came, left in ((b"a" * 90, b"b"), (b"c" * 20, b"d"), (b"same", b"same")):
        made.take(came)
        made.add(left)
        assert made.body
    assert made.body == b"bdsame"
    assert came_of(made) == b"a" * 90 + b"c" * 10
    assert made.is_cut


def test_a_long_stream_takes_no_more_than_it_should() -> None:
    made = Kept(both=True)
    draw = random.Random(7)
    line = draw.randbytes(1000)
    for _ in range(20_000):
        made.take(line)
        made.add(line[:-1])
    assert made.is_cut
    assert len(made.body) == snapshot.LIMIT
    assert sum(map(len, made.came or [])) < snapshot.LIMIT / 5
    assert len(made._left) <= 20
    assert len(made._blocks) <= 2 * snapshot.LIMIT // (16 * 1024) + 2


@pytest.mark.parametrize("damaged", [["text"], [b"no zlib"], 7, None])
def test_what_is_damaged_is_refused(damaged: object) -> None:
    with pytest.raises(ValueError, match="what came is damaged"):
        unpacked(damaged)  # type: ignore[arg-type]


def test_many_small_blocks_take_no_time() -> None:
    assert unpacked([zlib.compress(b"")] * 1_000_000) == b""


def test_bomb_in_a_file_stays_small() -> None:
    bomb = zlib.compress(bytes(64 * 1024 * 1024))
    assert len(unpacked([bomb] * 9)) <= 4 * snapshot.LIMIT
