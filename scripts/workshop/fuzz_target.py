"""What fuzz.py runs: bytes that become an answer, repaired and held to the promises.

Checked for any bytes: nothing raises, and nothing is logged as an error, which is how a
fix that fails shows itself; any cut gives the same output; a block that no fix is named
for passes unchanged; no `[DONE]` is made up; what is kept stays bounded. For JSON
events besides: repairing twice equals repairing once; what OpenAI could have sent
passes unchanged; no text is lost. `conformance.lost` judges the last where all fields have
the types that providers send. Elsewhere it is anybody's guess what a text belongs to,
so there it only has to be somewhere in the output.
"""

import gc
import json
import logging
import os
import random
import re
import sys
import time
import tomllib
import traceback
import types
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import brotli

from llm_normalize import conformance
from llm_normalize.chat import stream_state
from llm_normalize.chat.chunks import chunk
from llm_normalize.chat.chunks.chunk_content import chunk_has_content
from llm_normalize.chat.errors.chunk_errors import is_error
from llm_normalize.chat.stream_state import Asked
from llm_normalize.exchange.stream.stream_rewriter import Rewriter
from llm_normalize.fixes import FIXES
from llm_normalize.repair.body import repair_body
from llm_normalize.repair.fix import Example, Fix, wire
from llm_normalize.repair.outcome import EventRecord
from llm_normalize.repair.payload import may_tell_failure
from llm_normalize.repair.pipeline import Pipeline
from llm_normalize.wire.content_encoding import decoder_for
from llm_normalize.wire.json_text import dumps, loads
from workshop import ROOT

type Json = Any
type Say = Callable[[str, str], None]

INPUTS = ROOT / "tests" / "fuzz"
LONGEST = 16 * 1024
"""Bytes of an input; larger ones are slow and show nothing more."""

_fixes: list[type[Fix]] = [*FIXES]


def add_fixes(values: Iterable[object]) -> None:
    """Apply the fixes among *values*, too, after all others."""
    classes = [value for value in values if isinstance(value, type)]
    _fixes.extend(each for each in classes if issubclass(each, Fix) and each is not Fix)


# -- the input ---------------------------------------------------------------------

HEADER = 8
MODES = ("stream", "stream", "stream", "encoded", "body", "long", "without")
ENCODINGS = ("", "gzip", "deflate", "raw deflate", "br")
DAMAGES = ("none", "truncated", "flipped", "all of it")
STATUSES = (200, 400, 401, 404, 413, 422, 429, 500, 503, 529, 302, 999, 0)
_USAGE, _TOOLS, _FORCED, _BROKEN, _TIGHT, _BODY_ASKED, _STRICT, _MODEL = (
    1 << at for at in range(8)
)


