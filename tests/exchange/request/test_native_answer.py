"""What is remembered of answers in their client's own protocol."""

import tracemalloc

from llm_normalize.exchange.request.native_answer import AnswerIds


def test_ids_take_the_same_room_whatever_a_provider_sends() -> None:
    ids = AnswerIds()
    tracemalloc.start()
    try:
        assert all(ids.is_new(b"client", b"talk", f"{n:0100000}") for n in range(100))
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
    assert not ids.is_new(b"client", b"another talk", f"{7:0100000}")
    assert ids.is_new(b"another client", b"another talk", f"{7:0100000}")
