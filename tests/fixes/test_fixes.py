"""Every fix keeps what it declares: its examples, its hands off the rest."""

import copy
import re
from typing import Any

import pytest

from each_case import each_case
from judge.strict import taken
from llm_normalize.chat.chunks.chunk import LONG, Chunk
from llm_normalize.chat.state.asked import Asked
from llm_normalize.chat.state.declared_tools import Tools
from llm_normalize.chat.state.stream_state import Seen
from llm_normalize.chat.tool_calls import open_calls
from llm_normalize.chat.tool_calls.open_calls import OpenCalls
from llm_normalize.conformance import meaning_of_stream
from llm_normalize.fixes import EVERY_FIX, FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.fix import (
    DONE,
    USAGE,
    Example,
    Fix,
    Wire,
    calling,
    chunk,
    completion,
    head,
    rest,
    wire,
)
from llm_normalize.repair.look import Finding
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.wire.json_text import dumps, loads
from llm_normalize.wire.sse import encode
from streams import STREAM, alone, feed, repaired

EXAMPLES = [
    pytest.param(fix, example, id=f"{fix.name}/{example.name}")
    for fix in EVERY_FIX
    for example in fix.examples
]
STREAMS = [each for each in EXAMPLES if each.values[1].kind == "stream"]  # type: ignore[union-attr]
BODIES = [each for each in EXAMPLES if each.values[1].kind in ("body", "error")]  # type: ignore[union-attr]


def body_bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else dumps(body)


def run_body(data: bytes, fix: type[Fix], example: Example) -> EventRecord:
    status = example.status if example.kind == "error" else 200
    return repair_body(data, status, example.asked, alone(fix))


@pytest.mark.parametrize(("fix", "example"), STREAMS)
def test_stream_example_comes_out_as_declared_and_stays(
    fix: type[Fix], example: Example
) -> None:
    steps: list[EventRecord] = []
    before, once = wire(example.before), wire(example.after)
    asked, ended, only = example.asked, example.ended, alone(fix)
    assert repaired(before, asked, only, ended=ended, steps=steps) == once
    named = {name for step in steps if step.changed for name in step.fixes}
    assert named == ({fix.name} if example.changes else set())
    assert b"".join(feed([before], asked, [], ended=ended)) == before
    # What came out stays, by this fix and by all of them.
    assert b"".join(feed([once], asked, only, ended=ended)) == once
    everything = repaired(once, asked, ended=ended)
    assert b"".join(feed([everything], asked, ended=ended)) == everything


@each_case(BODIES)
def test_body_example_comes_out_as_declared(fix: type[Fix], example: Example) -> None:
    step = run_body(body_bytes(example.before[0]), fix, example)
    assert step.after == [body_bytes(example.after[0])]
    assert step.fixes == ([fix.name] if example.changes else [])
    assert step.status == example.changes_status
    if step.status is None:
        assert not run_body(step.after[0], fix, example).changed


@each_case(EVERY_FIX, ids=lambda fix: fix.name)
def test_declaration_is_complete(fix: type[Fix]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", fix.name)
    assert fix.changes
    assert fix.why.endswith(".")
    assert fix.providers
    assert all(re.match(r"https://\S+$", source) for source in fix.sources)
    assert fix.sources
    assert any(example.changes for example in fix.examples)
    assert any(not example.changes for example in fix.examples)
    assert len({example.name for example in fix.examples}) == len(fix.examples)
    assert fix.__doc__


OWN = {*vars(Fix(STREAM, Seen()))}


def attributes_of(fix: Any) -> dict[str, Any]:
    """Return a copy of what *fix*, or a part of it, has beyond what every fix has."""

    def copied(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: copied(each) for key, each in value.items()}
        has_own = hasattr(value, "__dict__")
        return attributes_of(value) if has_own else copy.deepcopy(value)

    return {name: copied(each) for name, each in vars(fix).items() if name not in OWN}


OPENAI: dict[str, tuple[Asked, Wire]] = {
    "text": (
        STREAM,
        [
            chunk({"role": "assistant", "content": "", "refusal": None}),
            chunk({"content": "Hi"}),
            chunk({}, finish="stop"),
            DONE,
        ],
    ),
    "usage": (
        Asked(stream=True, usage=True),
        [
            chunk({"role": "assistant", "content": ""}, usage=None),
            chunk({"content": "Hi"}, usage=None),
            chunk({}, finish="stop", usage=None),
            chunk(None, usage=USAGE),
            DONE,
        ],
    ),
    "tool call": (
        Asked(stream=True, tools=True),
        [
            chunk({"role": "assistant", "content": None}),
            calling(head()),
            calling(rest(0, "{}")),
            chunk({}, finish="tool_calls"),
            DONE,
        ],
    ),
}


_LINK = {"url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
BODIES_OF_OPENAI: list[Chunk] = [
    completion(
        {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []}
    ),
    completion(
        {
            "role": "assistant",
            "content": "Hi",
            "refusal": None,
            "annotations": [{"type": "url_citation", "url_citation": _LINK}],
        }
    ),
    completion(
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "tool_calls": [
                {
                    "id": "call_0",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}"},
                }
            ],
        },
        finish="tool_calls",
    ),
]


