"""Every fix of a native answer keeps what it declares."""

import inspect
import itertools
import re

import pytest

from each_case import each_case
from llm_normalize.exchange.stream.native_stream import NativeStream
from llm_normalize.native_fixes import NATIVE_FIXES
from llm_normalize.native_fixes import message_events as m
from llm_normalize.native_fixes import response_events as r
from llm_normalize.native_fixes.native_fix import MessagesExample as Message
from llm_normalize.native_fixes.native_fix import NativeExample, NativeFix, wire
from llm_normalize.native_fixes.native_fix import ResponsesExample as Response
from llm_normalize.protocols.messages.native import block_reader, message_reader
from llm_normalize.protocols.native_readers import native_reader
from llm_normalize.repair.outcome import EventRecord


class AllBut(frozenset[str]):
    """The names of all fixes but these, declared or not."""

    def __contains__(self, name: object) -> bool:
        return not super().__contains__(name)


EXAMPLES = [
    pytest.param(fix, example, id=f"{fix.name}/{example.name}")
    for fix in NATIVE_FIXES
    for example in fix.examples
]


def play(
    data: bytes, example: NativeExample, skipped: AllBut, *, ended: bool = True
) -> tuple[bytes, set[str]]:
    """Return what becomes of a stream, and the fixes that changed something."""
    records = list[EventRecord]()
    protocol, request = example.protocol, example.request
    reader = native_reader(protocol, request, "exchange", skipped)
    stream = NativeStream(reader, records.append, "stream")
    out = [*stream.feed(data), *(stream.end() if ended else [])]
    changed = {name for each in records if each.changed for name in each.fixes}
    return b"".join(out), changed


MESSAGE = [
    m.start(),
    {"type": "ping"},
    *(m.block("thinking"), m.delta("thinking_delta", "Hm")),
    *(m.delta("signature_delta", "s"), m.stop()),
    *(m.block("text", 1), m.delta("text_delta", "Hi", 1), m.stop(1)),
    *(m.block("tool_use", 2), m.delta("input_json_delta", "{}", 2), m.stop(2)),
    *(m.end("tool_use"), m.STOP),
]
OWN = [
    Message.untouched("a message", MESSAGE),
    Message.untouched("a body", [m.message()], is_body=True),
    Response.untouched("a text", r.WHOLE),
    Response.untouched("a call", r.CALLED),
    Response.untouched("a body", [r.WHOLE[-1]["response"]], is_body=True),
]
"""What Anthropic and OpenAI send themselves."""


@each_case([*EXAMPLES, *itertools.product(NATIVE_FIXES, OWN)])
def test_example_comes_out_as_declared_and_stays(
    fix: type[NativeFix], example: NativeExample
) -> None:
    others, every = AllBut([fix.name]), AllBut()
    expected = {fix.name} if example.changes else set()
    if example.is_body:
        (body,), (due,) = example.before, example.after
        assert isinstance(body, dict)
        protocol, request = example.protocol, example.request
        made = native_reader(protocol, request, "exchange", others).body(body)
        assert [value for _, value in made.events] == [due]
        assert {*made.fixes} == expected
        again = native_reader(protocol, request, "exchange", others)
        assert again.body(made.events[0][1]).fixes == []
        return
    before, after, ended = wire(example.before), wire(example.after), example.ended
    out, fixes = play(before, example, others, ended=ended)
    assert out == after
    assert fixes == expected
    assert play(after, example, others, ended=ended) == (after, set())
    assert play(before, example, every, ended=ended) == (before, set())


def test_every_name_of_the_reader_is_declared() -> None:
    declared = {fix.name for fix in NATIVE_FIXES}
    text = inspect.getsource(message_reader) + inspect.getsource(block_reader)
    used = {*re.findall(r'"([a-z]+(?:-[a-z]+)+)"', text)}
    assert used - {"toolu-base64"} <= declared
    assert used > {"message-start-missing", "tool-id-foreign"}
    of_messages = {fix.name for fix in NATIVE_FIXES if ".messages." in fix.__module__}
    assert of_messages <= used


@each_case(NATIVE_FIXES, ids=lambda fix: fix.name)
def test_declaration_is_complete(fix: type[NativeFix]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", fix.name)
    assert fix.changes
    assert fix.why.endswith(".")
    assert fix.providers
    assert fix.sources
    assert all(re.match(r"https://\S+$", source) for source in fix.sources)
    assert any(example.changes for example in fix.examples)
    assert len({example.name for example in fix.examples}) == len(fix.examples)
    assert fix.__doc__
