import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_normalize.records import snapshot
from llm_normalize.records.snapshot import Snapshot, unpacked


def received_of(made: Snapshot) -> bytes:
    """Return what came, of which not all left as it came."""
    assert made.received
    return unpacked(made.received)


def test_what_left_is_kept_and_what_came_is_not_unless_asked() -> None:
    made = Snapshot()
    made.add_received(b"came")
    assert made.add_sent(b"left")
    assert (made.body, made.received, made.is_cut) == (b"left", None, False)


def test_what_came_is_kept_where_it_is_not_what_left() -> None:
    made = Snapshot(both=True)
    for came, left in ((b"same", b"same"), (b"before", b"after"), (b"dropped", b"")):
        made.add_received(came)
        made.add_sent(left)
    assert made.body == b"sameafter"
    assert received_of(made) == b"samebeforedropped"


@given(st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9))))
def test_both_are_kept_whole(reads: list[tuple[bytes, bytes]]) -> None:
    made = Snapshot(both=True)
    for came, left in reads:
        made.add_received(came)
        made.add_sent(left)
    came = b"".join(each for each, _ in reads)
    assert made.body == b"".join(each for _, each in reads)
    assert (received_of(made) if made.received else made.body) == came
    assert not made.is_cut


def test_a_long_stream_takes_no_more_than_it_should() -> None:
    made = Snapshot(both=True)
    draw = random.Random(7)
    line = draw.randbytes(1000)
    for _ in range(20_000):
        made.add_received(line)
        made.add_sent(line[:-1])
    assert made.is_cut
    assert len(made.body) == snapshot.MAX_STORED
    assert sum(map(len, made.received or [])) < snapshot.MAX_STORED / 5
    assert len(made._sent) <= 20
    assert len(made._blocks) <= 2 * snapshot.MAX_STORED // (16 * 1024) + 2


@pytest.mark.parametrize("damaged", [["text"], [b"no zlib"], 7, None])
def test_what_is_damaged_is_refused(damaged: object) -> None:
    with pytest.raises(ValueError, match="the original answer is damaged"):
        unpacked(damaged)  # type: ignore[arg-type]


def test_bomb_in_a_file_stays_small() -> None:
    bomb = zlib.compress(bytes(64 * 1024 * 1024))
    assert len(unpacked([bomb] * 9)) <= 4 * snapshot.MAX_STORED
