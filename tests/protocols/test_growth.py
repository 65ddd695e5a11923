"""Requests, refusals and answers cost a translator as much more as they are longer."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from growth import MOST, growth
from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.native_fixes import message_events as m
from llm_normalize.native_fixes.native_fix import wire as native_wire
from llm_normalize.protocols import PROTOCOLS
from llm_normalize.protocols.messages import MESSAGES
from llm_normalize.protocols.native_readers import native_reader
from llm_normalize.protocols.object_end import ObjectEnd
from llm_normalize.protocols.protocol import ClientProtocol, UntranslatableError
from llm_normalize.protocols.responses import RESPONSES
from llm_normalize.protocols.responses.custom_input import CustomInput
from llm_normalize.repair.fix import calling, chunk, head, rest

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


def again(given: list[Any], count: int) -> dict[str, Any]:
    """Return a request with these items so many times."""
    return {"model": "m", "input": given * count}


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


def native(*several: dict[str, Any]) -> Callable[[int], bytes]:
    """Return what makes a stream of a message: its events, again and again."""
    return lambda size: native_wire([*several] * size)


def kinds_of_blocks(size: int) -> bytes:
    kinds = [{"type": f"{at}_tool_use"} for at in range(size)]
    place = {"type": "content_block_start"}
    return native_wire(
        [{**place, "index": at, "content_block": x} for at, x in enumerate(kinds)]
    )


TEXT = [m.block("text"), m.delta("text_delta", "a"), m.stop()]
MESSAGES_EVENTS: dict[str, Callable[[int], bytes]] = {
    "blocks": native(*TEXT),
    "blocks without ends": native(*TEXT[:2]),
    "ends": native(m.block("text"), m.stop(1), m.stop()),
    "calls of one id": native(m.block("tool_use"), m.stop()),
    "open calls": native(m.block("tool_use"), m.delta("input_json_delta", "{")),
    "kinds": kinds_of_blocks,
    "texts": native(TEXT[1]),
    "starts": native(m.start()),
}


def ended(*output: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"output": [*output]}}


def in_places(*several: dict[str, Any]) -> Callable[[int], list[dict[str, Any]]]:
    """Return what makes these events for each of many items."""
    return lambda size: (
        [
            {**each, "item_id": f"m{at}", "output_index": at}
            for at in range(size)
            for each in several
        ]
        + [ended()]
    )


def spoken(kind: str, key: str, size: int) -> list[dict[str, Any]]:
    """Return the end of a response whose item has so many parts."""
    return [ended({"type": kind, key: [{"text": f"{at}"} for at in range(size)]})]


ARGUMENTS = "response.function_call_arguments"
SAID = {"type": "response.output_text.delta", "delta": "x"}
RESPONSES_EVENTS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "items without ends": lambda size: (
        [
            {
                "type": "response.output_item.added",
                "item": {"type": "function_call", "id": f"fc_{at}", "name": "f"},
            }
            for at in range(size)
        ]
        + [ended()]
    ),
    "messages": in_places(SAID),
    "nameless calls": in_places(
        {"type": f"{ARGUMENTS}.delta", "delta": "1"},
        {"type": f"{ARGUMENTS}.done", "arguments": "1"},
    ),
    "one output": lambda size: [ended(*[{"type": "message", "content": "x"}] * size)],
    "one text": lambda size: (
        [SAID] * size + [{"type": "response.output_text.done", "text": "x"}] * size
    ),
    "parts of thoughts": partial(spoken, "reasoning", "summary"),
    "parts of a message": partial(spoken, "message", "content"),
}


def called(index: int, call_id: str, name: str = "f", arguments: str = "{}") -> Any:
    function = {"name": name, "arguments": arguments}
    return calling(head(index, id=call_id, function=function))


TURN = [
    chunk({"content": "a"}),
    chunk({"reasoning_content": "b"}),
    calling(rest(0, "x" * 200)),
]
CHAT: dict[str, Callable[[int], list[Any]]] = {
    "calls that stay open": lambda size: [
        called(at, f"call_{at}", arguments='{"a":') for at in range(size)
    ],
    "calls of one id": lambda size: [called(at, "call_0") for at in range(size)],
    "texts beside a call": lambda size: [
        called(0, "call_0", arguments='{"a":"'),
        *TURN * size,
    ],
    "calls of unknown tools": lambda size: [
        called(at, f"c{at}", f"g{at}", "") for at in range(size)
    ],
}


def answers(
    protocol: ClientProtocol, make: Callable[[int], list[Any]], size: int
) -> tuple[Any, list[Any]]:
    """Return a translator to which so many tools were declared, and chunks for it."""
    request = {"model": "m", "max_tokens": 9, "messages": [], "input": "Hi"}
    tools = [{"type": "function", "name": f"f{at}"} for at in range(size)]
    return protocol.translate({**request, "tools": tools}).answer, make(size)


def translate(made: tuple[Any, list[Any]]) -> None:
    answer, chunks = made
    for each in chunks:
        answer.chunk(each)
    answer.done()


def request_to(protocol: ClientProtocol) -> Callable[[dict[str, Any]], None]:
    def work(body: dict[str, Any]) -> None:
        with contextlib.suppress(UntranslatableError):
            protocol.translate(body)

    return work


def refusal_to(protocol: ClientProtocol) -> Callable[[str], object]:
    def work(words: str) -> object:
        error = {"message": words, "type": words, "code": "context_length_exceeded"}
        return protocol.error_body(400, error)

    return work


def read_messages(data: bytes) -> None:
    stream = NativeStream(native_reader("messages", {}, "x"), lambda _: None, "x")
    stream.feed(data)
    stream.end()


def read_response(events: list[dict[str, Any]]) -> None:
    reader = native_reader("responses", {}, "x")
    for each in events:
        reader.event(each["type"], each)


def wait_for_body(size: int) -> None:
    """Read a body in the place of a stream, which is held, in as many reads."""
    stream = NativeStream(native_reader("responses", {}, "x"), lambda _: None, "x")
    stream.feed(b"{")
    for _ in range(size):
        stream.feed(b" " * 64)


def end_object(text: str) -> bool:
    end = ObjectEnd()
    end.add(text)
    return end.is_reached


def read_input(text: str) -> str:
    made = CustomInput()
    return made.feed(text) + made.end()


def repeated(unit: str, frame: str = "{}") -> Callable[[int], str]:
    return lambda size: frame.replace("{}", unit * size, 1)


CALL, OUTPUT = (
    {**item(kind, 0), "call_id": "c"}
    for kind in ("function_call", "function_call_output")
)
REFUSALS = (
    "1",
    "12 tokens in the messages, 1",
    "maximum context length is ",
    "max_tokens is too large: 1",
    "requested about ",
)
UNITS = ("[", "\\n", "\\[", "\\q", "\\\\", "\\u0041", "\\ud83d", "\\", "\\u")
DOCUMENTS = ("a", " ", "a\\n", "a ", "\\n", "<<a\\n")
CASES: dict[str, tuple[Callable[[int], Any], Callable[[Any], object], int]] = {
    **{
        f"items {kind}": (partial(items, kind), request_to(RESPONSES), 500)
        for kind in ITEMS
    },
    **{
        f"parts {kind}": (partial(parts, kind), request_to(RESPONSES), 500)
        for kind in PARTS
    },
    **{
        f"{role}'s {kind}": (partial(turns, role, kind), request_to(MESSAGES), 500)
        for kind in BLOCKS
        for role in ("user", "assistant", "system")
    },
    "calls of one id": (partial(again, [CALL, OUTPUT]), request_to(RESPONSES), 2000),
    "outputs of one id": (partial(again, [OUTPUT]), request_to(RESPONSES), 2000),
    **{
        f"{each.name}, {name}": (partial(answers, each, make), translate, 200)
        for name, make in CHAT.items()
        for each in PROTOCOLS
    },
    **{
        f"object {unit}": (repeated(unit), end_object, 100_000)
        for unit in ("[", '"', "\\", '\\"', '[]"', "{}")
    },
    **{
        f"custom input {unit}": (repeated(unit, '{"input":"{}'), read_input, 40_000)
        for unit in UNITS
    },
    **{
        f"here document {begun}{unit}": (
            repeated(unit, '{"cmd":"' + begun + '{}"}'),
            read_input,
            40_000,
        )
        for unit in DOCUMENTS
        for begun in ("cat <<", "cat <<a\\n", "")
    },
    **{
        f"{each.name}, refusal {words}": (repeated(words), refusal_to(each), 3_000)
        for words in REFUSALS
        for each in PROTOCOLS
    },
    **{
        f"messages' events, {name}": (make, read_messages, 100)
        for name, make in MESSAGES_EVENTS.items()
    },
    **{
        f"a response's events, {name}": (make, read_response, 500)
        for name, make in RESPONSES_EVENTS.items()
    },
    "a body in the place of a stream": (int, wait_for_body, 4_000),
}


@pytest.mark.parametrize("name", CASES)
def test_work_grows_with_the_size_alone(name: str) -> None:
    assert growth(*CASES[name]) < MOST
