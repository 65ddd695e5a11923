import copy
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from each_case import each_case
from llm_normalize.conformance import (
    Call,
    Error,
    Meaning,
    Request,
    check_body,
    check_error_body,
    check_stream,
    chunk_faults,
    events,
    lost,
    meaning_of_body,
    meaning_of_stream,
    values,
)
from llm_normalize.conformance.finish_reasons import reason_meant

CAPTURES = Path(
    os.environ.get("LLM_CAPTURES")
    or Path(__file__).resolve().parents[3] / "shared" / "captures"
)

PLAIN = Request()
ASKED = Request(include_usage=True)
UNKNOWN = Request(include_usage=None)
TOOLS = Request(tools=True)
FORCED = Request(tools=True, forced_tool=True)

USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
DONE = "[DONE]"


def chunk(delta: Any = None, finish: Any = None, index: Any = 0, **top: Any) -> Any:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "tern-2",
        "choices": [choice],
        **top,
    }


def bare(**top: Any) -> Any:
    return chunk(choices=[], **top)


def sse(*items: Any) -> bytes:
    texts = [x if isinstance(x, str) else json.dumps(x) for x in items]
    return "".join(f"data: {text}\n\n" for text in texts).encode()


def call(index: int = 0, **fields: Any) -> Any:
    return {"tool_calls": [{"index": index, **fields}]}


def head(index: int = 0, arguments: Any = "", **fields: Any) -> Any:
    function = {"name": "find_ferry", "arguments": arguments}
    opening = {"id": f"call_{index}", "type": "function", "function": function}
    return call(index, **{**opening, **fields})


def arguments(text: Any, index: int = 0) -> Any:
    return call(index, function={"arguments": text})


OPEN = chunk({"role": "assistant", "content": ""})
OTHER_OPEN = chunk({"role": "assistant", "content": ""}, index=1)
NULL = chunk({"role": "assistant", "content": None})
TEXT = chunk({"content": "Low tide"})
STOP = chunk({}, "stop")
CALLS = chunk({}, "tool_calls")
ERROR = {"error": {"message": "out of fish", "type": "x", "param": None, "code": "y"}}
SCORE = {
    "type": "moderation_result",
    "model": "watch-1",
    "flagged": False,
    "categories": {"rude": False},
    "category_scores": {"rude": 0.01},
    "category_applied_input_types": {"rude": ["text"]},
}
SCORES: Any = {"type": "moderation_results", "model": "watch-1", "results": [SCORE]}
MODERATION = bare(usage=None, moderation={"input": SCORES, "output": SCORES})
TOKEN: Any = {"token": "Low", "logprob": -0.5, "bytes": [76], "top_logprobs": []}


def with_logprobs(value: Any) -> Any:
    choice = {"index": 0, "delta": {"content": "Low"}, "logprobs": value}
    return chunk(choices=[choice])


SAID_AT_ONCE = chunk({"role": "assistant", "content": "Low"})
FIRST = [chunk(head()), chunk(arguments("{}"))]
SECOND = [chunk(head(1)), chunk(arguments("{}", 1))]
LEGACY = [
    chunk({"function_call": {"name": "find_ferry", "arguments": ""}}),
    chunk({"function_call": {"arguments": "{}"}}),
]
EBB = chunk({"content": "ebb"}, index=1)
REFUSING = chunk({"role": "assistant", "content": "", "refusal": None})
MORE_KEYS = {**OPEN, "obfuscation": "kd", "service_tier": "default"}
GOOD_STREAMS = {
    "text": (PLAIN, sse(OPEN, TEXT, TEXT, STOP, DONE)),
    "text in the opening": (PLAIN, sse(SAID_AT_ONCE, STOP, DONE)),
    "tools, null in the opening": (TOOLS, sse(NULL, *FIRST, CALLS, DONE)),
    "two tools": (TOOLS, sse(OPEN, *FIRST, *SECOND, CALLS, DONE)),
    "text, then a tool": (TOOLS, sse(OPEN, TEXT, chunk(head()), CALLS, DONE)),
    "forced tool": (FORCED, sse(NULL, *FIRST, STOP, DONE)),
    "legacy call": (TOOLS, sse(NULL, *LEGACY, chunk({}, "function_call"), DONE)),
    "two choices": (
        Request(n=2),
        sse(OPEN, OTHER_OPEN, EBB, TEXT, chunk({}, "length", 1), STOP, DONE),
    ),
    "usage asked": (ASKED, sse(OPEN, TEXT, STOP, bare(usage=USAGE), DONE)),
    "usage unknown, bare": (UNKNOWN, sse(OPEN, STOP, bare(usage=USAGE), DONE)),
    "usage unknown, riding": (UNKNOWN, sse(OPEN, {**STOP, "usage": USAGE}, DONE)),
    "usage unknown, none": (UNKNOWN, sse(OPEN, STOP, DONE)),
    "moderation": (ASKED, sse(OPEN, STOP, bare(usage=USAGE), MODERATION, DONE)),
    "moderation, usage not asked": (PLAIN, sse(OPEN, STOP, MODERATION, DONE)),
    "refusal": (PLAIN, sse(REFUSING, chunk({"refusal": "No."}), STOP, DONE)),
    "refusal after null": (PLAIN, sse(NULL, chunk({"refusal": "No."}), STOP, DONE)),
    "audio": (PLAIN, sse(NULL, chunk({"audio": {"id": "a"}}), STOP, DONE)),
    "extra keys": (PLAIN, sse(MORE_KEYS, chunk({"reasoning": "hm"}), STOP, DONE)),
    "error alone": (PLAIN, sse(ERROR)),
    "error, then the provider's end": (PLAIN, sse(OPEN, ERROR, DONE)),
    "error after null": (TOOLS, sse(NULL, ERROR)),
    "raw characters": (
        PLAIN,
        sse(OPEN)
        + 'data: {"id":"chatcmpl-7","object":"chat.completion.chunk",'
        '"created":1700000000,"model":"tern-2","choices":[{"index":0,'
        '"delta":{"content":"Flut\u2028ebbe ≈ 🌊"}}]}\n\n'.encode()
        + sse(STOP, DONE),
    ),
}