class Case(NamedTuple):
    """What an input says, after its header of `HEADER` bytes.

    Attributes:
        asked: What the request asked.
        payload: The answer, before any content encoding.
        mode: What is done with it, one of `MODES`.
        argument: What that needs to know: the status, the encoding, the fix left out.
        cut: The seed of the places to cut at; 0 is byte by byte.
        place: Where an encoded body is damaged, out of 65536.
        ended: Whether the stream comes to a clean end.
        tight: Whether the limits on what is kept are so low that they are met.
    """

    asked: Asked
    payload: bytes
    mode: str = "stream"
    argument: int = 0
    cut: int = 0
    place: int = 0
    ended: bool = True
    tight: bool = False

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Return what *data* says: any bytes say something."""
        flags, mode, n, argument, *rest = data[:HEADER].ljust(HEADER, b"\0")
        asked = Asked(
            stream=not flags & _BODY_ASKED,
            usage=bool(flags & _USAGE),
            tools=bool(flags & (_TOOLS | _FORCED)),
            forced_tool=bool(flags & _FORCED),
            model="acme-1" if flags & _MODEL else "",
            n=n % 4 + 1,
            strict=bool(flags & _STRICT),
        )
        return cls(
            asked,
            data[HEADER:],
            MODES[mode % len(MODES)],
            argument,
            cut=int.from_bytes(rest[:2]),
            place=int.from_bytes(rest[2:]),
            ended=not flags & _BROKEN,
            tight=bool(flags & _TIGHT),
        )

    def write(self) -> bytes:
        """Return the input that says this."""
        flags = (
            _USAGE * self.asked.usage
            | _TOOLS * self.asked.tools
            | _FORCED * self.asked.forced_tool
            | _BROKEN * (not self.ended)
            | _TIGHT * self.tight
            | _BODY_ASKED * (not self.asked.stream)
            | _STRICT * self.asked.strict
            | _MODEL * bool(self.asked.model)
        )
        n = min(self.asked.n, 4) - 1
        head = bytes([flags, MODES.index(self.mode), n, self.argument])
        rest = self.cut.to_bytes(2) + self.place.to_bytes(2)
        return head + rest + self.payload

    @property
    def fixes(self) -> Sequence[type[Fix]]:
        """The fixes to apply."""
        if self.mode != "without":
            return _fixes
        return [fix for fix in _fixes if fix is not self.left_out]

    @property
    def left_out(self) -> type[Fix]:
        """The fix that is left out."""
        return _fixes[self.argument % len(_fixes)]

    @property
    def status(self) -> int:
        """The HTTP status of a body."""
        return STATUSES[self.argument % len(STATUSES)]

    @property
    def encoding(self) -> str:
        """The content encoding of an encoded body."""
        return ENCODINGS[self.argument % len(ENCODINGS)]

    @property
    def varied(self) -> str:
        """How the events of a long stream are varied."""
        ways = (" without finish reasons", " with new ids", " with new indexes")
        return "".join(way for at, way in enumerate(ways) if self.argument >> at & 1)

    @property
    def damage(self) -> str:
        """What is wrong with an encoded body."""
        return DAMAGES[self.argument // len(ENCODINGS) % len(DAMAGES)]

    def reads(self, data: bytes) -> list[bytes]:
        """Return *data* cut as the input says."""
        if not self.cut:
            return [data[at : at + 1] for at in range(len(data))]
        dice = random.Random(self.cut)
        places = sorted(dice.choices(range(len(data) + 1), k=dice.randint(1, 40)))
        pairs = zip([0, *places], [*places, len(data)], strict=True)
        return [data[start:end] for start, end in pairs]

    def describe(self) -> str:
        """Return what the input says, for people."""
        more = {
            "encoded": f", {self.encoding or 'identity'}, damage: {self.damage}",
            "body": f", status {self.status}",
            "long": f", repeated{self.varied}",
            "without": f", without {self.left_out.name}",
        }.get(self.mode, "")
        ended = "" if self.ended else ", breaks off"
        tight = ", low limits" if self.tight else ""
        cut = f"cut by {self.cut}" if self.cut else "byte by byte"
        lines = [f"{self.mode}{more}, {cut}{ended}{tight}", f"{self.asked}"]
        return "\n".join(lines + [repr(line) for line in self.payload.splitlines(True)])


# -- what is checked ---------------------------------------------------------------


class Finding(NamedTuple):
    """A broken promise: its kind, each reported once, and the words."""

    kind: str
    text: str


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
    "LIMIT": 2048,
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


class _Run(NamedTuple):
    out: bytes
    steps: list[EventRecord]
    unread: int
    kept: int

    @property
    def names(self) -> set[str]:
        return {name for step in self.steps for name in step.fixes}


def _run(case: Case, reads: Sequence[bytes]) -> _Run:
    steps: list[EventRecord] = []
    pipeline = Pipeline(case.asked, case.fixes, steps.append, "fuzz")
    out = [each for read in reads for each in pipeline.feed(read)]
    kept = held(pipeline, apart=(steps, FIXES)) - _fresh(case) if len(reads) == 1 else 0
    if case.ended:
        out += pipeline.end()
    else:
        pipeline.abandon()
    return _Run(b"".join(out), steps, sum(pipeline.raw_events.values()), kept)


def _fresh(case: Case) -> int:
    """Return the size of a pipeline that has read nothing yet, measured once."""
    fixes = tuple(case.fixes)
    if fixes not in _fresh_sizes:
        _fresh_sizes[fixes] = held(Pipeline(Asked(), fixes, label="fuzz"))
    return _fresh_sizes[fixes]


_fresh_sizes: dict[tuple[type[Fix], ...], int] = {}


def _check_stream(case: Case, say: Say) -> None:
    data = case.payload
    whole = _run(case, [data])
    cut = _run(case, case.reads(data))
    if cut.out != whole.out:
        names = _listed(cut.names ^ whole.names)
        say(f"cut differs {names}", _differ(whole.out, cut.out))
    _check_steps(case, whole, say)
    _check_done(case, whole.out, say)
    largest = max(map(len, conformance.events(data)), default=0)
    if whole.kept > _KEPT + _KEPT_A_BYTE * largest:
        # What is kept goes with the largest block, not with their number.
        say("much kept", f"{whole.kept} bytes after blocks of at most {largest}")
    events = list(_events(data))
    if (
        all(isinstance(each, dict) for each in events)
        and not whole.unread
        and case.ended
        and case.mode != "without"
        and not _ends_with_half(data)
        # What was taken away may have kept a success from being made up.
        and not ("data-unreadable" in whole.names and may_tell_failure(data))
    ):
        _check_twice(case, whole.out, say)
    # A body never comes here: what was asked for as one is taken apart elsewhere.
    sound = case.ended and case.asked.stream and _is_sound(data, case.asked)
    if whole.out != data and sound:
        say(f"sound stream changed {_listed(whole.names)}", _differ(data, whole.out))
    if case.asked.strict:
        return  # it drops fields, and the texts in them
    if _is_clear(events) and data.count(b"[DONE]") <= _ends_with_done(data):
        _check_meaning(case, events, whole.out, say)
    else:
        known = data if case.ended else data[: _last_end(data)]
        _check_texts(known, whole.out, say)


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
        say(f"twice differs {_listed(again.names)}", _differ(out, again.out))


_NEWLINES = re.compile(rb"^\n+|\n{2,}")


def _ends_with_half(data: bytes) -> bool:
    """Tell whether the last block has no end and no data: it is sent as it is."""
    last = data[_last_end(data) :]
    return bool(last) and not _DATA_LINE.search(last)


_DATA_LINE = re.compile(rb"(?:^|[\r\n])data:")


def _is_sound(data: bytes, asked: Asked) -> bool:
    """Tell whether OpenAI could have sent *data*, word for word.

    The form lets pass what OpenAI itself does not send, and what fixes may change:
    keys of its own making, empty lists of calls, calls without arguments, further blank
    lines, and errors, which get all their keys.
    """
    if not data or b"\n\n\n" in data:
        return False
    read = conformance.check_stream if asked.stream else conformance.check_body
    if read(data, _request(asked)):
        return False
    meaning = conformance.meaning_of_stream(data)
    calls = [call for each in meaning.choices.values() for call in each.calls]
    # OpenAI sends as many choices as were asked for.
    if (calls and not asked.tools) or len(meaning.choices) < asked.n:
        return False
    if len({call.id for call in calls}) < len(calls):
        return False
    return all(call.arguments for call in calls) and all(
        isinstance(value, dict) and _has_own_keys(value) for value in _values(data)
    )


def _keys(value: Json) -> set[str]:
    return set(value) if isinstance(value, dict) else set()


_FRAME = {"id", "object", "created", "model", "choices"}
_MORE = {"usage", "service_tier", "system_fingerprint", "obfuscation"}
_FINISHED = {"index", "finish_reason"}
_OWN = {"role", "content", "refusal", "tool_calls", "annotations"}
_LOGPROBS = {"content", "refusal"}  # older APIs had other ones
_FIGURES = {"prompt_tokens", "completion_tokens", "total_tokens"}
_LATEST = 10**11
_DETAILS = {"prompt_tokens_details", "completion_tokens_details"}


def _has_own_keys(value: chunk.Chunk) -> bool:
    """Tell whether a chunk or body has all keys that OpenAI sends, and no other.

    And a name of its own: `chatcmpl` for an id, or `model`, is nobody's. And a time in
    seconds, which no one counts up to the year 5138.
    """
    created = value.get("created")
    if (
        not isinstance(created, int)
        or created >= _LATEST
        or len(_text(value, "id")) <= _SAME
        or not re.search(r"\d", _text(value, "model"))
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
    usage = value.get("usage") or dict.fromkeys(_FIGURES)
    details = [usage.get(key) or {} for key in _DETAILS]
    if not all(isinstance(part, dict) for part in details):
        return False
    if any(type(each) is not int for part in details for each in part.values()):
        return False
    return value.keys() - _MORE == _FRAME and usage.keys() - _DETAILS == _FIGURES


def _only_counts(block: bytes) -> bool:
    """Tell whether *block* begins with usage that has counted nothing, and is no answer."""
    found: list[Json] = conformance.values(block)
    return any(chunk.is_chunk(each) for each in found) and not any(
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
        say("changed without a fix", _differ(step.before, left))
    # The same without asking the steps: what is no JSON is in the output.
    named = b"\n".join(step.before or b"" for step in run.steps if step.fixes)
    for match in _PLAIN.finditer(case.payload):
        block = match[1]
        if _loads(match[2]) is not None or match[2] == b"[DONE]":
            continue
        if block not in run.out and block not in named:
            whole = case.ended or match.end() <= _last_end(case.payload)
            if whole and not _only_counts(block):
                say("not understood and lost", repr(block))


_PLAIN = re.compile(rb"(?:^|\n\n)(data: ([^\r\n]*)\n)(?=\n)")
_DONE_SENT = rb"(?:^|[\r\n])data: *\[DONE\][\r\n]"
_MISSPELLED = re.compile(rb'\[done\]|"done"\s*:\s*true|\bdone\b', re.IGNORECASE)
_ENDED = re.compile(rb"(?:\n|\r)[\r\n]data: \[DONE\]\n\n+\Z")
_ENDS = re.compile(rb"\n\n|\r\r|\r\n\r\n?|\n\r")


def _last_end(data: bytes) -> int:
    return max((match.end() for match in _ENDS.finditer(data)), default=0)


def _check_done(case: Case, out: bytes, say: Say) -> None:
    """Require that each `[DONE]` was sent, or the last one earned."""
    data = _MISSPELLED.sub(b"[DONE]", case.payload)
    # It may go on over lines, in a text or by itself.
    more = out.count(b"[DONE]") - _LINE_ENDS.sub(b"", data).count(b"[DONE]")
    if more <= 0:
        return
    meaning = conformance.meaning_of_stream(data)
    # A choice that never said anything need not show, and has no end then.
    shown = conformance.meaning_of_stream(out).choices
    finished = [
        choice.finish_reason for at, choice in meaning.choices.items() if at in shown
    ]
    is_one = case.asked.n == 1 and len(finished) < len(meaning.choices)
    if is_one or any(map(_is_split, _events(data))):
        # Where one answer was asked for, several choices may be sent as one.
        reasons = [choice.finish_reason for choice in meaning.choices.values()]
        finished = [next(filter(None, reasons), None)]
    if _is_whole_answer(list(_events(data)), case.asked):
        finished = ["stop"]
    # What cannot be read may look like a choice that goes on.
    doubtful = any(each is None for each in _events(data))
    if doubtful and b"[DONE]" in data:
        return  # the provider's own may be what cannot be read
    if doubtful and not finished:
        finished = _FINISHES.findall(data)  # in what is not read here
    earned = finished and (all(finished) or doubtful)
    earned = earned and not meaning.errors and not re.search(_DONE_SENT, data)
    if more > 1 or not case.ended or not earned:
        say("[DONE] made up", repr(out[-200:]))
    elif not _ENDED.search(out):
        say("[DONE] glued", repr(out[-200:]))


_LINE_ENDS = re.compile(rb"[\r\n]+(?:data: ?)*")
_FINISHES = re.compile(rb'"finish_reason"\s*:\s*(?=["\[{])')


def _is_whole_answer(events: list[Json], asked: Asked) -> bool:
    """Tell whether the one event is a body, which is whole by being there.

    Contract: "a JSON body in it becomes chunks", and a stream made of one has a finish
    and `[DONE]`. It says itself that it is no chunk, and what all of it has used.
    """
    loud = [each for each in events if not _keeps_alive(each)]
    body = loud[0] if len(loud) == 1 else None
    if not isinstance(body, dict) or body.get("object") != "chat.completion":
        return False
    found = chunk.choices(body) if chunk.is_chunk(body) else []
    has_message = [isinstance(each.get("message"), dict) for each in found]
    spoken = all(has_message)
    if asked.n == 1 and len({chunk.given_index(each) or 0 for each in found}) == 1:
        # They are parts of one choice.
        spoken = any(has_message) and not any(each.get("delta") for each in found)
    return spoken and len(found) >= asked.n and bool(body.get("usage"))


def _is_split(event: Json) -> bool:
    """Tell whether choices of one *event* have one index, or none: they may be of any."""
    found = chunk.choices(event) if chunk.is_chunk(event) else []
    given = [chunk.given_index(each) for each in found]
    return len(given) > 1 and (None in given or len({*given}) < len(given))


def _keeps_alive(event: Json) -> bool:
    """Tell whether an *event* is no part of the answer: notes or figures alone, say."""
    if event in ({}, []):
        return True
    if not chunk.is_chunk(event):
        return False
    if event.get("choices") in (None, []):
        return not chunk.is_flat(event)
    return event.get("object") != "chat.completion" and not chunk_has_content(event)


_KEPT = 64 * 1024
_KEPT_A_BYTE = 200  # a few chunks of nothing but empty objects, 64 bytes each


def held(root: object, *, apart: Sequence[object] = ()) -> int:
    """Return the size of *root* with all it leads to, code and what is *apart* excepted."""
    code = (
        type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType,
        types.CodeType, logging.Logger, re.Pattern,
    )  # fmt: skip
    seen = set(map(id, apart))
    if isinstance(root, Pipeline):
        seen.add(id(root._chain._plan))  # noqa: SLF001 - it is shared by all streams
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
    pipeline = Pipeline(case.asked, case.fixes, label="fuzz")
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


def _check_encoded(case: Case, say: Say) -> None:
    body = _encode(case)
    encoding = case.encoding.removeprefix("raw ")

    def run(reads: Sequence[bytes]) -> tuple[bytes, bool]:
        decoder = decoder_for(encoding)
        assert decoder is not None
        pipeline = Pipeline(case.asked, case.fixes, label="fuzz")
        rewriter = Rewriter(pipeline, decoder, label="fuzz")
        # An empty read is the stream's end, for those who call it.
        out = [each for read in reads if read for each in rewriter(read)]
        if case.ended:
            out += rewriter(b"")
        if b"" in out:
            say("empty bytes returned", "they end an HTTP/1.1 answer")
        return b"".join(out), rewriter.given_up

    whole, cut = run([body]), run(case.reads(body))
    if whole != cut:
        text = f"given up: {whole[1]}, {cut[1]}; {_differ(whole[0], cut[0])}"
        say(f"cut differs ({encoding}, {case.damage})", text)
    if case.damage == "none":
        plain = _run(case, [case.payload]).out
        if whole != (plain, False):
            say(f"decoded differs ({encoding})", _differ(plain, whole[0]))


def _encode(case: Case) -> bytes:
    """Return the payload in its content encoding, damaged as the input says."""
    data = case.payload
    if case.damage == "all of it":
        return data
    if case.encoding == "br":
        data = brotli.compress(data, quality=1)
    elif case.encoding:
        window = {"gzip": 31, "deflate": 15, "raw deflate": -15}[case.encoding]
        deflate = zlib.compressobj(wbits=window)
        data = deflate.compress(data) + deflate.flush()
    at = case.place * len(data) >> 16
    if case.damage == "truncated":
        return data[:at]
    if case.damage == "flipped" and data:
        flipped = data[at] ^ (1 << case.place % 8)
        return data[:at] + bytes([flipped]) + data[at + 1 :]
    return data


def _check_body(case: Case, say: Say) -> None:
    data, status = case.payload, case.status
    asked = replace(case.asked, stream=False)
    step = repair_body(data, status, asked, case.fixes, "fuzz")
    out = b"".join(step.after)
    if out != data and not step.fixes:
        say("changed without a fix (body)", _differ(data, out))
    value = _loads(data)
    if isinstance(value, dict):
        again = repair_body(out, status, asked, case.fixes, "fuzz")
        if again.after != [out]:
            names = _listed(again.fixes)
            say(f"body twice differs {names}", _differ(out, b"".join(again.after)))
    failure = status >= STATUSES[1]
    if failure or asked.strict or not isinstance(value, dict):
        return
    if out != data and _is_sound(data, asked):
        say(f"sound body changed {_listed(step.fixes)}", _differ(data, out))
    if _is_clear([value], "message"):
        before, after = (
            conformance.meaning_of_body(data),
            conformance.meaning_of_body(out),
        )
        _allow_repetition(before, after)
        for fault in conformance.lost(before, after):
            say(f"body lost {_kind(fault)}", f"{fault}\n{_differ(data, out)}")
    else:
        _check_texts(data, out, say, "message")


_CHECKS: dict[str, Callable[[Case, Say], None]] = {
    "stream": _check_stream,
    "without": _check_stream,
    "encoded": _check_encoded,
    "body": _check_body,
    "long": _check_long,
}

# -- what was meant ----------------------------------------------------------------


def _request(asked: Asked) -> conformance.Request:
    return conformance.Request(
        stream=asked.stream,
        include_usage=asked.usage,
        tools=asked.tools,
        forced_tool=asked.forced_tool,
        n=asked.n,
    )


def _loads(data: bytes) -> Json:
    """Return the JSON value in *data*, None where the package reads none."""
    try:
        return loads(data)
    except (ValueError, RecursionError):
        return None


def _events(data: bytes) -> Iterator[Json]:
    """Yield the value of each block with data, None where there is none to read.

    `[DONE]` and blocks without data are left out.
    """
    for block in conformance.events(data.removeprefix(b"\xef\xbb\xbf")):
        lines = [line for line in re.split(rb"\r\n?|\n", block) if line]
        values = [
            line[5:].removeprefix(b" ")
            for line in lines
            if line.startswith(b"data:") or line == b"data"
        ]
        if not all(map(_FIELD.match, lines)):
            yield None
        elif values and values != [b"[DONE]"]:
            yield _loads(b"\n".join(values))


_FIELD = re.compile(rb"(?:data|event|id|retry)?:|(?:data|event|id|retry)\Z")

_STRANGE = {"response", "result", "tool_calls", "x_groq", "base_resp", "success"}
_SAID = ("role", "content", "reasoning_content", "reasoning", "refusal")
_CALL = ("id", "type")


def _is_clear(events: list[Json], part: str = "delta") -> bool:
    """Tell whether `conformance.lost` can judge: nothing in the *events* is ambiguous."""
    if not all(_is_typical(each, part) for each in events) or _may_grow(events, part):
        return False
    calls: dict[tuple[int, int | None], tuple[str, str]] = {}
    reasons: dict[int, str] = {}
    for each in events:
        for choice in each.get("choices", ()):
            reason = _text(choice, "finish_reason")
            if reason and reasons.setdefault(choice["index"], reason) != reason:
                return False
            for call in choice[part].get("tool_calls") or ():
                if part == "message":
                    known = [id_ for id_, _ in calls.values()]
                    if _text(call, "id") in ("", *known):
                        return False
                if not _goes_with(calls, (choice["index"], call.get("index")), call):
                    return False
    return True


def _may_grow(events: list[Json], part: str) -> bool:
    """Tell whether a text begins with the one before: all of it again, or meant twice."""
    last: dict[tuple[int, str], str] = {}
    for choice in [each for event in events for each in event.get("choices", ())]:
        for key in _GROWING:
            text, at = _text(choice[part], key), (choice["index"], key)
            before = last.get(at, "")
            if len(before) >= _SAME and text.startswith(before):
                return True
            last[at] = text or before
    return False


_GROWING = ("content", "reasoning_content", "reasoning")
_SAME = 8  # characters that begin two texts in a row


def _goes_with(
    calls: dict[tuple[int, int | None], tuple[str, str]],
    place: tuple[int, int | None],
    call: chunk.Chunk,
) -> bool:
    """Tell whether *call* opens a call or goes on with one, as providers write it.

    Args:
        calls: Id and name of the calls that are open, by choice and index.
        place: Choice and index of this fragment; no index where it has none.
        call: The fragment.
    """
    opens = _text(call, "id"), _text(call.get("function"), "name")
    others = {at[1] for at in calls if at[0] == place[0]}
    if others and (None in others) != (place[1] is None):
        return False  # some have an index and some have none
    if place in calls and (place[1] is not None or not any(opens)):
        return all(
            new in ("", old) for new, old in zip(opens, calls[place], strict=True)
        )
    ids = {id_ for id_, _ in calls.values()}
    known = opens[0] in ids or ("index" not in call and not opens[0])
    calls[place] = opens
    return bool(opens[1]) and not known


def _is_typical(value: Json, part: str) -> bool:
    """Tell whether all fields that carry meaning have the types that providers send."""
    if not isinstance(value, dict) or _STRANGE & value.keys():
        return False
    if "choices" not in value:
        error = value.get("error")
        return (
            isinstance(error, dict)
            and bool(_text(error, "message"))
            and isinstance(error.get("code"), str | int | None)
        )
    if value.get("error") is not None or not isinstance(value["choices"], list):
        return False
    indexes = [each.get("index") for each in value["choices"] if isinstance(each, dict)]
    return (
        _is_typical_usage(value.get("usage"))
        and len(indexes) == len(value["choices"])
        and len(set(map(str, indexes))) == len(indexes)
        and all(_is_index(each) for each in indexes)
        and all(_is_typical_choice(each, part) for each in value["choices"])
    )


def _is_typical_usage(usage: Json) -> bool:
    return usage is None or (
        isinstance(usage, dict)
        and all(isinstance(usage.get(key, 0), int) for key in _FIGURES)
    )


def _is_index(value: Json) -> bool:
    return type(value) is int and 0 <= value < stream_state.MAX_TRACKED


def _is_typical_choice(choice: chunk.Chunk, part: str) -> bool:
    said = choice.get(part)
    others = {"delta", "message", "text", "error"} - {part}
    if not isinstance(said, dict) or others & choice.keys():
        return False
    fragments = said.get("tool_calls")
    legacy = said.get("function_call")
    return (
        all(isinstance(said.get(key), str | None) for key in _SAID)
        and choice.get("finish_reason") in (None, "", *conformance.SYNONYMS)
        and isinstance(choice.get("logprobs"), dict | None)
        and _is_typical_usage(choice.get("usage"))
        and (legacy is None or _is_typical_function(legacy))
        and isinstance(fragments, list | None)
        and all(_is_typical_call(each) for each in fragments or ())
    )


def _is_typical_call(call: Json) -> bool:
    return (
        isinstance(call, dict)
        and ("index" not in call or _is_index(call["index"]))
        and all(isinstance(call.get(key), str | None) for key in _CALL)
        and _is_typical_function(call.get("function"))
    )


def _is_typical_function(value: Json) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(key), str | None) for key in ("name", "arguments")
    )


def _text(value: Json, key: str) -> str:
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _check_meaning(case: Case, events: list[Json], out: bytes, say: Say) -> None:
    data = case.payload
    if not case.ended:
        data = data[: _last_end(data)]  # half an event has no meaning yet
    before, after = (
        conformance.meaning_of_stream(data),
        conformance.meaning_of_stream(out),
    )
    _allow_repetition(before, after)
    if not case.ended:
        before = replace(before, usage=after.usage, unread=[])
    figures = [
        part["usage"]
        for each in events
        for part in (each, *each.get("choices", ()))
        if part.get("usage")
    ]
    # Of figures that contradict each other, any may be the one that counts.
    if len(figures) > 1 and after.usage is not None:
        before = replace(before, usage=after.usage)
    for fault in conformance.lost(before, after, broke=not case.ended):
        say(f"lost {_kind(fault)}", f"{fault}\n{_differ(data, out)}")


def _allow_repetition(before: conformance.Meaning, after: conformance.Meaning) -> None:
    """Let arguments of *before* that are no object be the part of them that was sent.

    They may be one object that is said repeatedly, grows or is encoded.
    """
    for index, choice in before.choices.items():
        sent = after.choices[index].calls if index in after.choices else []
        for was, now in zip(choice.calls, sent, strict=False):
            if _repeats(was.arguments, now.arguments):
                was.arguments = now.arguments


_ESCAPES = re.compile(r'[\\"]')  # what an encoded text loses


def _repeats(arguments: str, sent: str) -> bool:
    """Tell whether *arguments* are no object, and *sent* is a part of what they say."""
    is_part = _ESCAPES.sub("", sent) in _ESCAPES.sub("", arguments)
    value = _loads(arguments.encode(errors="surrogatepass"))
    return bool(sent) and is_part and not isinstance(value, dict)


def _same_json(one: str, other: str) -> bool:
    given = [_loads(each.encode(errors="surrogatepass")) for each in (one, other)]
    return given[0] is not None and given[0] == given[1]


def _check_texts(data: bytes, out: bytes, say: Say, part: str = "delta") -> None:
    """Require that each text of a chunk is somewhere in the output."""
    sent: list[Json] = conformance.values(out)
    joined = "".join(text for value in sent for text in _strings(value))
    # JSON that nobody can read may be the words of an error.
    errors = [each for each in sent if is_error(each) and not chunk.is_chunk(each)]
    words = "".join(text for value in errors for text in _strings(value))
    meant = list(conformance.meaning_of_stream(out).choices.values())
    arguments = [call.arguments for choice in meant for call in choice.calls]
    called = [
        each
        for each in arguments
        if isinstance(_loads(each.encode(errors="surrogatepass")), dict)
    ]
    joined += "".join(
        each for choice in meant for each in (choice.text, choice.reasoning)
    )
    last = ""
    # No client reads on after the end.
    found: list[Json] = conformance.values(data.partition(b"[DONE]")[0])
    values = [value for value in found if chunk.is_chunk(value)]
    choices = [each for value in values for each in chunk.choices(value)]
    said = any(each.get("delta") or each.get("text") for each in choices)
    # Deltas may stand in what is not read here, glued behind half a value, too.
    said = said or b'"delta"' in data
    if not said and not any(map(chunk.is_flat, values)):
        part = "message"  # else it may repeat what was said before
    for value in values:
        for key, text in _texts(value, part):
            # A text that repeats itself loses the repetition, as far as that is read: no
            # other has a character that was no UTF-8.
            new = text.removeprefix(last)
            last = last if "\ufffd" in text else text or last
            if {text, new} & {""} or text in joined or new in joined:
                continue
            if any(each in words for each in _quoted(text)):
                continue
            # What it repeats may stand behind bytes that are not read here.
            if any(text[len(each) :] in joined for each in _begun(text, data)):
                continue
            if key == "arguments" and _loads(text.encode(errors="replace")) == {}:
                continue  # after an object it says nothing
            if key == "arguments" and any(
                _repeats(text, each) or _same_json(text, each) for each in called
            ):
                continue
            if text.encode(errors="backslashreplace") not in out:
                say(f"text of {key} nowhere", f"{text!r}\n{_differ(data, out)}")


def _quoted(text: str) -> set[str]:
    """Return *text* as JSON has it."""
    return {json.dumps(text, ensure_ascii=each)[1:-1] for each in (True, False)}


_QUOTED = re.compile(r'"((?:[^"\\]|\\.)+)"')


def _begun(text: str, data: bytes) -> list[str]:
    """Return the strings of JSON in *data* that *text* begins with, and goes on after."""
    found = _QUOTED.findall(data.decode(errors="replace"))
    return [each for each in found if text.startswith(each) and each != text]


def _texts(value: chunk.Chunk, part: str) -> Iterator[tuple[str, str]]:
    """Yield what the deltas or messages of *value* say, and under which key."""
    for choice in chunk.choices(value):
        said = choice.get(part)
        if "delta" not in choice and "message" not in choice:
            yield "text", _text(choice, "text")
        if not isinstance(said, dict):
            continue
        for key in _SAID[1:]:
            yield key, _text(said, key)
        for call in (*chunk.calls(said), {"function": said.get("function_call")}):
            named = chunk.function(call)
            # A fragment without a name waits for it: a stream may break off before.
            yield "arguments", _text(named, "arguments") if named.get("name") else ""


def _values(data: bytes) -> list[Json]:
    whole = _loads(data)
    return list(_events(data)) if whole is None else [whole]


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _kind(fault: str) -> str:
    """Return *fault* without what is quoted in it."""
    if fault.startswith("usage: "):
        return "usage"
    return re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+(\.\d+)?", "…", fault)


def _listed(names: set[str] | list[str]) -> str:
    return ", ".join(sorted(names)) or "(no fix)"


def _differ(one: bytes, other: bytes) -> str:
    """Return both texts from a little before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    at = max(same - 40, 0)
    return f"from byte {at}:\n  {one[at : at + 400]!r}\n  {other[at : at + 400]!r}"


