"""What examples of a fix cannot say: long state, odd shapes, and what must not raise."""

from typing import Any, get_type_hints

import pytest

from llm_normalize.chat.chunks.chunk import Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.conformance import completion_faults
from llm_normalize.conformance.openai_types import (
    CompletionTokensDetails,
    PromptTokensDetails,
)
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.fix import DONE, USAGE, calling, chunk, completion, head, wire
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import Number, dumps, loads
from streams import STREAM, repaired

TEXT = chunk({"role": "assistant", "content": "Hi"})
STOP = chunk({}, finish="stop")


def body_of(value: Chunk, asked: Asked | None = None) -> Any:
    return loads(repair_body(dumps(value), 200, asked or Asked(), FIXES).after[0])


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (10**400, 7),
        ("tomorrow", 7),
        ("2023-11-14T22:13:20", 1700000000),
        ("1700000000000000", 1700000000),
        (Number("1e400"), 7),
        (True, 7),
        ([], 7),
        (-3, 7),
    ],
)
def test_created_is_whole_seconds_or_the_time_of_the_answer(
    given: object, sent: int
) -> None:
    body = completion({"role": "assistant", "content": "Hi"}, created=given)
    assert body_of(body, Asked(time=7))["created"] == sent


@pytest.mark.parametrize("given", ["many", "5", Number("1.5")])
@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("prompt_tokens_details", PromptTokensDetails),
        ("completion_tokens_details", CompletionTokensDetails),
    ],
)
def test_each_detail_of_openais_types_becomes_whole(
    key: str, kind: Any, given: Any
) -> None:
    usage = {**USAGE, key: dict.fromkeys(get_type_hints(kind), given)}
    body = body_of(completion({"role": "assistant", "content": "Hi"}, usage=usage))
    assert completion_faults(body) == []


def test_notes_of_a_stream_that_says_nothing_else_leave_at_its_end() -> None:
    steps: list[EventRecord] = []
    notes = chunk(None, note="quota used up")
    opening = chunk({"role": "assistant", "content": ""}, note="quota used up")
    assert repaired(wire([notes]), steps=steps) == wire([opening])
    assert repaired(wire([notes, TEXT])) == wire([{**TEXT, "note": "quota used up"}])


@pytest.mark.parametrize(
    "given",
    [
        [{"error": {"code": 400, "message": "No", "status": "INVALID_ARGUMENT"}}],
        {"error": {"code": 400, "message": "No"}, "choices": [{"message": {}}]},
        {"choices": [{"error": {"code": 400, "message": "No"}, "message": None}]},
        {"choices": [{"finish_reason": ""}], "base_resp": {"status_code": 400}},
    ],
)
def test_an_error_without_any_answer_is_no_success(given: Any) -> None:
    step = repair_body(dumps(given), 200, Asked(), FIXES)
    assert step.status == 400
    made = loads(step.after[0])
    assert "choices" not in made
    assert made["error"]["code"] == "400"


def test_a_list_of_one_error_is_unwrapped() -> None:
    flat = [{"message": "No", "code": 7}]
    step = repair_body(dumps(flat), 400, Asked(), FIXES)
    assert loads(step.after[0])["error"]["message"] == "No"
    out = repaired(b'data: [{"error":{"message":"No"}}]\n\n', ended=False)
    assert out.startswith(b'data: {"error":{"message":"No"')


@pytest.mark.parametrize("said", [{"text": "Hi"}, {"message": {"content": "Hi"}}])
def test_an_answer_beside_an_error_stays_in_any_form(said: Chunk) -> None:
    body = {"choices": [said], "error": {"message": "No"}}
    step = repair_body(dumps(body), 200, Asked(), FIXES)
    assert step.status is None
    assert b'"content":"Hi"' in step.after[0]