@pytest.mark.parametrize("name", GOOD_STREAMS)
def test_conforming_stream_broken_off_or_whole(name: str) -> None:
    request, data = GOOD_STREAMS[name]
    assert check_stream(data, request) == []
    # The bytes of a word differ in nothing: each cut in a line end, some in a line.
    cuts = {*range(0, len(data), 7), *(at for at, x in enumerate(data) if x in b"\n:")}
    for end in cuts:
        assert check_stream(data[:end], request, complete=False) == []


def without(value: Any, *keys: str) -> Any:
    return {key: entry for key, entry in value.items() if key not in keys}


def framed(old: bytes, new: bytes) -> bytes:
    data = sse(OPEN, TEXT, STOP, DONE)
    assert old in data
    return data.replace(old, new, 1)


def middle(*items: Any) -> bytes:
    return sse(OPEN, *items, STOP, DONE)


def every(**fields: Any) -> bytes:
    return sse({**OPEN, **fields}, {**STOP, **fields}, DONE)


def called(*deltas: Any) -> bytes:
    return sse(NULL, *map(chunk, deltas), CALLS, DONE)


BAD_STREAMS: list[tuple[str, Request, bytes]] = [
    ("framing", PLAIN, sse(OPEN, STOP, DONE).replace(b"\n", b"\r\n")),
    ("framing", PLAIN, sse(OPEN, STOP, DONE).replace(b"\n", b"\r")),
    ("framing", PLAIN, framed(b"data: {", b"data:{")),
    ("framing", PLAIN, framed(b"data: {", b"data:  {")),
    ("framing", PLAIN, framed(b"data: [DONE]", b"data:[DONE]")),
    ("framing", PLAIN, framed(b"[DONE]", b"[DONE] ")),
    ("framing", PLAIN, b": ping\n\n" + sse(OPEN, STOP, DONE)),
    ("framing", PLAIN, b"event: chunk\n" + sse(OPEN, STOP, DONE)),
    ("framing", PLAIN, b"id: 1\n" + sse(OPEN, STOP, DONE)),
    ("framing", PLAIN, framed(b"\n\ndata: [", b"\ndata: [")),
    ("framing", PLAIN, sse(OPEN, STOP, DONE)[:-1]),
    ("framing", PLAIN, sse(OPEN, STOP, DONE)[:-2]),
    ("framing", PLAIN, middle(OPEN).replace(b"d", b"\xef\xbb\xbfd", 1)),
    ("framing", PLAIN, framed(b"Low", b"L\xf6w")),
    ("framing", PLAIN, middle("{'a': 1}")),
    ("framing", PLAIN, middle('{"error": NaN}')),
    ("framing", PLAIN, sse(OPEN) + b'data: {"a":\ndata: 1}\n\n' + sse(STOP, DONE)),
    ("envelope", PLAIN, middle({**TEXT, "object": "chat.completion"})),
    ("envelope", PLAIN, middle(without(TEXT, "id"))),
    ("envelope", PLAIN, middle({**TEXT, "id": None})),
    ("envelope", PLAIN, every(id="")),
    ("envelope", PLAIN, sse(OPEN, {**STOP, "id": "chatcmpl-8"}, DONE)),
    ("envelope", PLAIN, every(model="")),
    ("envelope", PLAIN, sse(OPEN, {**STOP, "model": "gull-1"}, DONE)),
    ("envelope", PLAIN, every(created=0)),
    ("envelope", PLAIN, sse(OPEN, {**STOP, "created": 1700000001}, DONE)),
    ("envelope", PLAIN, every(created="170")),
    ("envelope", PLAIN, every(created=170.5)),
    ("envelope", PLAIN, middle({**TEXT, "choices": None})),
    ("envelope", PLAIN, middle(without(TEXT, "choices"))),
    ("envelope", PLAIN, middle(chunk(choices=[{"delta": {"content": "x"}}]))),
    ("envelope", PLAIN, middle(chunk({"content": "x"}, index="0"))),
    ("envelope", PLAIN, middle(chunk(None))),
    ("envelope", PLAIN, middle(chunk(choices=[{"index": 0}]))),
    ("envelope", PLAIN, middle(chunk({"content": [{"type": "text"}]}))),
    ("envelope", PLAIN, middle(chunk({"refusal": {}}))),
    ("envelope", PLAIN, sse({**OPEN, "service_tier": "on_demand"}, STOP, DONE)),
    ("envelope", PLAIN, sse({**OPEN, "system_fingerprint": 3}, STOP, DONE)),
    ("envelope", PLAIN, middle(with_logprobs(-0.5))),
    ("envelope", ASKED, sse(OPEN, STOP, bare(usage={"total_tokens": 3}), DONE)),
    (
        "envelope",
        ASKED,
        sse(
            OPEN,
            STOP,
            bare(usage={**USAGE, "prompt_tokens_details": {"cached_tokens": "1"}}),
            DONE,
        ),
    ),
    (
        "envelope",
        PLAIN,
        sse(
            OPEN,
            STOP,
            bare(moderation={"input": SCORES, "output": {"type": "?"}}),
            DONE,
        ),
    ),
    ("framing", PLAIN, sse(OPEN) + b"data: [1]\n\n" + sse(STOP, DONE)),
    ("envelope", PLAIN, middle({"status": 500, "title": "Gone"})),
    ("role", PLAIN, sse(chunk({"content": ""}), STOP, DONE)),
    ("role", PLAIN, sse(chunk({"content": ""}), OPEN, STOP, DONE)),
    ("role", PLAIN, middle(chunk({"role": "assistant", "content": "x"}))),
    ("role", PLAIN, sse(chunk({"role": "tool", "content": ""}), STOP, DONE)),
    ("content", TOOLS, sse(NULL, TEXT, STOP, DONE)),
    ("content", PLAIN, sse(NULL, STOP, DONE)),
    ("content", TOOLS, sse(NULL, TEXT, chunk(head()), CALLS, DONE)),
    ("content", TOOLS, called({"content": "x", **head()})),
    ("content", PLAIN, middle(chunk({"content": None}))),
    ("content", TOOLS, called({"content": None, **head()})),
    ("content", PLAIN, middle(chunk({"content": None, "reasoning": "hm"}))),
    ("content", PLAIN, middle(chunk({"role": None, "content": "x"}))),
    ("content", PLAIN, middle(chunk({"content": "x", "tool_calls": None}))),
    ("content", PLAIN, middle(chunk({"content": "x", "function_call": None}))),
    ("tool-calls", TOOLS, called(head(1))),
    ("tool-calls", TOOLS, called(head(0), head(2))),
    ("tool-calls", TOOLS, called(head(id=None))),
    ("tool-calls", TOOLS, called(head(id=""))),
    ("tool-calls", TOOLS, called(head(type=None))),
    ("tool-calls", TOOLS, called(head(function={"arguments": ""}))),
    ("tool-calls", TOOLS, called(head(function={"name": "", "arguments": ""}))),
    ("tool-calls", TOOLS, called(head(function={"name": "f"}))),
    ("tool-calls", TOOLS, called(head(0, None))),
    ("tool-calls", TOOLS, called(head(0, "{}"))),
    ("tool-calls", TOOLS, called(head(), call(id=None, function={"arguments": "{}"}))),
    ("tool-calls", TOOLS, called(head(), call(function={}))),
    ("tool-calls", TOOLS, called(head(), call())),
    ("tool-calls", TOOLS, called(head(), arguments(None))),
    ("tool-calls", TOOLS, called(head(), head())),
    ("finish", PLAIN, sse(OPEN, TEXT, DONE)),
    ("finish", Request(n=2), middle(OTHER_OPEN)),
    ("finish", PLAIN, sse(DONE)),
    ("finish", PLAIN, sse(OPEN, chunk({"content": "x"}, "stop"), DONE)),
    ("finish", PLAIN, sse(OPEN, chunk({"content": ""}, "stop"), DONE)),
    ("finish", PLAIN, sse(chunk({"role": "assistant", "content": "x"}, "stop"), DONE)),
    ("finish", PLAIN, middle(STOP)),
    ("finish", PLAIN, sse(OPEN, STOP, TEXT, DONE)),
    ("finish", PLAIN, sse(OPEN, chunk({}, "eos"), DONE)),
    ("finish", PLAIN, sse(OPEN, chunk({"content": "x"}, None), chunk({}, ""), DONE)),
    ("finish", TOOLS, sse(OPEN, CALLS, DONE)),
    ("finish", TOOLS, sse(NULL, chunk(head()), chunk(arguments("{}")), STOP, DONE)),
    ("usage", ASKED, sse(OPEN, STOP, DONE)),
    ("usage", ASKED, sse(OPEN, {**STOP, "usage": USAGE}, DONE)),
    ("usage", ASKED, sse(OPEN, STOP, bare(usage=USAGE), bare(usage=USAGE), DONE)),
    ("usage", ASKED, sse({**OPEN, "usage": USAGE}, STOP, bare(usage=USAGE), DONE)),
    ("usage", ASKED, middle(bare(usage=USAGE))),
    ("usage", ASKED, sse(bare(), OPEN, STOP, bare(usage=USAGE), DONE)),
    ("usage", ASKED, sse(OPEN, STOP, {**MODERATION, "usage": USAGE}, DONE)),
    ("usage", PLAIN, sse(OPEN, STOP, bare(usage=USAGE), DONE)),
    ("usage", PLAIN, sse(bare(), OPEN, STOP, DONE)),
    ("usage", PLAIN, middle({**TEXT, "usage": USAGE})),
    ("usage", UNKNOWN, middle({**TEXT, "usage": USAGE})),
    ("usage", UNKNOWN, sse(OPEN, STOP, bare(), DONE)),
    ("done", PLAIN, sse(OPEN, TEXT, STOP)),
    ("done", PLAIN, sse(OPEN, STOP, DONE, DONE)),
    ("done", ASKED, sse(OPEN, STOP, DONE, bare(usage=USAGE))),
    ("error", PLAIN, sse(OPEN, {"error": "out of fish"})),
    ("error", PLAIN, sse(OPEN, {"error": {"code": "x"}})),
    ("error", PLAIN, sse(OPEN, {"error": {"message": "m", "code": 503}})),
    ("error", PLAIN, sse(OPEN, {**TEXT, **ERROR})),
]


