import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.responses import Event, check_events, meaning_of, meaning_of_deltas
from llm_normalize.protocols.protocol import (
    AnswerTranslator,
    Circumstances,
    ServerEvent,
)
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.wire.json_text import Number, dumps

REQUEST: Any = {
    "model": "asked",
    "input": "Hi",
    "stream": True,
    "tools": [
        {"type": "function", "name": "find_ferry"},
        {"type": "custom", "name": "patch"},
        {
            "type": "namespace",
            "name": "sea",
            "tools": [{"name": "tide"}, {"type": "custom", "name": "log"}],
        },
    ],
}
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}


def answer(**fields: Any) -> AnswerTranslator:
    return RESPONSES.translate({**REQUEST, **fields}).answer


def chunk(delta: Any = None, finish: Any = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish, **fields}
    return {
        "id": "chatcmpl-7",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "tern-2",
        "choices": [choice],
    }


def last(**fields: Any) -> dict[str, Any]:
    return {**chunk(), "choices": [], **fields}


def head(name: str, arguments: str = "", index: int = 0, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    made = {"id": f"call_{index}", "type": "function", "function": function, **more}
    return {"tool_calls": [{"index": index, **made}]}


def more(arguments: str, index: int = 0) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


def stream(
    deltas: Iterable[Any], finish: Any = "stop", usage: Any = USAGE
) -> list[Any]:
    chunks = [chunk(each) for each in deltas]
    return [chunk({"role": "assistant", "content": ""}), *chunks, chunk({}, finish),
            *([last(usage=usage)] if usage else [])]  # fmt: skip


def events_of(chunks: Iterable[Any], **fields: Any) -> list[Event]:
    made = answer(**fields)
    events = [event for each in chunks for event in made.chunk(each)]
    return checked([*events, *made.done()])


def checked(events: Sequence[ServerEvent]) -> list[Event]:
    assert check_events(json.loads(dumps([[*each] for each in events]))) == []
    return [*events]


def response_of(events: Sequence[Event]) -> Any:
    return events[-1][1]["response"]


def output_of(deltas: Iterable[Any], finish: Any = "stop", **fields: Any) -> list[Any]:
    found: list[Any] = response_of(events_of(stream(deltas, finish), **fields))[
        "output"
    ]
    return found


def names_of(events: Iterable[ServerEvent]) -> list[str]:
    return [name.removeprefix("response.") for name, _ in events]


TEXT_OPENS = ["output_item.added", "content_part.added", "output_text.delta"]
TEXT_CLOSES = ["output_text.done", "content_part.done", "output_item.done"]


def test_text_event_by_event() -> None:
    made = answer()
    opening, one, two, finish, usage = stream(
        [{"content": "Low"}, {"content": " tide"}]
    )
    assert names_of(made.chunk(opening)) == ["created", "in_progress"]
    assert names_of(made.chunk(one)) == TEXT_OPENS
    assert names_of(made.chunk(two)) == ["output_text.delta"]
    assert names_of(made.chunk(finish)) == TEXT_CLOSES
    assert made.chunk(usage) == []
    assert names_of(made.done()) == ["completed"]


FERRY = head("find_ferry", "{}")


@pytest.mark.parametrize(
    ("deltas", "kinds"),
    [
        ([{"content": "\n"}, FERRY], ["function_call"]),
        ([{"content": "\n"}, {"content": "a"}, FERRY], ["message", "function_call"]),
        ([{"content": " "}], ["message"]),
    ],
)
def test_blanks_say_nothing_before_a_call(deltas: Any, kinds: list[str]) -> None:
    found = response_of(events_of(stream(deltas, "stop")))["output"]
    assert [each["type"] for each in found] == kinds


def test_answer_that_says_nothing_has_an_empty_message() -> None:
    for deltas in ([], [{"reasoning_content": "Hm."}]):
        *_, item = output_of(deltas)
        assert item["content"][0]["text"] == ""


def test_custom_call_gives_its_text_as_it_grows() -> None:
    deltas = [head("patch", '{"inp'), more('ut": "*** Be'), more('gin\\n"'), more("}")]
    events = events_of(stream(deltas, "tool_calls"))
    grown = [data["delta"] for name, data in events if name.endswith("input.delta")]
    assert grown == ["*** Be", "gin\n"]
    (item,) = response_of(events)["output"]
    assert (item["type"], item["input"]) == ("custom_tool_call", "*** Begin\n")


def test_index_that_is_used_again_is_another_call() -> None:
    deltas = [head("find_ferry", "{}"), {"content": "And"}, head("sea__tide", "{}")]
    assert len(output_of(deltas, "tool_calls")) == 3


def test_citations_are_annotations() -> None:
    cited = {"url": "https://tide", "title": "T", "start_index": 0, "end_index": 3}
    given = [
        {"type": "url_citation", "url_citation": cited},
        {"type": "url_citation", "url_citation": {"url": "https://sea"}},
        {"type": "file_citation", "file_citation": {"file_id": "f"}},
    ]
    (item,) = output_of([{"content": "Low", "annotations": given}])
    assert item["content"][0]["annotations"] == [
        {"type": "url_citation", **cited},
        {"type": "url_citation", "url": "https://sea", "title": "", "start_index": 0,
         "end_index": 0},
    ]  # fmt: skip


def test_log_probabilities_stay() -> None:
    top = {"token": "Low", "logprob": Number("-0.50"), "bytes": None}
    token = {**top, "bytes": [76], "top_logprobs": [top]}
    given = {"content": [token, {"token": "x"}, 7], "refusal": None}
    chunks = [chunk({"content": "Low"}, logprobs=given), chunk({}, "stop")]
    (item,) = response_of(events_of(chunks))["output"]
    expected = {**token, "top_logprobs": [{**top, "bytes": []}]}
    assert item["content"][0]["logprobs"] == [expected]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [("length", "max_output_tokens"), ("content_filter", "content_filter")],
)
def test_answer_that_is_cut_is_incomplete(finish: str, reason: str) -> None:
    deltas = [{"reasoning_content": "Hm"}, {"content": "Low"}]
    events = events_of(stream(deltas, finish))
    assert events[-1][0] == "response.incomplete"
    response = response_of(events)
    assert response["incomplete_details"] == {"reason": reason}
    statuses = [item["status"] for item in response["output"]]
    assert statuses == ["completed", "incomplete"]


