"""Quirks on purpose: the inverse of the fixes, for the properties.

`answers` draws a stream as OpenAI sends it. A quirk damages such a stream without
changing what it means, and takes out of `Stream.meaning` what it destroys. `damaged`
applies several, in the order in which they stand here, whatever the order they were
chosen in: deltas first, framing last, as a server would build them.

It imports nothing of the package: `workshop.judged` hands over to it what is here.
"""

import copy
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from judge.meaning import Call, Choice, Error, Meaning
from judge.strict import taken, taken_of_body

type Json = Any
type Chunk = dict[str, Any]

DONE = "[DONE]"
MODEL = "acme-1"
MISSING: Any = object()

# ---------------------------------------------------------- what OpenAI could send

WORDS = ("Hi", " there", ",", " ", "42", "\n\n", "é😀", "\u2028", '"', "data: x", "{")
PIECES = st.one_of(st.sampled_from(WORDS), st.text(max_size=5))
TEXT = st.lists(PIECES, max_size=4)
THOUGHT = st.lists(st.sampled_from(["so", " we", " add", "\n"]), min_size=1, max_size=3)
ARGUMENTS: st.SearchStrategy[Chunk] = st.sampled_from(
    [
        {},
        {"city": "Oslo"},
        {"q": 'a "b"', "n": [1, 2.5, {}], "deep": {"é": None}},
        {"code": "x = {}\n"},
    ]
)
TOOLS = frozenset({"f", "get_weather", "get_time"})
USAGE = {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16}
DETAILS = {"completion_tokens_details": {"reasoning_tokens": 3}}


@dataclass(frozen=True)
class Request:
    """What a request asks for: `usage` with a stream, `legacy` functions in place of tools."""

    stream: bool
    usage: bool
    tools: bool
    forced_tool: bool
    n: int
    legacy: bool


@dataclass(frozen=True)
class Answer:
    """A stream or body as OpenAI sends it.

    Attributes:
        request: What it answers.
        values: The payloads in order: chunks and `DONE`; or the one body.
        has: What it holds, in the words that quirks use for what they need.
    """

    request: Request
    values: list[Json]
    has: frozenset[str]


def dumps(value: Json) -> bytes:
    """Return *value* in OpenAI's spelling."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def chunk(choices: list[Chunk], top: Chunk) -> Chunk:
    """Return a chunk with these choices, and what *top* has for all of them."""
    head = {"id": top["id"], "object": "chat.completion.chunk"}
    head |= {key: top[key] for key in ("created", "model")}
    return {**head, "choices": choices, **top}


def choice_of(index: int, delta: Chunk, finish: str | None, logprobs: str) -> Chunk:
    """Return a choice of a chunk; *logprobs* are `full`, `null` or not there."""
    choice: Chunk = {"index": index, "delta": delta}
    if logprobs:
        said = logprobs == "full" and (delta.get("content") or delta.get("refusal"))
        choice["logprobs"] = log_of(delta) if said else None
    return {**choice, "finish_reason": finish}


def encode(values: Iterable[Json]) -> bytes:
    """Return a stream in OpenAI's own framing."""
    return b"".join(b"data: " + spelled(value) + b"\n\n" for value in values)


def spelled(value: Json) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"[DONE]" if value == DONE else dumps(value)


@st.composite
def answers(draw: st.DrawFn, needs: Collection[str] = ()) -> Answer:
    """Draw a stream; it has what *needs* names, and maybe more."""
    says = draw(choices_of(needs))
    usage_asked, usage = draw(usage_of(needs))
    top = draw(envelopes())
    logprobs = draw(st.sampled_from(["", "", "null", "full"]))
    logprobs = "full" if "logprobs" in needs else logprobs
    logprobs = "" if "plain" in needs else logprobs
    forms = [draw(st.integers(0, 2)) for _ in says]
    dice = draw(st.randoms(use_true_random=False)) if len(says) > 1 else Random()
    order = interleaved(says, forms, dice)
    request = asking(draw, says, usage=usage_asked, stream=True)
    return streamed(says, order, top, usage, logprobs, request)


def streamed(
    says: "list[Say]",
    order: "list[tuple[int, Chunk, str | None]]",
    top: Chunk,
    usage: Chunk,
    logprobs: str,
    request: Request,
) -> Answer:
    """Return a stream.

    Args:
        says: What the choices say.
        order: Their deltas, in order.
        top: What all chunks have.
        usage: The figures; empty for none.
        logprobs: Whether there are any: "full", "null", or empty for no such field.
        request: What is asked for.
    """
    counted = bool(request.usage)
    top = {**top, "usage": None} if counted else top
    values: list[Json] = []
    for at, delta, finish in order:
        values.append(chunk([choice_of(at, delta, finish, logprobs)], top))
    if counted:
        values.append(chunk([], {**top, "usage": usage}))
    elif usage:
        values[-1]["usage"] = usage
    has = traits(says)
    if usage:
        has |= {"usage", "usage asked" if counted else "usage unasked"}
    if logprobs == "full":
        has = has - {"plain"} | {"logprobs"}
    return Answer(request, [*values, DONE], has)


@st.composite
def usage_of(draw: st.DrawFn, needs: Collection[str]) -> tuple[bool, Chunk]:
    """Draw whether usage is asked for, and the figures, maybe none."""
    asked = draw(st.booleans())
    asked = (asked or "usage asked" in needs) and "usage unasked" not in needs
    if not (asked or {"usage", "usage unasked"} & set(needs) or draw(st.booleans())):
        return asked, {}
    return asked, USAGE | (DETAILS if draw(st.booleans()) else {})


def interleaved(
    says: "list[Say]", forms: Sequence[int], dice: Random
) -> list[tuple[int, Chunk, str | None]]:
    """Return the deltas of the choices, which open in *forms*, in any order."""
    tails = [say.deltas(form) for say, form in zip(says, forms, strict=True)]
    order = [at for at, deltas in enumerate(tails) for _ in deltas]
    if len(says) > 1:
        dice.shuffle(order)
    return [(at, *each) for at in order for each in tails[at].pop(0)]


def traits(says: "list[Say]") -> frozenset[str]:
    """Return what the choices hold, in the words that quirks use."""
    has = {each for say in says for each in say.has}
    has |= set() if "reasoning" in has else {"no reasoning"}
    has |= {"plain"} if all(say.plain for say in says) else set()
    has |= {"one"} if len(says) == 1 else set()
    forced = any(say.calls and say.finish == "stop" for say in says)
    return frozenset(has if forced else has | {"unforced"})


def log_of(delta: Chunk) -> Chunk:
    """Return log probabilities for the text of *delta*."""
    key = "content" if delta.get("content") else "refusal"
    token = {"token": delta[key], "logprob": -0.25, "bytes": [1], "top_logprobs": []}
    return {"content": None, "refusal": None} | {key: [token]}


def asking(draw: st.DrawFn, says: "list[Say]", *, usage: bool, stream: bool) -> Request:
    calls = any({"calls", "legacy"} & set(say.has) for say in says)
    tools = calls or draw(st.booleans())
    forced = calls and all(say.finish == "stop" for say in says if say.calls)
    legacy = any("legacy" in say.has for say in says)
    return Request(stream, usage, tools, forced, len(says), legacy)


@st.composite
def envelopes(draw: st.DrawFn) -> Chunk:
    more = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "system_fingerprint": st.sampled_from([None, "fp_1"]),
                "service_tier": st.just("default"),
                "obfuscation": st.just("x7"),
            },
        )
    )
    identity = f"chatcmpl-{draw(st.integers(1, 99))}"
    return {"id": identity, "created": 1_760_000_000, "model": MODEL, **more}


@dataclass(frozen=True)
class Called:
    """One function call, its arguments cut as they are sent."""

    name: str
    arguments: list[str]
    id: str = ""


@dataclass(frozen=True)
class Say:
    """All that one choice says."""

    text: list[str]
    thought: list[str]
    refusal: list[str]
    calls: list[Called]
    legacy: Called | None
    finish: str

    @property
    def plain(self) -> bool:
        return not (self.thought or self.refusal or self.calls or self.legacy)

    @property
    def has(self) -> Iterator[str]:
        yield "text" if any(self.text) else "silent" if self.plain else ""
        yield from ["reasoning"] if self.thought else []
        yield from ["calls"] if self.calls else []
        yield from ["two calls"] if len(self.calls) > 1 else []
        yield from ["legacy"] if self.legacy else []

    def deltas(self, form: int) -> list[list[tuple[Chunk, str | None]]]:
        """Return the (delta, finish reason)s, together what no other choice parts.

        *form* tells how the choice opens.
        """
        called = self.calls or self.legacy or self.refusal
        bare = bool(called and not self.text and not self.thought and form)
        if self.refusal and bare:
            form = 1  # null waits for a call only
        opening: Chunk = {"role": "assistant", "content": None if bare else ""}
        rest: list[Chunk] = [{"reasoning_content": each} for each in self.thought]
        rest += [{"content": each} for each in self.text]
        rest += [{"refusal": each} for each in self.refusal]
        rest += [
            {"tool_calls": [each]}
            for at, call in enumerate(self.calls)
            for each in fragments(at, call)
        ]
        if self.legacy:
            function = {"name": self.legacy.name, "arguments": ""}
            rest.append({"function_call": function})
            rest += [
                {"function_call": {"arguments": each}} for each in self.legacy.arguments
            ]
        speaks = form == 2 and "content" in (rest or [{}])[0]
        if speaks or (bare and form == 1):
            opening |= rest.pop(0)
        if not called:
            opening["refusal"] = None
        said: list[list[tuple[Chunk, str | None]]]
        said = [[(delta, None)] for delta in [opening, *rest]]
        if bare and form == 2:  # null waits for one event only
            said[:2] = [said[0] + said[1]]
        return [*said, [({}, self.finish)]]