@each_case(
    pytest.param(rule, request, data, id=f"{rule} {at}")
    for at, (rule, request, data) in enumerate(BAD_STREAMS)
)
def test_broken_rule_is_found(rule: str, request_: Request, data: bytes) -> None:
    found = {fault.split(": ")[0] for fault in check_stream(data, request_)}
    if rule == "framing":
        assert rule in found
    else:
        assert found == {rule}


def test_every_rule_has_a_broken_stream() -> None:
    rules = "framing envelope role content tool-calls finish usage done error"
    assert {rule for rule, *_ in BAD_STREAMS} == set(rules.split())


@pytest.mark.parametrize(
    ("rule", "data"),
    [
        ("done", sse(OPEN, TEXT, DONE)),
        ("role", sse(TEXT, TEXT)),
        ("finish", sse(OPEN, STOP, TEXT)),
        ("framing", sse(OPEN) + b"junk\n\n" + sse(TEXT)),
    ],
)
def test_broken_off_stream_still_forges_nothing(rule: str, data: bytes) -> None:
    faults = check_stream(data, PLAIN, complete=False)
    assert {fault.split(": ")[0] for fault in faults} == {rule}


def test_null_content_of_a_whole_stream_needs_its_tool_call() -> None:
    faults = check_stream(sse(NULL, DONE), TOOLS)
    assert [fault.split(": ")[0] for fault in faults] == ["content", "finish"]
    assert check_stream(sse(NULL), TOOLS, complete=False) == []


