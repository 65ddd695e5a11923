"""What a provider meant by an answer, however carelessly it was written."""

import json
import re
from dataclasses import dataclass, field

from .errors import WORDS, Error, error_in, has_notes, leaves
from .json_values import TOLERANT, as_dict, as_int, as_list, as_str


@dataclass
class Call:
    """One tool call, put together from its fragments."""

    id: str = ""
    name: str = ""
    arguments: str = ""
    as_object: bool = False  # sent as JSON, not as a string: only its value counts


@dataclass
class Choice:
    """One choice, put together from its chunks."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    calls: list[Call] = field(default_factory=list)
    function_call: Call | None = None
    finish_reason: str | None = None
    logprobs: list[object] = field(default_factory=list)
    as_object: bool = False  # content sent as JSON, not as a string


@dataclass
class Meaning:
    """What a client that forgives everything takes from a response."""

    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, object] | None = None
    # Whether a chunk with content had figures, and a later one: every chunk has them then.
    counted_throughout: bool = False
    errors: list[Error] = field(default_factory=list)
    done: bool = False
    streamed: bool = True
    unread: list[str] = field(default_factory=list)  # what makes no sense at all
    # Texts of what may be an error or a notice; empty ones stand for any.
    doubtful: list[str] = field(default_factory=list)


_WORDS = re.compile(r'(?![{\["]).*[^\W\d_]{2}', re.DOTALL)


def is_words(text: str) -> bool:
    """Say whether an event that is none says anything: values and parts of them do not."""
    text = text.strip()
    is_rest = any(text.count(b) > text.count(a) for a, b in ("{}", "[]"))
    return bool(_WORDS.match(text)) and not is_rest


def meaning_of_stream(data: bytes) -> Meaning:
    """Read a stream however careless; a JSON body in its place is read as well."""
    return _Reader().read(data)


def meaning_of_body(data: bytes) -> Meaning:
    """Read a JSON body however careless; a stream in its place is read as well."""
    return _Reader().read(data)


def values(data: bytes) -> list[object]:
    """List what a client that forgives everything finds in a stream or a body."""
    reader = _Finder()
    reader.read(data)
    return reader.found


_REASONING_KEYS = ("reasoning_content", "reasoning", "reasoning_text")
_PREFIXES = re.compile(r"\s*(?:data:\s*)*")
_DONE = object()
# A field may come without its colon: it is empty then.
_NAMED_ERROR = re.compile(r"event:\s*error\s*$", re.IGNORECASE)
# llama.cpp has a field of its own for an error: `error: {…}`.
_ERROR_FIELD = re.compile(r"^error: ?(?=\{)")
# A name without a colon is a field without a value; so is `data`, which says nothing then.
_OTHER_FIELD = re.compile("(?:event|id|retry)?:|(?:data|event|id|retry)$")


@dataclass
class _Open:
    """The state that only merging needs, per choice."""

    calls: list[Call] = field(default_factory=list)
    by_index: dict[int, Call] = field(default_factory=dict)
    has_delta: bool = False


class _Reader:
    """Reads events of any provider into one meaning."""

    def __init__(self) -> None:
        self.meaning = Meaning()
        self.open: dict[int, _Open] = {}
        self.usage_elsewhere: dict[str, object] | None = None
        self.counted_amid = False

    def read(self, data: bytes) -> Meaning:
        text = data.decode("utf-8-sig", errors="replace")
        try:
            whole = TOLERANT.decode(text)
        except (ValueError, RecursionError):
            self.stream(text)
        else:
            self.meaning.streamed = False
            self.take(whole)
        meaning = self.meaning
        if meaning.usage is None:
            meaning.usage = self.usage_elsewhere
        for index, state in self.open.items():
            # Some streams end with a fragment that is all null; it is no call.
            calls = [call for call in state.calls if call.name or call.arguments]
            meaning.choices[index].calls = calls
        return meaning

    # transport

    def stream(self, text: str) -> None:
        split = re.split(r"\r\n|\r|\n", text)
        lines = [_ERROR_FIELD.sub("data: ", line) for line in split]
        # Who reads names reads an error, though it has no words.
        self.meaning.doubtful = [""] if any(map(_NAMED_ERROR.match, lines)) else []
        if not any(self.is_payload(line) for line in lines):
            if all(map(_OTHER_FIELD.match, filter(None, lines))):
                return  # keep-alives only: they say nothing
            self.meaning.streamed = False
            self.meaning.unread.append(text.strip())
            return
        block: list[str] = []
        for line in [*lines, ""]:
            if not line.strip():
                self.block(block)
                block = []
            elif not _OTHER_FIELD.match(line):
                # Without the prefix, too: JSON may stand there bare, or an error text.
                block.append(line)

    @staticmethod
    def is_payload(line: str) -> bool:
        return line.startswith("data:") or line.lstrip().startswith("{")

    def block(self, lines: list[str]) -> None:
        if not lines:
            return
        parts = [re.sub(r"^(?:data: ?)+", "", line) for line in lines]
        values, rest = _decode_many("\n".join(parts))
        if rest:  # a number or a word may go on over lines
            values, rest = _decode_many("".join(parts))
        if rest:
            # Not one value over several lines, so each line is an event of its own.
            each = [_decode_many(part) for part in parts]
            found = [value for own, _ in each for value in own]
            if len([*filter(as_dict, found)]) >= len([*filter(as_dict, values)]):
                values = found
                self.meaning.unread += [left for _, left in each if left]
            else:  # values over several lines, and words behind the last
                self.meaning.unread.append(rest)
        for value in values:
            self.take(value)

    # one object

    def take(self, value: object) -> None:
        if value is _DONE:
            self.meaning.done = True
            ended = [each.finish_reason for each in self.meaning.choices.values()]
            if ended and all(ended):
                self.go_on()
        elif isinstance(value, list):
            # Google puts an error into a list.
            for entry in value:
                self.take(entry)
        elif isinstance(value, dict):
            self.record(value)
        elif value is not None:
            self.meaning.unread.append(json.dumps(value))

    def go_on(self) -> None:
        """Take words for a notice that the stream goes on after."""
        words = [*filter(is_words, self.meaning.unread)]
        self.meaning.doubtful += words
        self.meaning.unread = [
            each for each in self.meaning.unread if each not in words
        ]

    def record(self, value: dict[str, object]) -> None:
        if "choices" in value or as_dict(value.get("usage")):
            self.go_on()
        error = error_in(value)
        if error is not None:
            self.meaning.errors.append(error)
        if has_notes(value):
            words = {key: value[key] for key in WORDS if value.get(key)}
            self.meaning.doubtful += [*leaves(words)] or [""]
        usage = value.get("usage")
        if isinstance(usage, dict) and usage:
            self.meaning.usage = usage
            self.count(value)
        other = as_dict(value.get("x_groq")).get("usage")
        if isinstance(other, dict) and other:
            self.usage_elsewhere = other
        for position, choice in enumerate(as_list(value.get("choices"))):
            if isinstance(choice, dict):
                self.choice(position, choice)
        if "choices" not in value:
            self.native(value)

    def count(self, value: dict[str, object]) -> None:
        self.meaning.counted_throughout |= self.counted_amid
        found = [as_dict(each) for each in as_list(value.get("choices"))]
        if any(_says_something(as_dict(each.get("delta"))) for each in found):
            self.counted_amid = True

    def native(self, value: dict[str, object]) -> None:
        """Read Workers AI's own form, in which the answer is not in choices."""
        result = value.get("result")
        if isinstance(result, dict):
            # Beside an answer, words alone are a notice, as at the top.
            beside = {"response", "tool_calls"} & value.keys()
            self.take({**{key: value[key] for key in beside}, **result})
            unread = beside if "choices" in result else beside & result.keys()
            self.native({key: value[key] for key in unread})
        elif "type" not in value and ("response" in value or "tool_calls" in value):
            fields = {
                "content": value.get("response"),
                "tool_calls": value.get("tool_calls"),
            }
            reason = value.get("finish_reason")
            self.choice(0, {"delta": fields, "finish_reason": reason})

    def choice(self, position: int, raw: dict[str, object]) -> None:
        for key in ("delta", "message"):
            for part in as_list(raw.get(key)):
                self.choice(position, {"index": raw.get("index"), key: part})
        index = raw.get("index")
        if isinstance(index, str) and index.isdigit():
            index = int(index)
        number = as_int(index)
        number = position if number is None else number
        choice = self.meaning.choices.setdefault(number, Choice())
        state = self.open.setdefault(number, _Open())
        delta = as_dict(raw.get("delta"))
        message = as_dict(raw.get("message"))
        if _says_something(delta) or not message:
            state.has_delta = state.has_delta or _says_something(delta)
            self.delta(choice, state, delta, whole=False)
        elif not state.has_delta:
            self.delta(choice, state, message, whole=True)
        if not delta and not message and isinstance(raw.get("text"), str):
            choice.text += as_str(raw.get("text"))
        choice.logprobs += _logprobs(raw.get("logprobs"))
        reason = raw.get("finish_reason")
        if reason:  # `false`, `0` and the like say nothing
            choice.finish_reason = str(reason)
        usage = raw.get("usage")
        if isinstance(usage, dict) and usage:
            self.usage_elsewhere = usage
        error = error_in(raw) if raw.get("error") else None
        if error is not None:
            self.meaning.errors.append(error)

    def delta(
        self, choice: Choice, state: _Open, fields: dict[str, object], *, whole: bool
    ) -> None:
        content = fields.get("content")
        text, thought = _parts(content)
        if whole and choice.text and text.startswith(choice.text):
            # A message in every chunk that grows holds what was sent before, too.
            text = text[len(choice.text) :]
        choice.text += text
        choice.as_object = choice.as_object or isinstance(content, dict)
        choice.reasoning += thought
        spoken: list[str] = []
        for key in _REASONING_KEYS:
            reasoning = "".join(_parts(fields.get(key)))
            if reasoning and reasoning not in spoken:
                spoken.append(reasoning)
        details = map(as_dict, as_list(fields.get("reasoning_details")))
        for each in details if not spoken and not thought else ():
            choice.reasoning += as_str(each.get("text")) or as_str(each.get("summary"))
        choice.reasoning += "".join(spoken)
        choice.refusal += as_str(fields.get("refusal"))
        legacy = fields.get("function_call")
        if isinstance(legacy, dict) and any(legacy.values()):
            call = choice.function_call or Call()
            call.name = call.name or as_str(legacy.get("name"))
            _add_arguments(call, legacy.get("arguments"))
            choice.function_call = call
        for fragment in as_list(fields.get("tool_calls")):
            if isinstance(fragment, dict):
                _merge(state, fragment)