@pytest.mark.parametrize("more", [{}, {"response": "Hi"}])
def test_a_result_without_choices_is_an_answer_only_if_one_stands_beside(
    more: Chunk,
) -> None:
    out = repaired(dumps({"result": {"choices": [], **more}, "success": True}))
    assert (b'"content":"Hi"' in out, b"[DONE]" in out) == (bool(more), bool(more))


def test_unasked_usage_after_an_error_has_a_choice_to_ride_on() -> None:
    error = {"error": {"message": "No", "type": None, "param": None, "code": None}}
    out = repaired(wire([TEXT, error, chunk(None, usage=USAGE)]))
    assert out == wire([TEXT, error, chunk({}, usage=USAGE)])


def said_by(name: str, *found: list[Chunk], asked: Asked = STREAM) -> list[Any]:
    """Return the deltas that one fix makes of chunks with these choices."""
    fixes = [fix for fix in FIXES if fix.name == name]
    events = [chunk(None, choices=each) for each in found]
    out = repaired(wire(events), asked, fixes, ended=False)
    parts = [loads(line[6:]) for line in out.split(b"\n\n") if line]
    return [choice["delta"] for each in parts for choice in each["choices"]]


def reported(message: Any, /, delta: Any = None, **more: Any) -> list[Chunk]:
    said = {} if delta is None else {"delta": delta}
    return [{"index": 0, **said, "message": message, **more}]


def test_calls_that_only_the_message_says_leave_once() -> None:
    says_all = {"role": "assistant", "content": "Let me.", "tool_calls": [head()]}
    grown = {**says_all, "tool_calls": [head(), head(1)]}
    made = said_by(
        "message-in-stream",
        reported({"content": "Let"}, {"content": "Let"}),
        reported({"content": "Let me."}, {"content": " me."}),
        reported(says_all, {}),
        reported({"content": "Let me.", "refusal": None}, {}),
        reported({**says_all, "reasoning": "Hm", "thinking": "Hm"}, None),
        reported(grown, {}, finish_reason="tool_calls"),
        reported(grown, {}),
    )
    assert made == [
        {"content": "Let"},
        {"content": " me."},
        {"tool_calls": [head()]},
        {},
        {"reasoning": "Hm", "thinking": "Hm"},
        {"tool_calls": [head(1)]},
        {},
    ]


def test_deltas_after_messages_take_their_kind_over() -> None:
    made = said_by(
        "message-in-stream",
        reported({"role": "assistant", "content": "Hi"}),
        reported({"role": "assistant", "content": "Hi you"}, {"content": " you"}),
        reported({"role": "assistant", "content": "Hi you", "tool_calls": [head()]}),
        reported("Hi you", {}),
    )
    assert made == [
        {"role": "assistant", "content": "Hi"},
        {"content": " you"},
        {"tool_calls": [head()]},
        {},
    ]


@pytest.mark.parametrize("index", [{}, {"index": 0}, {"index": None}, {"index": "0"}])
def test_an_answer_in_several_choices_is_one(index: Chunk) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    logprobs = {"content": [{"token": "a"}], "refusal": None}
    user = {"role": "user", "content": "a", "x": None}
    parts: list[Chunk] = [
        {"finish_reason": "stop", "message": {"role": "assistant", "content": None}},
        {"finish_reason": "tool_calls", "message": user, "logprobs": logprobs},
        {"message": {"content": "a", "tool_calls": [call], "x": 1}},
        {"finish_reason": "length", "message": {"content": [{"text": "b"}]}},
        {"message": {"content": "", "tool_calls": [{**call, "id": "b"}], "x": 2}},
        {"message": None, "logprobs": logprobs},
    ]
    given = completion({}, choices=[{**index, **part} for part in parts])
    fixes = [fix for fix in FIXES if fix.name == "choice-split"]
    step = repair_body(dumps(given), 200, Asked(), fixes)
    assert loads(step.after[0])["choices"] == [
        {
            **index,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": ["aa", {"text": "b"}],
                "x": 1,
                "tool_calls": [call, {**call, "id": "b"}],
            },
            "logprobs": {"content": [{"token": "a"}] * 2, "refusal": None},
        }
    ]
    assert body_of(given)["choices"][0]["message"]["content"] == "aab"