def test_fault_names_the_event() -> None:
    data = sse(OPEN, TEXT) + b"\n" + sse(OPEN, STOP, DONE)
    assert check_stream(data, PLAIN) == ["role: event 2 repeats the role of choice 0"]


# -- requests


def test_request_from_body() -> None:
    body: dict[str, object] = {
        "n": 3,
        "stream_options": {"include_usage": True},
        "tools": [{}],
        "tool_choice": {"type": "function", "function": {"name": "find_ferry"}},
    }
    wanted = Request(True, True, True, True, 3)
    assert Request.from_body(body, stream=True) == wanted
    plain = Request.from_body({"tool_choice": "required"}, stream=False)
    assert plain == Request(stream=False)
    assert Request.from_body(None, stream=True) == UNKNOWN


# -- bodies


def body(message: Any, finish: Any = "stop", **top: Any) -> Any:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    kind = {"object": "chat.completion", "usage": USAGE}
    return {**chunk(), **kind, "choices": [choice], **top}


SAID = {"role": "assistant", "content": "Low tide at six."}
FUNCTION = {"name": "find_ferry", "arguments": "{}"}
CALL = {"id": "call_0", "type": "function", "function": FUNCTION}
CALLED: Any = {"role": "assistant", "content": None, "tool_calls": [CALL]}


def changed(value: Any, *path: Any, to: Any) -> Any:
    result = copy.deepcopy(value)
    inner = result
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return result


@pytest.mark.parametrize(
    ("request_", "value"),
    [
        (PLAIN, body(SAID)),
        (TOOLS, body(without(CALLED, "content"), "tool_calls")),
        (FORCED, body(CALLED, "stop")),
        (PLAIN, body({**SAID, "content": None, "refusal": "No."})),
        (PLAIN, body({**SAID, "content": None}, "content_filter")),
    ],
)
def test_conforming_body(request_: Request, value: Any) -> None:
    assert check_body(json.dumps(value).encode(), request_) == []
    assert check_body(json.dumps(value, indent=2).encode() + b"\n", request_) == []


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("framing", ["no object"]),
        ("envelope", without(body(SAID), "object")),
        ("envelope", body(SAID, id="")),
        ("envelope", body(SAID, created=1.5)),
        ("envelope", body({**SAID, "audio": {"id": "a"}})),
        ("envelope", changed(body(SAID), "usage", "total_tokens", to=None)),
        ("content", body(without(SAID, "content"))),
        ("content", body({**SAID, "tool_calls": None})),
        ("content", body({**SAID, "function_call": None})),
        ("finish", body(SAID, None)),
        ("finish", body(SAID, "eos")),
        ("finish", body(CALLED, "stop")),
        ("finish", body(SAID, "tool_calls")),
        ("finish", body(SAID, "function_call")),
        ("finish", body(SAID, choices=[])),
        (
            "tool-calls",
            body(changed(CALLED, "tool_calls", 0, "id", to=""), "tool_calls"),
        ),
        ("usage", without(body(SAID), "usage")),
        ("usage", body(SAID, usage=None)),
        ("error", ERROR),
        ("error", body(SAID, **ERROR)),
    ],
)
def test_broken_body_is_found(rule: str, value: Any) -> None:
    faults = check_body(json.dumps(value).encode(), TOOLS)
    assert {fault.split(": ")[0] for fault in faults} == {rule}


@pytest.mark.parametrize("data", [b"", b"gone", b"{}}", b'\xff{"a":1}', b"[" * 100000])
def test_body_that_is_no_json(data: bytes) -> None:
    assert check_body(data, PLAIN)[0].startswith("framing: ")
    assert check_error_body(data)[0].startswith("framing: ")


def test_body_arguments_as_an_object() -> None:
    path = ("tool_calls", 0, "function", "arguments")
    value = body(changed(CALLED, *path, to={"to": "Skye"}), "tool_calls")
    (fault,) = check_body(json.dumps(value).encode(), TOOLS)
    assert fault.endswith(".function.arguments is not a string")


def test_error_bodies() -> None:
    assert check_error_body(json.dumps(ERROR).encode()) == []
    for bad in (
        {"error": "out of fish"},
        {"error": {"message": "out of fish"}},
        {"message": "out of fish"},
        changed(ERROR, "error", "code", to=429),
        changed(ERROR, "error", "message", to=None),
        {**ERROR, "choices": []},
    ):
        faults = check_error_body(json.dumps(bad).encode())
        assert {fault.split(": ")[0] for fault in faults} == {"error"}


# -- events


@pytest.mark.parametrize(
    "blocks",
    [
        [b"data: 1\n\n"],
        [b"\n\ndata: 1\n\n", b": ping\n\n", b"data: 2"],
        [b"data: 1\r\n\n", b"a\nb\n\r\n", b"c\r\r\n"],
    ],
)
def test_events(blocks: list[bytes]) -> None:
    assert events(b"".join(blocks)) == blocks


# -- meaning