def fragments(index: int, call: Called) -> list[Chunk]:
    function = {"name": call.name, "arguments": ""}
    head = {"index": index, "id": call.id, "type": "function", "function": function}
    return [
        head,
        *({"index": index, "function": {"arguments": each}} for each in call.arguments),
    ]


@st.composite
def choices_of(draw: st.DrawFn, needs: Collection[str]) -> list[Say]:
    """Draw what one to three choices say; the first has what *needs* names."""
    n = draw(st.sampled_from([1] if "one" in needs else [1, 1, 1, 2, 3]))
    forced = "unforced" not in needs and draw(st.integers(0, 7)) == 7
    kinds = ["text", "calls", "refusal", "legacy"]
    return [
        draw(said(needs if at == 0 else (), at, kinds, forced=forced))
        if "plain" not in needs
        else draw(said({"plain", "text"}, at, kinds, forced=forced))
        for at in range(n)
    ]


@st.composite
def said(
    draw: st.DrawFn,
    needs: Collection[str],
    index: int,
    kinds: list[str],
    *,
    forced: bool,
) -> Say:
    kind = draw(st.sampled_from(kinds))
    for need, wanted in {
        "plain": "text",
        "text": "text",
        "silent": "text",
        "legacy": "legacy",
        "calls": "calls",
        "two calls": "calls",
    }.items():
        kind = wanted if need in needs else kind
    if "logprobs" in needs and kind in ("calls", "legacy"):
        kind = "refusal"
    text = draw(TEXT) if kind == "text" or draw(st.booleans()) else []
    if "text" in needs:
        text = [draw(st.sampled_from(WORDS)), *text]
    text = [] if "silent" in needs else text
    thinks = "reasoning" in needs or draw(st.integers(0, 2)) == 2
    thinks = thinks and not {"plain", "no reasoning"} & set(needs)
    thought = draw(THOUGHT) if thinks else []
    if kind == "text":
        reasons = st.sampled_from(["stop", "stop", "length", "content_filter"])
        return Say(text, thought, [], [], None, draw(reasons))
    if kind == "refusal":
        return Say([], thought, ["I", " cannot"], [], None, "stop")
    least = 2 if "two calls" in needs else 1
    count = draw(st.integers(least, 3)) if kind == "calls" else 1
    calls = [draw(called(f"call_{index}{at}")) for at in range(count)]
    if kind == "legacy":
        return Say(text, thought, [], [], calls[0], "function_call")
    return Say(text, thought, [], calls, None, "stop" if forced else "tool_calls")


@st.composite
def called(draw: st.DrawFn, identity: str) -> Called:
    arguments = json.dumps(draw(ARGUMENTS), ensure_ascii=False)
    places = draw(st.lists(st.integers(1, len(arguments)), max_size=2, unique=True))
    starts = [0, *sorted(places), len(arguments)]
    pieces = [arguments[a:b] for a, b in pairwise(starts) if a < b]
    return Called(draw(st.sampled_from(["f", "get_weather"])), pieces, identity)


# ------------------------------------------------------------- a stream to damage


@dataclass
class Sent:
    """One event: its payload (bytes stand for themselves), and the lines around it."""

    value: Json
    fields: list[bytes] = field(default_factory=list)
    before: bytes = b""
    glued: bool = False  # to the event before it, if that ends in a value


type Part = tuple[Sent, Chunk, Chunk]
"""An event, one choice of it, and that choice's delta."""


@dataclass
class Stream:
    """A stream under damage, what it still means, and how it is written."""

    answer: Answer
    events: list[Sent]
    meaning: Meaning
    prefix: bytes = b"data: "
    newline: bytes = b"\n"
    blank: bytes = b"\n"  # what parts the events
    cut: int = 0  # line ends that are missing at the end
    bom: bytes = b""
    raw: bool = False  # control characters in strings are not escaped
    indent: int | None = None
    dice: Random = field(default_factory=Random)

    @classmethod
    def of(cls, answer: Answer) -> "Stream":
        """Return the stream without damage."""
        meaning = taken(encode(answer.values))
        events = [Sent(copy.deepcopy(value)) for value in answer.values]
        return cls(answer, events, meaning)

    def encode(self) -> bytes:
        """Return the bytes on the wire."""
        data = b""
        open_value = False  # a value ends the event before
        for sent in self.events:
            lines = [self.prefix + line for line in self.lines(sent.value)]
            is_value = bool(sent.value) and not isinstance(sent.value, bytes)
            if (
                sent.glued
                and open_value
                and is_value
                and not (sent.fields or sent.before)
            ):
                data = data.removesuffix(b"\n" + self.blank)
            fields = [*sent.fields, *lines]
            data += sent.before + b"".join(each + b"\n" for each in fields)
            data += self.blank
            open_value = is_value and len(lines) == 1
        kept = len(data.rstrip(b"\n"))
        data = data[: max(kept, len(data) - self.cut)]
        return self.bom + data.replace(b"\n", self.newline)

    def lines(self, value: Json) -> list[bytes]:
        if self.indent is None or not isinstance(value, dict):
            line = spelled(value)
            return (
                [_CONTROL.sub(_unescaped, line) if self.raw else line] if line else []
            )
        return json.dumps(value, indent=self.indent).encode().split(b"\n")

    def chunks(self) -> list[Sent]:
        """Return the events that are chunks with a list of choices."""
        return [
            sent
            for sent in self.events
            if isinstance(sent.value, dict) and sent.value.get("choices") is not None
        ]

    def parts(self, index: int | None = None) -> list[Part]:
        """Return all deltas, or those of one choice."""
        return [
            (sent, choice, choice["delta"])
            for sent in self.chunks()
            for choice in sent.value["choices"]
            if isinstance(choice.get("delta"), dict)
            and (index is None or choice["index"] == index)
        ]

    def indexes(self) -> list[int]:
        return sorted(self.meaning.choices)

    def calls(self, index: int | None = None) -> list[tuple[Chunk, Chunk]]:
        """Return the (fragment, function)s of tool calls, flat ones left out."""
        return [
            (call, call["function"])
            for *_, delta in self.parts(index)
            for call in delta.get("tool_calls") or ()
            if "function" in call
        ]

    def heads(self, index: int | None = None) -> list[tuple[Chunk, Chunk]]:
        return [
            (call, function) for call, function in self.calls(index) if "id" in call
        ]

    def finishes(self) -> list[Part]:
        return [each for each in self.parts() if each[1].get("finish_reason")]

    def insert(self, sent: Sent, value: Json, *, after: bool = True) -> Sent:
        """Add an event behind *sent*, or before it."""
        new = Sent(value)
        self.events.insert(self.place(sent) + after, new)
        return new

    def place(self, sent: Sent) -> int:
        return next(at for at, each in enumerate(self.events) if each is sent)

    def remove(self, sent: Sent) -> None:
        del self.events[self.place(sent)]

    def like(self, sent: Sent, delta: Json, **more: Any) -> Chunk:
        """Return a chunk like that of *sent*, with another delta."""
        choice = {**sent.value["choices"][0], "delta": delta, "finish_reason": None}
        choice.pop("logprobs", None)
        value = {**copy.deepcopy(sent.value), "choices": [choice | more]}
        if "usage" in value:
            value["usage"] = None
        return value

    def usage(self) -> list[Sent]:
        return [sent for sent in self.chunks() if sent.value.get("usage")]


_CONTROL = re.compile(rb"\\\\|\\(?:u00[01][0-9a-f]|t)")


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[0]
    return text if text == rb"\\" else json.loads(b'"' + text + b'"').encode()


type Damage = Callable[..., None]
"""Changes a stream or body in place; its second argument is the mode, if it has any."""


@dataclass(frozen=True)
class Quirk:
    """One way in which providers differ from OpenAI.

    Attributes:
        name: `<quirk>` or `<quirk>/<mode>`.
        needs: What the stream has to hold for it to change anything.
        damage: Does it to a stream or body, in place.
        who: Who sends such answers.
    """

    name: str
    needs: frozenset[str]
    damage: Callable[[Any], None]
    who: str

    @property
    def base(self) -> str:
        return self.name.partition("/")[0]


def register_in(
    quirks: list[Quirk],
) -> Callable[..., Callable[[Damage], Damage]]:
    """Return the decorator that adds a quirk to *quirks*, once for each mode."""

    def quirk(*needs: str, **modes: Any) -> Callable[[Damage], Damage]:
        def register(damage: Damage) -> Damage:
            base = damage.__name__.replace("_", "-")
            who = (damage.__doc__ or "").strip()
            if not modes:
                quirks.append(Quirk(base, frozenset(needs), damage, who))
            for mode, value in modes.items():
                name = f"{base}/{mode}".replace("_", "-")
                one = partial(_in_mode, damage, value)
                quirks.append(Quirk(name, frozenset(needs), one, who))
            return damage

        return register

    return quirk


def _in_mode(damage: Damage, mode: Any, target: Any) -> None:
    damage(target, mode)


QUIRKS: list[Quirk] = []
quirk = register_in(QUIRKS)


def write(part: Chunk, key: str, value: Json) -> None:
    """Set *key*, or take it away."""
    if value is MISSING:
        part.pop(key, None)
    else:
        part[key] = value


HOLLOW: dict[str, Any] = {"null": None, "empty": "", "missing": MISSING}

# ------------------------------------------------------------------------- calls


