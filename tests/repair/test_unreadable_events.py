"""Events that no client can read, amid those that it can."""

import json
from typing import Any

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import (
    DONE,
    USAGE,
    Wire,
    calling,
    chunk,
    completion,
    head,
    rest,
    wire,
)
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import dumps, loads
from streams import repaired

HI = chunk({"role": "assistant", "content": "Hi"})
YOU = chunk({"content": " you"})
STOP = chunk({}, finish="stop")
UNASKED = Asked(stream=True)
ASKED = Asked(stream=True, usage=True)
HOLLOW = [
    b'data: {"id":"c","choices":[{"delta":{"con\n\n',
    b'data: {"a":1,}\n\n',
    b'data: ent":"Hi"}}]}\n\n',
    b"data: true\n\n",
    b"data: 5\n\n",
    b'data: "words"\n\n',
    b"data: []\n\n",
    b"data: [1,2]\n\n",
    b"data: [END\n\n",
    b"data: NaN\n\n",
    b"data: undefined\n\n",
    b"data: keep-alive\n\n",
    b"data: processing\n\n",
    b"data: 2026-11-22T10:00:00Z\n\n",
    b'data: {"choices":5}\n\n',
    b'data: {"status":"processing"}\n\n',
    b'data: {"message":"The queue is long"}\n\n',
    b'data: {"type":"response.created","response":{"id":"r"}}\n\n',
    b'data: {"type":"response.output_text.delta","delta":"Hi"}\n\n',
    b'event: hermes.tool.progress\ndata: {"tool":"web","status":"running"}\n\n',
    b"event: status\ndata: searching the web\n\n",
    b'data: {"x":1}\ndata: {"y":2}\n\n',
    b'event: tool.progress\ndata: {"result":{"error":"HTTP 404"}}\n\n',
    b'data: {"type":"tool_result","data":{"error":"not found"}}\n\n',
    b'data: {"tool":"web","result":{"error":"not found"}}\n\n',
]


@pytest.mark.parametrize("event", HOLLOW)
def test_what_no_client_can_read_becomes_a_newline(event: bytes) -> None:
    for before, after in (([], [HI, YOU]), ([HI], [YOU]), ([HI, YOU], [])):
        steps: list[EventRecord] = []
        out = repaired(wire([*before, event, *after, STOP, DONE]), steps=steps)
        left = [each for each in out.split(b"\n") if each]
        assert left == wire([HI, YOU, STOP, DONE]).strip().split(b"\n\n")
        assert [step for step in steps if step.before and step.before in event]
    late = repaired(wire([HI, STOP, DONE, event]))
    assert late.strip() == wire([HI, STOP, DONE]).strip()


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (b"data: Internal Server Error\n\n", "Internal Server Error"),
        (b"data: upstream timed out\n\n", "upstream timed out"),
        (b"data: upstream timed out\r\n\r\n", "upstream timed out"),
        (b"data: [ERROR] Busy\n\n", "[ERROR] Busy"),
        (b'data: "Internal Server Error"\n\n', "Internal Server Error"),
        (b"data: <html><title>502 Bad Gateway</title></html>\n\n", "502 Bad Gateway"),
        (b"data: {'error': 'Busy'}\n\n", "{'error': 'Busy'}"),
        (b'data: Error: {"detail":"Busy"}\n\n', 'Error: {"detail":"Busy"}'),
        (b"event: status\ndata: the search failed\n\n", "the search failed"),
        (b"upstream connect error\n\n", "upstream connect error"),
        (b"<html>\n<title>502 Bad Gateway</title></html>\n\n", "502 Bad Gateway"),
        (b'data: {"message":"Internal server error"}\n\n', "Internal server error"),
        (b'data: {"success":false,"x":"Busy"}\n\n', '{"success":false,"x":"Busy"}'),
        (
            b'data: {"type":"response.failed","response":{"error":{"message":"Busy"}}}\n\n',
            "Busy",
        ),
    ],
)
def test_words_become_an_error_that_clients_show(event: bytes, message: str) -> None:
    for before in ([], [HI], [HI, YOU]):
        out = repaired(wire([*before, event]))
        assert out.startswith(wire(before))
        error = loads(out[len(wire(before)) + 6 :])["error"]
        assert error["message"] == message
        assert {"message", "type", "param", "code"} <= error.keys()
        assert repaired(out) == out