def said(data: bytes) -> Any:
    return meaning_of_stream(data).choices[0]


MORE = chunk({"content": " at six"})
CLEAN = sse(OPEN, TEXT, MORE, STOP, DONE)
AT_ONCE = sse(chunk({"content": "Low tide at six"}, "stop"), DONE)


@pytest.mark.parametrize(
    "data",
    [
        CLEAN.replace(b"\n", b"\r\n"),
        b": hello\n\nretry: 9\n\n"
        + sse(OPEN, "null", TEXT, ": ping", MORE, STOP, DONE),
        b"event: x\nid: 4\n" + sse(TEXT, MORE, STOP, DONE),
        sse(
            chunk({"role": None, "content": None}),
            chunk({"role": "", "content": "Low tide"}, ""),
            chunk({"content": [{"type": "text", "text": " at six"}]}),
            chunk(None, "stop"),
            DONE,
        ),
        sse(
            chunk(choices=[{"message": {"content": "Low tide"}}]),
            chunk(choices=[{"message": {"content": "Low tide at six"}}]),
            chunk(choices=[{"finish_reason": "stop"}]),
            DONE,
        ),
        b"data: " + AT_ONCE,
        sse(
            {"result": {"response": "Low tide at six"}},
            {"finish_reason": "stop", "response": ""},
            DONE,
        ),
        sse(chunk({"content": ["Low tide", {"text": " at six"}]}, "stop"), DONE),
        sse(
            {"response": "Low tide"},
            {"response": " at six", "finish_reason": "stop"},
            DONE,
        ),
        sse(
            chunk(choices=[{"text": "Low tide at six", "finish_reason": "stop"}]), DONE
        ),
        AT_ONCE.replace(b'"choices"', b'\nevent\ndata: "choices"').replace(
            b'data: {"', b' {"'
        ),
        AT_ONCE.replace(b'"delta"', b'\ndata: data: "delta"'),
        AT_ONCE.replace(b'"stop"', b'"stop", "x": tr\ndata: ue'),
    ],
)
def test_careless_streams_mean_the_same(data: bytes) -> None:
    meaning = meaning_of_stream(data)
    assert meaning == meaning_of_stream(CLEAN)
    assert (meaning.choices[0].text, meaning.done) == ("Low tide at six", True)
    assert meaning.choices[0].finish_reason == "stop"


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"reasoning_text": "hm", "content": None},
        {"reasoning": "hm", "reasoning_content": "hm"},
        {"reasoning_content": "", "reasoning": "hm"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
            ]
        },
        {"content": [{"type": "reasoning", "summary": [{"text": "hm"}]}]},
    ],
)
def test_reasoning(delta: Any) -> None:
    choice = said(sse(OPEN, chunk(delta), TEXT, STOP, DONE))
    assert (choice.reasoning, choice.text) == ("hm", "Low tide")


WHOLE = '{"to":"Skye"}'
ONE = [Call("call_0", "find_ferry", WHOLE)]
TWO = [*ONE, Call("call_1", "find_ferry", WHOLE)]
NAMELESS = [replace(each, id="") for each in TWO]
LATER = {"arguments": WHOLE}
FERRY = {"name": "find_ferry", **LATER}
PARTS = ('{"to":', '"Skye"}')


def bare_calls(*calls: Any) -> Any:
    return {"tool_calls": [*calls]}


def bare_head(index: int, text: str = "") -> Any:
    return without(head(index, text)["tool_calls"][0], "index")


@pytest.mark.parametrize(
    ("calls", "deltas"),
    [
        (ONE, [head(), arguments('{"to":'), arguments('"Skye"}')]),
        (ONE, [head(0, '{"to":'), head(0, '"Skye"}')]),
        (ONE, [head(0, WHOLE), head(0, WHOLE)]),
        (ONE, [head(0, WHOLE), call(id=None, type=None, function={"name": None})]),
        (ONE, [head(), call(id="call_x", function={"arguments": WHOLE})]),
        (ONE, [head(0, '{"to":'), bare_calls({"function": {"arguments": '"Skye"}'}})]),
        (ONE, [call(id="call_0", function={"arguments": ""}), call(function=FERRY)]),
        (TWO, [head(0, WHOLE), head(1), arguments(WHOLE, 1)]),
        (TWO, [head(0), head(1), arguments(WHOLE, 1), arguments(WHOLE, 0)]),
        (TWO, [head(0, WHOLE), head(0, WHOLE, id="call_1")]),
        (TWO, [head(0), arguments(WHOLE), head(0, id="call_1"), arguments(WHOLE)]),
        (TWO, [bare_calls(bare_head(i), {"function": LATER}) for i in (0, 1)]),
        (TWO, [bare_calls(bare_head(i, part)) for i in (0, 1) for part in PARTS]),
        (NAMELESS, [bare_calls(*[{"function": FERRY}] * 2)]),
        ([Call("", x, "") for x in "fg"], [bare_calls({"name": "f"}, {"name": "g"})]),
    ],
)
def test_tool_calls(calls: list[Call], deltas: list[Any]) -> None:
    assert said(sse(NULL, *map(chunk, deltas), CALLS, DONE)).calls == calls


def test_arguments_as_an_object() -> None:
    (found,) = said(sse(NULL, chunk(head(0, {"to": "Skye"})), CALLS, DONE)).calls
    assert found == Call("call_0", "find_ferry", WHOLE, as_object=True)


def test_whole_call_with_object_sent_twice() -> None:
    twice = [chunk(head(0, {"to": "Skye"}))] * 2
    assert len(said(sse(NULL, *twice, CALLS, DONE)).calls) == 1