@quirk("calls", apart=False, together=True)
def call_whole(stream: Stream, together: bool) -> None:
    """NVIDIA NIM, Gemini, Ollama, xAI: a call comes in one fragment."""
    for index in stream.indexes():
        first: list[Chunk] = []
        whole: dict[int, Chunk] = {}
        for sent, choice, delta in stream.parts(index):
            for call in list(delta.get("tool_calls") or ()):
                known = whole.setdefault(call["index"], call)
                if known is not call:
                    whole_function = known["function"]
                    whole_function["arguments"] += call["function"]["arguments"]
                elif not (together and first):
                    first = delta["tool_calls"]
                    continue
                else:
                    first.append(call)
                delta["tool_calls"].remove(call)
            if delta.get("tool_calls") == []:
                del delta["tool_calls"]
                if not delta and not choice.get("finish_reason"):
                    stream.remove(sent)


@quirk("calls")
def call_arguments_object(stream: Stream) -> None:
    """llama.cpp, MLX-LM: the arguments are an object, not a string."""
    call_whole(stream, False)
    for _, function in stream.calls():
        function["arguments"] = json.loads(function["arguments"])
    for choice in stream.meaning.choices.values():
        for call in choice.calls:
            call.as_object = True


@quirk("calls", object=True, text=False)
def call_flat(stream: Stream, as_object: bool) -> None:
    """Workers AI: name and arguments stand in the call itself."""
    call_whole(stream, True)
    for call, function in stream.calls():
        call.clear()
        call.update(function)
        if as_object and isinstance(call["arguments"], str):
            call["arguments"] = json.loads(call["arguments"])
    for choice in stream.meaning.choices.values():
        for each in choice.calls:
            each.id, each.as_object = "", True


@quirk("calls")
def call_arguments_absent(stream: Stream) -> None:
    """LM Studio, SGLang: a call that takes nothing has no arguments at all."""
    for index in stream.indexes():
        meant = stream.meaning.choices[index].calls
        for sent, _, delta in stream.parts(index):
            for call in list(delta.get("tool_calls", ())):
                if "function" not in call or meant[call["index"]].arguments != "{}":
                    continue
                if "id" in call:
                    call["function"]["arguments"] = ""
                else:
                    stream.remove(sent)


@quirk("calls", growing="growing", whole="whole", begun="begun", string="string")
def call_arguments_again(stream: Stream, mode: str) -> None:
    """vLLM, DeepSeek and Qianfan gateways: arguments come again, as far as they are."""
    for index in stream.indexes():
        said: dict[int, str] = {}
        calls = stream.calls(index)
        for call, function in calls:
            at, text = call["index"], function["arguments"]
            said[at] = said.get(at, "") + text
            if mode == "growing":
                function["arguments"] = said[at]
        for at, text in said.items() if mode != "growing" else ():
            last = [each for each in calls if each[0]["index"] == at][-1][1]
            if "name" in last:
                continue  # it has no fragment of its own for its arguments
            again = json.dumps(text) if mode == "string" else text
            own = text if mode != "begun" else text[: len(last["arguments"])]
            if mode == "begun" and len(calls) > len(said) * 2:
                continue  # more than one fragment each: they would not be the begin
            last["arguments"] = own if mode == "begun" else last["arguments"]
            sent = next(
                each
                for each, _, delta in stream.parts(index)
                if any(each["function"] is last for each in delta.get("tool_calls", ()))
            )
            fragment = {"index": at, "function": {"arguments": again}}
            stream.insert(sent, stream.like(sent, {"tool_calls": [fragment]}))


@quirk("calls")
def call_arguments_encoded(stream: Stream) -> None:
    """Gateways: the arguments are encoded as a string twice."""
    for index in stream.indexes():
        first: set[int] = set()
        calls = stream.calls(index)
        for call, function in calls:
            text = function["arguments"]
            if text:
                quote = "" if call["index"] in first else '"'
                function["arguments"] = quote + json.dumps(text)[1:-1]
                first.add(call["index"])
        for at in first:
            last = [each for each in calls if each[0]["index"] == at][-1][1]
            last["arguments"] += '"'


@quirk("calls", "one")
def call_arguments_blank(stream: Stream) -> None:
    """LiteLLM: `{}` comes before the arguments."""
    for index in stream.indexes():
        for sent, _, delta in stream.parts(index):
            for call in delta.get("tool_calls", ()):
                function = call.get("function", {})
                if "id" in call and function.get("arguments") == "":
                    fragment = {"index": call["index"], "function": {"arguments": "{}"}}
                    stream.insert(sent, stream.like(sent, {"tool_calls": [fragment]}))


@quirk("calls", parts=True, whole=False)
def call_name_parts(stream: Stream, parts: bool) -> None:
    """Kimi K3, vLLM: a name comes in parts, or its begin before it."""
    for index in stream.indexes():
        for sent, _, delta in stream.parts(index):
            for call in list(delta.get("tool_calls", ())):
                function = call.get("function", {})
                name = function.get("name", "")
                if len(name) > 1 and len(delta["tool_calls"]) == 1:
                    cut = stream.dice.randrange(1, len(name))
                    if name[:cut] in TOOLS:
                        continue
                    rest = name[cut:] if parts else name
                    more = {"name": rest, "arguments": function["arguments"]}
                    function |= {"name": name[:cut], "arguments": ""}
                    fragment = {"index": call["index"], "function": more}
                    stream.insert(sent, stream.like(sent, {"tool_calls": [fragment]}))


@quirk(
    "calls",
    space="functions.{}",
    channel="{}<|channel|>commentary",
    both="functions.{}<|constrain|>json",
    number="functions.{}:0",
)
def call_name_wrapped(stream: Stream, value: str) -> None:
    """vLLM and Ollama with gpt-oss, Kimi: a name with what the template has around it."""
    for _, function in stream.calls():
        if function.get("name"):
            function["name"] = value.format(function["name"])


@quirk("calls", "one")
def call_legacy(stream: Stream) -> None:
    """llama-cpp-python, old gateways: `function_call` although tools were asked for."""
    for index in stream.indexes():
        meant = stream.meaning.choices[index]
        if len(meant.calls) != 1:
            continue
        for _, choice, delta in stream.parts(index):
            for call in delta.pop("tool_calls", ()):
                delta["function_call"] = call["function"]
            if choice.get("finish_reason") == "tool_calls":
                choice["finish_reason"] = "function_call"
        meant.calls[0].id = ""


@quirk("calls")
def call_sent_twice(stream: Stream) -> None:
    """Gemini bridges: a whole call comes once more, with the same id."""
    call_whole(stream, False)
    index = stream.dice.choice([i for i in stream.indexes() if stream.calls(i)])
    sent, _, delta = [each for each in stream.parts(index) if "tool_calls" in each[2]][
        -1
    ]
    calls = copy.deepcopy(delta["tool_calls"][-1:])
    stream.insert(sent, stream.like(sent, {"tool_calls": calls}))


@quirk("calls")
def call_name_late(stream: Stream) -> None:
    """SGLang: the first arguments come before the name."""
    for index in stream.indexes():
        calls = stream.calls(index)
        for (head, first), (_, second) in pairwise(calls):
            if "id" in head and "name" not in second:
                first["arguments"] = second["arguments"]
                second |= {"name": first.pop("name"), "arguments": ""}


@quirk("calls")
def call_head_repeated(stream: Stream) -> None:
    """MiniMax on NVIDIA NIM, Fireworks: id, type and name are on every fragment."""
    for index in stream.indexes():
        head: Chunk = {}
        for call, function in stream.calls(index):
            if "id" in call:
                head = call
            else:
                call |= {"id": head["id"], "type": "function"}
                function["name"] = head["function"]["name"]


@quirk("calls", null=None, empty="")
def call_rest_hollow(stream: Stream, value: Json) -> None:
    """Workers AI, OpenCode Zen: later fragments have an empty id, type and name."""
    for call, function in stream.calls():
        if "id" not in call:
            call |= {"id": value, "type": value}
            function.setdefault("name", value)


@quirk("two calls")
def call_same_id(stream: Stream) -> None:
    """Gateways: all calls of an answer have one id."""
    for index in stream.indexes():
        calls = stream.meaning.choices[index].calls
        if len({(call.name, call.arguments) for call in calls}) < len(calls):
            continue  # the same call sent twice, for all one can see
        for call in calls:
            call.id = calls[0].id
        for head, _ in stream.heads(index):
            head["id"] = head["id"] and call.id


@quirk("two calls")
def call_joined(stream: Stream) -> None:
    """Gateways to Claude: the arguments of a second call follow those of the first."""
    for index in stream.indexes():
        meant = stream.meaning.choices[index].calls
        if len({call.arguments for call in meant} - {"{}"}) < len(meant):
            continue
        for call in meant[1:]:
            call.id, call.name = "", meant[0].name
        for sent, _, delta in stream.parts(index):
            for call in list(delta.get("tool_calls", ())):
                if call.get("index") and "function" in call:
                    text = call["function"]["arguments"]
                    call.clear()
                    call |= {"index": 0, "function": {"arguments": text}}
                    if not text:
                        delta["tool_calls"].remove(call)
            if delta.get("tool_calls") == []:
                stream.remove(sent)


@quirk("calls", **HOLLOW, number=7)
def call_id(stream: Stream, value: Json) -> None:
    """Ollama, old vLLM, GLM proxies: calls have no id, or a number."""
    numbers: dict[str, int] = {}
    for head, _ in stream.heads():
        if head["id"] and value == 7:
            head["id"] = numbers.setdefault(head["id"], 7 + len(numbers))
        elif head["id"]:
            write(head, "id", value)
    for choice in stream.meaning.choices.values():
        for call in choice.calls:
            call.id = str(numbers.get(call.id, ""))


@quirk("calls")
def call_index_missing(stream: Stream) -> None:
    """NVIDIA NIM, Gemini, Ollama, mistral.rs: calls are not counted."""
    for call, _ in stream.calls():
        del call["index"]


