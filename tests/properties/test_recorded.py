"""Invariants over answers that real providers sent.

The recordings are other people's words, so they stay out of this repository: their
folder is named by LLM_CAPTURES, else it lies beside the repository.
"""

import json
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from each_case import each_case
from llm_normalize import conformance
from llm_normalize.chat.chunks.openai_fields import parts
from llm_normalize.chat.state.asked import Asked
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.content_encoding import Decoder
from streams import feed, repaired
from workshop.soak.check import closed

FOLDER = Path(
    os.environ.get("LLM_CAPTURES") or Path(__file__).parents[3] / "shared" / "captures"
)
MANIFEST = FOLDER / "manifest.json"
ENTRIES: list[dict[str, Any]] = (
    json.loads(MANIFEST.read_text()) if MANIFEST.exists() else []
)
# One recording holds two answers, and no request asks for that.
ERROR_KEYS = {"error"}
TWO_ANSWERS = "cerebras/zai-glm-4.7-cererebras-structured-output-tools-1.sse"
# A finish after each call, and usage after each choice: the first one has been sent if
# the second is late.
ENDS_TWICE = {
    TWO_ANSWERS,
    "openrouter/gemini-2.5-flash-lite-object-streaming.sse",
    "llamacpp/qwen3-1.7b-q4-k-m-two-candidates-streaming.sse",
}

pytestmark = pytest.mark.skipif(
    not ENTRIES, reason=f"no recorded answers in {FOLDER}; LLM_CAPTURES names a folder"
)


def is_fragment(entry: dict[str, Any]) -> bool:
    return "fragment" in (entry.get("notes") or "")


def asked_of(entry: dict[str, Any]) -> Asked:
    body = entry["request_body"]
    asked = Asked.from_body(json.dumps(body).encode() if body else None)
    return replace(asked, stream=bool(entry["stream"]))


def request_of(entry: dict[str, Any]) -> conformance.Request:
    return conformance.Request.from_body(entry["request_body"], stream=entry["stream"])


def data_of(entry: dict[str, Any]) -> bytes:
    path = FOLDER / str(entry["file"])
    return path.read_bytes()


def select(*, stream: bool, provider: tuple[str, ...] = ()) -> list[Any]:
    return [
        pytest.param(entry, id=entry["file"])
        for entry in ENTRIES
        if entry["file"].endswith(".sse") is stream
        and (not provider or entry["provider"] in provider)
    ]


def step_of(entry: dict[str, Any]) -> EventRecord:
    return repair_body(data_of(entry), entry["http_status"], asked_of(entry), FIXES)


def repair_whole(entry: dict[str, Any]) -> bytes:
    return step_of(entry).after[0]


