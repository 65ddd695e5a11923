from collections.abc import Iterator, Sequence
from itertools import batched
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from judge.messages_form import Reader, check_body, check_error, read
from judge.quirks import answers
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.protocol import AnswerTranslator, Circumstances, JsonObject
from llm_normalize.wire.json_text import loads

REQUEST: JsonObject = {
    "model": "claude-x",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hi"}],
}
USAGE = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}

type Events = list[tuple[str, JsonObject]]


def answer(**more: Any) -> AnswerTranslator:
    return MESSAGES.translate(REQUEST | more, Circumstances("e-1")).answer


def chunk(
    delta: JsonObject | None, finish: str | None = None, **more: Any
) -> JsonObject:
    choices = (
        [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    )
    return {"id": "chatcmpl-7", "model": "m-1", "choices": choices} | more


def call(
    index: int, arguments: str = "", name: str = "", call_id: str = ""
) -> JsonObject:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    head = {"id": call_id, "type": "function"} if call_id else {}
    return {"tool_calls": [{"index": index, "function": function, **head}]}


def events_of(*chunks: JsonObject, by: AnswerTranslator | None = None) -> Events:
    translator = by or answer()
    events = [event for each in chunks for event in translator.chunk(each)]
    return [*events, *translator.done()]


def said(*deltas: JsonObject, finish: str = "stop") -> list[JsonObject]:
    """Return what a client makes of an answer; require the form."""
    chunks = [*map(chunk, deltas), chunk({}, finish), chunk(None, usage=USAGE)]
    reader = read(events_of(chunk({"role": "assistant", "content": ""}), *chunks))
    assert reader.faults == []
    content: list[JsonObject] = reader.message["content"]
    return content


def names(events: Sequence[tuple[str, JsonObject]]) -> list[str]:
    return [name.removeprefix("content_block_") for name, _ in events]


def test_thoughts_text_and_calls_follow_one_another_event_by_event() -> None:
    translator = answer()
    opening = translator.chunk(chunk({"role": "assistant", "content": ""}))
    assert names(opening) == ["message_start", "ping"]
    steps = [
        ({"reasoning_content": "Hm"}, ["start", "delta"]),
        ({"reasoning_content": "m."}, ["delta"]),
        ({"content": "I"}, ["delta", "stop", "start", "delta"]),
        (call(0, name="f", call_id="c0"), ["stop", "start"]),
        (call(0, '{"a":'), ["delta"]),
        (call(0, "1}"), ["delta"]),
        (call(1, name="g", call_id="c1"), ["stop", "start"]),
        (call(1, "{}"), ["delta"]),
    ]
    events = [*opening]
    for delta, expected in steps:
        found = translator.chunk(chunk(delta))
        assert names(found) == expected
        events += found
    finish = translator.chunk(chunk({}, "tool_calls"))
    assert names(finish) == ["stop"]
    assert translator.chunk(chunk(None, usage=USAGE)) == []
    events += [*finish, *translator.done()]
    reader = read(events)
    assert reader.faults == []
    thinking, text, first, second = reader.message["content"]
    assert (thinking["thinking"], text["text"]) == ("Hmm.", "I")
    assert thinking["signature"]
    assert (first["id"], first["name"], first["input"]) == ("c0", "f", '{"a":1}')
    assert (second["id"], second["name"], second["input"]) == ("c1", "g", "{}")
    assert translator.done() == translator.keep_alive() == []
    assert translator.chunk(chunk({"content": "x"})) == []


def test_what_waits_for_a_call_without_an_end_is_sent_at_the_finish() -> None:
    deltas = [
        call(0, name="f", call_id="c0"),
        {"content": "x"},
        call(1, '"no', "g", "c1"),
    ]
    found = said(*deltas, {"content": "y"}, finish="length")
    texts = [each.get("input") or each.get("text") for each in found]
    assert texts == ["{}", "x", '"no', "y"]


def test_a_call_at_an_index_of_before_is_another_one() -> None:
    found = said(call(0, "{}", "f", "c0"), {"content": "x"}, call(0, "{}", "f", "c1"))
    assert [each["id"] for each in found if "id" in each] == ["c0", "c1"]


@pytest.mark.parametrize(
    ("finish", "alone", "with_call"),
    [
        ("stop", "end_turn", "tool_use"),
        ("length", "max_tokens", "max_tokens"),
        ("tool_calls", "end_turn", "tool_use"),
        ("function_call", "end_turn", "tool_use"),
        ("content_filter", "refusal", "refusal"),
    ],
)
def test_stop_reason(finish: str | None, alone: str, with_call: str) -> None:
    for delta, expected in (
        ({"content": "x"}, alone),
        (call(0, "{}", "f", "c"), with_call),
    ):
        reader = read(events_of(chunk(delta), chunk({}, finish)))
        assert reader.faults == []
        assert reader.message["stop_reason"] == expected


@pytest.mark.parametrize(
    ("given", "figures"),
    [
        # Nobody has counted: an estimate.
        (None, (7, 0, 0, 1)),
        ({}, (7, 0, 0, 1)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (7, 0, 0, 1)),
        (USAGE | {"prompt_cache_hit_tokens": 4}, (5, 0, 4, 7)),
        (USAGE, (9, 0, 0, 7)),
        (USAGE | {"prompt_tokens_details": None}, (9, 0, 0, 7)),
        (USAGE | {"prompt_tokens_details": {"cached_tokens": 4}}, (5, 0, 4, 7)),
        (
            USAGE
            | {"prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2}},
            (3, 2, 4, 7),
        ),
        (USAGE | {"prompt_tokens_details": {"cached_tokens": 40}}, (0, 0, 9, 7)),
        ({"prompt_tokens": None, "completion_tokens": -1}, (7, 0, 0, 1)),
    ],
)
def test_usage(given: JsonObject | None, figures: tuple[int, ...]) -> None:
    reader = read(events_of(chunk({"content": "x"}, "stop"), chunk(None, usage=given)))
    assert reader.faults == []
    usage = reader.message["usage"]
    assert tuple(usage.values()) == figures


@pytest.mark.parametrize("key", ["stop_reason", "matched_stop"])
@pytest.mark.parametrize(
    ("found", "reason"),
    [("END", "stop_sequence"), ("other", "end_turn"), (151645, "end_turn")],
)
def test_stop_sequence_that_was_found(key: str, found: Any, reason: str) -> None:
    stops = {"stop_sequences": ["STOP", "END"]}
    last = chunk({"content": "x"}, "stop")
    last["choices"][0][key] = found
    reader = read([*(given := answer(**stops)).chunk(last), *given.done()])
    expected = found if reason == "stop_sequence" else None
    assert reader.message["stop_reason"] == reason
    assert reader.message["stop_sequence"] == expected
    choice = {"message": {"content": "x"}, "finish_reason": "stop", key: found}
    body = answer(**stops).body({"choices": [choice]})
    assert (body["stop_reason"], body["stop_sequence"]) == (reason, expected)


def test_an_error_ends_the_stream() -> None:
    translator = answer()
    events = [*translator.chunk(chunk({"content": "x"}))]
    error = {"message": "Busy", "type": "server_error", "param": None, "code": "503"}
    reader = read([*events, *translator.error(error)])
    assert reader.faults == []
    assert reader.error == {"type": "overloaded_error", "message": "Busy"}
    assert translator.chunk(chunk({"content": "y"})) == []
    assert translator.done() == translator.error(error) == translator.keep_alive() == []


def test_a_stream_that_breaks_off_has_no_end() -> None:
    translator = answer()
    reader = Reader().read(translator.chunk(chunk({"content": "x"})))
    assert reader.faults == []
    assert reader.end().faults == ["event 4 is missing: message_stop, or an error"]


@pytest.mark.parametrize("sent", [(), (chunk({"content": "x"}),)])
def test_a_stream_without_a_finish_is_no_success(sent: tuple[JsonObject, ...]) -> None:
    *_, (name, data) = events_of(*sent)
    assert (name, data["type"]) == ("error", "error")


def test_keep_alive_is_a_ping_at_any_time() -> None:
    translator = answer()
    events = [*translator.keep_alive(), *translator.chunk(chunk({"content": "x"}))]
    events += [*translator.keep_alive(), *translator.done()]
    assert [name for name, _ in events].count("ping") == 3
    assert read(events).faults == []


# ------------------------------------------------------------------- properties


def whole(message: JsonObject) -> list[JsonObject]:
    """Return the content of a streamed message as a body has it, texts joined."""
    found: dict[str, JsonObject] = {}
    calls = []
    for block in message["content"]:
        kind = block["type"]
        if kind == "tool_use":
            calls.append(block | {"input": loads(block["input"].encode())})
            continue
        key = "thinking" if kind == "thinking" else "text"
        before = found.get(kind, {key: ""})[key]
        found[kind] = block | {key: before + block[key]}
    return [*(found[each] for each in ("thinking", "text") if each in found), *calls]


def completion_of(values: list[JsonObject]) -> JsonObject:
    """Return the first choice of a stream as a completion."""
    texts = {"content": "", "reasoning_content": "", "refusal": ""}
    calls: dict[int, JsonObject] = {}
    body: JsonObject = {"id": values[0]["id"], "model": values[0]["model"]}
    finish = None
    for value in values:
        body["usage"] = value.get("usage") or body.get("usage")
        for choice in value["choices"]:
            if choice["index"]:
                continue
            finish = choice["finish_reason"] or finish
            for key in texts:
                texts[key] += choice["delta"].get(key) or ""
            for each in choice["delta"].get("tool_calls", ()):
                made = calls.setdefault(
                    each["index"], {"id": each.get("id"), "function": {"arguments": ""}}
                )
                function = each["function"]
                made["function"].setdefault("name", function.get("name"))
                made["function"]["arguments"] += function["arguments"]
    said = {**texts, "tool_calls": list(calls.values())}
    return body | {"choices": [{"index": 0, "message": said, "finish_reason": finish}]}


def in_smaller_parts(value: JsonObject, size: int) -> Iterator[JsonObject]:
    """Yield a chunk as several, with at most *size* characters of text each."""
    for choice in value["choices"]:
        for key in ("content", "reasoning_content", "refusal"):
            text = choice["delta"].get(key) or ""
            for part in batched(text, size):
                split = choice | {"delta": {key: "".join(part)}, "finish_reason": None}
                yield value | {"choices": [split]}
        for each in choice["delta"].get("tool_calls", ()):
            function = each["function"]
            head = each | {"function": function | {"arguments": ""}}
            tails = [
                {"index": each["index"], "function": {"arguments": "".join(part)}}
                for part in batched(function["arguments"], size)
            ]
            for fragment in [head, *tails] if "id" in each else tails:
                delta = {"tool_calls": [fragment]}
                split = choice | {"delta": delta, "finish_reason": None}
                yield value | {"choices": [split]}
        if choice["finish_reason"]:
            yield value | {"choices": [choice | {"delta": {}}]}
    if not value["choices"]:
        yield value


@given(answers(), st.integers(1, 4))
def test_stream_and_body_and_any_split_say_the_same(drawn: Any, size: int) -> None:
    values = drawn.values[:-1]
    # A request for a message never asks for one.
    assume("'function_call'" not in str(values))
    reader = read(events_of(*values))
    assert reader.faults == []
    parts = [part for each in values for part in in_smaller_parts(each, size)]
    split = read(events_of(*parts))
    assert split.faults == []
    assert split.message == reader.message
    body = answer().body(completion_of(values))
    assert check_body(body) == []
    assert body["content"] == whole(reader.message)
    for key in ("id", "model", "stop_reason", "usage"):
        assert body[key] == reader.message[key]


@given(
    st.lists(
        st.sampled_from(['{"a":"\\\\","b":[{}]}', "{}", '{"é":"}\\""}']), max_size=4
    ),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_calls_in_any_order_of_their_parts_come_out_whole(
    wanted: list[str], dice: Any, words: bool
) -> None:
    heads = [call(at, name="f", call_id=f"c{at}") for at in range(len(wanted))]
    order = [at for at, text in enumerate(wanted) for _ in text]
    dice.shuffle(order)
    rest = [iter(text) for text in wanted]
    deltas = [*heads, *(call(at, next(rest[at])) for at in order)]
    if words:
        deltas.insert(dice.randrange(len(deltas) + 1), {"content": "x"})
    found = said(*deltas, finish="tool_calls")
    calls = [each for each in found if each["type"] == "tool_use"]
    assert [each["input"] for each in calls] == wanted
    assert [each["text"] for each in found if each["type"] == "text"] == ["x"] * words


# ------------------------------------------------- the judge finds what is wrong


def good() -> Events:
    deltas = [{"reasoning_content": "a"}, {"content": "b"}, call(0, "{}", "f", "c")]
    return events_of(*map(chunk, deltas), chunk({}, "tool_calls"))


def without(at: int) -> Events:
    return [event for number, event in enumerate(good()) if number != at]


def test_judge_finds_each_event_that_is_missing() -> None:
    assert names(good()) == [
        *("message_start", "ping", "start", "delta", "delta", "stop"),
        *("start", "delta", "stop", "start", "delta", "stop"),
        *("message_delta", "message_stop"),
    ]
    for at in {*range(len(good()))} - {1}:
        assert read(without(at)).faults, at


def test_judge_finds_each_event_that_is_there_twice() -> None:
    deltas = (3, 7, 10)
    for at in {*range(len(good()))} - {1, *deltas}:
        events = good()
        assert read([*events[: at + 1], *events[at:]]).faults, at


@pytest.mark.parametrize(
    ("at", "path", "value"),
    [
        (0, ["type"], "x"),
        (0, ["message", "id"], None),
        (0, ["message", "role"], "user"),
        (0, ["message", "usage"], None),
        (0, ["message", "content"], None),
        (0, ["message", "stop_reason"], "end_turn"),
        (1, ["more"], 1),
        (2, ["content_block", "thinking"], "x"),
        (3, ["index"], 1),
        (3, ["delta", "thinking"], ""),
        (3, ["delta", "type"], "text_delta"),
        (4, ["delta", "signature"], " "),
        (6, ["index"], 0),
        (7, ["delta", "text"], None),
        (9, ["content_block", "id"], None),
        (9, ["content_block", "input"], None),
        (12, ["usage"], None),
        (12, ["delta", "stop_reason"], "stop"),
        (12, ["delta", "stop_reason"], "end_turn"),
        (12, ["delta", "more"], 1),
        (13, ["more"], {1}),
    ],
)
def test_judge_finds_each_value_that_is_wrong(
    at: int, path: list[str], value: Any
) -> None:
    events = good()
    _, place = events[at]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert read(events).faults


def test_judge_finds_an_unknown_event_and_another_form_of_an_error() -> None:
    events = good()
    assert read([*events[:2], ("x", {"type": "x"}), *events[2:]]).faults
    assert check_error({"error": {"message": "x"}}) == ["the error has another form"]