@quirk("two calls")
def call_index_same(stream: Stream) -> None:
    """DeepSeek behind gateways: every call has the index of the first."""
    for call, _ in stream.calls():
        call["index"] = 0


@quirk("calls", **HOLLOW)
def call_type(stream: Stream, value: Json) -> None:
    """Azure, Mistral, Gemini: no type, or an empty one."""
    for call, _ in stream.calls():
        if call.get("type"):
            write(call, "type", value)


@quirk("calls", null=None, missing=MISSING)
def call_arguments_hollow(stream: Stream, value: Json) -> None:
    """SGLang, TGI: a call opens without arguments."""
    for _, function in stream.calls():
        if function.get("arguments") == "":
            write(function, "arguments", value)


@quirk("calls", missing=MISSING, null=None, empty={})
def call_signed_late(stream: Stream, value: Json) -> None:
    """Gemini: a fragment of a key of its own alone, behind the arguments."""
    for index in stream.indexes():
        calling = [each for each in stream.parts(index) if each[2].get("tool_calls")]
        for sent, _, delta in calling[-1:]:
            last = delta["tool_calls"][-1]
            signed = {"index": last["index"]} if "index" in last else {}
            signed["extra_content"] = {"google": {"thought_signature": "c2ln"}}
            write(signed, "function", {} if value == {} else value)
            stream.insert(sent, stream.like(sent, {"tool_calls": [signed]}))


@quirk("calls", indexed=True, bare=False)
def call_sentinel(stream: Stream, indexed: bool) -> None:
    """Workers AI: the last fragment is all null."""
    for index in stream.indexes():
        calling = [each for each in stream.parts(index) if each[2].get("tool_calls")]
        for sent, _, delta in calling[-1:]:
            last = delta["tool_calls"][-1].get("index", MISSING) if indexed else MISSING
            function = {"name": None, "arguments": None}
            nothing: Chunk = {"id": None, "type": None, "function": function}
            write(nothing, "index", last)
            stream.insert(sent, stream.like(sent, {"tool_calls": [nothing]}))


@quirk("legacy")
def function_call_repeated(stream: Stream) -> None:
    """Gateways: the name of a legacy call is on every fragment."""
    for index in stream.indexes():
        legacy = stream.meaning.choices[index].function_call
        for *_, delta in stream.parts(index):
            if legacy and "function_call" in delta:
                delta["function_call"] = {"name": legacy.name, **delta["function_call"]}


# ------------------------------------------------------------------------- finish

SYNONYMS = {
    "stop": [
        "eos",
        "eos_token",
        "end_turn",
        "STOP",
        "end",
        "stop_sequence",
        "COMPLETE",
    ],
    "length": ["max_tokens", "model_length", "MAX_TOKENS", "max_output_tokens"],
    "tool_calls": ["tool_use", "tool_call"],
    "content_filter": ["SAFETY", "content_filtered", "RECITATION"],
}


def implied(choice: Choice) -> str:
    """Return the finish reason of a choice that does not give one."""
    if choice.function_call:
        return "function_call"
    return "tool_calls" if choice.calls else "stop"


def leave_finish_out(stream: Stream, index: int) -> None:
    """Expect the reason that is added to a choice which gives none."""
    choice = stream.meaning.choices[index]
    forced = stream.answer.request.forced_tool
    choice.finish_reason = "stop" if forced else implied(choice)


@quirk("calls", "unforced")
def finish_stop_with_calls(stream: Stream) -> None:
    """SGLang, Workers AI, MLX: a tool call ends with `stop`."""
    for _, choice, _ in stream.finishes():
        if choice["finish_reason"] == "tool_calls":
            choice["finish_reason"] = "stop"


@quirk("plain")
def finish_without_call(stream: Stream) -> None:
    """GitHub Copilot, Gemini gateways: a text ends with `tool_calls`."""
    for _, choice, _ in stream.finishes():
        if choice["finish_reason"] == "stop":
            choice["finish_reason"] = "tool_calls"


@quirk()
def finish_synonym(stream: Stream) -> None:
    """Together, Gemini and Claude bridges, Cohere: reasons in words of their own."""
    for _, choice, _ in stream.finishes():
        reason = choice["finish_reason"]
        choice["finish_reason"] = stream.dice.choice(SYNONYMS.get(reason, [reason]))


@quirk()
def finish_absent(stream: Stream) -> None:
    """GLM on NVIDIA NIM, Gemini proxies: [DONE] comes without a finish reason."""
    for sent, choice, _ in stream.finishes():
        leave_finish_out(stream, choice["index"])
        choice["finish_reason"] = None
        if not sent.value.get("usage"):
            stream.remove(sent)


@quirk()
def finish_with_content(stream: Stream) -> None:
    """Mistral, Workers AI, Gemini: the last text brings the finish reason."""
    for index in stream.indexes():
        if len(stream.parts(index)) < 2:
            continue
        *_, (said, last, _), (sent, choice, delta) = stream.parts(index)
        if choice.get("finish_reason") and not delta:
            last["finish_reason"] = choice["finish_reason"]
            if sent.value.get("usage"):
                # It has its place on the last finish, so that goes there, too.
                stream.remove(said)
                choice |= last
            else:
                stream.remove(sent)


@quirk("one", every=True, first=False)
def finish_early(stream: Stream, every: bool) -> None:
    """Gemini and Ollama bridges: the first chunk that says something ends the answer."""
    # One choice only: a finish waits no longer than until another choice goes on.
    reasons = {c["index"]: c["finish_reason"] for _, c, _ in stream.finishes()}
    saying = set()
    for _, choice, delta in stream.parts():
        index = choice["index"]
        if any(value for key, value in delta.items() if key != "role"):
            saying.add(index)
        if index in saying and index in reasons:
            choice["finish_reason"] = reasons[index]
            if not every:
                return


@quirk(at_once=True, late=False)
def finish_twice(stream: Stream, at_once: bool) -> None:
    """Mistral bridges, Workers AI: the finish reason comes once more."""
    for sent, choice, _ in stream.finishes():
        reason = choice["finish_reason"]
        place = sent if at_once else stream.parts()[-1][0]
        value = stream.like(sent, {}, finish_reason=reason)
        stream.insert(place, value)


@quirk(plain=False, usage=True)
def finish_then_empty(stream: Stream, usage: bool) -> None:
    """OpenRouter: an empty text follows the finish reason, maybe with the usage."""
    if not stream.finishes():
        return
    sent = stream.finishes()[-1][0]
    value = stream.like(sent, {"content": "", "role": "assistant"})
    if usage and len(stream.usage()) == 1:
        value["usage"] = take_usage(stream)
    stream.insert(stream.parts()[-1][0], value)


@quirk("calls", "unforced")
def finish_call_cut(stream: Stream) -> None:
    """vLLM: a call is cut by the limit of tokens, and ends with `tool_calls`."""
    for _, choice, _ in stream.finishes():
        fragments = [each for _, each in stream.calls(choice["index"])]
        meant = stream.meaning.choices[choice["index"]]
        if not (fragments and choice["finish_reason"] == "tool_calls"):
            continue
        last = fragments[-1]
        if isinstance(last["arguments"], str) and len(last["arguments"]) > 1:
            last["arguments"] = last["arguments"][:-1]
            meant.calls[-1].arguments = meant.calls[-1].arguments[:-1]
            meant.finish_reason = "length"


@quirk(empty="", missing=MISSING)
def finish_hollow(stream: Stream, value: Json) -> None:
    """Azure gateways: an open choice has `""` or no key for its finish reason."""
    for _, choice, _ in stream.parts():
        if choice.get("finish_reason") is None:
            write(choice, "finish_reason", value)


# -------------------------------------------------------------------------- usage


def take_usage(stream: Stream) -> Json:
    """Take the usage out of the stream."""
    usage = None
    for sent in stream.usage():
        usage = sent.value["usage"]
        if not sent.value["choices"]:
            stream.remove(sent)
        elif stream.answer.request.usage:
            sent.value["usage"] = None
        else:
            del sent.value["usage"]
    return usage


@quirk("usage", zero="zero", growing="growing", hollow="hollow")
def usage_early(stream: Stream, mode: str) -> None:
    """DeepSeek, SiliconFlow, vLLM, MiniMax: figures on every chunk, the last are true."""
    last = stream.usage()[-1]
    final = last.value["usage"]
    for at, sent in enumerate(stream.chunks()):
        if sent is last:
            break
        if mode == "hollow":
            usage: Chunk = {}
        else:
            said = min(at, 6) if mode == "growing" else 0
            prompt = final["prompt_tokens"] if mode == "growing" else 0
            usage = dict(zip(USAGE, (prompt, said, prompt + said), strict=True))
        sent.value["usage"] = usage


@quirk("usage", finish="finish", own="own", choice="choice", groq="groq")
def usage_elsewhere(stream: Stream, mode: str) -> None:
    """MLX, Moonshot, Groq: the figures stand where nobody looks for them."""
    if not stream.usage():
        return
    last = stream.usage()[-1]
    usage = take_usage(stream)
    sent, choice, _ = (stream.finishes() or stream.parts())[-1]
    if mode == "finish":
        sent.value["usage"] = usage
    elif mode == "choice":
        choice["usage"] = usage
    elif mode == "groq":
        sent.value["x_groq"] = {"id": "req_1", "usage": usage}
        sent.value.pop("usage", None)
    else:
        value = {**last.value, "choices": [], "usage": usage}
        stream.insert(stream.parts()[-1][0], value)


@quirk("usage")
def usage_twice(stream: Stream) -> None:
    """Gateways: the chunk with the usage comes once more."""
    for sent in stream.usage()[-1:]:
        value = {**copy.deepcopy(sent.value), "choices": []}
        stream.insert(stream.chunks()[-1], value)