@each_case(EVERY_FIX, ids=lambda fix: fix.name)
def test_fix_leaves_openai_alone(fix: type[Fix]) -> None:
    for asked, events in OPENAI.values():
        assert repaired(wire(events), asked, alone(fix)) == wire(events)
    for body in map(dumps, BODIES_OF_OPENAI):
        assert repair_body(body, 200, Asked(tools=True), alone(fix)).after == [body]


@pytest.mark.parametrize(
    "fix",
    [
        fix
        for fix in EVERY_FIX
        if fix.edit is not Fix.edit
        # What the one drops rides on its neighbour, and the other changes all of them.
        and fix.name not in ("choices-empty", "model-mapped")
    ],
    ids=lambda fix: fix.name,
)
def test_one_repaired_event_leaves_its_neighbours_bytes_alone(fix: type[Fix]) -> None:
    example = next(each for each in fix.examples if each.kind == "stream")
    before = [each for each in example.before if isinstance(each, dict)][:1]
    # Spaces and escapes that a new encoding would not have written.
    frame = (
        b'"id": "chatcmpl-1", "created":1700000000, "model":"acme-1", '
        b'"object":"chat.completion.chunk"'
    )
    first, last = (
        b'data: {%b, "choices": [{"index":7, "finish_reason": null, '
        b'"delta":{%b"content":"\\u00e9"}}]}\n\n' % (frame, role)
        for role in (b'"role":"assistant", ', b"")
    )
    out = repaired(first + wire(before) + last, example.asked, alone(fix), ended=False)
    assert out.startswith(first)
    assert out.endswith(last)


JUNK: list[Any] = [
    None, 0, "", "x", [], {}, [None], [[]], [{}], {"a": None}, True, 1e9,
]  # fmt: skip
SHAPES: list[Any] = [{"choices": junk} for junk in JUNK if isinstance(junk, list)] + [
    {"choices": [part]}
    for junk in JUNK
    for part in (
        {"delta": junk},
        {"index": junk, "delta": {"content": "x"}},
        {"delta": {"role": junk, "content": junk, "tool_calls": junk}},
        {"delta": {"tool_calls": [{"index": junk, "id": junk, "function": junk}]}},
        {"delta": {"tool_calls": [{"function": {"name": junk, "arguments": junk}}]}},
        {"delta": {}, "finish_reason": junk},
        {"delta": {"content": "x"}, "finish_reason": junk, "logprobs": junk},
        {"message": junk, "finish_reason": junk},
        {"message": {"role": junk, "content": junk, "tool_calls": junk}},
    )
]


