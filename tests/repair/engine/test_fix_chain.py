import json
from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.repair.engine import fix_chain
from llm_normalize.repair.engine.fix_chain import Chain
from llm_normalize.repair.fix import Fix, HoldingFix, chunk
from llm_normalize.repair.look import Finding
from llm_normalize.repair.outcome import EventRecord, Outgoing
from llm_normalize.wire.sse import Event
from streams import ANY

TEXT = chunk({"content": "Hi"})
RAW = b"raw"


class Mark(Fix):
    """Writes its letter into the chunk."""

    handles = ANY
    letter = "m"

    def edit(self, chunk: Chunk) -> bool:
        chunk["marks"] = chunk.get("marks", "") + self.letter
        return True


class A(Mark):
    name = "mark-a"
    letter = "a"


class B(Mark):
    name = "mark-b"
    letter = "b"


class Rider(Mark):
    name = "mark-rider"
    letter = "r"
    handles = Finding.LEFT_NULL


class Broken(Fix):
    name = "always-broken"
    handles = ANY

    def event(self, event: Event) -> list[Event] | None:
        raise RuntimeError

    def edit(self, chunk: Chunk) -> bool:
        chunk.clear()
        raise RuntimeError


class Idle(Fix):
    name = "always-idle"


def chain_of(*fixes: type[Fix]) -> Chain:
    return Chain(fixes, Asked(), Seen(), "a stream")


def run(*fixes: type[Fix]) -> tuple[list[Outgoing], EventRecord]:
    chain = chain_of(*fixes)
    step = EventRecord(0, RAW)
    payload = json.dumps(TEXT).encode()
    return list(chain.run(step, json.loads(payload), payload, RAW)), step


def marks(made: list[Outgoing]) -> list[Any]:
    return [
        (outgoing.chunk.get("part"), outgoing.chunk.get("marks")) for outgoing in made
    ]


def test_what_rides_is_applied_to_what_was_changed_after_all_fixes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Fails(Broken):
        handles = Finding.LEFT_NULL

    chain = chain_of(A, Fails, Rider)
    for _ in range(2):
        piece = Outgoing(EventRecord(0, RAW), {"x": 1}, None)
        chain.ride(piece)
        assert piece.chunk["marks"] == "r"
        assert piece.record.fixes == ["mark-rider"]
    assert len(caplog.records) == 1
    silent = chain_of(Idle, B)
    silent.ride(piece)
    assert piece.chunk["marks"] == "r"


def test_a_fix_that_fails_at_once_is_off_for_its_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(A):
        name = "broken"

        def __init__(self, asked: Asked, seen: Seen) -> None:
            raise RuntimeError

    made, step = run(Broken, A)
    assert (marks(made), step.fixes) == ([(None, "a")], ["mark-a"])
    assert "a stream: fix broken failed and is off for this answer" in caplog.text


def test_what_was_held_is_sent_though_no_fix_can_be_asked_any_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Holds(A, HoldingFix):
        name = "holds"

        def flush(self) -> list[Chunk]:
            return [dict(TEXT)]

    def fail(*_: object) -> None:
        raise RuntimeError

    chain = chain_of(Holds, B)
    assert marks(list(chain.run(EventRecord(0, RAW), dict(TEXT), b"{}", RAW)))
    monkeypatch.setattr(fix_chain, "look", fail)
    assert marks(list(chain.flush(EventRecord(0, None)))) == [(None, None)]
    assert "a stream: the held data passes as it is" in caplog.text


def held_back(chain: Chain, value: Chunk) -> tuple[list[Outgoing], list[str]]:
    """Return what *chain* makes of a chunk of which a part has been sent already."""
    record = EventRecord(0, RAW, after=[b"part"])
    payload = json.dumps(value).encode()
    return list(chain.run(record, json.loads(payload), payload, RAW)), record.fixes


def test_what_was_changed_before_a_fix_failed_is_sent_as_it_is_then() -> None:
    class Begins(Fix):
        name = "begins"
        handles = ANY

        def edit(self, chunk: Chunk) -> bool:
            chunk["begun"] = True
            raise RuntimeError

    class Asks(A):
        handles = Finding.LEFT_NULL

    made, fixes = held_back(chain_of(B, Begins, Asks), TEXT)
    assert marks(made) == [(None, "ba")]  # there was no such key before
    assert fixes == ["mark-b", "mark-a"]