@quirk("usage", text=str, float=float)
def usage_mistyped(stream: Stream, kind: Callable[[int], Json]) -> None:
    """Gateways in loose languages: counts are strings or floats."""
    for usage in usages(stream):
        for key in set(usage) & set(USAGE):
            # The code under test keeps a float's spelling; so a whole number does.
            usage[key] = kind(usage[key])


@quirk("usage")
def usage_partial(stream: Stream) -> None:
    """MiniMax, Ollama bridges: the total is missing."""
    for usage in usages(stream):
        usage.pop("total_tokens", None)


NULLS: Chunk = {"cached_tokens": None, "audio_tokens": None}


@quirk("usage", whole=None, within=NULLS)
def usage_figure_null(stream: Stream, value: Json) -> None:
    """vLLM, OpenCode Go: details that were not counted are null."""
    for usage in usages(stream):
        usage["prompt_tokens_details"] = copy.copy(value)


def usages(stream: Stream) -> Iterator[Chunk]:
    """Yield all usage, wherever it stands."""
    seen: list[int] = []
    for sent in stream.chunks():
        for usage in usages_of(sent):
            if id(usage) not in seen:
                seen.append(id(usage))
                yield usage


def usages_of(sent: Sent) -> Iterator[Chunk]:
    places = [sent.value, sent.value.get("x_groq") or {}, *sent.value["choices"]]
    return (place["usage"] for place in places if place.get("usage"))


# ------------------------------------------------------------------------- deltas


@quirk(
    missing=(MISSING, MISSING),
    null=(None, None),
    null_later=("assistant", None),
    empty_later=("assistant", ""),
    repeated=("assistant", "assistant"),
    wrong=("model", "model"),
    wrong_once=("model", MISSING),
)
def role(stream: Stream, values: tuple[Json, Json]) -> None:
    """NVIDIA NIM, MiniMax, Perplexity, old llama.cpp, Gemini: odd roles."""
    opened: set[int] = set()
    for _, choice, delta in stream.parts():
        later = choice["index"] in opened
        opened.add(choice["index"])
        old = copy.copy(delta)
        old.pop("role", None)
        delta.clear()
        write(delta, "role", values[later])
        delta.update(old)


@quirk(opening="opening", others="others", alone="alone")
def content_null(stream: Stream, mode: str) -> None:
    """NVIDIA NIM, DeepSeek, Copilot: null where OpenAI sends a string or nothing."""
    parts = stream.parts()
    if mode == "alone":
        sent, choice, _ = stream.dice.choice(parts)
        index = choice["index"]
        first = next(each for each, own, _ in parts if own["index"] == index)
        stream.insert(first, stream.like(sent, {"content": None}))
    elif mode == "opening":
        for *_, delta in parts:
            if "role" in delta and delta.get("content") == "":
                delta["content"] = None
    else:
        for *_, delta in parts:
            delta.setdefault("content", None)


@quirk(null=None, list=[])
def tool_calls_hollow(stream: Stream, value: Json) -> None:
    """SGLang, exo, Groq gateways: no calls, spelled out."""
    for *_, delta in stream.parts():
        delta.setdefault("tool_calls", copy.copy(value))


@quirk(null=None, hollow={"name": "", "arguments": ""})
def function_call_hollow(stream: Stream, value: Json) -> None:
    """exo, Bedrock gateways: no legacy call, spelled out."""
    for *_, delta in stream.parts():
        delta.setdefault("function_call", copy.copy(value))


@quirk()
def extras_null(stream: Stream) -> None:
    """NVIDIA NIM, SGLang, exo: unset fields of their own are null."""
    for sent, choice, delta in stream.parts():
        sent.value["nvext"] = None
        choice |= {"stop_reason": None, "matched_stop": None}
        delta |= {"name": None, "tool_call_id": None}


@quirk(null=None, missing=MISSING)
def delta_hollow(stream: Stream, value: Json) -> None:
    """GPT-5 gateways, Azure's content filter: a choice without a delta."""
    sent, *_ = stream.parts()[0]
    stream.insert(sent, stream.like(sent, {}))
    for _, choice, delta in stream.parts():
        if not delta:
            write(choice, "delta", value)


@quirk("reasoning", "text")
def reasoning_with_content(stream: Stream) -> None:
    """Gateways: the last thought and the first word share a delta."""
    for index in stream.indexes():
        for (sent, _, one), (_, _, other) in pairwise(stream.parts(index)):
            if set(one) == {"reasoning_content"} and other.get("content"):
                other.update(one)
                stream.remove(sent)


@quirk("reasoning", vllm=["reasoning"], text=["reasoning_text"], both=["reasoning", ""])
def reasoning_name(stream: Stream, keys: list[str]) -> None:
    """Newer vLLM, Ollama, OpenRouter, chutes: reasoning under another name, or two."""
    for *_, delta in stream.parts():
        if "reasoning_content" in delta:
            thought = delta.pop("reasoning_content")
            delta |= {key or "reasoning_content": thought for key in keys}


@quirk("text")
def content_parts(stream: Stream) -> None:
    """Mistral, Databricks: content is a list of parts."""
    for *_, delta in stream.parts():
        if delta.get("content"):
            delta["content"] = text_parts(delta["content"])


@quirk("reasoning")
def content_thoughts(stream: Stream) -> None:
    """Mistral's Magistral: thoughts are parts of the content."""
    for *_, delta in stream.parts():
        if "reasoning_content" in delta:
            delta["content"] = thought_parts(delta.pop("reasoning_content")) + (
                text_parts(delta.get("content"))
            )


def thought_parts(thought: str) -> list[Chunk]:
    """Return a thought in Mistral's form."""
    return [{"type": "thinking", "thinking": text_parts(thought)}]


def text_parts(content: Json) -> list[Chunk]:
    """Return content as a list of parts."""
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


@quirk("logprobs", "text")
def logprobs_old(stream: Stream) -> None:
    """Together: tokens, figures and alternatives in lists of their own."""
    for _, choice, _ in stream.parts():
        logprobs = choice.get("logprobs") or {}
        entries = logprobs.get("content")
        if entries and not logprobs.get("refusal"):
            choice["logprobs"] = {
                "tokens": [each["token"] for each in entries],
                "token_logprobs": [each["logprob"] for each in entries],
            }


@quirk("logprobs", "text")
def logprobs_partial(stream: Stream) -> None:
    """vLLM's relatives: tokens without alternatives."""
    for _, choice, _ in stream.parts():
        logprobs = choice.get("logprobs") or {}
        for token in (logprobs.get("content") or []) + (logprobs.get("refusal") or []):
            del token["top_logprobs"]


# ------------------------------------------------------------ where the answer is


def is_steady(pieces: Sequence[str]) -> bool:
    """Tell whether no piece looks like all that was said before, and more."""
    said = ""
    for piece in pieces:
        if said and piece.startswith(said):
            return False
        said += piece
    return True


def said_in(stream: Stream, index: int) -> list[str]:
    """Return the pieces of text of one choice."""
    return [
        "".join(each.get("text", "") for each in text_parts(delta.get("content")))
        for *_, delta in stream.parts(index)
    ]


def thought_in(stream: Stream, index: int) -> list[str]:
    """Return the pieces of reasoning of one choice."""
    keys = ("reasoning_content", "reasoning", "reasoning_text")
    return [
        next((delta[key] for key in keys if key in delta), "")
        or "".join(
            thought["text"]
            for part in text_parts(delta.get("content"))
            for thought in part.get("thinking", ())
        )
        for *_, delta in stream.parts(index)
    ]


@quirk("text")
def message_fragment(stream: Stream) -> None:
    """Backends that ignore `stream`: fragments stand in `message`."""
    if all(
        is_steady(said(stream, index))
        for index in stream.indexes()
        for said in (said_in, thought_in)
    ):
        for _, choice, delta in stream.parts():
            del choice["delta"]
            choice["message"] = delta


def is_text_only(stream: Stream) -> bool:
    """Tell whether all choices have deltas, with strings, and nothing but text."""
    return all(
        "delta" in choice
        for sent in stream.chunks()
        for choice in sent.value["choices"]
    ) and all(
        isinstance(delta.get("content", ""), str)
        and not any(delta[key] for key in set(delta) - {"role", "content"})
        for *_, delta in stream.parts()
    )


@quirk("plain", "text", instead=True, beside=False)
def message_growing(stream: Stream, instead: bool) -> None:
    """Perplexity: `message` holds all that was said so far."""
    if not is_text_only(stream):
        return
    said: dict[int, str] = {}
    for _, choice, delta in stream.parts():
        index = choice["index"]
        said[index] = said.get(index, "") + delta.get("content", "")
        choice["message"] = {"role": "assistant", "content": said[index]}
        if instead:
            del choice["delta"]


@quirk("plain", "text")
def choice_text(stream: Stream) -> None:
    """Servers for legacy completions: text stands in the choice itself."""
    if is_text_only(stream):
        for _, choice, delta in stream.parts():
            del choice["delta"]
            choice["text"] = delta.get("content", "")


@quirk("one", "plain", finish=True, bare=False)
def native_text(stream: Stream, finish: bool) -> None:
    """Workers AI's own API: the answer stands in `response`."""
    if is_text_only(stream):
        make_native(stream, finish=finish)


@quirk("one", "calls", "no reasoning", finish=True, bare=False)
def native_call(stream: Stream, finish: bool) -> None:
    """Workers AI's own API: calls stand beside `response`."""
    known = {"role", "content", "tool_calls"}
    plain = stream.calls() == Stream.of(stream.answer).calls()
    if plain and all(set(delta) <= known for *_, delta in stream.parts()):
        call_flat(stream, True)
        make_native(stream, finish=finish)