@pytest.mark.parametrize(
    "items",
    [
        [OPEN, STOP, bare(usage=USAGE)],
        [OPEN, bare(usage={**USAGE, "total_tokens": 1}), bare(usage=USAGE)],
        [OPEN, {**bare(usage=USAGE), "choices": None}],
        [OPEN, chunk(choices=[{"index": 0, "delta": {}, "usage": USAGE}])],
        [OPEN, {**STOP, "x_groq": {"usage": USAGE}}],
    ],
)
def test_usage(items: list[Any]) -> None:
    meaning = meaning_of_stream(sse(*items, DONE))
    assert meaning.usage == USAGE
    assert meaning.errors == []


FAILED = [{"code": 7, "message": "m"}]
UNSUCCESSFUL = {"success": False, "result": None, "errors": FAILED}
BASE = {"status_code": 9, "status_msg": "m"}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"error": "out of fish", "code": "gone"}, Error(("out of fish",), "gone")),
        ({"error": {"message": "m", "code": 503}}, Error(("m",), "503")),
        ({"detail": [{"loc": ["a"], "msg": "x"}, {"msg": "y"}]}, Error(("x", "y"))),
        (UNSUCCESSFUL, Error(("m",), "7")),
        ({"base_resp": BASE, "choices": None}, Error(("m",), "9")),
        ([{"error": {"message": "m", "code": 400}}], Error(("m",), "400")),
        ({"error": {"x": ['a"b', True]}}, Error(("a", "b"))),
        ({"error": {"x": "a\ud83db"}}, Error(("a", "b"))),
        ({"error": {"message": "m", "code": "null"}}, Error(("m",))),
        ({"error": True}, Error(())),
        ({"error": {"message": "m", "code": True}}, Error(("m",))),
        ({"choices": [], "errors": {"x": 1, "status_msg": "m"}}, Error(("m",))),
        ({"error": {"reason": "m", "x": "y"}}, Error(("m",))),
        ({"choices": [], "errors": {"x": "m", "message": 5}}, Error(("5",))),
        ({"choices": [], "errors": "m", "usage": USAGE}, Error(("m",))),
        ({**TEXT, "errors": [{"message": "m", "code": 1}]}, Error(("m",), "1")),
        ({"choices": [{"error": {"message": "m", "code": 1}}]}, Error(("m",), "1")),
    ],
)
def test_errors(value: Any, error: Error) -> None:
    assert meaning_of_stream(sse(value)).errors == [error]
    meaning = meaning_of_body(json.dumps(value).encode())
    assert (meaning.errors, meaning.streamed) == ([error], False)


@pytest.mark.parametrize("answer", [{"response": "Low tide"}, {"tool_calls": []}])
def test_words_in_a_result_beside_an_answer_are_a_notice(answer: Any) -> None:
    meaning = meant({"result": {"message": "m"}, **answer})
    assert (meaning.errors, [*meaning.choices]) == ([], [0])
    failed = meant({"result": {"error": "m"}, **answer})
    assert failed.errors == [Error(("m",))]


@pytest.mark.parametrize("head", [b"error: ", b"error:", b"data: "])
@pytest.mark.parametrize("value", [ERROR, ERROR["error"]])
def test_error_in_a_field_of_its_own_is_one(head: bytes, value: Any) -> None:
    wire = sse(OPEN, TEXT) + head + json.dumps(value).encode() + b"\n\n"
    meaning = meaning_of_stream(wire)
    assert (meaning.errors, meaning.unread) == ([Error(("out of fish",), "y")], [])
    assert meaning_of_body(b"error: no such pier\n").unread == ["error: no such pier"]


@pytest.mark.parametrize(
    ("value", "may"),
    [
        (bare(detail="m"), True),
        (chunk({"role": "assistant"}, message="m"), True),
        (chunk({}, errors=1), True),
        ({**TEXT, "errors": 1}, True),
        ({**TEXT, "detail": "m"}, False),
        ({**STOP, "detail": "m"}, False),
    ],
)
def test_words_beside_choices_that_say_nothing_may_be_an_error(
    value: Any, may: bool
) -> None:
    before = meant(value)
    assert (before.errors, bool(before.doubtful)) == ([], may)
    same = {"error": {"message": "".join(before.doubtful)}}
    assert bool(lost(before, meant(value, same))) is not may
    assert lost(before, meant(value, ERROR)) != []


def test_content_that_is_an_object_means_its_json() -> None:
    choice = said(sse(OPEN, chunk({"content": {"tide": "low", "at": 7}}), DONE))
    assert (choice.text, choice.as_object) == ('{"at":7,"tide":"low"}', True)


def test_log_probabilities() -> None:
    wanted: Any = [("Low", -0.5, [])]
    assert said(sse(with_logprobs({"content": [TOKEN]}))).logprobs == wanted
    legacy = {"tokens": ["Low"], "token_logprobs": [-0.5]}
    assert said(sse(with_logprobs(legacy))).logprobs == wanted


# -- lost

RICH = sse(
    OPEN,
    chunk({"reasoning_content": "hm"}),
    with_logprobs({"content": [TOKEN]}),
    chunk({"refusal": "No."}),
    chunk(head(0, WHOLE)),
    chunk({}, "tool_calls"),
    bare(usage=USAGE),
    DONE,
)


def edited(old: bytes, new: bytes) -> bytes:
    assert old in RICH
    return RICH.replace(old, new)


@pytest.mark.parametrize(
    ("word", "after"),
    [
        ("text", edited(b'"content": "Low"', b'"content": "Lo"')),
        ("reasoning", edited(b'"hm"', b'""')),
        ("refusal", edited(b'"No."', b"null")),
        ("id", edited(b"call_0", b"call_9")),
        ("tool calls", edited(b'"tool_calls": [', b'"other": [')),
        ("usage", edited(b'"usage"', b'"other"')),
        ("[DONE]", edited(b"data: [DONE]\n\n", b"")),
    ],
)
def test_loss_is_found(word: str, after: bytes) -> None:
    faults = lost(meaning_of_stream(RICH), meaning_of_stream(after))
    assert len(faults) == 1
    assert word in faults[0]


