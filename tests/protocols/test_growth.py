"""Requests, refusals and answers cost a translator as much more as they are longer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from each_case import each_case
from growth import MOST, growth
from llm_normalize.native_fixes import message_events as events
from llm_normalize.native_fixes.native_fix import wire as native_wire
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.native_readers import native_reader
from llm_normalize.protocols.object_end import ObjectEnd
from llm_normalize.protocols.protocol import ClientProtocol, UntranslatableError
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.protocols.responses.custom_input import CustomInput
from llm_normalize.repair.engine.native_stream import NativeStream
from llm_normalize.repair.fix import calling, head

type Make = Callable[[int], dict[str, Any]]

ITEMS = (
    None, "message", "reasoning", "item_reference", "agent_message", "additional_tools",
    "tool_search_output", "configuration_update", "function_call", "custom_tool_call",
    "mcp_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call",
    "function_call_output", "custom_tool_call_output", "local_shell_call_output",
    "shell_call_output", "apply_patch_call_output", "computer_call_output",
    "web_search_call", "file_search_call", "code_interpreter_call", "program",
    "program_output", "image_generation_call", "mcp_list_tools", "mcp_approval_request",
    "tool_search_call", "ghost_snapshot",
)  # fmt: skip
"""Kinds of items in a request of Responses."""
BLOCKS = (
    "text", "image", "document", "search_result", "tool_reference", "compaction",
    "thinking", "redacted_thinking", "tool_use", "tool_result", "server_tool_use",
    "tool_addition", "tool_removal",
)  # fmt: skip
"""Kinds of content blocks in a request of Messages."""
PARTS = (
    "input_text", "output_text", "refusal", "encrypted_content", "input_image",
    "input_file", "input_audio",
)  # fmt: skip
"""Kinds of content parts in an item."""


def item(kind: str | None, at: int, content: Any = "a") -> dict[str, Any]:
    """Return an item of this kind, with all that any kind may have."""
    return {
        "type": kind, "role": "assistant", "content": content,
        "id": f"msg_{at}", "call_id": f"c{at // 2}", "name": f"f{at}", "arguments": "{}",
        "input": "a", "output": "a", "namespace": f"n{at % 7}", "server_label": "s",
        "tools": [{"type": "function", "name": f"g{at}"}], "summary": [{"text": "a"}],
    }  # fmt: skip


def part(kind: str) -> dict[str, Any]:
    """Return a content part of this kind."""
    url = "data:image/png;base64,"
    more = {"image_url": url, "file_data": url, "input_audio": {}}
    return {"type": kind, "text": "a", "refusal": "a", "encrypted_content": "a", **more}


def block(kind: str, at: int) -> dict[str, Any]:
    """Return a content block of this kind, with all that any kind may have."""
    tool = {"name": f"f{at}", "definition": {"name": f"f{at}", "input_schema": {}}}
    return {
        "type": kind, "text": "a", "thinking": "a", "id": f"c{at}", "name": f"f{at}",
        "input": {"a": at}, "tool_use_id": f"c{at}", "content": "a", "tool": tool,
        "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"},
        "tool_name": f"f{at}",
    }  # fmt: skip


def items(kind: str | None, count: int) -> dict[str, Any]:
    """Return a request with so many items of this kind, and a call at its end."""
    call = {"type": "function_call", "call_id": "last", "name": "f", "arguments": "{}"}
    return {"model": "m", "input": [*(item(kind, at) for at in range(count)), call]}


def parts(kind: str, count: int) -> dict[str, Any]:
    """Return a request with so many parts of this kind in one item."""
    return {"model": "m", "input": [item("message", 0, [part(kind)] * count)]}


def turns(role: str, kind: str, count: int) -> dict[str, Any]:
    """Return a request with so many blocks in one message, and as many messages."""
    many = [block(kind, at) for at in range(count)]
    late = {"clear_at": "next_user_message"} if role == "system" else {}
    single = [{"role": role, "content": [each], **late} for each in many]
    tools = [{"name": f"f{at}", "input_schema": {}} for at in range(count)]
    first = {"role": role, "content": many, **late}
    ask = {"role": "user", "content": "Hi"}
    messages = [ask, first, ask, *single, *[ask, *single[:50]] * 2]
    return {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools}


REQUESTS: dict[str, tuple[ClientProtocol, Make]] = {
    **{f"items {kind}": (RESPONSES, partial(items, kind)) for kind in ITEMS},
    **{f"parts {kind}": (RESPONSES, partial(parts, kind)) for kind in PARTS},
    **{
        f"{role}'s {kind}": (MESSAGES, partial(turns, role, kind))
        for kind in BLOCKS
        for role in ("user", "assistant", "system")
    },
}


@pytest.mark.unmeasured
@each_case(REQUESTS)
def test_work_on_a_request_grows_with_its_size_alone(name: str) -> None:
    protocol, make = REQUESTS[name]

    def translate(body: dict[str, Any]) -> object:
        try:
            return protocol.translate(body)
        except UntranslatableError as error:
            return error

    assert growth(make, translate, 500) < MOST


@pytest.mark.unmeasured
@each_case((["function_call", "function_call_output"], ["function_call_output"]))
def test_work_on_calls_that_have_one_id_grows_with_their_number_alone(
    kinds: list[str],
) -> None:
    given = [{**item(kind, 0), "call_id": "c"} for kind in kinds]

    def work(count: int) -> object:
        return RESPONSES.translate({"model": "m", "input": given * count})

    assert growth(lambda n: n, work, 2000) < MOST


@pytest.mark.unmeasured
def test_work_on_calls_of_unknown_tools_grows_with_their_number_alone() -> None:
    def make(count: int) -> tuple[Any, list[Any]]:
        tools = [{"type": "function", "name": f"f{at}"} for at in range(count)]
        answer = RESPONSES.translate({"input": "Hi", "tools": tools}).answer
        chunks = [
            calling(head(at, id=f"c{at}", function={"name": f"g{at}", "arguments": ""}))
            for at in range(count)
        ]
        return answer, chunks

    def work(made: tuple[Any, list[Any]]) -> None:
        answer, chunks = made
        for each in chunks:
            answer.chunk(each)

    assert growth(make, work, 300) < MOST


@pytest.mark.unmeasured
@each_case(("[", '"', "\\", '\\"', '[]"', "{}"))
def test_work_on_the_end_of_an_object_grows_with_its_size_alone(unit: str) -> None:
    def work(text: str) -> bool:
        end = ObjectEnd()
        end.add(text)
        return end.is_reached

    assert growth(lambda n: unit * n, work, 100_000) < MOST


@pytest.mark.unmeasured
@each_case(("[", "\\n", "\\[", "\\q", "\\\\", "\\u0041", "\\ud83d", "\\", "\\u"))
def test_work_on_a_custom_input_grows_with_its_size_alone(unit: str) -> None:
    def work(text: str) -> str:
        made = CustomInput()
        return made.feed('{"input":"' + text) + made.end()

    assert growth(lambda n: unit * n, work, 40_000) < MOST


@pytest.mark.unmeasured
@each_case(("a", " ", "a\\n", "a ", "\\n", "<<a\\n"))
def test_work_on_a_here_document_grows_with_its_size_alone(unit: str) -> None:
    def work(text: str) -> str:
        made = CustomInput()
        return made.feed(text) + made.end()

    for begun in ("cat <<", "cat <<a\\n", ""):
        make = partial(_command, begun, unit)
        assert growth(make, work, 40_000) < MOST


def _command(begun: str, unit: str, size: int) -> str:
    return f'{{"cmd":"{begun}{unit * size}"}}'


REFUSALS: dict[str, str] = {
    "digits": "1",
    "figures": "12 tokens in the messages, 1",
    "limits": "maximum context length is ",
    "wanted": "max_tokens is too large: 1",
    "requested": "requested about ",
}


@pytest.mark.unmeasured
@each_case((name, each) for name in REFUSALS for each in (MESSAGES, RESPONSES))
def test_work_on_a_refusal_grows_with_its_size_alone(
    name: str, protocol: ClientProtocol
) -> None:
    def make(count: int) -> dict[str, Any]:
        words = REFUSALS[name] * count
        return {"message": words, "type": words, "code": "context_length_exceeded"}

    assert growth(make, lambda error: protocol.error_body(400, error), 3_000) < MOST


def native(*several: dict[str, Any]) -> Callable[[int], bytes]:
    """Return what makes a stream of a message: its events, again and again."""
    return lambda size: native_wire([*several] * size)


TEXT = [events.block("text"), events.delta("text_delta", "a"), events.stop()]
NATIVE: dict[str, Callable[[int], bytes]] = {
    "blocks": native(*TEXT),
    "blocks without ends": native(*TEXT[:2]),
    "ends": native(events.block("text"), events.stop(1), events.stop()),
    "calls of one id": native(events.block("tool_use"), events.stop()),
    "open calls": native(
        events.block("tool_use"), events.delta("input_json_delta", "{")
    ),
    "kinds": lambda size: native_wire(
        [
            {
                "type": "content_block_start",
                "index": at,
                "content_block": {"type": f"{at}_tool_use"},
            }
            for at in range(size)
        ]
    ),
    "texts": native(TEXT[1]),
    "starts": native(events.start()),
}


@each_case(NATIVE)
def test_native_messages_cost_as_much_as_they_are_long(name: str) -> None:
    def read(data: bytes) -> None:
        reader = native_reader("messages", {}, "exchange")
        stream = NativeStream(reader, lambda _: None, "stream")
        stream.feed(data)
        stream.end()

    assert growth(NATIVE[name], read, 100) < MOST


def spoken(kind: str, key: str, size: int) -> dict[str, Any]:
    """Return an item with so many parts."""
    return {"type": kind, key: [{"text": f"{at}"} for at in range(size)]}


PARTS_OF: dict[str, Make] = {
    "reasoning": partial(spoken, "reasoning", "summary"),
    "message": partial(spoken, "message", "content"),
}


@each_case(PARTS_OF)
def test_parts_of_a_native_response_cost_as_much_as_they_are_many(name: str) -> None:
    def read(item: dict[str, Any]) -> None:
        reader = native_reader("responses", {}, "exchange")
        end = {"type": "response.completed", "response": {"output": [item]}}
        reader.event("response.completed", end)

    assert growth(PARTS_OF[name], read, 1000) < MOST


def test_body_in_the_place_of_a_stream_costs_as_much_as_it_is_long() -> None:
    def read(size: int) -> None:
        reader = native_reader("responses", {}, "exchange")
        stream = NativeStream(reader, lambda _: None, "stream")
        stream.feed(b"{")
        for _ in range(size):
            stream.feed(b" " * 64)

    assert growth(lambda n: n, read, 4_000) < MOST