@pytest.mark.parametrize("fix", EVERY_FIX, ids=lambda fix: fix.name)
def test_no_shape_of_json_makes_a_fix_fail(
    fix: type[Fix], caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked(stream=True, tools=True, usage=True)
    only = alone(fix)
    for shape in SHAPES:
        feed([encode(dumps(shape)) * 2 + DONE], asked, only)
        repair_body(dumps(shape), 200, STREAM, only)
        repair_body(dumps({"error": shape}), 500, STREAM, only)
    assert not caplog.records


# What the examples leave out: they are documentation, and stay short.
NULL = {"role": "assistant", "content": None}
CALLS_END = chunk({}, finish="tool_calls")
NAMELESS = {"index": 0, "type": "function", "function": {"arguments": ""}}
NAMED = {"index": 0, "type": "function", "function": {"name": "f", "arguments": ""}}
LATE = [{"index": 0, "id": "call_0", "function": {"arguments": x}} for x in "{}"]


def choice(delta: Any, finish: str | None = None, index: int = 0) -> Any:
    return {"index": index, "delta": delta, "finish_reason": finish}


def choices(*each: Any, **more: Any) -> Any:
    return chunk(None, choices=[*each], **more)


HI = {"content": "Hi"}
DOUBLED: Wire = [
    chunk({"function_call": {"arguments": "{"}}),
    chunk({"tool_calls": [head(0, "}")], "function_call": {"arguments": "}"}}),
]


def message(text: str) -> Any:
    return {"index": 0, "message": {"content": text}}


def details(prompt: Any, reasoning: Any, text: Any) -> Any:
    more = {"reasoning_tokens": reasoning, "other_tokens": 1.5, "text_tokens": text}
    return {"prompt_tokens": prompt, "completion_tokens_details": more}


def thinking(reasoning: str) -> Any:
    parts = [{"type": "thinking", "thinking": "so"}, {"type": "text", "text": "Hi"}]
    return chunk({"content": parts, "reasoning_content": reasoning})


MORE: list[tuple[str, str, Wire, Wire]] = [
    (
        "envelope-changing",
        "what is too long for an envelope is cut",
        [chunk({"content": "Hi"}, model="m" * 2 * LONG)],
        [chunk({"content": "Hi"}, model="m" * LONG)],
    ),
    (
        "finish-with-delta",
        "a choice that ends without a word leaves the one that goes on alone",
        [choices(choice(HI), choice({}, "stop", 1))],
        [choices(choice(HI)), chunk({}, finish="stop", index=1)],
    ),
    *(
        (
            "content-parts",
            f"what was thought stands once beside reasoning {known!r}",
            [thinking(known)],
            [chunk({"reasoning_content": whole, "content": "Hi"})],
        )
        for known, whole in (("well ", "well so"), ("so", "so"), ("and so", "and so"))
    ),
    (
        "data-null",
        "[DONE] is no keep-alive, whatever its event is called",
        [b"event: ping\ndata: [DONE]\n\n", b"event: ping\ndata: 12:00\n\n"],
        [b"event: ping\ndata: [DONE]\n\n", b"event: ping\n\n"],
    ),
    (
        "function-call-doubled",
        "arguments of a call that has been sent go on, whatever stands beside them",
        DOUBLED,
        DOUBLED,
    ),
    (
        "error-with-choices",
        "what stands beside an error goes first, in any form",
        [
            choices(message("Hi"), error="x"),
            choices({"index": 0, "text": "Hi", "error": "x"}),
            choices({"index": 0, "delta": "Hi"}, error="x"),
            chunk({}, choice={"usage": USAGE}, error="x"),
        ],
        [
            choices(message("Hi")),
            {"error": "x"},
            choices({"index": 0, "text": "Hi"}),
            {"error": "x"},
            choices({"index": 0, "delta": "Hi"}),
            {"error": "x"},
            chunk({}, choice={"usage": USAGE}),
            {"error": "x"},
        ],
    ),
    (
        "usage-mistyped",
        "what is not OpenAI's own is converted where nothing is lost",
        [chunk({}, usage=details(1.5, 2.5, "7"))],
        [chunk({}, usage=details(1, 2, 7))],
    ),
    (
        "content-null",
        "null beside a call is OpenAI's own",
        [chunk({**NULL, "tool_calls": [head()]})],
        [chunk({**NULL, "tool_calls": [head()]})],
    ),
    (
        "content-null",
        "reasoning that opens is alone in its delta",
        [chunk({**NULL, "reasoning_content": "so"})],
        [chunk({"role": "assistant", "reasoning_content": "so"})],
    ),
    (
        "finish-without-call",
        "a call may follow its finish",
        [CALLS_END, calling(head()), calling(rest()), DONE],
        [calling(head()), calling(rest()), CALLS_END, DONE],
    ),
    (
        "finish-without-call",
        "a finish beside another choice waits for nothing",
        [choices(choice({}, "tool_calls"), choice(HI, None, 1))],
        [choices(choice({}, "stop"), choice(HI, None, 1))],
    ),
    (
        "message-in-stream",
        "a message that is new is all news",
        [choices(message(each)) for each in ("Hi", " you")],
        [choices({"index": 0, "delta": {"content": x}}) for x in ("Hi", " you")],
    ),
    (
        "tool-call-head-repeated",
        "an id that comes later is kept, once",
        [*map(calling, [NAMED, *LATE])],
        [calling(NAMED), calling(LATE[0]), calling(rest(0, "}"))],
    ),
    (
        "tool-call-head-repeated",
        "a name that comes later is kept, once",
        [calling({**NAMELESS, "id": "call_0"}), *[calling(head(0, "{}"))] * 2],
        [
            calling({**NAMELESS, "id": "call_0"}),
            calling({"index": 0, "function": {"name": "f", "arguments": "{}"}}),
            calling(rest()),
        ],
    ),
    (
        "tool-call-head-repeated",
        "of two fragments only the empty one goes",
        [calling(head()), calling({"index": 0, "id": None}, head(1))],
        [calling(head()), calling(head(1))],
    ),
    (
        "tool-call-index-missing",
        "arguments that no call has opened for are those of the first",
        [calling(rest(None, "{")), calling(rest(None, "}"))],
        [calling(rest(0, "{")), calling(rest(0, "}"))],
    ),
    (
        "tool-call-whole",
        "a fragment that is no whole call stays in its place",
        [calling(head()), calling(rest(), head(1, "{}"))],
        [calling(head()), calling(rest()), calling(head(1)), calling(rest(1))],
    ),
    (
        "tool-call-whole",
        "what is no call goes from beside a whole one",
        [chunk({"tool_calls": ["", head(0, "{}")]})],
        [calling(head()), calling(rest(0, "{}"))],
    ),
]


NAMES = ("get_time", "get", "get_times", "read_file")
WITH_TOOLS = Asked(stream=True, tools=True, declared=Tools(frozenset(NAMES)))


def named(name: str | None, arguments: str = "", **more: Any) -> Any:
    return {"index": 0, **more, "function": {"name": name, "arguments": arguments}}


def calls_of(*fragments: Any, asked: Asked = WITH_TOOLS) -> list[tuple[str, str]]:
    """Return the calls (name, arguments) that a strict client takes, repaired twice."""
    first = {"id": "call_0", "type": "function"} | fragments[0]
    end = chunk({}, finish="tool_calls")
    data = wire([*map(calling, [first, *fragments[1:]]), end, DONE])
    out = repaired(data, asked)
    assert repaired(out, asked) == out
    return [(call.name, call.arguments) for call in taken(out).choices[0].calls]


A, B = ("get_time", '{"a":1}'), ("read_file", '{"b":2}')
SAME: Any = {"id": "call_0"}
SECOND: Any = {**SAME, "index": 1}


@pytest.mark.parametrize(
    "fragments",
    [
        [named(*A), named(*B)],
        [named(*A, **SAME), named(*B, **SAME)],
        [named(A[0], **SAME), named(None, A[1]), named(B[0], **SAME), named(None, B[1])],
        [named(A[0], **SAME), named(A[0], A[1], **SAME), named(B[0], **SAME), named(*B, **SAME)],
        [named(A[0], '{"a"', **SAME), named(A[0], ":1}", **SAME), named(B[0], '{"b"', **SAME), named(None, ":2}", **SAME)],
    ],
)  # fmt: skip
def test_another_declared_name_under_one_index_and_id_is_a_call_of_its_own(
    fragments: list[Any],
) -> None:
    assert calls_of(*fragments) == [A, B]
    for fragment in fragments:
        del fragment["index"]
    if "id" not in fragments[0] or len(fragments) == 2:
        assert calls_of(*fragments) == [A, B]


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        ([named("read"), named("_file"), named(None, "{}")], [("read_file", "{}")]),
        ([named("read"), named("read_file", "{}")], [("read_file", "{}")]),
        ([named("read", "{"), named("_file", "}")], [("read_file", "{}")]),
        ([named("r"), named("r"), named("read_f"), named("ile")], [("read_file", "{}")]),
        ([named("functions."), named("read_file", "{}")], [("read_file", "{}")]),
        ([named("func"), named("tions.read_file", "{}")], [("read_file", "{}")]),
        ([named("functions.read_"), named("file", "{}")], [("read_file", "{}")]),
        ([named("read"), named("er", "{}")], [("reader", "{}")]),
        ([named("read"), named(None, "{}")], [("read", "{}")]),
        ([named("get"), named("get", "{}")], [("get", "{}")]),
        ([named("get"), named("_time", "{}")], [("get_time", "{}")]),
        ([named("get"), named("get_time", "{}")], [("get_time", "{}")]),
        ([named("a"), named("b", "{}"), named("ab")], [("ab", "{}")]),
        ([named("a"), named("ab"), named("abc", "{}")], [("abc", "{}")]),
        ([named("get<|chan"), named("nel|>json"), named(None, "{}")], [("get", "{}")]),
        ([named("get_time<|channel|>x", "{}"), named("get_time<|channel|>x")], [("get_time", "{}")]),
    ],
)  # fmt: skip
def test_parts_of_a_name_become_the_declared_one_and_none_is_lost(
    fragments: list[Any], calls: list[tuple[str, str]]
) -> None:
    assert calls_of(*fragments) == calls


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        pytest.param(name, before, after, id=f"{name}/{what}")
        for name, what, before, after in MORE
    ],
)
def test_fix_repairs_what_it_means_and_no_more(
    name: str, before: Wire, after: Wire
) -> None:
    (fix,) = (fix for fix in FIXES if fix.name == name)
    assert repaired(wire(before), fixes=alone(fix), ended=False) == wire(after)