def test_calls_of_an_answer_that_is_cut() -> None:
    deltas = [head("find_ferry", '{"to":'), head("sea__tide", "{}", index=1)]
    first, second = output_of(deltas, "length")
    assert (first["status"], first["arguments"]) == ("incomplete", '{"to":')
    assert second["status"] == "completed"
    assert output_of([], "length") == []


def test_error_ends_the_answer() -> None:
    made = answer()
    events = [
        *made.chunk(chunk({"reasoning_content": "Hm"})),
        *made.chunk(chunk({"content": "Low"})),
        *made.chunk(last(usage=USAGE)),
        *made.error({"message": "Too long", "code": "context_length_exceeded"}),
    ]
    assert (made.done(), made.error({}), made.keep_alive()) == ([], [], [])
    assert made.chunk(chunk({"content": "more"})) == []
    response = response_of(checked(events))
    assert response["status"] == "failed"
    assert response["usage"]["total_tokens"] == 13
    assert [item["type"] for item in response["output"]] == ["reasoning"]
    code = {"code": "context_length_exceeded", "message": "Too long"}
    assert response["error"] == code
    assert meaning_of_deltas(events).choices[0].text == "Low"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"message": "m", "code": "insufficient_quota"}, "insufficient_quota", "m"),
        ({"message": "m", "code": 429}, "rate_limit_exceeded", "m"),
        ({"message": "m", "type": "rate_limit_error"}, "rate_limit_exceeded", "m"),
        ({"message": "m", "code": "400"}, "invalid_prompt", "m"),
        (
            {"code": "", "type": "invalid_request_error"},
            "invalid_prompt",
            "invalid_request_error",
        ),
        ({"message": "m", "code": "502"}, "server_error", "m"),
        ({"message": "", "type": "overloaded"}, "server_error", "overloaded"),
        ({}, "server_error", "The provider sent an error without words."),
    ],
)
def test_error_before_the_first_chunk(error: Any, code: str, message: str) -> None:
    events = checked(answer().error(error))
    assert names_of(events) == ["created", "in_progress", "failed"]
    assert response_of(events)["error"] == {"code": code, "message": message}
    assert response_of(events)["model"] == "asked"


