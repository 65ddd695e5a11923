import json
from typing import Any

import pytest
from mitmproxy import contentviews, http
from mitmproxy.flow import Error

from llm_normalize.exchange.state.running_answer import RunningAnswer
from llm_normalize.exchange.state.settings import Settings
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.records import record_line
from llm_normalize.records.record_line import Entry, TextPair
from llm_normalize.records.snapshot import KEY
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import DONE, chunk, wire
from llm_normalize.views.before_after import BeforeAfter
from llm_normalize.views.transcript import Transcript
from llm_normalize.wire.content_encoding import Decoder, decoder_for
from proxies import BAD, GOOD, broken, chat_flow, response_of

NO_LOG: dict[str, Any] = {"observe": False, "strict": False, "log": None}
ALL = Settings(FIXES, **NO_LOG)


def streaming(made: http.HTTPFlow, **more: Any) -> RunningAnswer:
    """Return the answer of *made*, streamed through a rewriter."""
    running = RunningAnswer.of(made, Settings(FIXES, **({**NO_LOG, **more})))
    pipeline = Pipeline(running.asked, FIXES, running.record.add_event)
    running.rewriter = Rewriter(pipeline, Decoder(), snapshot=running.snapshot)
    return running


def test_what_runs_is_shown_and_more_of_it_when_it_has_doubled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown: list[int] = []
    made = chat_flow()

    def show_anew(flow: http.HTTPFlow) -> None:
        shown.append(len(response_of(flow).raw_content or b""))

    monkeypatch.setattr(
        "llm_normalize.exchange.state.running_answer.show_anew", show_anew
    )
    running = streaming(made)
    assert running.rewriter is not None
    for _ in range(8):
        running.rewriter.read(b"note: ?\n\n")
        running.show_growth()
    assert shown == [9, 18, 36, 72]
    assert made.metadata[KEY]["end"] == "running"
    running.show()
    assert len(response_of(made).raw_content or b"") == 72
    running.store(running.close(200, "complete"))
    assert made.metadata[KEY]["end"] == "complete"


@pytest.mark.parametrize(
    ("message", "end", "words"),
    [
        ("Server disconnected.", "upstream-broke", "the provider broke off"),
        ("Client disconnected.", "client-left", "the client left"),
        (Error.KILLED_MESSAGE, "upstream-broke", "it was killed"),
        (
            "Response body exceeds mitmproxy's body_size_limit.",
            "upstream-broke",
            "it is larger than mitmproxy's body_size_limit",
        ),
    ],
)
@pytest.mark.parametrize("data", [GOOD, BAD])
def test_list_of_flows_log_and_views_say_who_broke_off(
    caplog: pytest.LogCaptureFixture, data: bytes, message: str, end: str, words: str
) -> None:
    caplog.set_level("INFO")
    made = chat_flow()
    broken(made, message)
    running = streaming(made)
    assert running.rewriter is not None
    running.rewriter.read(data[: data.index(b"\n\n") + 2])
    running.broke()
    assert made.metadata[KEY]["end"] == end
    what = "1 of 1 events"
    if "Server" in message or "limit" in message:  # mitmproxy answers instead
        what = "error, status 200 -> 502,"
    repaired = f"{what} repaired (data-space-missing 1); " if data == BAD else ""
    assert made.comment == f"normalize: {repaired}{words}"
    assert made.marked == (":wrench:" if data == BAD else "")
    assert caplog.messages[-1].endswith(f" m: {repaired}{words}")
    for view, shown in (
        (BeforeAfter(), f"stream, ended early: {words}\n"),
        (Transcript(), f"broken off here: {words}\n"),
    ):
        metadata = contentviews.Metadata(flow=made, http_message=made.response)
        assert shown in view.prettify(response_of(made).raw_content or b"", metadata)


def test_corrupt_answer_is_not_called_a_client_that_left() -> None:
    made = chat_flow()
    broken(made, "Client disconnected.", connected=False)
    running = RunningAnswer.of(made, ALL)
    decoder = decoder_for("gzip")
    assert decoder is not None
    assert running.stream_through(decoder).read(b"this is not compressed") == []
    running.broke()
    assert made.metadata[KEY]["end"] == "upstream-broke"
    assert made.comment == "normalize: what the provider sent is corrupt"


def test_record_goes_to_the_log_without_the_secrets_of_the_request() -> None:
    lines: list[Entry] = []

    class Log:
        def write(self, entry: Entry) -> None:
            lines.append(entry)

    settings = Settings(FIXES, observe=False, strict=False, log=Log())  # type: ignore[arg-type]
    made = chat_flow()
    made.request.path = f"/nvapi-key{made.request.path}"
    RunningAnswer.of(made, settings).close(200, "complete")
    (entry,) = lines
    assert entry.record["path"] == "/***/v1/chat/completions"
    assert entry.record["flow"] == made.id
    assert {"nvapi-key", "SECRET"} <= set(entry.secrets)
    assert "nvapi-key" not in json.dumps(entry.record)


@pytest.mark.parametrize("stored", [True, False])
def test_secrets_are_looked_for_where_somebody_reads_the_record(stored: bool) -> None:
    settings = Settings(FIXES, shown=False, stored=stored, **NO_LOG)
    record = RunningAnswer.of(chat_flow(), settings).record
    assert bool(record.secrets) is (record.echo is not None) is stored


def nim(word: str, **more: Any) -> bytes:
    return wire([chunk({"role": None, "content": word}, **more)])


@pytest.mark.parametrize("observe", [False, True])
def test_log_has_the_same_lines_whether_anybody_looks_on_or_not(observe: bool) -> None:
    reads = [
        wire([chunk({"role": "assistant", "content": ""})]),
        *map(nim, [*"abcdefgh", "na\u00efve", '"tea"', "i", "j"]),
        *(nim(word, index=1) for word in "klmnop"),
        nim("two") + nim("of them"),
        *map(nim, "qrstuv"),
        wire([chunk({}, finish="stop"), DONE]),
        b"",
    ]
    logged = []
    for shown in (False, True):
        entries: list[Entry | TextPair] = []

        class Log:
            write = entries.append

        settings = Settings(
            FIXES,
            observe=observe,
            strict=False,
            log=Log(),  # type: ignore[arg-type]
            shown=shown,
            stored=shown,
        )
        made = chat_flow()
        running = RunningAnswer.of(made, settings)
        rewriter = running.stream_through(Decoder())
        for read in reads:
            rewriter.read(read)
        running.complete(200, running.figures())
        lines = [json.loads(record_line.line(each)) for each in entries]
        for each in lines:
            for key in ("flow", "ms", "time", "first_ms", "total_ms"):
                each.pop(key, None)
        logged.append(lines)
    alone, watched = logged
    assert alone == watched
    assert [each["n"] for each in alone[:-1]] == [*range(1, 28)]