def make_native(stream: Stream, *, finish: bool) -> None:
    for sent in stream.chunks():
        usage = next(usages_of(sent), None)
        value: Chunk = {"response": "", "p": "abcd"}
        for choice in sent.value["choices"]:
            delta = choice.get("delta") or {}
            value["response"] = delta.get("content") or ""
            if "tool_calls" in delta:
                value["tool_calls"] = delta["tool_calls"] or []
            if finish and choice.get("finish_reason"):
                value["finish_reason"] = choice["finish_reason"]
        if usage:
            value["usage"] = usage
        sent.value = value
    stream.meaning.choices[0].logprobs = []
    if not finish:
        leave_finish_out(stream, 0)


# ----------------------------------------------------------------------- envelope


@quirk(**HOLLOW, number=12, constant="chatcmpl", new="new")
def chunk_id(stream: Stream, value: Json) -> None:
    """Azure, LiteLLM, llama.cpp, chatglm.cpp: an id that is none, or changes."""
    for at, sent in enumerate(stream.chunks()):
        write(sent.value, "id", f"chatcmpl-n{at}" if value == "new" else value)


@quirk(**HOLLOW, body="chat.completion", done="chat.completion.done")
def chunk_object(stream: Stream, value: Json) -> None:
    """Perplexity, Azure, mini-sglang: another object, or none."""
    for sent in stream.chunks():
        if value == "chat.completion.done" and sent is not stream.chunks()[-1]:
            continue
        write(sent.value, "object", value)


@quirk(
    missing=MISSING,
    null=None,
    zero=0,
    float=1.76e9 + 0.25,
    text="1760000000",
    milliseconds=1_760_000_000_123,
    running="running",
)
def created(stream: Stream, value: Json) -> None:
    """mistral.rs, web-llm, DIAL, proxies: no time, or not in whole seconds."""
    for at, sent in enumerate(stream.chunks()):
        running = 1_760_000_000 + at
        write(sent.value, "created", running if value == "running" else value)


@quirk(**HOLLOW, word="model", default="default-model")
def model(stream: Stream, value: Json) -> None:
    """CLIProxyAPI, chatglm.cpp, Azure: no model, or a word for it."""
    for sent in stream.chunks():
        write(sent.value, "model", value)


@quirk(empty="", unknown="on_demand")
def service_tier(stream: Stream, value: Json) -> None:
    """Groq: a service tier that OpenAI does not have."""
    for sent in stream.chunks():
        sent.value["service_tier"] = value


@quirk("one")
def choice_index_missing(stream: Stream) -> None:
    """Small servers: the only choice has no index."""
    for sent in stream.chunks():
        for choice in sent.value["choices"]:
            del choice["index"]


@quirk("usage asked", null=None, missing=MISSING)
def usage_choices(stream: Stream, value: Json) -> None:
    """Moonshot, DeepInfra, MiniMax: the chunk with the usage has no choices."""
    for sent in stream.chunks():
        if not sent.value["choices"]:
            write(sent.value, "choices", value)


@quirk()
def choices_empty(stream: Stream) -> None:
    """Azure: chunks without choices, in the middle."""
    for sent in stream.dice.sample(stream.events[:-1], 1):
        if isinstance(sent.value, dict) and "id" in sent.value:
            value = {**sent.value, "choices": []}
            if value.get("usage"):
                value["usage"] = None
            value.pop("x_groq", None)
            stream.insert(sent, value, after=False)


@quirk()
def azure_first(stream: Stream) -> None:
    """Azure: the first chunk brings the prompt's filter results, and no envelope."""
    results = [{"prompt_index": 0, "content_filter_results": {}}]
    hollow = {"id": "", "model": "", "object": "", "created": 0, "choices": []}
    value = {**hollow, "prompt_filter_results": results}
    stream.insert(stream.events[0], value, after=False)


@quirk()
def delta_list(stream: Stream) -> None:
    """Gateways of one's own: each delta is a list."""
    for _, choice, delta in stream.parts():
        choice["delta"] = [delta]


# ------------------------------------------------------------------------- errors

BUSY: Chunk = {"message": "Too busy", "type": "server_error", "code": "busy"}


@quirk(
    data=([], {"error": BUSY}),
    flat=([], BUSY),
    field=([b"error: " + dumps(BUSY)], b""),
    field_wrapped=([b"error: " + dumps({"error": BUSY})], b""),
    event=([b"event: error"], {"error": BUSY}),
    event_flat=([b"id:1", b"event:error", b":HTTP_STATUS/429"], BUSY),
    event_words=([b"event: error"], b"Too busy"),
)
def error_late(stream: Stream, said: tuple[list[bytes], Json]) -> None:
    """llama.cpp, DashScope, Groq: an error after all that was said."""
    fields, value = said
    sent = Sent(copy.deepcopy(value), [*fields])
    stream.events.insert(len(stream.events) - 1, sent)
    code = "" if isinstance(value, bytes) and value else "busy"
    stream.meaning.errors.append(Error(("Too busy",), code))


# ------------------------------------------------------------------------ framing


@quirk()
def done_missing(stream: Stream) -> None:
    """chatglm.cpp, old textgen-webui: no [DONE]."""
    stream.events = [sent for sent in stream.events if sent.value != DONE]


@quirk()
def done_twice(stream: Stream) -> None:
    """Gateways that end a stream that was ended: two [DONE]."""
    stream.events.append(Sent(DONE))


@quirk()
def keep_alive_null(stream: Stream) -> None:
    """Upstreams of Hermes: `data: null` in between."""
    for sent in stream.dice.choices(stream.events, k=2):
        stream.insert(sent, None, after=False)


@quirk(
    text="words",
    progress={"tool": "web_search", "label": "x"},
    response={"type": "response.created", "response": {"id": "r"}},
)
def event_unreadable(stream: Stream, value: Json) -> None:
    """Hermes and others: an event of another protocol, or no object, in between."""
    sent = stream.dice.choice(stream.events)
    stream.insert(sent, copy.deepcopy(value), after=False)


# Behind what may have been a chunk a call may lack something, and no end is added.
@quirk("plain", number=b"5", list=b"[1]", half=b'{"id":"x","choices":[{"delta":{"con')
def event_broken(stream: Stream, value: bytes) -> None:
    """Workers behind gateways: a chunk that is cut off in between, or no object."""
    sent = stream.dice.choice(stream.events)
    stream.insert(sent, b"data: " + value, after=False)


@quirk(block=b": ping\n\n", line=b": OPENROUTER PROCESSING\n")
def comment(stream: Stream, value: bytes) -> None:
    """sse-starlette, OpenRouter: comments keep the connection alive."""
    for sent in stream.dice.choices(stream.events, k=2):
        sent.before += value


@quirk(event=b"event: message", id=b"id: 7", retry=b"retry: 100")
def field_line(stream: Stream, value: bytes) -> None:
    """Spring, Perplexity: other fields of the standard."""
    for sent in stream.events:
        sent.fields.append(value)


@quirk(flat=0, deep=1)
def data_lines(stream: Stream, value: int) -> None:
    """Pretty printers: the JSON goes over several data lines."""
    stream.indent = value


@quirk()
def data_space_missing(stream: Stream) -> None:
    """Spring WebFlux, iFlow: no space behind `data:`."""
    stream.prefix = b"data:"


@quirk()
def data_doubled(stream: Stream) -> None:
    """FastAPI, agent gateways: an event stream is framed once more."""
    stream.prefix += b"data: "


@quirk(ping=b": ping", words=b": OPENROUTER PROCESSING")
def data_comment(stream: Stream, value: bytes) -> None:
    """Gateways before OpenRouter: its comments are framed as data."""
    for sent in stream.dice.choices(stream.events, k=2):
        stream.insert(sent, value, after=False)


ENVELOPES: dict[str, Callable[[Chunk], Chunk]] = {
    "data": lambda value: {"data": value, "success": True},
    "code": lambda value: {"code": 200, "msg": "success", "data": value},
    "response": lambda value: {"response": value},
}


@quirk(**ENVELOPES)
def choices_enveloped(stream: Stream, wrap: Callable[[Chunk], Chunk]) -> None:
    """Gateways: each chunk stands in an envelope."""
    for sent in stream.chunks():
        if sent.value["choices"] or "object" in sent.value:
            sent.value = wrap(sent.value)


@quirk()
def element_null(stream: Stream) -> None:
    """AgentRouter: null among the choices and the calls of a chunk, or nothing else."""
    for sent, _, delta in stream.parts():
        if stream.dice.random() < 0.5:
            for found in (sent.value["choices"], delta.get("tool_calls")):
                if found:
                    found.append(None)
    for sent in stream.chunks()[-1:]:
        value = {**sent.value, "choices": [None]}
        if not value.get("usage"):
            stream.insert(stream.chunks()[0], value)


@quirk()
def data_glued(stream: Stream) -> None:
    """Z.AI, relays: events stand on one line, each with its `data:`."""
    for sent in stream.dice.choices(stream.events, k=3):
        sent.glued = True


@quirk("text", "plain")
def data_unescaped(stream: Stream) -> None:
    """Gateways that build JSON of strings: control characters stand in them as they are."""
    stream.raw = True


@quirk()
def data_escaped(stream: Stream) -> None:
    """Relays that escape a stream as a string: its line ends are two characters each."""
    stream.newline = rb"\n"


@quirk(lines=b"", apart=b"\n")
def json_lines(stream: Stream, value: bytes) -> None:
    """Servers that stream lines of JSON: no `data:` before them."""
    stream.prefix = b""
    stream.blank = value