# -- where inputs come from --------------------------------------------------------


def inputs() -> list[Path]:
    """Return the files with inputs that broke a promise once."""
    return sorted(INPUTS.glob("*.bin"))


def seeds() -> list[bytes]:
    """Return the inputs to begin with.

    What broke a promise once, our own captures, the examples of all fixes, and what real providers sent, where a
    folder with it is at hand (see tests/properties/test_recorded.py).
    """
    cases = [*_captures(), *_examples(), *_recorded()]
    # Those take longest: the first minute is for others, too.
    cases += [case._replace(mode="long") for case in cases[:: 4 * len(ENCODINGS)]]
    for number, case in enumerate(cases[: 2 * len(ENCODINGS) * len(DAMAGES)]):
        if case.mode == "stream":
            cases.append(case._replace(mode="encoded", argument=number, place=0x8000))
    known = [path.read_bytes() for path in inputs()]
    small = [case for case in cases if len(case.payload) + HEADER <= LONGEST]
    return known + [case.write() for case in small]


def _captures() -> Iterator[Case]:
    for path in sorted((ROOT / "tests" / "captures").glob("*/*/about.toml")):
        about = tomllib.loads(path.read_text(encoding="utf-8"))
        response = next(path.parent.glob("response.*"))
        asked = Asked(**about["asked"])
        yield _seed(asked, response.read_bytes(), about.get("status", 200))