def test_break_off_forges_nothing() -> None:
    made = answer()
    events = [e for each in stream([{"content": "Low"}])[:2] for e in made.chunk(each)]
    assert check_events(events, complete=False) == []
    assert not {"completed", "output_item.done"} & set(names_of(events))


@pytest.mark.parametrize(
    ("deltas", "kind"),
    [
        ([], "in_progress"),
        ([{"content": "Low"}], "output_text.delta"),
        ([{"refusal": "No"}], "refusal.delta"),
        ([{"reasoning_content": "Hm"}], "reasoning_summary_text.delta"),
        ([head("find_ferry")], "function_call_arguments.delta"),
        ([head("patch")], "custom_tool_call_input.delta"),
    ],
)
def test_sign_of_life_changes_nothing(deltas: list[Any], kind: str) -> None:
    made = answer()
    assert made.keep_alive() == []
    before = events_of(stream(deltas))
    events: list[Event] = []
    for each in stream(deltas):
        events += made.chunk(each)
        alive = made.keep_alive()
        assert names_of(alive) in ([kind], ["in_progress"])
        events += alive
    events = checked([*events, *made.done()])
    assert response_of(events) == response_of(before)
    assert f"response.{kind}" in [name for name, _ in events]


def test_response_says_what_the_request_said() -> None:
    asked = {
        "instructions": "Be brief.",
        "temperature": 0.2,
        "max_output_tokens": 99,
        "metadata": {"a": "b"},
        "parallel_tool_calls": False,
        "tool_choice": "required",
        "reasoning": {"effort": "low"},
        "text": {"format": None, "verbosity": "low"},
    }
    response = response_of(events_of(stream([]), **asked))
    for key, value in asked.items():
        if key not in ("reasoning", "text"):
            assert response[key] == value
    assert response["reasoning"] == {"effort": "low", "summary": None}
    assert response["text"] == {"format": {"type": "text"}, "verbosity": "low"}
    function, custom, namespace = response["tools"]
    keys = ("description", "parameters", "strict")
    assert function == {**REQUEST["tools"][0], **dict.fromkeys(keys)}
    assert [custom, namespace] == REQUEST["tools"][1:]
    assert (response["store"], response["previous_response_id"]) == (False, None)
    assert response["service_tier"] == "default"


def test_service_tier_is_the_answers() -> None:
    chunks = [{**chunk(), "service_tier": "flex"}, chunk({}, "stop")]
    assert response_of(events_of(chunks))["service_tier"] == "flex"


def test_answers_have_ids_of_their_own() -> None:
    def ids(exchange: str) -> set[str]:
        made = RESPONSES.translate(REQUEST, Circumstances(exchange)).answer
        events = [e for each in stream([{"content": "x"}]) for e in made.chunk(each)]
        response = response_of([*events, *made.done()])
        return {response["id"], response["output"][0]["id"]}

    assert ids("e-1") == ids("e-1")
    assert ids("e-1").isdisjoint(ids("e-2"))  # although the chat id is the same


@pytest.mark.parametrize(
    ("given", "expected"),
    [("call_0", "call_0-3"), ("call_1", "call_1"), ("call_2", "call_2-2")],
)
def test_id_of_a_call_is_that_of_chat_unless_the_conversation_has_it(
    given: str, expected: str
) -> None:
    earlier = [
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": each}
        for each in ("call_0", "call_0-2", "call_2")
    ]
    call = head("find_ferry", "{}", id=given)
    (item,) = output_of([call], input=[{"role": "user", "content": "x"}, *earlier])
    assert item["call_id"] == expected