@pytest.mark.parametrize(
    "fragments",
    [
        # The second name in parts, under the index of the first.
        [named(*A), named("read_", id="b"), named(None, B[1]), named("file")],
        # All calls have one id: the second name in parts; so are both; that is late; so are both.
        [named(*A, **SAME), named("read_", **SECOND), named("file", B[1], index=1)],
        [named("get_t", **SAME), named("read", **SECOND), named("ime", A[1]), named("_file", B[1], index=1)],
        [named(*A, **SAME), named(None, **SECOND), named(None, '{"b"', index=1), named(B[0], ":2}", index=1)],
        [named(None, **SAME), named(None, **SECOND), named(*A), named(None, '{"b"', index=1), named(B[0], ":2}", index=1)],
        # Its arguments are there before its name, whole or not, with the id of a call that is over.
        [named(*A, **SAME), named(None, B[1], **SECOND), named(B[0], index=1)],
        [named(None, '{"a"', **SAME), named(A[0], ":1}"), named(None, '{"b"', **SECOND), named(B[0], ":2}", index=1)],
        # Both take turns under one index, and the second name grows, or comes in parts.
        [named(A[0], '{"a":', id="a"), named("read", '{"b":', id="b"), named(None, "1}", id="a"), named(B[0], "2}", id="b")],
        [named(A[0], '{"a":', id="a"), named("read", '{"b":', id="b"), named(None, "1}", id="a"), named("_file", "2}", id="b")],
    ],
)  # fmt: skip
def test_a_call_whose_name_is_late_is_not_mixed_with_the_one_before(
    fragments: list[Any],
) -> None:
    assert calls_of(*fragments) == [A, B]