def _examples() -> Iterator[Case]:
    for fix in _fixes:
        for example in fix.examples:
            yield _of_example(example)


def _of_example(example: Example) -> Case:
    payload = wire(example.before)
    if example.kind != "stream":
        # Framing is for streams: a body is its JSON alone.
        events = [each for each in example.before if isinstance(each, dict)]
        payload = dumps(events[0]) if events else payload
        status = example.status if example.kind == "error" else 200
        return _seed(replace(example.asked, stream=False), payload, status)
    return _seed(example.asked, payload, 200)._replace(ended=example.ended)


def _recorded() -> Iterator[Case]:
    beside = ROOT.parent / "shared" / "captures"
    folder = Path(os.environ.get("LLM_CAPTURES") or beside)
    manifest = folder / "manifest.json"
    entries = json.loads(manifest.read_bytes()) if manifest.exists() else []
    for entry in entries:
        request = json.dumps(entry["request_body"]).encode()
        asked = replace(Asked.from_body(request), stream=bool(entry["stream"]))
        data = (folder / entry["file"]).read_bytes()
        if asked.stream and len(data) > LONGEST // 2:
            # The beginning and the end are what differs between providers.
            blocks = conformance.events(data)
            data = b"".join([*blocks[:8], *blocks[-8:]])
        yield _seed(asked, data, entry["http_status"])