@pytest.mark.parametrize(
    ("more", "figures"),
    [
        (
            {"prompt_tokens_details": {"cached_tokens": 1}},
            ["prompt_tokens_details.cached_tokens 1"],
        ),
        ({"cost": "0.25"}, ["cost 0.25"]),
        ({"prompt_tokens_details": 1}, []),
    ],
)
def test_figure_of_usage_is_a_number(more: Any, figures: list[str]) -> None:
    before, after = (
        meaning_of_stream(sse(OPEN, STOP, bare(usage=usage), DONE))
        for usage in (USAGE | more, USAGE)
    )
    gone = [f"usage: {figure} became None" for figure in figures]
    assert lost(before, after) == gone
    assert lost(after, before) == []


def meant(*items: Any) -> Meaning:
    return meaning_of_stream(sse(*items))


OTHER = chunk({}, index=1)
NUMBERED = {"error": {"message": "m", "code": 503}}
SPELLED = {"error": {"message": "m", "code": "503", "type": "t", "param": None}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (meant(OPEN, chunk({}, "eos"), DONE), meant(OPEN, STOP, DONE)),
        (meant(OPEN, chunk({}, "MAX_TOKENS")), meant(OPEN, chunk({}, "length"), DONE)),
        (meant(NULL, chunk(head()), STOP), meant(NULL, chunk(head()), CALLS)),
        (meant(OPEN, TEXT, DONE), meant(OPEN, TEXT, STOP, DONE)),
        (meant(OPEN, TEXT, STOP, OTHER), meant(OPEN, TEXT, STOP, DONE)),
        (meant(OPEN, chunk({}, "error")), meant(OPEN, ERROR)),
        (meant(NUMBERED), meant(SPELLED)),
        (
            meaning_of_body(b"no such pier"),
            meant(changed(ERROR, "error", "message", to="no such pier")),
        ),
        (
            meant(chunk(head(0, {"to": "Skye"}))),
            meant(chunk(head(0, '{"to": "Skye"}'))),
        ),
        (meant(chunk(head(0, None))), meant(chunk(head(0, "{}")))),
        (meant(chunk(head(id=None))), meant(chunk(head(id="call_new")))),
        (
            meant(bare(usage={"input_tokens": 9.0, "output_tokens": "4"})),
            meant(bare(usage=USAGE)),
        ),
        (meant(bare(usage={"total_tokens": 0})), meant(OPEN)),
        (
            meant(bare(usage={"total_tokens": 1.5, "prompt_tokens_details": 7})),
            meant(bare(usage={"total_tokens": 1, "prompt_tokens_details": None})),
        ),
        (meant(chunk({"content": {"a": 1}})), meant(chunk({"content": '{"a": 1}'}))),
        (
            meant(chunk(head(0, '{"a":1}{"a": 1} {"b":2}'))),
            meant(chunk(head(0, '{"a":1}')), chunk(head(1, '{"b":2}'))),
        ),
        (
            meant(chunk(head(0, '{"a":1}{"b'))),
            meant(chunk(head(0, '{"a":1}')), chunk(head(1, '{"b'))),
        ),
        *(
            (
                meant(chunk(head(0, cut)), CALLS),
                meant(chunk(head(0, cut)), chunk({}, "length")),
            )
            for cut in ('{"a":', '{"a":"b', '{"a":tr', '{"a":"\\', '{"a":-')
        ),
        (
            meaning_of_body(json.dumps(without(body(SAID), "usage")).encode()),
            meaning_of_body(
                json.dumps(body(SAID, usage=dict.fromkeys(USAGE, 0))).encode()
            ),
        ),
        (
            meaning_of_body(json.dumps(body(SAID, None)).encode()),
            meaning_of_body(json.dumps(body(SAID)).encode()),
        ),
    ],
)
def test_repair_is_no_loss(before: Meaning, after: Meaning) -> None:
    after.choices = after.choices or before.choices
    before.choices = before.choices or after.choices
    assert lost(before, after) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (meant(OPEN, TEXT), meant(OPEN, TEXT, STOP)),
        (meant(OPEN, TEXT), meant(OPEN, TEXT, DONE)),
        (meant(OPEN, TEXT, ERROR, DONE), meant(OPEN, TEXT, STOP, ERROR, DONE)),
        (meant(OPEN, STOP, ERROR), meant(OPEN, STOP, ERROR, DONE)),
        (meant(OPEN, chunk({}, "error")), meant(OPEN, STOP)),
        (meant(OPEN, STOP), meant(OPEN, STOP, bare(usage=USAGE))),
        (meant(OPEN, STOP), meant(OPEN, STOP, ERROR)),
        (meant(bare(usage={"x": 1.5})), meant(bare(usage={"x": 1}))),
        (meant(OPEN, STOP, chunk({}, index=1)), meant(OPEN, STOP, OTHER, DONE)),
        (meant(NUMBERED), meant(changed(SPELLED, "error", "code", to=None))),
        (meant(OPEN, "oh no"), meant(OPEN)),
        (meant(chunk({"content": {"a": 1}})), meant(chunk({"content": "{a: 1"}))),
        (meant(chunk(head(0, WHOLE))), meant(chunk(head(0, WHOLE.replace(":", ": "))))),
        (
            meant(chunk(head(0, WHOLE)), CALLS),
            meant(chunk(head(0, WHOLE)), chunk({}, "length")),
        ),
        (
            meant(chunk(head(0, "a: 1")), CALLS),
            meant(chunk(head(0, "a: 1")), chunk({}, "length")),
        ),
        (
            meant(chunk(head(0, WHOLE))),
            meant(chunk(head(0, WHOLE)), chunk(head(1, WHOLE))),
        ),
    ],
)
def test_forged_or_lost(before: Meaning, after: Meaning) -> None:
    assert len(lost(before, after)) == 1