def test_calls_beyond_those_that_are_remembered_pass_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_calls, "MAX_TRACKED", 2)
    sent = [calling(named("get", index=2 * at, id=f"call_{at}")) for at in range(4)]
    more = calling(rest(6, '{"a"'))  # nothing waits for a name, either
    out = repaired(wire([*sent, more]), WITH_TOOLS, ended=False)
    found = re.findall(rb'"tool_calls":\[{"index":(\d)', out)
    assert [int(at) for at in found] == [0, 1, 4, 6, 6]


def test_a_call_whose_head_passes_as_received_goes_on_under_that_index() -> None:
    class Fails(Fix):
        name = "fails"
        handles = Finding.CALLS

        def edit(self, chunk: Chunk) -> bool:
            raise RuntimeError

    sent = [calling(named("get_time", index=3)), calling(named(None, A[1], index=3))]
    out = repaired(wire(sent), WITH_TOOLS, [*FIXES, Fails], ended=False)
    assert out.count(b'"index":3') == len(sent)


def without(*names: str) -> list[type[Fix]]:
    return [each for each in FIXES if each.name not in names]


def test_what_is_held_is_sent_where_the_assembler_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError

    early = calling({"index": 1, "id": "b", "function": {"arguments": "{}"}})
    pipeline = Pipeline(STREAM, FIXES)
    assert b"tool_calls" not in b"".join(pipeline.feed(wire([calling(), early])))
    monkeypatch.setattr(OpenCalls, "find", fail)
    out = b"".join(pipeline.feed(wire([calling(head(0))])))
    assert out == wire([early, calling(head(0))])