def _seed(asked: Asked, payload: bytes, status: int) -> Case:
    cut = zlib.crc32(payload) & 0xFFFF
    if asked.stream:
        return Case(asked, payload, cut=cut)
    argument = STATUSES.index(status) if status in STATUSES else 0
    return Case(asked, payload, "body", argument, cut)


# -- mutation ----------------------------------------------------------------------

KEYS = (
    "choices", "index", "delta", "message", "text", "finish_reason", "logprobs",
    "role", "content", "reasoning_content", "reasoning", "refusal", "audio",
    "tool_calls", "function_call", "function", "id", "type", "name", "arguments",
    "usage", "prompt_tokens", "completion_tokens", "total_tokens", "error", "code",
    "param", "detail", "status", "object", "created", "model", "system_fingerprint",
    "response", "result", "success", "errors", "x_groq", "data", "event", "extra",
)  # fmt: skip
VALUES: tuple[Json, ...] = (
    None, "", 0, 1, -1, True, False, [], {}, [None], [{}], [""], " ", "a", "0",
    "stop", "length", "tool_calls", "function_call", "error", "eos", "content_filter",
    "assistant", "function", "{}", '{"a":1}', "null", "None", "<think>", "</think>",
    2**31, 10**30, 1.5, 1e300, "\ud83d", "\u2028", "é", "x" * 300,
    {"message": "m", "code": 500}, {"prompt_tokens": 1, "completion_tokens": 1},
    {"name": "f", "arguments": "{}"}, {"index": 0, "function": {"arguments": "a"}},
)  # fmt: skip
BLOCKS = (
    b"data: [DONE]\n\n", b"data:[DONE]\n\n", b": ping\n\n", b":\n\n", b"\n", b"\r\n",
    b"data: \n\n", b"data: {}\n\n", b"data: null\n\n", b"data: x\n\n", b"event: a\n",
    b"id: 1\n", b"retry: 5\n\n", b"\xef\xbb\xbf", b'data: {"a":1,"a":2}\n\n',
    b'data: {"error":{"message":"m","code":500}}\n\n', b'{"error":"m"}\n\n',
    b'data: {"choices":[]}\n\n', b"data: \xff\n\n", b"error: busy\n\n",
    b'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n',
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
    b"data: [" + b"[" * 300 + b"]" * 300 + b"]\n\n", b"data: " + b"x" * 3000 + b"\n\n",
)  # fmt: skip
_JSON = re.compile(rb"(?:data:)? *(\{.*\}|\[.*\])", re.DOTALL)


