"""What the fuzzer checks of an answer.

Checked for any bytes: nothing raises, and nothing is logged as an error, which is how a
fix that fails shows itself; any cut gives the same output; a block that no fix is named
for passes unchanged; no `[DONE]` is made up; what is kept stays bounded. For JSON
events besides: repairing twice equals repairing once; what OpenAI could have sent
passes unchanged; no text is lost.
"""

import gc
import logging
import os
import re
import sys
import time
import traceback
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from llm_normalize import conformance
from llm_normalize.chat.chunks import chunk, chunk_form
from llm_normalize.chat.state.asked import Asked
from llm_normalize.fixes import FIXES
from llm_normalize.repair.engine.body import repair_body
from llm_normalize.repair.engine.fix_plan import FixPlan
from llm_normalize.repair.engine.payload import may_tell_failure
from llm_normalize.repair.engine.pipeline import Pipeline
from llm_normalize.repair.engine.text_memory import TextMemory
from llm_normalize.repair.outcome import EventRecord
from workshop.fuzz.cases import STATUSES, Case, Json, Say
from workshop.fuzz.meaning import (
    FIGURES,
    SAME,
    allow_repetition,
    check_meaning,
    check_texts,
    difference,
    events_of,
    is_clear,
    kind_of,
    last_end,
    listed,
    read_json,
    request_of,
    text_of,
    values_of,
)


class Finding(NamedTuple):
    """A broken promise: its kind, each reported once, and the words."""

    kind: str
    text: str

    @property
    def slug(self) -> str:
        """The kind as the name of a file."""
        return re.sub(r"[^a-z]+", "-", self.kind.lower()).strip("-")[:60]


def check(data: bytes) -> list[Finding]:
    """Run the input *data* and return which promises it breaks, each kind once."""
    found: dict[str, Finding] = {}

    def say(kind: str, text: str) -> None:
        found.setdefault(kind, Finding(kind, text))

    case = Case.read(data)
    began = time.process_time()
    with _heard(say), _limits(low=case.tight or case.mode == "long"):
        try:
            _CHECKS[case.mode](case, say)
        except Exception as error:  # noqa: BLE001 - any is a finding
            say(f"raised {_where(error)}", "".join(traceback.format_exception(error)))
    took = time.process_time() - began
    if took > _SLOW:
        say("slow", f"{len(data)} bytes took {took:.1f} s")
    return list(found.values())


_SLOW = 5.0  # seconds of one input, however busy the machine