def test_choices_that_were_asked_for_stay_apart() -> None:
    bare: list[Chunk] = [{"delta": {"content": text}} for text in "ab"]
    apart = [{"index": at, **each} for at, each in enumerate(bare)]
    two = Asked(stream=True, n=2)
    said = [each["delta"] for each in bare]
    for found, asked in ((bare, two), (apart, two), (apart, STREAM)):
        assert said_by("choice-split", found, asked=asked) == said
    same = [*apart, {"index": 1, "delta": {"content": "c"}}]
    assert said_by("choice-split", same) == [said[0], {"content": "bc"}]
    assert said_by("choice-split", same, asked=two) == [*said, {"content": "c"}]
    assert said_by("choice-split", bare) == [{"content": "ab"}]


def test_a_body_of_mere_words_for_a_stream_is_an_error_and_a_notice_is_none() -> None:
    out = repaired(b'{"message":"The queue is long"}')
    assert loads(out[6:])["error"]["message"] == "The queue is long"
    assert repaired(b'data: {"message":"The queue is long"}\n\n') == b"\n"


def test_a_result_whose_choices_are_none_stays() -> None:
    value = {"result": {"choices": [8]}, "tool_calls": {}}
    out = repaired(dumps(value) + b"\n")
    assert b'"result":{"choices":[8]}' in out


def test_calls_of_a_result_that_is_none_are_the_answer() -> None:
    value = {"result": {"a": 1}, "tool_calls": [{"name": "f"}]}
    assert b'"name":"f"' in repaired(dumps(value) + b"\n")
    assert body_of(value)["choices"][0]["message"]["tool_calls"]


def test_a_call_of_odd_types_passes_as_it_is() -> None:
    odd = chunk({"tool_calls": [{"index": 0, "function": {"name": {}}}]}, id=None)
    assert repaired(wire([odd])) == wire([odd])
    body = completion({"tool_calls": [{"id": [], "function": {"name": "f"}}]})
    assert body_of(body) == body


def test_what_goes_on_with_a_call_is_not_taken_for_one_without_an_index() -> None:
    def reported(at: int | None, name: str, arguments: str) -> Chunk:
        call: Chunk = {"function": {"arguments": arguments}}
        call |= {} if at is None else {"index": at}
        if name:
            call |= {"id": name, "function": {"name": name, "arguments": arguments}}
        return calling(call)

    sent = ((1, "a", "1"), (None, "b", "2"), (1, "", "3"), (None, "", "4"),
            (None, "c", "5"), (1, "", "6"), (None, "", "7"))  # fmt: skip
    out = repaired(wire([reported(*each) for each in sent]))
    said = ["", "", ""]
    for line in out.split(b"\n\n")[:-1]:
        for call in loads(line[6:])["choices"][0]["delta"]["tool_calls"]:
            said[call["index"]] += call["function"]["arguments"]
    assert said == ["136", "24", "57"]


def fragment(at: int | None, identity: str, name: str, arguments: str) -> Chunk:
    index = {} if at is None else {"index": at}
    known = {"id": identity} if identity else {}
    named = {"name": name} if name else {}
    return calling({**index, **known, "function": {**named, "arguments": arguments}})


