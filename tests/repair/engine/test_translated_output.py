"""What a stream sends whose client speaks another protocol."""

from collections.abc import Callable
from functools import partial

from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.engine.translated_output import TranslatedOutput
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.repair.outcome import EventRecord

HEAD = wire([chunk({"role": "assistant", "content": ""})])
TEXT = wire([chunk({"content": "Hi"})])
FINISH = wire([chunk({}, finish="stop")])


class Translation:
    """Translates by a function, and has no last event."""

    is_over = False

    def __init__(self, translate: Callable[[bytes], bytes]) -> None:
        self._translate = translate

    def __call__(self, data: bytes, /) -> bytes:
        return self._translate(data)


def played(*reads: bytes) -> tuple[list[bytes], list[EventRecord]]:
    """Return what is sent for each read, in capitals, and the records."""
    records: list[EventRecord] = []
    output = partial(TranslatedOutput, translate=Translation(bytes.upper))
    pipeline = Pipeline(Asked(stream=True), FIXES, records.append, make_output=output)
    out = [b"".join(pipeline.feed(read)) for read in reads]
    return [*out, b"".join(pipeline.end())], records


def test_each_event_is_translated_when_it_is_complete() -> None:
    events = (HEAD, *[TEXT] * 20, FINISH, DONE)
    out, records = played(*events)
    assert out[:-3] == [each.upper() for each in events[:-2]]
    assert b"".join(out[-3:]) == (FINISH + DONE).upper()
    assert [each.fixes for each in records] == [["translated"]] * len(events)
    assert [each.after for each in records] == [[each.upper()] for each in events]


def test_sign_of_life_and_newlines_are_translated() -> None:
    output = TranslatedOutput(
        lambda _: None, "", verbatim=True, translate=Translation(lambda data: data * 2)
    )
    assert output.passed(b"\n") == b"\n\n"
    out, (record, *_) = played(b": ping\n\n", TEXT + b"\n")
    assert out[0] == b"\n"
    assert record.fixes == ["comment-sent", "translated"]