@quirk()
def blank_lines_missing(stream: Stream) -> None:
    """textgen-webui, small servers: one line end between events."""
    stream.blank = b""


@quirk()
def bom(stream: Stream) -> None:
    """Windows servers: the stream opens with a byte order mark."""
    stream.bom = b"\xef\xbb\xbf"


@quirk(blank=1, line=2)
def last_line_end_missing(stream: Stream, value: int) -> None:
    """chatglm.cpp, trimming proxies: the last blank line is missing, or its line end."""
    stream.cut = value


@quirk(crlf=b"\r\n", cr=b"\r")
def line_end(stream: Stream, value: bytes) -> None:
    """Perplexity, sse-starlette: lines end otherwise."""
    stream.newline = value


# ------------------------------------------------------------ which go together

_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def _pairs(table: str) -> list[tuple[str, str, str]]:
    found = _TABLES[table].items()
    return [(one, other, why) for one, why_of in found for other, why in why_of.items()]


AMBIGUOUS = _pairs("ambiguous")
"""Quirks that leave nobody a way to tell what was meant, and why."""
OPEN = _pairs("open")
"""Quirks that are not repaired together yet, and why."""
WAITING: dict[str, str] = _TABLES["waiting"]
"""Quirks of which something waits, and is lost when the connection breaks; and why."""
LATE: dict[str, str] = _TABLES["late"]
"""Quirks of which too much has been sent when the provider goes on after a pause; and why."""
UNREAD: dict[str, str] = _TABLES["unread"]
"""Quirks whose meaning only who knows the request, or the end, can read; and why."""


def fits(one: Quirk, other: Quirk) -> bool:
    """Tell whether a stream with both quirks still has one meaning."""
    if one.base == other.base:
        return False
    pair = {one.name, one.base}, {other.name, other.base}
    return not any(
        (a in pair[0] and b in pair[1]) or (a in pair[1] and b in pair[0])
        for a, b, _ in AMBIGUOUS + OPEN
    )


def damaged(answer: Answer, quirks: Collection[Quirk], seed: int = 0) -> Stream:
    """Return the stream of *answer* with these quirks."""
    stream = Stream.of(answer)
    for each in [*TEXT_QUIRKS, *QUIRKS]:
        if each in quirks:
            stream.dice = Random(seed)
            each.damage(stream)
    return stream


# ------------------------------------------------------------------------- bodies


# ------------------------------------------------- calls as text, for optional repairs

TEXT_QUIRKS: list[Quirk] = []
text_quirk = register_in(TEXT_QUIRKS)
_TO = "<|channel|>commentary to=functions."


def invoked(call: Called) -> str:
    """Return the call in MiniMax's form; a text that is JSON could be another value."""
    fields = json.loads("".join(call.arguments))
    parts = (
        f'<parameter name="{key}">{json.dumps(value, ensure_ascii=False)}</parameter>'
        for key, value in fields.items()
    )
    return f'<invoke name="{call.name}">' + "".join(parts) + "</invoke>"


def joined(calls: Sequence[Called], form: str, between: str = "") -> str:
    return between.join(form % (each.name, "".join(each.arguments)) for each in calls)


WRITTEN: dict[str, Callable[[Sequence[Called]], str]] = {
    "hermes": lambda calls: joined(
        calls, '<tool_call>\n{"name": "%s", "arguments": %s}\n</tool_call>', "\n"
    ),
    "harmony": lambda calls: joined(
        calls, "<|start|>assistant" + _TO + "%s <|constrain|>json<|message|>%s<|call|>"
    ),
    "harmony bare": lambda calls: joined(calls, _TO + "%s json<|message|>%s"),
    "harmony role": lambda calls: joined(
        calls,
        "<|start|>assistant to=functions.%s<|channel|>commentary <|constrain|>json"
        "<|message|>%s<|call|>",
    ),
    "minimax": lambda calls: (
        "<minimax:tool_call>\n"
        + "\n".join(map(invoked, calls))
        + "\n</minimax:tool_call>"
    ),
    "dsml": lambda calls: (
        "<\uff5cDSML\uff5ctool_calls>\n"
        + "\n".join(
            invoked(call)
            .replace("</", "</\uff5cDSML\uff5c")
            .replace("<invoke", "<\uff5cDSML\uff5cinvoke")
            .replace("<parameter", "<\uff5cDSML\uff5cparameter")
            for call in calls
        )
        + "\n</\uff5cDSML\uff5ctool_calls>"
    ),
    "nemotron": lambda calls: (
        "<TOOLCALL>["
        + joined(calls, '{"name": "%s", "arguments": %s}', ", ")
        + "]</TOOLCALL>"
    ),
    "minimax m1": lambda calls: (
        "<tool_calls>\n"
        + joined(calls, '{"name": "%s", "arguments": %s}', "\n")
        + "\n</tool_calls>"
    ),
}
"""How models write calls; of DeepSeek, Kimi and others tests/chat has each."""


@text_quirk("calls", "unforced", **{form.replace(" ", "_"): form for form in WRITTEN})
def call_as_text(stream: Stream, form: str) -> None:
    """vLLM, SGLang, TensorRT-LLM without a tool parser: calls are the model's own text."""
    for index in stream.indexes():
        meant = stream.meaning.choices[index]
        last: Sent | None = None
        for sent, _, delta in stream.parts(index):
            if "tool_calls" in delta:
                del delta["tool_calls"]
                delta["content"] = delta.get("content") or ""
                last = sent
        for _, choice, _ in stream.parts(index):
            if choice.get("finish_reason") == "tool_calls":
                choice["finish_reason"] = "stop"
        if last is None:
            continue
        calls = [Called(each.name, [each.arguments]) for each in meant.calls]
        text, size = WRITTEN[form](calls), stream.dice.randint(1, 20)
        for at in range(0, len(text), size):
            last = stream.insert(
                last, stream.like(last, {"content": text[at : at + size]})
            )
        meant.text = meant.text if meant.text.strip() else ""
        for each in meant.calls:
            each.id, each.as_object = "", True


@dataclass
class Body:
    """A body under damage, and what it still means."""

    answer: Answer
    value: Chunk
    meaning: Meaning
    dice: Random = field(default_factory=Random)

    @classmethod
    def of(cls, answer: Answer) -> "Body":
        """Return the body without damage."""
        meaning = taken_of_body(answer.values[0])
        return cls(answer, copy.deepcopy(answer.values[0]), meaning)

    def encode(self) -> bytes:
        """Return its bytes."""
        return dumps(self.value)

    def choices(self) -> list[tuple[Choice, Chunk, Chunk]]:
        """Return what each choice means, the choice, and its message."""
        found = self.value.get("choices", [])
        means = (self.meaning.choices[at] for at in sorted(self.meaning.choices))
        return [
            (meant, choice, choice["message"])
            for meant, choice in zip(means, found, strict=False)
        ]

    def calls(self) -> list[tuple[Call, Chunk]]:
        """Return what each call means, and the call."""
        return [
            each
            for meant, _, message in self.choices()
            for each in zip(meant.calls, message.get("tool_calls") or (), strict=True)
        ]


def message_of(say: Say) -> Chunk:
    """Return the message of a body, as OpenAI sends it."""
    message: Chunk = {"role": "assistant", "content": "".join(say.text)}
    if say.thought:
        message["reasoning_content"] = "".join(say.thought)
    if say.refusal or ((say.calls or say.legacy) and not any(say.text)):
        message["content"] = None
    message["refusal"] = "".join(say.refusal) or None
    if say.calls:
        calls = [fragments(at, each)[0] for at, each in enumerate(say.calls)]
        for call, cut in zip(calls, say.calls, strict=True):
            del call["index"]
            call["function"]["arguments"] = "".join(cut.arguments)
        message["tool_calls"] = calls
    if say.legacy:
        arguments = "".join(say.legacy.arguments)
        message["function_call"] = {"name": say.legacy.name, "arguments": arguments}
    return message


@st.composite
def bodies(draw: st.DrawFn, needs: Collection[str] = ()) -> Answer:
    """Draw a body as OpenAI sends it; it has what *needs* names, and maybe more."""
    says = draw(choices_of(needs))
    top = draw(envelopes())
    top.pop("obfuscation", None)
    request = asking(draw, says, usage=False, stream=False)
    return as_body(says, top, {**USAGE, **DETAILS}, request)


def as_body(says: list[Say], top: Chunk, usage: Chunk, request: Request) -> Answer:
    """Return an answer as one body."""
    choices = []
    for index, say in enumerate(says):
        message = message_of(say)
        choice = {"index": index, "message": message, "finish_reason": say.finish}
        choices.append(choice)
    top = dict(top)
    kind = {"id": top.pop("id"), "object": "chat.completion", **top}
    value = {**kind, "choices": choices, "usage": usage}
    return Answer(request, [value], traits(says) | {"usage"})


BODY_QUIRKS: list[Quirk] = []
body_quirk = register_in(BODY_QUIRKS)


@body_quirk(**HOLLOW, number=12)
def body_id(body: Body, value: Json) -> None:
    """Ollama bridges, chatglm.cpp: no id."""
    write(body.value, "id", value)


@body_quirk(**HOLLOW, chunk="chat.completion.chunk")
def body_object(body: Body, value: Json) -> None:
    """Gateways: another object, or none."""
    write(body.value, "object", value)


@body_quirk(
    **HOLLOW, zero=0, float=1.76e9 + 0.25, text="1760000000", ms=1_760_000_000_123
)
def body_created(body: Body, value: Json) -> None:
    """mistral.rs, DIAL, proxies: no time, or not in whole seconds."""
    write(body.value, "created", value)


@body_quirk(**HOLLOW, word="model")
def body_model(body: Body, value: Json) -> None:
    """chatglm.cpp, gateways: no model, or a word for it."""
    write(body.value, "model", value)