MIXED: dict[str, tuple[list[tuple[int | None, str, str, str]], list[str]]] = {
    "head": ([(None, "a", "f", ""), (0, "b", "g", ""), (None, "", "", "1")], ["g{}"]),
    "by its id": (
        [
            (0, "", "g", ""),
            (None, "a", "f", ""),
            (1, "b", "g", ""),
            (None, "a", "", "1"),
        ],
        ["g{}", "g{}"],
    ),
    "no name yet": (
        [
            (None, "a", "", "1"),
            (0, "b", "g", ""),
            (0, "", "", "2"),
            (None, "a", "f", ""),
        ],
        ["g2"],
    ),
    "its name alone": (
        [(None, "a", "", ""), (0, "b", "g", "2"), (None, "", "f", "1")],
        ["g2"],
    ),
    "index before its name": (
        [(0, "a", "", "1"), (None, "a", "f", ""), (1, "b", "g", "2")],
        ["g2"],
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_call_without_an_index_is_not_mixed_with_one_that_has_its(name: str) -> None:
    fragments, others = MIXED[name]
    events = [fragment(*each) for each in fragments]
    out = repaired(wire([*events, chunk({}, finish="tool_calls"), DONE]))
    said: dict[int, list[str]] = {}
    for line in out.split(b"\n\n")[:-2]:
        for call in loads(line[6:])["choices"][0]["delta"].get("tool_calls", ()):
            parts = [call["function"].get("name", ""), call["function"]["arguments"]]
            said.setdefault(call["index"], []).extend(parts)
    assert sorted("".join(parts) for parts in said.values()) == ["f1", *others]


def test_text_of_a_choice_that_is_part_of_another_joins_it() -> None:
    said = {"message": {"content": "Hi"}}
    for parts in (
        [said, {"text": " you"}],
        [{"text": "Hi"}, {"message": {"content": " you"}}],
    ):
        out = repaired(wire([chunk(None, choices=parts)]))
        assert b'"content":"Hi you"' in out


def test_text_beside_a_message_without_one_is_its_content() -> None:
    events = [
        TEXT,
        chunk(None, choices=[{"index": 0, "message": {"content": "Hi", "x": 1}}]),
    ]
    again = {"index": 0, "message": {"x": 1}, "text": " you"}
    out = repaired(wire([*events, chunk(None, choices=[again])]))
    assert b'"delta":{"content":" you"}' in out


def test_parameters_of_a_flat_call_are_its_arguments() -> None:
    call = {"id": "call_1", "name": "f", "parameters": {"a": 1}}
    body = body_of(completion({"role": "assistant", "tool_calls": [call]}))
    made = body["choices"][0]["message"]["tool_calls"][0]
    assert made["function"] == {"name": "f", "arguments": '{"a":1}'}


def test_usage_in_a_choice_does_not_replace_that_of_the_chunk() -> None:
    last = chunk({}, finish="stop", usage=USAGE, choice={"usage": {"total_tokens": 9}})
    assert repaired(wire([TEXT, last, DONE])) == wire(
        [TEXT, {**STOP, "usage": USAGE}, DONE]
    )


def test_counts_that_are_no_numbers_are_0() -> None:
    usage = {**USAGE, "prompt_tokens": "many", "prompt_tokens_details": 5}
    body = body_of(completion({"role": "assistant", "content": "Hi"}, usage=usage))
    assert body["usage"] == {**USAGE, "prompt_tokens": 3}


def test_an_error_that_says_nothing_goes() -> None:
    body = completion({"role": "assistant", "content": "Hi"})
    assert body_of({**body, "error": {}}) == body
    assert repaired(wire([{**TEXT, "error": ""}]), ended=False) == wire([TEXT])


def test_parameters_of_a_function_are_its_arguments() -> None:
    call = {"id": "call_1", "function": {"name": "f", "parameters": {"a": 1}}}
    body = body_of(completion({"role": "assistant", "tool_calls": [call]}))
    made = body["choices"][0]["message"]["tool_calls"][0]
    assert made["function"] == {"name": "f", "arguments": '{"a":1}'}


def test_pings_by_name_are_newlines() -> None:
    ping = b"event: ping\ndata: 2026-01-05\n\n"
    assert repaired(wire([TEXT, ping, STOP, DONE])) == wire([TEXT, b"\n", STOP, DONE])
    telling = b"event: ping\n" + wire([TEXT])
    assert repaired(telling + wire([STOP, DONE])) == wire([TEXT, STOP, DONE])
