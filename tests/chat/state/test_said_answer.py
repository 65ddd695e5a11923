"""What an answer has said is what its client has got, however it was received."""

import json
from pathlib import Path

import pytest

from llm_normalize.chat.state import said_answer as module
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.said_answer import SaidAnswer
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, chunk, wire
from streams import cuts

CAPTURES = sorted(Path(__file__).parents[2].glob("captures/*/*/response.sse"))
STREAM = Asked(stream=True)
SIGNATURE = {"google": {"thought_signature": "s"}}
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def said_in(out: bytes) -> tuple[str, list[str]]:
    """Return the reasoning and the ids of calls in what a client has got."""
    thoughts, ids = "", []
    for line in out.split(b"\n"):
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:]).get("choices") or ():
            delta = choice.get("delta") or {}
            if choice.get("index"):
                continue
            thoughts += delta.get("reasoning_content") or delta.get("reasoning") or ""
            ids += [
                call["id"] for call in delta.get("tool_calls") or () if "id" in call
            ]
    return thoughts, ids


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: "/".join(path.parts[-3:-1]))
def test_recorded_answer_has_said_what_its_client_got(path: Path) -> None:
    data = path.read_bytes()
    for reads in ([data], [data[at : at + 7] for at in range(0, len(data), 7)]):
        pipeline = Pipeline(STREAM, FIXES)
        pipeline.parser.budget_left = 1e9
        out = b"".join([part for read in reads for part in pipeline.feed(read)])
        out += b"".join(pipeline.end())
        said = pipeline.seen.said
        ids = [identity for identity, _ in said.calls.values()]
        if not pipeline.raw_events:
            assert (said.reasoning, ids) == said_in(out)


def thinking(*parts: str, text: tuple[str, ...] = ("a", "b", "c", "d")) -> bytes:
    chunks = [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"reasoning_content": part}) for part in parts),
        *(chunk({"content": part}) for part in text),
        chunk({}, finish="stop"),
    ]
    return wire([*chunks, DONE])


@pytest.mark.parametrize("last", ["x", 'é"\\\n', "\ud83d"])
def test_text_is_said_whether_events_were_parsed_or_not(last: str) -> None:
    data = thinking("One", " two", " three", " four", last)
    for reads in cuts(data):
        pipeline = Pipeline(STREAM, FIXES)
        for read in reads:
            pipeline.feed(read)
        pipeline.end()
        assert pipeline.said is not None
        assert pipeline.said.reasoning == f"One two three four{last}"
        assert pipeline.said.text == "abcd"


def test_answer_without_a_finish_has_said_nothing() -> None:
    pipeline = Pipeline(STREAM, FIXES)
    begun, _, _ = thinking("Hm.").rpartition(b"data: {")
    pipeline.feed(begun)
    assert pipeline.seen.said
    assert pipeline.said is None


def test_long_texts_and_many_calls_are_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_STORED", 20)
    said = SaidAnswer()
    for _ in range(4):
        said.note({"reasoning_content": "12345"})
    assert said.reasoning == "12345" * 4
    said.note({"reasoning_content": "1"})
    assert said.reasoning == ""
    for at in range(200):
        said.note({"tool_calls": [{**CALL, "index": at}]})
    assert len(said.calls) == 128


def test_fields_of_a_call_are_said_with_its_id() -> None:
    said = SaidAnswer()
    said.note({"tool_calls": [{**CALL, "index": 0}]})
    said.note({"tool_calls": [{"index": 0, "extra_content": SIGNATURE}]})
    assert said.calls == {0: ("c", {"extra_content": SIGNATURE})}
    assert said
