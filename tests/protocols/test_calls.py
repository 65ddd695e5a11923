"""Ids of calls: none is there twice, nor taken for one that is known."""

from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.native_fixes import message_events as m
from llm_normalize.native_fixes.native_fix import wire
from llm_normalize.protocols.calls import CallIds
from llm_normalize.protocols.messages.native.message_reader import MessagesReader
from llm_normalize.protocols.native_reader import NativeAsked


def test_id_is_none_that_a_client_takes_for_a_known_one() -> None:
    ids = CallIds(["a"])
    given = ["a", "a_1", "b", "b", "b_1", None, None]
    due = ["a-2", "a_1-2", "b", "b-2", "b_1-2", "call_0", "call_0-2"]
    assert [*map(ids.take, given)] == due


def test_id_of_a_native_call_is_none_either() -> None:
    reader = MessagesReader(NativeAsked("exchange", "m", calls=["toolu-base64-YQ"]))
    stream = NativeStream(reader, lambda _: None, "stream")
    calls = [m.block("tool_use", id=each) for each in ("toolu-base64-YQ", "b")]
    sent = b"".join(stream.feed(wire([m.start(), *calls])))
    assert b'"a-2"' in sent
    assert b'"b"' not in sent  # it waits for the end of the first