class Mutator:
    """Changes inputs: mostly what their JSON says and how it is framed.

    Args:
        pool: Inputs to take parts from.
    """

    def __init__(self, pool: Sequence[bytes]) -> None:
        self._payloads = [data[HEADER:] for data in pool] or [b""]
        self._weighted = [
            *[self._value] * 12, *[self._event] * 6, *[self._bytes] * 3,
            *[self._frame] * 3, self._splice,
        ]  # fmt: skip

    def mutate(self, data: bytes, dice: random.Random, limit: int = LONGEST) -> bytes:
        """Return *data* changed in one place or a few, of at most *limit* bytes."""
        head = bytearray(data[:HEADER].ljust(HEADER, b"\0"))
        if dice.random() < _HEADS:
            at = dice.randrange(HEADER)
            head[at] = head[at] ^ (1 << dice.randrange(8)) if at == 0 else _byte(dice)
        blocks = conformance.events(data[HEADER:])
        for _ in range(dice.choice((1, 1, 1, 2, 2, 4))):
            dice.choice(self._weighted)(blocks, dice)
        return (bytes(head) + b"".join(blocks))[:limit]

    def _value(self, blocks: list[bytes], dice: random.Random) -> None:
        """Change one JSON value, key or type."""
        places = [at for at, block in enumerate(blocks) if _JSON.match(block)]
        if not places:
            return
        at = dice.choice(places)
        read = _parsed(blocks[at])
        if read is None:
            return
        head, value, tail = read
        donor = _parsed(
            dice.choice(conformance.events(dice.choice(self._payloads)) or [b""])
        )
        value = _changed(value, dice, donor[1] if donor else None)
        blocks[at] = head + _spelled(value, dice) + tail

    def _event(self, blocks: list[bytes], dice: random.Random) -> None:
        """Drop, repeat, move, join or add an event."""
        at = dice.randrange(len(blocks) + 1)
        act = dice.randrange(6)
        if act == 0 or at == len(blocks):
            blocks.insert(at, dice.choice(BLOCKS))
        elif act == 1:
            del blocks[at : at + dice.choice((1, 1, 2, 5))]
        elif act == 2:  # noqa: PLR2004 - the numbers are sides of the dice
            blocks.insert(dice.randrange(len(blocks) + 1), blocks[at])
        elif act == 3:  # noqa: PLR2004
            blocks.insert(dice.randrange(len(blocks)), blocks.pop(at))
        elif act == 4:  # noqa: PLR2004
            other = conformance.events(dice.choice(self._payloads)) or [b""]
            blocks.insert(at, dice.choice(other))
        else:
            blocks[at] = blocks[at].rstrip(b"\r\n") + dice.choice((b"", b"\n", b" "))

    def _frame(self, blocks: list[bytes], dice: random.Random) -> None:
        """Change line ends, prefixes, or how the JSON lies on its lines."""
        one = dice.randrange(len(blocks)) if blocks else 0
        old, new = dice.choice(
            (
                (b"\n", b"\r\n"), (b"\n", b"\r"), (b"\n\n", b"\n"), (b"\n", b"\n\n"),
                (b"\n\n", b"\r\n\r\n"), (b"data: ", b"data:"), (b"data: ", b""),
                (b"data: ", b"data:  "), (b"data: ", b"data: data: "), (b"}\n", b"} \n"),
                (b"data: ", b"event: x\ndata: "), (b"data: ", b": ping\ndata: "),
                (b",", b",\ndata: "), (b",", b",\n"), (b"{", b"{ "), (b"\n\n", b""),
            )
        )  # fmt: skip
        everywhere = dice.random() < _HALF
        for at in range(len(blocks)) if everywhere else range(one, len(blocks))[:1]:
            blocks[at] = blocks[at].replace(old, new, dice.choice((-1, 1)))

    def _bytes(self, blocks: list[bytes], dice: random.Random) -> None:
        """Cut a line, or change a few bytes."""
        if not blocks:
            blocks.append(dice.randbytes(dice.randrange(20)))
            return
        at = dice.randrange(len(blocks))
        block = bytearray(blocks[at])
        place = dice.randrange(len(block) + 1)
        act = dice.randrange(4)
        if act == 0:
            del block[place : place + dice.choice((1, 2, 8, len(block)))]
        elif act == 1:
            block[place:place] = dice.choice((b"\n", b"\r", b'"', b"\0", b"\xc3", b"{"))
        else:
            block[place : place + 1] = dice.randbytes(1)
        blocks[at] = bytes(block)
        if act == 0 and dice.random() < _HALF:
            del blocks[at + 1 :]  # a stream that breaks off

    def _splice(self, blocks: list[bytes], dice: random.Random) -> None:
        """Go on with another answer."""
        other = conformance.events(dice.choice(self._payloads))
        del blocks[dice.randrange(len(blocks) + 1) :]
        blocks += other[dice.randrange(len(other) + 1) :]