PARTS = st.one_of(
    st.fixed_dictionaries({"content": st.text(max_size=3)}),
    st.fixed_dictionaries({"reasoning_content": st.text(max_size=3)}),
    st.fixed_dictionaries({"refusal": st.text(max_size=3)}),
    st.builds(
        lambda name, index: head(name, index=index),
        st.sampled_from(["find_ferry", "patch", "sea__tide", "unknown"]),
        st.integers(0, 2),
    ),
    st.builds(
        more,
        st.sampled_from(['{"input":"', "{}", "a\\", 'n"}', '"', "{", "}", " "]),
        st.integers(0, 2),
    ),
)


def begun(deltas: Iterable[Any]) -> Iterator[Any]:
    """Leave out what goes on with a call that has not begun: chat has no such thing."""
    indexes = set()
    for delta in deltas:
        for each in delta.get("tool_calls", ()):
            if "id" in each:
                indexes.add(each["index"])
        if all(each["index"] in indexes for each in delta.get("tool_calls", ())):
            yield delta


@given(
    st.lists(PARTS, max_size=12),
    st.sampled_from(["stop", "tool_calls", "length", "content_filter"]),
)
def test_any_stream_has_the_form_and_its_deltas_say_the_whole(
    deltas: list[Any], finish: str
) -> None:
    events = events_of(stream(begun(deltas), finish))
    assert meaning_of_deltas(events) == meaning_of(response_of(events))


@given(
    st.text(max_size=12),
    st.text(max_size=12),
    st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
    st.text(max_size=12),
    st.data(),
)
def test_any_split_of_the_deltas_gives_the_same_items(
    thought: str, text: str, arguments: Any, patch: str, data: st.DataObject
) -> None:
    def split(whole: str) -> list[str]:
        places = data.draw(st.lists(st.integers(0, len(whole)), max_size=5))
        starts = [0, *sorted(places)]
        ends = [*starts[1:], len(whole)]
        return [whole[a:b] for a, b in zip(starts, ends, strict=True)]

    written, text_of_patch = json.dumps(arguments), json.dumps({"input": patch})
    deltas = [
        *({"reasoning_content": part} for part in split(thought)),
        *({"content": part} for part in split(text)),
        head("find_ferry"),
        *(more(part) for part in split(written)),
        head("patch", index=1),
        *(more(part, 1) for part in split(text_of_patch)),
    ]
    whole = [
        {"reasoning_content": thought, "content": text},
        head("find_ferry", written),
        head("patch", text_of_patch, 1),
    ]
    assert output_of(deltas, "tool_calls") == output_of(whole, "tool_calls")