def arguments_of(*fragments: tuple[int | None, str | None, str]) -> dict[str, str]:
    """Return the arguments of each call by id; the first fragment of an id has a name."""
    events = []
    named: set[str] = set()
    for index, identity, arguments in fragments:
        call = rest(index, arguments)
        if identity:
            is_first = identity not in named
            named.add(identity)
            call["id"] = identity
            call = head(index, arguments, id=identity) if is_first else call
        events.append(calling(call))
    out = repaired(wire([*events, chunk({}, finish="tool_calls"), DONE]))
    assert repaired(out) == out
    choice = meaning_of_stream(out).choices[0]
    return {str(call.id): call.arguments for call in choice.calls}


@pytest.mark.parametrize(
    ("fragments", "theirs"),
    [
        ([(1, "A", "1"), (1, "B", "2"), (1, "A", "3")], "13 2"),
        ([(1, "A", "1"), (None, "B", "2"), (1, "A", "3")], "13 2"),
        ([(0, "A", ""), (0, "B", ""), (0, "A", "3"), (0, "B", "4")], "3 4"),
        ([(0, "A", "1"), (0, "B", "2"), (0, "A", "3"), (0, None, "4")], "134 2"),
        ([(0, "A", "1"), (1, "B", "2"), (1, "A", "3"), (1, "B", "4")], "13 24"),
        ([(1, "A", "1"), (2, "B", "2"), (2, None, "3"), (1, None, "4")], "14 23"),
        ([(1, "A", "1"), (0, "B", "2"), (1, None, "3"), (0, "B", "4")], "13 24"),
        ([(0, "A", "1"), (0, "X", "2"), (1, "A", "3"), (0, "X", "4")], "13 24"),
    ],
)
def test_arguments_go_to_the_call_whose_id_they_have(
    fragments: list[tuple[int | None, str | None, str]], theirs: str
) -> None:
    assert " ".join(arguments_of(*fragments).values()) == theirs


def test_arguments_that_are_no_text_are_joined_as_text() -> None:
    early = calling({"index": 0, "id": "a", "function": {"arguments": {"a": 1}}})
    out = repaired(
        wire([early, calling(head(0, id="a"))]),
        fixes=without("tool-call-arguments-object"),
    )
    (call,) = meaning_of_stream(out).choices[0].calls
    assert (call.name, call.arguments) == ("f", '{"a":1}')


def test_arguments_of_nobody_go_to_a_call_without_any_if_they_are_alone() -> None:
    first = calling({"function": {"arguments": '{"a":1}'}, "index": 3})
    other = calling({"function": {"arguments": '{"b":2}'}, "index": 4})
    opened = calling({"id": "call_a", "function": {"name": "f"}, "index": 0})
    for events, sent in (
        ((first, opened), ['{"a":1}']),
        ((first, other, opened), ["", '{"a":1}', '{"b":2}']),
    ):
        found = meaning_of_stream(repaired(wire(events))).choices[0].calls
        assert [call.arguments for call in found] == sent


def test_no_more_than_the_prompt_was_in_a_cache() -> None:
    usage = {**USAGE, "cached_tokens": 9}
    body = completion({"role": "assistant", "content": "Hi"}) | {"usage": usage}
    (sent,) = repair_body(dumps(body), 200, Asked(), FIXES, "").after
    assert loads(sent)["usage"] == usage