class _Finder(_Reader):
    """Finds the values of a stream, and makes nothing of them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def take(self, value: object) -> None:
        if value is not _DONE:
            self.found.append(value)


def _decode_many(text: str) -> tuple[list[object], str]:
    """Decode the JSON values glued in a text; also give what could not be read."""
    values: list[object] = []
    place = _skip(text, 0)
    while place < len(text) and not text.startswith(":", place):
        if text.startswith("[DONE]", place):
            values.append(_DONE)
            place += len("[DONE]")
        else:
            try:
                value, place = TOLERANT.raw_decode(text, place)
            except (ValueError, RecursionError):
                return values, text[place:].strip()
            values.append(value)
        place = _skip(text, place)
    return values, ""


def _skip(text: str, place: int) -> int:
    """Go over blanks, and over prefixes that were written twice."""
    match = _PREFIXES.match(text, place)
    return match.end() if match else place


def _says_something(fields: dict[str, object]) -> bool:
    keys = ("content", *_REASONING_KEYS, "refusal", "function_call", "tool_calls")
    return any(fields.get(key) for key in keys)


def _parts(content: object) -> tuple[str, str]:
    """Give the text and the reasoning in a content: string, parts or a JSON value."""
    if content is None:
        return "", ""
    if isinstance(content, str):
        return content, ""
    if not isinstance(content, list):
        return _canonical(content), ""
    text = thought = ""
    for part in content:
        if isinstance(part, str):
            text += part
            continue
        entry = as_dict(part)
        kind = as_str(entry.get("type"))
        if kind in ("thinking", "reasoning", "summary_text"):
            for key in ("thinking", "reasoning", "summary", "text"):
                thought += "".join(_parts(entry.get(key)))
        else:
            text += as_str(entry.get("text"))
    return text, thought


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _complete_object(arguments: str) -> bool:
    try:
        return isinstance(TOLERANT.decode(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _add_arguments(call: Call, arguments: object) -> None:
    if isinstance(arguments, str):
        call.arguments += arguments
    elif arguments is not None:
        call.arguments += _canonical(arguments)
        call.as_object = True


def _merge(state: _Open, fragment: dict[str, object]) -> None:
    """Add one fragment to the call that it belongs to, or open a new one."""
    function = (
        as_dict(fragment.get("function")) or as_dict(fragment.get("custom")) or fragment
    )
    name = as_str(function.get("name"))
    raw_id = fragment.get("id")
    call_id = "" if raw_id is None else str(raw_id)
    arguments = function.get("arguments", function.get("input"))
    whole = isinstance(arguments, dict) or _complete_object(as_str(arguments))
    index = as_int(fragment.get("index"))
    known = next((c for c in state.calls if call_id and c.id == call_id), None)
    if index is not None:
        call = state.by_index.get(index)
        if call is None and not name:
            call = known
    else:
        call = known if call_id else next(reversed(state.calls), None)
        if call is not None and not call_id and name and call.name not in ("", name):
            call = None
    if call is not None and _opens_another(call, call_id, name, whole=whole):
        call = None
    if call is None:
        call = Call()
        state.calls.append(call)
    elif whole and call.id and call.id == call_id and _same(call.arguments, arguments):
        return  # the same whole call, sent once more
    if index is not None:
        state.by_index[index] = call
    call.id = call.id or call_id
    call.name = call.name or name
    _add_arguments(call, arguments)


def _opens_another(call: Call, call_id: str, name: str, *, whole: bool) -> bool:
    """Say whether a fragment aimed at a call is the opening of another one."""
    if not name:
        return False
    if call_id and call.id:
        return call_id != call.id
    if call_id or not call.name:
        return False
    # Without ids, only a second whole call can be distinguished from a repeated name.
    return whole and _complete_object(call.arguments)


def _same(text: str, arguments: object) -> bool:
    if isinstance(arguments, str):
        return text == arguments
    return text == _canonical(arguments)


_UNLIKELY = -9999.0  # what OpenAI sends for a token without a figure


def _logprobs(raw: object) -> list[object]:
    """Give (token, log probability, alternatives) for every token."""
    record = as_dict(raw)
    found: list[object] = []
    for key in ("content", "refusal"):
        for entry in as_list(record.get(key)):
            others = as_dict(entry).get("top_logprobs")
            found.append((*_token(entry), _figures(others)))
    tokens, values = as_list(record.get("tokens")), record.get("token_logprobs")
    tops = as_list(record.get("top_logprobs"))
    for at, (name, figure) in enumerate(zip(tokens, as_list(values), strict=False)):
        top = tops[at] if len(tops) == len(tokens) else None
        found.append((name, _figure(figure), _figures(top)))
    return found


def _token(entry: object) -> tuple[object, object]:
    """Give the token of an *entry*, and its log probability."""
    token, logprob = as_dict(entry).get("token"), as_dict(entry).get("logprob")
    return token, _figure(logprob) if isinstance(token, str) else logprob


def _figures(tokens: object) -> list[object]:
    """Give (token, log probability) for each of *tokens*, in an object or a list."""
    named = [(each, _figure(value)) for each, value in as_dict(tokens).items()]
    return [*named, *map(_token, as_list(tokens))]


def _figure(value: object) -> object:
    """Return a token's log probability; of none what OpenAI sends then."""
    is_figure = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return value if is_figure else float(str(value))
    except ValueError:
        return _UNLIKELY
