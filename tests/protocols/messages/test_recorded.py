"""What real providers sent, repaired, as messages: the form, and nothing lost."""

from dataclasses import replace
from typing import Any

import pytest

from each_case import each_case
from judge.messages_form import Object, Reader, check_body, check_error, read
from judge.strict import chunks
from llm_normalize import conformance
from llm_normalize.protocols.chat_answer import failure_in
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.messages.tool_ids import original
from llm_normalize.protocols.protocol import UntranslatableError
from llm_normalize.wire.json_text import loads
from properties.test_recorded import (
    ENTRIES,
    FOLDER,
    asked_of,
    data_of,
    repair_whole,
    select,
    step_of,
)
from streams import feed

REQUEST = {"model": "claude-x", "messages": []}

pytestmark = pytest.mark.skipif(
    not ENTRIES,
    reason=f"no recorded answers in {FOLDER}; LLM_CAPTURES names a folder",
)


def translated(out: bytes) -> Reader:
    """Read a repaired stream as its messages' client does."""
    answer = MESSAGES.translate(REQUEST).answer
    events: list[tuple[str, Object]] = []
    for value in chunks(out):
        failed = value.get("error")
        events += answer.error(failed) if failed else answer.chunk(value)
    if out.endswith(b"data: [DONE]\n\n"):
        return read([*events, *answer.done()])
    return Reader().read(events)


def choice_of(content: list[Object]) -> conformance.Choice:
    """Return what the blocks of a message say."""
    choice = conformance.Choice()
    for block in content:
        choice.text += block.get("text", "")
        choice.reasoning += block.get("thinking", "")
        if block["type"] == "tool_use":
            call_id = original(block["id"])
            call = conformance.Call(call_id, block["name"], block["input"])
            choice.calls.append(call)
    return choice


def text_of(choice: conformance.Choice) -> str:
    """Return what a choice says: blanks before a call say nothing."""
    text = choice.text + choice.refusal
    return text if text.strip() or not choice.calls else ""


def reasons_for(choice: conformance.Choice) -> str:
    words = {"length": "max_tokens", "content_filter": "refusal"}
    ended = "tool_use" if choice.calls else "end_turn"
    return words.get(str(choice.finish_reason), ended)


def check_figures(usage: Object, given: dict[str, object] | None) -> None:
    figures: Object = given or {}
    read_tokens = usage["cache_read_input_tokens"]
    details = figures.get("prompt_tokens_details") or {}
    prompt = figures.get("prompt_tokens") or 0
    cached = details.get("cached_tokens") or figures.get("prompt_cache_hit_tokens")
    assert read_tokens == min(prompt, cached or 0)
    written = usage["cache_creation_input_tokens"]
    whole = usage["input_tokens"] + read_tokens + written
    # What is not counted is estimated.
    assert whole == prompt or (whole > 0 and not prompt)
    said = figures.get("completion_tokens") or usage["output_tokens"]
    assert usage["output_tokens"] == said


@each_case(select(stream=True))
def test_stream_keeps_its_meaning_and_gets_anthropics_form(
    entry: dict[str, Any],
) -> None:
    asked = replace(asked_of(entry), usage=True)
    out = b"".join(feed([data_of(entry)], asked))
    reader = translated(out)
    assert reader.faults == []
    meaning = conformance.meaning_of_stream(out)
    assert bool(reader.error) == bool(meaning.errors)
    if reader.error:
        assert meaning.errors[0].message in reader.error["message"]
    said = meaning.choices.get(0, conformance.Choice())
    found = choice_of(reader.message.get("content", []))
    assert found.text == text_of(said)
    assert found.reasoning == said.reasoning
    if reader.error or not meaning.done:
        return
    assert found.calls == [
        replace(each, arguments=each.arguments or "{}") for each in said.calls
    ]
    assert reader.message["stop_reason"] == reasons_for(said)
    check_figures(reader.message["usage"], meaning.usage)


@each_case(select(stream=False))
def test_body_keeps_its_meaning_and_gets_anthropics_form(entry: dict[str, Any]) -> None:
    out = repair_whole(entry)
    value = loads(out)
    status = step_of(entry).status or entry["http_status"]
    meaning = conformance.meaning_of_body(out)
    if status >= 400:
        body = MESSAGES.error_body(status, value["error"])
        assert check_error(body) == []
        assert meaning.errors[0].message in body["error"]["message"]
        return
    answer = MESSAGES.translate(REQUEST).answer
    if error := failure_in(value):
        with pytest.raises(UntranslatableError, match=error["message"]):
            answer.body(value)
        return
    message = answer.body(value)
    assert check_body(message) == []
    said = meaning.choices[0]
    found = choice_of(message["content"])
    assert found.text == text_of(said)
    assert found.reasoning == said.reasoning
    assert [each.name for each in found.calls] == [each.name for each in said.calls]
    for block, call in zip(found.calls, said.calls, strict=True):
        whole: Any = block.arguments  # one recording has several objects in its place
        assert whole == {"INVALID_JSON": call.arguments} or whole == loads(
            call.arguments.encode()
        )
    assert message["stop_reason"] == reasons_for(said)
    check_figures(message["usage"], meaning.usage)