@contextmanager
def _heard(say: Say) -> Iterator[None]:
    """Say what the package logs as an error; keep all of it off the terminal."""
    logger = logging.getLogger("llm_normalize")
    ear = logging.Handler(logging.ERROR)

    def hear(record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        trace = "".join(traceback.format_exception(error)) if error else ""
        kind = _where(error) if error else str(record.msg)
        say(f"logged {kind}", f"{record.getMessage()}\n{trace}")

    ear.emit = hear  # type: ignore[method-assign]
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(ear)
    try:
        yield
    finally:
        logger.removeHandler(ear)
        logger.propagate = propagate


def _where(error: BaseException) -> str:
    """Return the kind of *error* and where in the project it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if not each.filename.startswith(_LIBRARY)] or frames
    place = f"{Path(ours[-1].filename).name}:{ours[-1].name}" if ours else "nowhere"
    return f"{type(error).__name__} in {place}"


_LIBRARY = str(Path(os.__file__).parent)

LOW_LIMITS = {
    "MAX_EVENT": 2048,
    "_LIMIT": 512,
    "MAX_TRACKED": 8,
    "MAX_EXTRA_BYTES": 512,
    "_STORED": 512,
}
"""Limits on what is kept, by the name that modules give them, and how low they go."""


@contextmanager
def _limits(*, low: bool) -> Iterator[None]:
    """Lower the limits on what is kept, in every module that has one or took one."""
    own = [
        (module, name, vars(module)[name])
        for at, module in list(sys.modules.items() if low else ())
        for name in LOW_LIMITS
        if at.startswith("llm_normalize.") and isinstance(vars(module).get(name), int)
    ]
    for module, name, _ in own:
        setattr(module, name, LOW_LIMITS[name])
    try:
        yield
    finally:
        for module, name, value in own:
            setattr(module, name, value)


@contextmanager
def _nothing_known() -> Iterator[None]:
    """Let no stream remember what is around a text."""
    learn = TextMemory.learn
    TextMemory.learn = lambda *_: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        TextMemory.learn = learn  # type: ignore[method-assign]


class _Run(NamedTuple):
    out: bytes
    steps: list[EventRecord]
    unread: int

    @property
    def names(self) -> set[str]:
        return {name for step in self.steps for name in step.fixes}


def _run(case: Case, reads: Sequence[bytes]) -> _Run:
    steps: list[EventRecord] = []
    pipeline = Pipeline(case.asked, FIXES, steps.append, "fuzz")
    out = [each for read in reads for each in pipeline.feed(read)]
    if case.ended:
        out += pipeline.end()
    else:
        pipeline.abandon()
    return _Run(b"".join(out), steps, sum(pipeline.raw_events.values()))


def _check_stream(case: Case, say: Say) -> None:
    data = case.payload
    whole = _run(case, [data])
    cut = _run(case, case.reads(data))
    if cut.out != whole.out:
        names = listed(cut.names ^ whole.names)
        say(f"cut differs {names}", difference(whole.out, cut.out))
    with _nothing_known():
        parsed = _run(case, [data])
    if parsed.out != whole.out:
        say("memory of a text differs", difference(parsed.out, whole.out))
    _check_steps(case, whole, say)
    _check_done(case, whole.out, say)
    events = list(events_of(data))
    if (
        all(isinstance(each, dict) for each in events)
        and not whole.unread
        and case.ended
        and not _ends_with_half(data)
        # What was taken away may have kept a success from being made up.
        and not ("data-unreadable" in whole.names and may_tell_failure(data))
    ):
        _check_twice(case, whole.out, say)
    # A body never comes here: what was asked for as one is taken apart elsewhere.
    sound = case.ended and case.asked.stream and _is_sound(data, case.asked)
    if whole.out != data and sound:
        say(f"sound stream changed {listed(whole.names)}", difference(data, whole.out))
    if case.asked.strict:
        return  # it drops fields, and the texts in them
    if is_clear(events) and data.count(b"[DONE]") <= _ends_with_done(data):
        check_meaning(case, events, whole.out, say)
    else:
        known = data if case.ended else data[: last_end(data)]
        check_texts(known[: _error_at(data, whole)], whole.out, say)


def _error_at(data: bytes, run: _Run) -> int:
    """Return where in *data* the event is that an error stands for, with all behind it."""
    at = 0
    for step in sorted(run.steps, key=lambda each: each.n):
        if step.before:
            at = max(data.find(step.before, at), at)
            if "event-lost" in step.fixes:
                return at
            at += len(step.before)
    return len(data)


def _check_twice(case: Case, out: bytes, say: Say) -> None:
    """Require that nothing is left to repair, keep-alives set aside.

    They overtake what waits, and what waits the second time is not the same.
    """
    again = _run(case, [out])
    once, twice = (_NEWLINES.sub(b"\n\n", each) for each in (out, again.out))
    if "tool-call-name-late" in again.names:
        # A call that never gets a name is sent last, also behind what waited with it.
        once, twice = (b"".join(sorted(each.split(b"\n\n"))) for each in (once, twice))
    if once != twice:
        say(f"twice differs {listed(again.names)}", difference(out, again.out))


_NEWLINES = re.compile(rb"^\n+|\n{2,}")


def _ends_with_half(data: bytes) -> bool:
    """Tell whether the last block has no end and no data: it is sent as it is."""
    last = data[last_end(data) :]
    return bool(last) and not _DATA_LINE.search(last)


_DATA_LINE = re.compile(rb"(?:^|[\r\n])data:")


def _is_sound(data: bytes, asked: Asked) -> bool:
    """Tell whether OpenAI could have sent *data*, word for word.

    The form lets pass what OpenAI itself does not send, and what fixes may change:
    keys of its own making, empty lists of calls, calls without whole arguments, further blank
    lines, and errors, which get all their keys.
    """
    if not data or b"\n\n\n" in data:
        return False
    read = conformance.check_stream if asked.stream else conformance.check_body
    if read(data, request_of(asked)):
        return False
    meaning = conformance.meaning_of_stream(data)
    calls = [call for each in meaning.choices.values() for call in each.calls]
    # OpenAI sends as many choices as were asked for.
    if (calls and not asked.tools) or len(meaning.choices) < asked.n:
        return False
    if len({call.id for call in calls}) < len(calls):
        return False
    whole = [read_json(x.arguments.encode(errors="surrogatepass")) for x in calls]
    return None not in whole and all(
        isinstance(value, dict) and _has_own_keys(value) for value in values_of(data)
    )


def _keys(value: Json) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


_FRAME = {"id", "object", "created", "model", "choices"}
_MORE = {"usage", "service_tier", "system_fingerprint", "obfuscation"}
_FINISHED = {"index", "finish_reason"}
_OWN = {"role", "content", "refusal", "tool_calls", "annotations"}
_LOGPROBS = {"content", "refusal"}  # older APIs had other ones
_LATEST = 10**11
_DETAILS = {"prompt_tokens_details", "completion_tokens_details"}


def _has_own_keys(value: chunk.Chunk) -> bool:
    """Tell whether a chunk or body has all keys that OpenAI sends, and no other.

    And a name of its own: `chatcmpl` for an id, or `model`, is nobody's. And a time in
    seconds, which no one counts up to the year 5138. And a fingerprint of its length.
    """
    created = value.get("created")
    if (
        not isinstance(created, int)
        or created >= _LATEST
        or len(text_of(value, "id")) <= SAME
        or len(text_of(value, "system_fingerprint")) > chunk.LONG
        or not re.search(r"\d", text_of(value, "model"))
    ):
        return False
    found = chunk.choices(value)
    if len({chunk.index_of(choice) for choice in found}) < len(found):
        return False  # one choice twice
    for choice in found:
        part = "message" if "message" in choice else "delta"
        said = choice.get(part)
        if (
            choice.keys() - {"logprobs"} != _FINISHED | {part}
            or not isinstance(said, dict)
            or said.keys() - _OWN
            or said.keys() == {"role"}  # an opening has a text, if an empty one
            or said.get("tool_calls") == []
            or _keys(choice.get("logprobs")) - _LOGPROBS
        ):
            return False
    usage: chunk.Chunk = value.get("usage") or dict.fromkeys(FIGURES, 0)
    if not chunk.has_figures(usage):
        return False
    return value.keys() - _MORE == _FRAME and usage.keys() - _DETAILS == FIGURES


def _only_counts(block: bytes) -> bool:
    """Tell whether *block* begins with usage that has counted nothing, and is no answer."""
    found: list[Json] = conformance.values(block)
    return any(chunk_form.is_chunk(each) for each in found) and not any(
        chunk.choices(each) or chunk.has_counted(each) for each in found
    )


def _ends_with_done(data: bytes) -> bool:
    return data.rstrip(b"\r\n").endswith(b"[DONE]")


def _check_steps(case: Case, run: _Run, say: Say) -> None:
    """Require that a block which no fix is named for passed unchanged."""
    for step in run.steps:
        left = b"".join(step.after)
        if step.before is None or step.fixes or left == step.before:
            continue
        if not left and not case.ended:
            continue  # what waited when the stream broke off
        say("changed without a fix", difference(step.before, left))
    # The same without asking the steps: what is no JSON is in the output.
    named = b"\n".join(step.before or b"" for step in run.steps if step.fixes)
    for match in _PLAIN.finditer(case.payload):
        block = match[1]
        if read_json(match[2]) is not None or match[2] == b"[DONE]":
            continue
        parts = filter(bytes.strip, _ESCAPED_ENDS.split(block))
        if not all(part in run.out or part in named for part in parts):
            whole = case.ended or match.end() <= last_end(case.payload)
            if whole and not _only_counts(block):
                say("not understood and lost", repr(block))


_PLAIN = re.compile(rb"(?:^|\n\n)(data: ([^\r\n]*)\n)(?=\n)")
_ESCAPED_ENDS = re.compile(rb"(?<=\\n\\n)|(?<=\\n\\r\\n)")  # of blocks in a block
_DONE_SENT = rb"(?:^|[\r\n])data: *\[DONE\][\r\n]"
_MISSPELLED = re.compile(rb'\[done\]|"done"\s*:\s*true|\bdone\b', re.IGNORECASE)
_ENDED = re.compile(rb"(?:\n|\r)[\r\n]data: \[DONE\]\n\n+\Z")


def _check_done(case: Case, out: bytes, say: Say) -> None:
    """Require that each `[DONE]` was sent, or the last one earned.

    Which choice has ended where it is hard to say which are one, nobody can tell: there,
    any end will do. Elsewhere `conformance.lost` wants one of each.
    """
    data = _MISSPELLED.sub(b"[DONE]", case.payload)
    # It may go on over lines, in a text or by itself.
    more = out.count(b"[DONE]") - _LINE_ENDS.sub(b"", data).count(b"[DONE]")
    events = list(events_of(data))
    if more <= 0 or (None in events and b"[DONE]" in data):
        return  # the provider's own may be what cannot be read
    meaning = conformance.meaning_of_stream(data)
    found = meaning.choices.values()
    ended = any(choice.finish_reason for choice in found)
    # A body is whole by being there, in Workers AI's own form, too, whose last event may
    # have nothing but its finish reason.
    ended = ended or bool(_BODY.search(data))
    is_unclear = None in events or any(choice.as_object for choice in found)
    # So it is where words beside a chunk in an envelope may be an error.
    any_end = is_unclear and bool(_FINISHES.search(data))
    earned = any_end or (ended and not meaning.errors)
    if more > 1 or not (case.ended and earned) or re.search(_DONE_SENT, data):
        say("[DONE] made up", repr(out[-200:]))
    elif not _ENDED.search(out):
        say("[DONE] glued", repr(out[-200:]))


_LINE_ENDS = re.compile(rb"[\r\n]+(?:data: ?)*")
_BODY = re.compile(rb'"chat\.completion"|"success"\s*:\s*true|: *\{"finish_reason":"')
_FINISHES = re.compile(rb'"finish_reason"\s*:\s*(?=["\[{])')


def held(root: object) -> int:
    """Return the size of *root* with all it leads to, but code and plans of fixes."""
    code = (
        type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
        types.CodeType, logging.Logger, re.Pattern, FixPlan,
    )  # fmt: skip
    seen: set[int] = set()
    todo: list[object] = [root]
    size = 0
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, code):
            continue
        seen.add(id(each))
        size += sys.getsizeof(each)
        todo += gc.get_referents(each)
    return size


def _check_long(case: Case, say: Say) -> None:
    """Repeat the events many times, and require that what is kept stops growing.

    What grows once may be of bounded size, and not there yet: a copy of the state that
    is compared later, say. So it has to grow twice.
    """
    blocks = [
        block for block in conformance.events(case.payload) if b"[DONE]" not in block
    ]
    if case.argument & 1:
        blocks = [block for block in blocks if b'"finish_reason":"' not in block]
    if not blocks:
        return
    # What has a limit may fill by one a round: until then it grows.
    passes = max(2 * LOW_LIMITS["MAX_TRACKED"], _LONG // len(blocks))
    half = passes // 2
    pipeline = Pipeline(case.asked, FIXES, label="fuzz")
    sizes: list[int] = []
    for number in range(1000, 1000 + 3 * half):
        data = b"".join(blocks)
        if case.argument & 2:
            data = data.replace(b'"id":"', b'"id":"%d' % number)
        if case.argument & 4:
            data = data.replace(b'"index":', b'"index":%d' % number)
        pipeline.feed(data)
        if (number - 999) % half == 0:
            sizes.append(held(pipeline))
            if len(sizes) > 1 and sizes[-1] - sizes[-2] <= _GROWTH:
                break
    else:
        text = f"{sizes} bytes after each {half} rounds"
        say("kept grows", f"{text} of {len(blocks)} blocks")
    pipeline.end()


_LONG = 300  # blocks
_GROWTH = 8192  # bytes; more than what the low limits leave room for


def _check_body(case: Case, say: Say) -> None:
    data, status = case.payload, case.status
    asked = replace(case.asked, stream=False)
    step = repair_body(data, status, asked, FIXES, "fuzz")
    out = b"".join(step.after)
    if out != data and not step.fixes:
        say("changed without a fix (body)", difference(data, out))
    value = read_json(data)
    if isinstance(value, dict):
        again = repair_body(out, status, asked, FIXES, "fuzz")
        if again.after != [out]:
            names = listed(again.fixes)
            say(f"body twice differs {names}", difference(out, b"".join(again.after)))
    failure = status >= STATUSES[1]
    if failure or asked.strict or not isinstance(value, dict):
        return
    if out != data and _is_sound(data, asked):
        say(f"sound body changed {listed(step.fixes)}", difference(data, out))
    if is_clear([value], "message"):
        before, after = (
            conformance.meaning_of_body(data),
            conformance.meaning_of_body(out),
        )
        allow_repetition(before, after)
        for fault in conformance.lost(before, after):
            say(f"body lost {kind_of(fault)}", f"{fault}\n{difference(data, out)}")
    else:
        check_texts(data, out, say, "message")


_CHECKS: dict[str, Callable[[Case, Say], None]] = {
    "stream": _check_stream,
    "body": _check_body,
    "long": _check_long,
}