LISTED = {"type": "exec", "command": ["ls", "-l"], "env": {}, "timeout_ms": 9}
LINE = {"type": "exec", "command": ["bash", "-lc", "ls -l"], "env": {}}
SHELL = {"commands": ["ls"], "timeout_ms": None, "max_output_length": None}
GONE = {"type": "delete_file", "path": "a"}
UPDATED = {"type": "update_file", "path": "a", "diff": "@@"}
TIDE = {"query": "tide"}


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        (
            {"type": "local_shell"},
            {"command": ["ls", "-l"], "timeout_ms": 9},
            {"action": LISTED},
        ),
        ({"type": "local_shell"}, {"command": "ls -l"}, {"action": LINE}),
        (
            {"type": "shell", "environment": {"type": "local"}},
            {"commands": ["ls"]},
            {"action": SHELL},
        ),
        ({"type": "apply_patch"}, GONE, {"operation": GONE}),
        ({"type": "apply_patch"}, {"operation": UPDATED}, {"operation": UPDATED}),
        (
            {"type": "tool_search", "execution": "client"},
            TIDE,
            {"execution": "client", "arguments": TIDE},
        ),
    ],
)
def test_call_of_a_tool_of_openais_own_has_its_form_and_comes_back(
    tool: Any, given: Any, expected: Any
) -> None:
    request = {**REQUEST, "tools": [tool]}
    translation = RESPONSES.translate(request)
    (function,) = translation.body["tools"]
    name, text = function["function"]["name"], json.dumps(given)
    assert name == tool["type"]
    fragments: list[Any] = [
        {"id": "c", "function": {"name": name, "arguments": ""}},
        *({"function": {"arguments": part}} for part in (text[:5], text[5:])),
    ]
    answer = translation.answer
    events = [
        event
        for each in fragments
        for event in answer.chunk(
            {"choices": [{"delta": {"tool_calls": [{"index": 0, **each}]}}]}
        )
    ]
    assert names_of([*answer.keep_alive()]) == ["in_progress"]
    events += answer.chunk({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]})
    events += answer.done()
    (item,) = response_of(events)["output"]
    same = {"id": item["id"], "status": "completed", "call_id": "c"}
    assert item == {**same, "type": f"{name}_call", **expected}
    kinds = names_of(events)
    assert kinds[2:4] == ["output_item.added", "output_item.done"]
    back = RESPONSES.translate(
        {**request, "input": [{"role": "user", "content": "Hi"}, item]}
    )
    (call,) = back.body["messages"][1]["tool_calls"]
    assert call["function"]["name"] == name


def called(name: str, arguments: str, tool: Any) -> Any:
    """Return the item of a call in a body, where this tool was offered."""
    message = head(name, arguments)
    choice = {"message": message, "finish_reason": "tool_calls"}
    (item,) = answer(tools=[tool]).body({"choices": [choice]})["output"]
    return item


def own_call(kind: str, arguments: str) -> Any:
    """Return the item of a call of a tool of OpenAI's own."""
    return called(kind, arguments, {"type": kind})


@pytest.mark.parametrize("text", ["{", "[1]", "", '{"commands": ["rm', "```\\n{"])
def test_broken_arguments_of_a_tool_of_openais_own_run_nothing(text: str) -> None:
    assert own_call("local_shell", text)["action"]["command"] == []
    assert own_call("shell", text)["action"]["commands"] == []


@pytest.mark.parametrize("text", ["ls -l", '{"input":"ls -l"}'])
def test_command_in_the_place_of_arguments_is_one(text: str) -> None:
    assert own_call("shell", text)["action"]["commands"] == ["ls -l"]
    action = own_call("local_shell", text)["action"]
    assert action["command"] == ["bash", "-lc", "ls -l"]


PATCHED = "*** Begin Patch\n*** Update File: a b.py\n@@\n-x\n+y\n*** End Patch\n"
TWO = PATCHED + "*** Add File: c\n+z\n"


@pytest.mark.parametrize(
    ("text", "operation"),
    [
        (PATCHED, ("update_file", "a b.py", "@@\n-x\n+y\n")),
        (json.dumps({"input": PATCHED}), ("update_file", "a b.py", "@@\n-x\n+y\n")),
        ("*** Add File: c\n+z\n", ("create_file", "c", "+z\n")),
        ("*** Delete File: c", ("delete_file", "c", None)),
        (json.dumps({"patch": TWO}), ("update_file", "", TWO)),
        ('{"path": "a', ("update_file", "", '{"path": "a')),
        ("{}", ("update_file", "", "")),
    ],
)
def test_whole_patch_in_the_place_of_arguments_is_an_operation(
    text: str, operation: tuple[str, str, str | None]
) -> None:
    found = own_call("apply_patch", text)["operation"]
    assert (found["type"], found["path"], found.get("diff")) == operation


@pytest.mark.parametrize("name", ["harbour.tide", "harbour/tide", "harbour:tide"])
def test_another_separator_behind_a_namespace_is_read(name: str) -> None:
    inner = {"type": "namespace", "name": "harbour", "tools": [{"name": "tide"}]}
    item = called(name, "{}", inner)
    assert (item["name"], item["namespace"]) == ("tide", "harbour")