@pytest.mark.parametrize("event", ["{oops", "7", "[1]", 'ent":"Hi"}}]}'])
def test_what_no_client_can_read_may_go(event: str) -> None:
    assert lost(meant(OPEN, event), meant(OPEN)) == []


# -- against the recordings


MANIFEST = CAPTURES / "manifest.json"
needs_recordings = pytest.mark.skipif(
    not MANIFEST.is_file(),
    reason="no recorded captures; LLM_CAPTURES names their folder",
)


def recorded(provider: str = "") -> list[Any]:
    if not MANIFEST.is_file():
        return []
    entries = json.loads(MANIFEST.read_text(encoding="utf-8"))
    files = [each for each in entries if each["file"].startswith(provider)]
    return [pytest.param(entry, id=entry["file"]) for entry in files]


@needs_recordings
@each_case(recorded("openai/"))
def test_openai_conforms(entry: Any) -> None:
    data = (CAPTURES / entry["file"]).read_bytes()
    request = Request.from_body(entry["request_body"], stream=entry["stream"])
    if entry["http_status"] >= 400:
        assert check_error_body(data) == []
    elif entry["stream"]:
        assert check_stream(data, request) == []
    else:
        assert check_body(data, request) == []


@needs_recordings
@each_case(recorded())
def test_any_recording_is_understood(entry: Any) -> None:
    data = (CAPTURES / entry["file"]).read_bytes()
    assert b"".join(events(data)) == data
    meaning = meaning_of_stream(data)
    assert meaning.choices or meaning.errors or meaning.unread
    assert not meaning.unread or entry["http_status"] >= 400
    assert bool(meaning.errors or meaning.unread) >= (entry["http_status"] >= 400)
    assert lost(meaning, meaning) == []


def test_words_behind_values_over_several_lines_cost_none_of_them() -> None:
    values = json.dumps(body(SAID), indent=1) + "{}retry: 5\n\n"
    meaning = meaning_of_stream(values.encode() + sse(DONE))
    assert meaning.choices[0].finish_reason == "stop"
    assert meaning.doubtful == ["retry: 5"]  # the answer was over


def test_the_name_of_an_event_may_tell_of_an_error() -> None:
    named = meaning_of_stream(b"event: error\n\n")
    reported = meaning_of_stream(sse({"error": {"message": "no"}}))
    assert lost(named, reported) == []
    assert lost(meaning_of_stream(b"event: ping\n\n"), reported) != []


def test_legacy_call_may_be_told_by_what_a_tool_call_got() -> None:
    call = {"name": "f", "arguments": "{}"}
    bare = {"id": "a", "type": "function", "function": {"name": "f"}}
    now = meaning_of_stream(sse(chunk({"tool_calls": [{**bare, "function": call}]})))
    reported = {"tool_calls": [bare], "function_call": call}
    assert lost(meaning_of_stream(sse(chunk(reported))), now) == []
    whole = {"tool_calls": [{**bare, "function": call}], "function_call": call}
    assert lost(meaning_of_stream(sse(chunk(whole), chunk(whole))), now) == []
    other = {**whole, "function_call": {"name": "f", "arguments": "[]"}}
    assert lost(meaning_of_stream(sse(chunk(other))), now) != []


def test_legacy_call_may_be_a_tool_call_for_who_asked_with_tools() -> None:
    call = {"name": "find_ferry", "arguments": "{}"}
    before = meant(chunk({"function_call": call}))
    assert lost(before, meant(chunk(head(0, "{}")))) == []
    assert lost(before, meant(chunk(head(0, "[]")))) != []
    assert lost(before, meant(NULL)) != []


def test_values_are_those_of_a_stream_or_a_body() -> None:
    assert values(b"data:{} [1]\n\n: ping\n\ndata: [DONE]\n\n") == [{}, [1]]
    assert values(b'{"a":1}') == [{"a": 1}]


def test_map_that_is_none_is_found() -> None:
    scores = changed(SCORES, "results", 0, "categories", to=[])
    moderation = {"input": scores, "output": SCORES}
    value = bare(usage=None, moderation=moderation)
    (fault,) = chunk_faults(value)
    assert fault == "moderation.input.results[0].categories is not an object"


@pytest.mark.parametrize(
    ("reason", "openai"),
    [
        ("eosToken", "stop"),
        ("quota exceeded", "error"),
        ("503", "error"),
        ("stop_token_found", "stop"),
        ("max-new-tokens", "length"),
        ("unsafe", "content_filter"),
        ("Tool calls made", "tool_calls"),
    ],
)
def test_finish_word_means_one_of_openais(reason: str, openai: str) -> None:
    assert reason_meant(reason) == openai


@pytest.mark.parametrize("key", ["delta", "message"])
def test_parts_in_a_list_are_read_one_by_one(key: str) -> None:
    parts = [{"content": "Hi"}, {"content": " you"}]
    data = json.dumps({"choices": [{"index": 0, key: parts}]}).encode()
    meaning = meaning_of_stream(b"data: " + data + b"\n\n")
    assert meaning.choices[0].text.startswith("Hi")


@pytest.mark.parametrize("tops", [{"Hi": "x"}, [{"token": "Hi"}]])
def test_alternatives_in_an_object_or_without_a_figure_are_read(tops: Any) -> None:
    read = said(sse(with_logprobs({"content": [{**TOKEN, "top_logprobs": tops}]})))
    assert read.logprobs == [("Low", -0.5, [("Hi", -9999.0)])]