@pytest.mark.parametrize("event", [{"response": "x"}, {"tool_calls": [{"name": "f"}]}])
def test_no_native_answer_is_read_after_chunks(event: Any) -> None:
    assert repaired(wire([HI, event, STOP, DONE])) == wire([HI, b"\n", STOP, DONE])


def test_usage_without_choices_counts_whatever_else_its_event_says() -> None:
    for more in ({"type": "usage"}, {"response": ""}):
        out = repaired(wire([HI, STOP, {**more, "usage": USAGE}, DONE]))
        assert b'"total_tokens":5' in out


# -- bytes that are no UTF-8 -----------------------------------------------------------

LATIN = wire([chunk({"role": None, "content": "caf@"})]).replace(b"@", b"\xe9")


def test_a_finish_beside_such_bytes_counts() -> None:
    last = LATIN.replace(b'"finish_reason":null', b'"finish_reason":"length"')
    assert repaired(wire([HI, last])) == wire([HI, last, DONE])
    assert repaired(wire([HI, last, DONE])) == wire([HI, last, DONE])


def test_a_body_with_such_bytes_is_repaired_or_stays() -> None:
    body = dumps(completion({"role": "assistant", "content": "caf@"}))
    good = body.replace(b"@", b"\xe9")
    assert repair_body(good, 200, Asked(), FIXES).after == [good]
    wrong = good.replace(b'"index":0,', b"")
    made = repair_body(wrong, 200, Asked(), FIXES).after[0].decode()
    message = json.loads(made)["choices"][0]["message"]
    assert message["content"] == "caf\N{REPLACEMENT CHARACTER}"
    refused = repair_body(b'{"error":{"message":"\xe9"}}', 400, Asked(), FIXES).after[0]
    assert json.loads(refused)["error"]["message"] == "\N{REPLACEMENT CHARACTER}"
    stream = wire([HI]) + LATIN + wire([STOP, DONE])
    assert repair_body(stream, 200, Asked(), FIXES).status == 502
    assert b"caf\xef\xbf\xbd" in repaired(good)


# -- log probabilities -------------------------------------------------------------------


def token(text: str, logprob: float, more: Any, *top: Any) -> Chunk:
    said = {"token": text, "logprob": logprob, "bytes": more}
    return {**said, "top_logprobs": [*top]}


def other(text: str, logprob: float, *more: int) -> Chunk:
    said = {"token": text, "logprob": logprob}
    return {**said, "bytes": [*more]} if more else said


LEGACY = {
    "tokens": ["H", "é"],
    "token_logprobs": [None, -0.5],
    "top_logprobs": [None, {"é": -0.5, "e": -1}],
    "content": None,
}
HALF = {
    "tokens": ["\ud83d"],
    "token_logprobs": [-1],
    "top_logprobs": [[{"token": "a", "bytes": "YQ=="}]],
}
FEWER = {
    "tokens": ["a", "b"],
    "token_logprobs": [-1, -1],
    "top_logprobs": [{"a": -1}],
}
MAPPED = [token("a", -1, "a") | {"top_logprobs": {"b": -2}}]
UNSURE = [token("b", -1, "?", {"token": "c"})]