_HEADS = 0.2
_HALF = 0.5


def _byte(dice: random.Random) -> int:
    return dice.choice((0, 1, dice.randrange(256)))


def _parsed(block: bytes) -> tuple[bytes, Json, bytes] | None:
    """Return the JSON value of *block*, and the bytes around it."""
    match = _JSON.match(block)
    if match is None:
        return None
    try:
        value = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    return block[: match.start(1)], value, block[match.end(1) :]


def _spelled(value: Json, dice: random.Random) -> bytes:
    spaced = (", ", ": ") if dice.random() < _HEADS else (",", ":")
    text = json.dumps(value, ensure_ascii=dice.random() < _HALF, separators=spaced)
    return text.encode(errors="backslashreplace")


def _places(value: Json) -> Iterator[tuple[Json, Any]]:
    """Yield where each part of *value* is: the object or list, and the key in it."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _changed(value: Json, dice: random.Random, donor: Json) -> Json:
    """Return *value* with one part changed, maybe to a part of *donor*."""
    places = list(_places(value))
    if not places:
        return dice.choice(VALUES)
    # What lies deep is named more often than what holds it.
    parent, key = dice.choice(places)
    act = dice.randrange(10)
    part = parent[key]
    if act == 0:
        del parent[key]
    elif act == 1 and isinstance(parent, dict):
        parent[dice.choice(KEYS)] = parent.pop(key)
    elif act == 2 and isinstance(parent, dict):  # noqa: PLR2004
        parent[dice.choice(KEYS)] = dice.choice(VALUES)
    elif act == 3 and isinstance(parent, list):  # noqa: PLR2004
        parent.insert(dice.randrange(len(parent) + 1), json.loads(json.dumps(part)))
    elif act == 4:  # noqa: PLR2004
        parent[key] = dice.choice(([part], {dice.choice(KEYS): part}, [part, part]))
    elif act == 5:  # noqa: PLR2004
        parent[key] = json.dumps(part) if isinstance(part, dict | list) else str(part)
    elif act == 6 and isinstance(donor, dict | list):  # noqa: PLR2004
        found = [each for each in _places(donor) if each[1] == key]
        given, name = dice.choice(found or list(_places(donor)) or [(donor, 0)])
        parent[key] = given[name] if given else donor
    elif act == 7 and isinstance(part, int):  # noqa: PLR2004
        parent[key] = part + dice.choice((1, -1, 2, 1000))
    else:
        parent[key] = dice.choice(VALUES)
    return value


# -- making a finding small --------------------------------------------------------


def shrink(data: bytes, kind: str, seconds: float) -> bytes:
    """Return a smaller input that has a finding of the same *kind*.

    Args:
        data: An input that has it.
        kind: The kind of the finding.
        seconds: How long to try.
    """
    until = time.monotonic() + seconds

    def has(candidate: bytes) -> bool:
        return any(found.kind == kind for found in check(candidate))

    for candidates in (_smaller_head, _fewer_blocks, _less_json, _fewer_bytes) * 2:
        done = False
        while not done and time.monotonic() < until:
            done = True
            for candidate in candidates(data):
                if time.monotonic() > until:
                    break
                if candidate != data and has(candidate):
                    data, done = candidate, False
                    break
    return data


def _smaller_head(data: bytes) -> Iterator[bytes]:
    head = data[:HEADER].ljust(HEADER, b"\0")
    for at in range(HEADER):
        for value in {0, 1} if head[at] > 1 else {0} - {head[at]}:
            yield head[:at] + bytes([value]) + head[at + 1 :] + data[HEADER:]
    for at in range(8):
        if head[0] >> at & 1:
            yield bytes([head[0] ^ (1 << at)]) + head[1:] + data[HEADER:]


def _fewer_blocks(data: bytes) -> Iterator[bytes]:
    blocks = conformance.events(data[HEADER:])
    size = len(blocks) // 2
    while size:
        for at in range(0, len(blocks), size):
            yield data[:HEADER] + b"".join(blocks[:at] + blocks[at + size :])
        size //= 2


def _less_json(data: bytes) -> Iterator[bytes]:
    blocks = conformance.events(data[HEADER:])
    for number, block in enumerate(blocks):
        read = _parsed(block)
        if read is None:
            continue
        head, value, tail = read

        def written(
            number: int = number,
            head: bytes = head,
            value: Json = value,
            tail: bytes = tail,
        ) -> bytes:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            block = head + text.encode(errors="backslashreplace") + tail
            return data[:HEADER] + b"".join(
                [*blocks[:number], block, *blocks[number + 1 :]]
            )

        yield from _less_of(value, written)


def _less_of(value: Json, written: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield what is *written* with one part of *value* left out or made plain."""
    for parent, key in list(_places(value)):
        before = dict(parent) if isinstance(parent, dict) else list(parent)
        if isinstance(parent, dict):
            del parent[key]
            yield written()
            parent.clear()
            parent.update(before)
        else:
            del parent[key]
            yield written()
            parent[:] = before
        part = parent[key]
        for plain in ("", "a", 0) if isinstance(part, str) and len(part) > 1 else ():
            parent[key] = plain
            yield written()
            parent[key] = part


def _fewer_bytes(data: bytes) -> Iterator[bytes]:
    payload = data[HEADER:]
    size = len(payload) // 2
    while size >= (1 if len(payload) < _FEW else len(payload) // 64 + 1):
        for at in range(0, len(payload), size):
            yield data[:HEADER] + payload[:at] + payload[at + size :]
        size //= 2


_FEW = 400
