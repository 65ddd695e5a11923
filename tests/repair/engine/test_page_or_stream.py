from collections.abc import Iterable

import pytest

from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.fixes.error_bodies import ErrorUnwrapped
from llm_normalize.repair.engine.page_or_stream import PageOrStream
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.repair.outcome import EventRecord

LATER = wire([chunk({"content": "Hi"}), chunk({}, finish="stop"), DONE])
GOOD = wire([chunk({"role": "assistant", "content": ""})]) + LATER
ERROR = b'data: {"error":{"message":"%b","type":"server_error","param":null,"code":null}}\n\n'


class Stream:
    """One stream, and what was recorded of it."""

    def __init__(self, *, wraps: bool = True) -> None:
        self.records: list[EventRecord] = []
        fixes = [each for each in FIXES if wraps or each is not ErrorUnwrapped]
        self.pipeline = PageOrStream(
            Asked(stream=True), fixes, self.records.append, "a"
        )

    def feed(self, *parts: bytes) -> list[bytes]:
        return [b"".join(self.pipeline.feed(each)) for each in parts]

    def all(self, parts: Iterable[bytes]) -> bytes:
        return b"".join([*self.feed(*parts), *self.pipeline.end()])


def ways(data: bytes) -> list[list[bytes]]:
    """Return *data* in one read, and in reads of one byte and of five."""
    return [
        [data],
        *([data[i : i + n] for i in range(0, len(data), n)] for n in (1, 5)),
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"404 page not found\n", b"404 page not found"),
        (b"\xef\xbb\xbfupstream connect error", b"upstream connect error"),
        (b"database is locked", b"database is locked"),
        (b"ide", b"ide"),
        (b"\n <html>\n<style>\n:root {\n}\n</style>\n\n<p>Log in\n", b"Log in"),
    ],
)
def test_words_become_an_error_event(data: bytes, words: bytes) -> None:
    for parts in ways(data):
        stream = Stream()
        assert stream.all(parts).lstrip() == ERROR % words
        (record,) = stream.records
        assert record.fixes == ["error-unwrapped"]
        assert stream.pipeline.events == 1


@pytest.mark.parametrize(
    "data",
    [
        b"Notice: x\n" + GOOD,
        b"Warning\n\ndata: [DONE]\n\n",
        b'OK {"choices": []}',
        b"\xff\xfe a",
        b"...",
    ],
)
def test_what_may_be_an_answer_passes(data: bytes) -> None:
    stream = Stream()
    assert b'"error"' not in stream.all([data])


def test_words_pass_without_the_fix_and_where_repair_fails() -> None:
    assert Stream(wraps=False).all([b"Down\n"]) == b"Down\n"
    stream = Stream()
    assert stream.feed(b"Down") == [b""]
    assert stream.pipeline.holds
    assert stream.pipeline.abandon()
    assert stream.pipeline.rescue() == b"Down"
    assert not Stream().pipeline.abandon()


def test_words_are_an_error_event_before_a_break() -> None:
    pipeline = Stream().pipeline
    assert pipeline.feed(b"No such model") == []
    assert pipeline.release() == []
    (event,) = pipeline.release(last=True)
    assert b'"message":"No such model"' in event
    assert not pipeline.holds