@pytest.mark.parametrize(
    ("given", "content"),
    [
        (
            LEGACY,
            [
                token("H", -9999.0, [72]),
                token(
                    "é",
                    -0.5,
                    [195, 169],
                    other("é", -0.5, 195, 169),
                    other("e", -1, 101),
                ),
            ],
        ),
        (HALF, [token("\ud83d", -1, None, other("a", -9999.0, 97))]),
        (FEWER, [token("a", -1, [97]), token("b", -1, [98])]),
        ({"content": MAPPED}, [token("a", -1, [97], other("b", -2, 98))]),
        ({"content": UNSURE}, [token("b", -1, None, other("c", -9999.0))]),
    ],
)
def test_log_probabilities_have_openais_form(given: Any, content: Any) -> None:
    stream = repaired(
        wire([chunk({"role": "assistant", "content": "x"}, logprobs=given)])
    )
    made = json.loads(stream[6:])["choices"][0]["logprobs"]
    assert made["content"] == content
    body = completion({"role": "assistant", "content": "x"})
    body["choices"][0]["logprobs"] = given
    made = json.loads(repair_body(dumps(body), 200, Asked(), FIXES).after[0])
    assert made["choices"][0]["logprobs"]["content"] == content


# -- words that wait ---------------------------------------------------------------------

WORDS = [
    b"data: PROCESSING REQUEST\n\n",
    b"data: <html><title>502 Bad Gateway</title></html>\n\n",
    b"upstream connect error or disconnect\n\n",
    b"data: upstream timed out\n\n",
]
ARGUMENTS = [calling(head()), calling(rest(0, '{"a":')), calling(rest(0, "1}"))]
CALLED = chunk({}, finish="tool_calls")


@pytest.mark.parametrize("words", WORDS)
def test_words_amid_an_answer_that_goes_on_are_a_newline(words: bytes) -> None:
    orders: list[Wire] = [[words, HI, YOU], [HI, words, YOU], [HI, YOU, words]]
    for events in orders:
        steps: list[EventRecord] = []
        out = repaired(wire([*events, STOP, DONE]), steps=steps)
        assert (
            out.replace(b"\n\n\n", b"\n\n").strip()
            == wire([HI, YOU, STOP, DONE]).strip()
        )
        (step,) = [each for each in steps if each.before == words]
        assert (step.after, step.fixes) == ([b"\n"], ["error-as-words"])
    late = repaired(wire([HI, STOP, words, chunk(None, usage=USAGE), DONE]), ASKED)
    assert b'"error"' not in late


@pytest.mark.parametrize("words", WORDS)
def test_words_before_an_end_without_a_finish_are_an_error(words: bytes) -> None:
    for end in ([], [DONE]):
        out = repaired(wire([HI, words, *end]))
        assert out.startswith(wire([HI]) + b'data: {"error":{"message":')
        assert b'finish_reason":"' not in out


def test_words_that_wait_are_bounded() -> None:
    out = repaired(wire([HI, *WORDS[-1:] * 20]))
    assert out.count(b"upstream timed out") <= 8


def test_words_in_place_of_a_text_cost_no_body() -> None:
    made = repair_body(wire([HI, WORDS[-1], YOU, STOP, DONE]), 200, Asked(), FIXES)
    assert (made.status, b"Hi you" in made.after[0]) == (None, True)


def test_what_passes_unread_does_not_go_on_with_a_call_that_may_lack_a_part() -> None:
    half = b'data: {"choices":[{"delta":{"con\n\n'
    pipeline = Pipeline(UNASKED, FIXES)
    pipeline.feed(wire([*ARGUMENTS[:2], half]))
    pipeline.parser.budget_left = -1
    out = b"".join(pipeline.feed(wire([ARGUMENTS[2], CALLED, DONE])))
    assert out.startswith(b'data: {"error"')


@pytest.mark.parametrize("odd", [b"\xcf", b"\t"])
def test_what_some_client_may_read_passes_though_other_events_are_glued_to_it(
    odd: bytes,
) -> None:
    cut = wire([HI])[:-2].replace(b"Hi", odd) + b"x" + wire([HI])[6:]
    assert odd in repaired(wire([cut, STOP, DONE])).replace(b"\\t", b"\t")