@pytest.mark.parametrize("entry", select(stream=True))
def test_stream_keeps_its_meaning_at_every_cut_and_gets_openais_form(
    entry: dict[str, Any],
) -> None:
    data, asked = data_of(entry), asked_of(entry)
    out = repaired(data, asked)
    draw = random.Random(entry["file"])
    for _ in range(2):
        cuts = sorted(draw.sample(range(len(data)), min(20, len(data))))
        reads = [data[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
        assert b"".join(feed(reads, asked)) == out
    assert b"".join(feed([out], asked)) == out
    before, after = (
        conformance.meaning_of_stream(data),
        conformance.meaning_of_stream(out),
    )
    if entry["file"] == TWO_ANSWERS:
        # The second's usage is no second usage.
        before = replace(before, usage=after.usage)
    else:
        complete = not is_fragment(entry)
        assert conformance.check_stream(out, request_of(entry), complete=complete) == []
    assert conformance.lost(before, after) == []


def paused(data: bytes, asked: Asked, share: float, draw: random.Random) -> bytes:
    """Return what is sent where the provider pauses after this *share* of its lines."""
    pipeline = Pipeline(asked, FIXES)
    out = []
    for line in data.splitlines(keepends=True):
        out += pipeline.feed(line)
        if draw.random() < share:
            out += pipeline.release()
            assert pipeline.waiting is None
    return b"".join([*out, *pipeline.end()])


@pytest.mark.parametrize("entry", select(stream=True))
def test_stream_with_pauses_keeps_its_meaning_and_gets_openais_form(
    entry: dict[str, Any],
) -> None:
    data, asked = data_of(entry), asked_of(entry)
    draw = random.Random(entry["file"])
    before = conformance.meaning_of_stream(data)
    for share in (1, 0.1):
        out = paused(data, asked, share, draw)
        after = conformance.meaning_of_stream(out)
        # What was not asked for has no place behind a finish that has been sent.
        usage = before.usage if asked.usage else after.usage
        assert conformance.lost(replace(before, usage=usage), after) == []
        without = conformance.meaning_of_stream(repaired(data, asked))
        usage = without.usage if asked.usage else after.usage
        assert after == replace(without, usage=usage)
        complete = not is_fragment(entry)
        if entry["file"] not in ENDS_TWICE:
            assert (
                conformance.check_stream(out, request_of(entry), complete=complete)
                == []
            )


@pytest.mark.parametrize("entry", select(stream=True))
def test_stream_that_breaks_off_loses_and_forges_nothing(
    entry: dict[str, Any],
) -> None:
    data, asked = data_of(entry), asked_of(entry)
    draw = random.Random(entry["file"])
    # Most streams end with a finish reason, usage and `[DONE]`.
    places = [at for at in range(len(data)) if data.startswith(b"\n\n", at)]
    for at in [*draw.sample(range(len(data)), min(5, len(data))), *places[-3:]]:
        pipeline = Pipeline(asked, FIXES)
        sent = [*pipeline.feed(data[:at]), *pipeline.release(last=True)]
        if ends := pipeline.conclude():
            sent += pipeline.end()
        out = b"".join(sent)
        # Half an event has no meaning yet.
        before = conformance.meaning_of_stream(closed(data[:at]))
        before = replace(before, unread=[])
        assert (
            conformance.lost(before, conformance.meaning_of_stream(out), broke=True)
            == []
        )
        assert out.count(b"data: [DONE]") == ends
        finished = [each.finish_reason for each in before.choices.values()]
        assert all(finished) or not ends or before.done


@each_case(select(stream=True))
def test_strict_stream_has_no_field_that_openai_does_not_define(
    entry: dict[str, Any],
) -> None:
    out = b"".join(feed([data_of(entry)], replace(asked_of(entry), strict=True)))
    for event in conformance.events(out):
        payload = event.strip().removeprefix(b"data: ")
        if payload.startswith(b"{"):
            value = json.loads(payload)
            known = [(value, ERROR_KEYS)] if "error" in value else parts(value)
            assert [
                key for part, keys in known for key in part if key not in keys
            ] == []
    if entry["file"] != TWO_ANSWERS:
        complete = not is_fragment(entry)
        assert conformance.check_stream(out, request_of(entry), complete=complete) == []


@each_case(select(stream=False))
def test_strict_body_has_no_field_that_openai_does_not_define(
    entry: dict[str, Any],
) -> None:
    asked = replace(asked_of(entry), strict=True)
    step = repair_body(data_of(entry), entry["http_status"], asked, FIXES)
    value = json.loads(step.after[0])
    known = [(value, ERROR_KEYS)] if "error" in value else parts(value)
    assert [key for part, keys in known for key in part if key not in keys] == []


@each_case(select(stream=True))
def test_observing_counts_what_repairing_repairs_and_changes_no_byte(
    entry: dict[str, Any],
) -> None:
    data = data_of(entry)
    counts = []
    for repair in (True, False):
        steps: list[EventRecord] = []
        pipeline = Pipeline(asked_of(entry), FIXES, steps.append)
        rewriter = Rewriter(pipeline, Decoder(), repair=repair)
        reads = [data[at : at + 700] for at in range(0, len(data), 700)]
        out = b"".join(piece for read in [*reads, b""] for piece in rewriter.read(read))
        counts.append([(step.n, step.fixes, step.after) for step in steps])
        assert repair or out == data
    assert counts[0] == counts[1]


@each_case(select(stream=False))
def test_body_keeps_its_meaning_and_gets_openais_form(entry: dict[str, Any]) -> None:
    step = step_of(entry)
    out = step.after[0]
    before = conformance.meaning_of_body(data_of(entry))
    assert conformance.lost(before, conformance.meaning_of_body(out)) == []
    if (step.status or entry["http_status"]) >= 400:
        assert conformance.check_error_body(out) == []
    else:
        assert conformance.check_body(out, request_of(entry)) == []


@pytest.mark.parametrize(
    "entry",
    [
        each
        for stream in (True, False)
        for each in select(stream=stream, provider=("openai",))
    ],
)
def test_openai_leaves_byte_for_byte(entry: dict[str, Any]) -> None:
    if entry["file"].endswith(".sse"):
        assert repaired(data_of(entry), asked_of(entry)) == data_of(entry)
    else:
        assert repair_whole(entry) == data_of(entry)