@body_quirk(empty="", unknown="on_demand")
def body_service_tier(body: Body, value: Json) -> None:
    """Groq: a service tier that OpenAI does not have."""
    write(body.value, "service_tier", value)


@body_quirk("one")
def body_index_missing(body: Body) -> None:
    """Small servers: the only choice has no index."""
    del body.value["choices"][0]["index"]


@body_quirk(**HOLLOW, wrong="model")
def body_role(body: Body, value: Json) -> None:
    """Gemini bridges, small servers: no role, or another."""
    for *_, message in body.choices():
        write(message, "role", value)


@body_quirk("silent", null=None, missing=MISSING)
def body_content_hollow(body: Body, value: Json) -> None:
    """vLLM, Ollama: no text, and no string to say so."""
    for *_, message in body.choices():
        if not message["content"]:
            write(message, "content", value)


@body_quirk(null=None, list=[])
def body_calls_hollow(body: Body, value: Json) -> None:
    """vLLM, SGLang: no calls, spelled out."""
    for *_, message in body.choices():
        message.setdefault("tool_calls", value)
        message.setdefault("function_call", None)


@body_quirk()
def body_extras_null(body: Body) -> None:
    """NVIDIA NIM, vLLM: unset fields of their own are null."""
    for _, choice, message in body.choices():
        choice |= {"stop_reason": None, "matched_stop": None}
        message |= {"audio": None, "annotations": None}


@body_quirk("reasoning", vllm=["reasoning"], both=["reasoning", "reasoning_content"])
def body_reasoning_name(body: Body, keys: list[str]) -> None:
    """Newer vLLM, chutes: reasoning under another name, or two."""
    for *_, message in body.choices():
        if "reasoning_content" in message:
            thought = message.pop("reasoning_content")
            message.update(dict.fromkeys(keys, thought))


@body_quirk("text")
def body_content_parts(body: Body) -> None:
    """Mistral, Databricks: content is a list of parts, thoughts among them."""
    for *_, message in body.choices():
        if message.get("content"):
            thought = message.pop("reasoning_content", None)
            parts = thought_parts(thought) if thought else []
            message["content"] = parts + text_parts(message["content"])


@body_quirk("text")
def body_content_object(body: Body) -> None:
    """Workers AI: with a JSON schema, content is the object itself."""
    for meant, _, message in body.choices():
        if message.get("content"):
            message["content"] = {"city": "Oslo", "n": [1, 2]}
            meant.text, meant.as_object = '{"city":"Oslo","n":[1,2]}', True


@body_quirk("calls", **HOLLOW, number=7)
def body_call_id(body: Body, value: Json) -> None:
    """Ollama, GLM proxies: calls have no id, or a number."""
    for at, (meant, call) in enumerate(body.calls()):
        meant.id = str(7 + at) if value == 7 else ""
        write(call, "id", 7 + at if value == 7 else value)


@body_quirk("calls", **HOLLOW)
def body_call_type(body: Body, value: Json) -> None:
    """Mistral, Gemini: no type, or an empty one."""
    for _, call in body.calls():
        write(call, "type", value)


@body_quirk("calls")
def body_call_arguments_object(body: Body) -> None:
    """llama.cpp, MLX-LM: the arguments are an object, not a string."""
    for meant, call in body.calls():
        meant.as_object = True
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])


@body_quirk("calls")
def body_call_flat(body: Body) -> None:
    """Workers AI: name and arguments stand in the call itself."""
    for meant, call in body.calls():
        meant.id, meant.as_object = "", True
        function = call["function"]
        call.clear()
        call.update(function)
        if isinstance(call["arguments"], str):
            call["arguments"] = json.loads(call["arguments"])


@body_quirk(**HOLLOW)
def body_finish_hollow(body: Body, value: Json) -> None:
    """Jan, koboldcpp, Ollama: a complete answer without a finish reason."""
    for meant, choice, _ in body.choices():
        write(choice, "finish_reason", value)
        meant.finish_reason = implied(meant)
        if body.answer.request.forced_tool:
            meant.finish_reason = "stop"


@body_quirk("calls", "unforced")
def body_finish_stop_with_calls(body: Body) -> None:
    """SGLang, Workers AI, MLX: a tool call ends with `stop`."""
    for _, choice, _ in body.choices():
        if choice.get("finish_reason") == "tool_calls":
            choice["finish_reason"] = "stop"


@body_quirk("two calls")
def body_call_joined(body: Body) -> None:
    """Gateways to Claude: the arguments of a second call follow those of the first."""
    for meant, _, message in body.choices():
        texts = [call.arguments for call in meant.calls]
        if len({*texts} - {"{}"}) < len(texts) or not texts:
            continue
        for call in meant.calls[1:]:
            call.id, call.name = "", meant.calls[0].name
        message["tool_calls"][0]["function"]["arguments"] = "".join(texts)
        del message["tool_calls"][1:]


@body_quirk("calls", "unforced")
def body_finish_call_cut(body: Body) -> None:
    """vLLM: a call is cut by the limit of tokens, and ends with `tool_calls`."""
    for meant, _, message in body.choices():
        for call in (message.get("tool_calls") or ())[-1:]:
            function = call.get("function", {})
            if isinstance(function.get("arguments"), str):
                function["arguments"] = function["arguments"][:-1]
                meant.calls[-1].arguments = function["arguments"]
                meant.finish_reason = "length"


@body_quirk("calls", twice="{0}{0}", thrice="{0}{0} {0}", blank="{{}}{0}", string="")
def body_call_arguments_again(body: Body, value: str) -> None:
    """codex-lb, LiteLLM: the arguments stand there twice, or are encoded twice."""
    for _, call in body.calls():
        text = call["function"]["arguments"]
        call["function"]["arguments"] = value.format(text) or json.dumps(text)


@body_quirk("calls")
def body_call_name_wrapped(body: Body) -> None:
    """vLLM with gpt-oss: a name with a namespace and the channel behind it."""
    for _, call in body.calls():
        function = call.get("function", call)
        function["name"] = f"functions.{function['name']}<|channel|>commentary"


@body_quirk("plain")
def body_finish_without_call(body: Body) -> None:
    """GitHub Copilot, Gemini gateways: a text ends with `tool_calls`."""
    for _, choice, _ in body.choices():
        if choice.get("finish_reason") == "stop":
            choice["finish_reason"] = "tool_calls"


@body_quirk()
def body_finish_synonym(body: Body) -> None:
    """Together, Gemini and Claude bridges: reasons in words of their own."""
    for _, choice, _ in body.choices():
        reason = choice.get("finish_reason")
        if reason:
            choice["finish_reason"] = body.dice.choice(SYNONYMS.get(reason, [reason]))


@body_quirk(null=None, missing=MISSING, empty={})
def body_usage_hollow(body: Body, value: Json) -> None:
    """Proxies: no usage."""
    write(body.value, "usage", value)
    body.meaning.usage = None


@body_quirk("usage")
def body_usage_partial(body: Body) -> None:
    """MiniMax, Ollama bridges: the total is missing."""
    if body.value.get("usage"):
        del body.value["usage"]["total_tokens"]


@body_quirk("usage", text=str, float=float)
def body_usage_mistyped(body: Body, kind: Callable[[int], Json]) -> None:
    """Gateways in loose languages: counts are strings or floats."""
    usage = body.value.get("usage") or {}
    for key in set(usage) & set(USAGE):
        usage[key] = kind(usage[key])


@body_quirk()
def body_element_null(body: Body) -> None:
    """Gateways: null among the choices and the calls."""
    for *_, message in body.choices():
        if message.get("tool_calls"):
            message["tool_calls"].append(None)
    body.value["choices"].append(None)


@body_quirk("usage", whole=None, within=NULLS)
def body_usage_figure_null(body: Body, value: Json) -> None:
    """vLLM, Hugging Face: details that were not counted are null."""
    if body.value.get("usage"):
        body.value["usage"]["prompt_tokens_details"] = copy.copy(value)


@body_quirk()
def body_delta(body: Body) -> None:
    """Gateways that stream inside: `delta` in place of `message`."""
    for choice in body.value["choices"]:
        choice["delta"] = choice.pop("message")


@body_quirk("one", wrapped=True, bare=False)
def body_native(body: Body, wrapped: bool) -> None:
    """Workers AI's own API: the answer stands in `response`."""
    choice = body.value["choices"][0]
    message = choice.get("message") or {}
    calls = message.get("tool_calls") or []
    known = {"role", "content", "tool_calls"}
    if "message" not in choice or any(message[key] for key in set(message) - known):
        return
    if any("function" in call for call in calls):
        return
    result = {"response": message.get("content"), "usage": body.value.get("usage")}
    if calls:
        result["tool_calls"] = calls
    errors: Chunk = {"success": True, "errors": [], "messages": []}
    body.value = {"result": result, **errors} if wrapped else result
    body.meaning.choices[0].finish_reason = implied(body.meaning.choices[0])
    if body.answer.request.forced_tool:
        body.meaning.choices[0].finish_reason = "stop"


@body_quirk(**ENVELOPES)
def body_choices_enveloped(body: Body, wrap: Callable[[Chunk], Chunk]) -> None:
    """Cline's API, gateways: the completion stands in an envelope."""
    if body.value.get("choices") and "message" in body.value["choices"][0]:
        body.value = wrap(body.value)


def damaged_body(answer: Answer, quirks: Collection[Quirk], seed: int = 0) -> Body:
    """Return the body of *answer* with these quirks."""
    body = Body.of(answer)
    for each in BODY_QUIRKS:
        if each in quirks:
            body.dice = Random(seed)
            each.damage(body)
    return body
