"""Between a whole answer and its chunks, for answers of the wrong kind.

Both ways keep everything: every choice, log probabilities, refusal, usage, and the
keys that OpenAI does not define. Source of the two forms: OpenAI's API reference, "The
chat completion object" and "The chat completion chunk object".
"""

from collections.abc import Iterable

from ..text.split_text import split
from ..wire.json_text import Json, whole_number
from .chunks.chunk import (
    ENVELOPE,
    EVERY_REASONING,
    LONG,
    Chunk,
    calls,
    choices,
    index_of,
    usage_of,
)
from .chunks.chunk_content import stands_for_text
from .state.asked import Asked
from .state.stream_state import Seen

_CHOICE = ("index", "message", "delta", "text", "logprobs", "finish_reason")
_MOST = 64  # parts of one text of a body
_ORDER = ("content", "refusal", "annotations", "audio", "tool_calls", "function_call")


# -- from a body to chunks ---------------------------------------------------------


def is_body(chunk: Chunk, asked: Asked, seen: Seen) -> bool:
    """Tell whether *chunk* is a whole answer in place of a stream, by its own fields.

    More may follow all the same: there are servers that send a message in each chunk.
    """
    found = choices(chunk)
    if seen.choices or not found or not all(map(_is_message, found)):
        return False
    kind, counted = chunk.get("object"), counts(usage_of(chunk))
    if all(choice.get("finish_reason") for choice in found):
        # There are servers that put a reason on every chunk.
        return counted or kind != "chat.completion.chunk"
    # An event without a field name is a whole body, one with usage has ended.
    is_complete = (counted or seen.is_value) and len(found) >= asked.n
    return kind == "chat.completion" and is_complete


def counts(usage: Json) -> bool:
    """Tell whether *usage* has counted anything of the answer.

    The same before figures are converted and what is missing is added, and after.
    """
    if not isinstance(usage, dict):
        return False
    answer, prompt, total = (count_of(usage, *kinds) for kinds in KINDS)
    if not prompt:
        return bool(answer or total)
    return (total or 0) > prompt if answer is None else answer > 0


KINDS = ("completion", "output"), ("prompt", "input"), ("total",)
"""What providers call the counts of usage: of the answer, the prompt, and both."""


def count_of(usage: Chunk, *kinds: str) -> int | None:
    """The count of *usage* under the first of these names: `input_tokens`, `inputTokens`."""
    given = (usage.get(kind + end) for kind in kinds for end in ("_tokens", "Tokens"))
    found = next((each for each in given if each is not None), None)
    return None if found is None else whole_number(found)


def _is_message(choice: Chunk) -> bool:
    return isinstance(choice.get("message"), dict) and not choice.get("delta")


def chunks_of(body: Chunk, *, forced: bool = False) -> list[Chunk]:
    """The chunks that say what *body* says; each of its choices has a message.

    That is, of each choice: the role, what OpenAI does not define (reasoning), the text,
    the calls, the finish reason. Reasoning and text come in parts of some words. What stands beside the choices rides on the first
    chunk, the usage on the last, what else stands in a choice on its finish. A missing
    reason is what the message implies, `stop` where the request *forced* a call.
    """
    frame = {**body, "object": "chat.completion.chunk"}
    usage = frame.pop("usage", None)
    frame.pop("choices", None)
    rest = {key: value for key, value in frame.items() if key in ENVELOPE}
    found = choices(body)
    # What is shared stands on each chunk: a long one would be multiplied.
    is_long = any(len(each) > LONG for each in rest.values() if isinstance(each, str))
    most = 1 if is_long else max(1, _MOST // len(found))
    parts = [part for choice in found for part in _parts(choice, forced, most)]
    made = [{**rest, "choices": [part]} for part in parts]
    made[:1] = [{**frame, **each} for each in made[:1]]
    # More may follow, for all one can see here: the machine has a place for the figures.
    made[-1] |= {"usage": usage} if usage else {}
    return made


def _parts(choice: Chunk, forced: bool, most: int) -> list[Chunk]:
    """The choices of the chunks for one *choice*, in order.

    Args:
        choice: A choice with a message.
        forced: Whether the request forced a call.
        most: The most parts of a text.
    """
    message = dict(choice["message"])
    opening = {"role": message.pop("role", None) or "assistant", "content": ""}
    fields = {key: each for key, each in message.items() if each not in (None, "", [])}
    # Together: the same reasoning may stand under two keys, and in parts of the content.
    parted = isinstance(fields.get("content"), list)
    theirs = {
        key: fields.pop(key)
        for key in list(fields)
        if key not in _ORDER or (parted and key == "content")
    }
    if choice.get("logprobs") is not None:
        most = 1  # they stand beside the text that they are of
    ours = [each for key in _ORDER if key in fields for each in _cut(key, fields, most)]
    thoughts = [theirs] if parted else _cut_thoughts(theirs, most)
    index = choice.get("index", 0)
    parts: list[Chunk] = [
        {"index": index, "delta": delta, "finish_reason": None}
        for delta in [opening, *(thoughts if theirs else []), *ours]
    ]
    if choice.get("logprobs") is not None:
        texts = [
            part for part in parts[1:] if {"content", "refusal"} & set(part["delta"])
        ]
        (texts or parts)[0]["logprobs"] = choice["logprobs"]
    rest = {key: each for key, each in choice.items() if key not in _CHOICE}
    reason = choice.get("finish_reason") or implied_reason(message, forced=forced)
    return [*parts, {"index": index, "delta": {}, "finish_reason": reason, **rest}]


def _cut(key: str, fields: Chunk, most: int) -> list[Chunk]:
    text = fields[key]
    if key != "content" or not isinstance(text, str):
        return [{key: text}]
    return [{key: part} for part in split(text, most)]


def _cut_thoughts(theirs: Chunk, most: int) -> list[Chunk]:
    """*theirs* with the reasoning in parts, under each name that it has.

    Two that differ stay whole: side by side, each part would be taken for the other.
    """
    thoughts_by_name = {key: theirs[key] for key in EVERY_REASONING if theirs.get(key)}
    text = next(iter(thoughts_by_name.values()), None)
    if not isinstance(text, str) or any(
        each != text for each in thoughts_by_name.values()
    ):
        return [theirs]
    first, *more = (dict.fromkeys(thoughts_by_name, part) for part in split(text, most))
    return [{**theirs, **first}, *more]


def implied_reason(message: Chunk, *, forced: bool) -> str:
    """The finish reason that a whole *message* implies, `stop` for a *forced* call."""
    if forced:
        return "stop"
    if calls(message):
        return "tool_calls"
    return "function_call" if message.get("function_call") else "stop"


# -- from chunks to a body ---------------------------------------------------------


def body_of(chunks: Iterable[Chunk]) -> Chunk:
    """The body that says what *chunks* say, which have OpenAI's form."""
    body: Chunk = {}
    found: dict[int, _Choice] = {}
    usage: Chunk = {}
    rest: Chunk = {}
    for chunk in chunks:
        for key, value in chunk.items():
            if key in ENVELOPE:
                body.setdefault(key, value)
            elif key not in ("choices", "usage", "obfuscation") and value is not None:
                rest[key] = value
        if usage_of(chunk):
            usage = {"usage": chunk["usage"]}
        for choice in choices(chunk):
            found.setdefault(index_of(choice), _Choice()).add(choice)
    body["object"] = "chat.completion"
    body["choices"] = [found[at].merged(at) for at in sorted(found)]
    return {**body, **usage, **rest}


class _Choice:
    """One choice, as its chunks come in."""

    def __init__(self) -> None:
        self._message = _Joined()
        self._calls: dict[int, _Joined] = {}
        self._logprobs: dict[str, list[Json]] = {}
        self._finish: Json = None
        self._rest: Chunk = {}

    def add(self, choice: Chunk) -> None:
        """Record what one chunk says of the choice."""
        fields = choice.get("delta")
        delta = dict(fields) if isinstance(fields, dict) else {}
        for call in calls({"tool_calls": delta.pop("tool_calls", None)}):
            fragment = {key: each for key, each in call.items() if key != "index"}
            self._calls.setdefault(index_of(call), _Joined()).add(fragment)
        self._message.add(delta)
        self._finish = choice.get("finish_reason") or self._finish
        logprobs = choice.get("logprobs")
        for key, tokens in (logprobs if isinstance(logprobs, dict) else {}).items():
            found = tokens if isinstance(tokens, list) else ()
            self._logprobs.setdefault(key, []).extend(found)
        self._rest |= {key: each for key, each in choice.items() if key not in _CHOICE}

    def merged(self, index: int) -> Chunk:
        """The choice of a body."""
        message = {"role": "assistant", "content": "", **self._message.merged()}
        found = [self._calls[at].merged() for at in sorted(self._calls)]
        if found:
            message["tool_calls"] = found
        if stands_for_text(message):
            message["content"] = message["content"] or None
        logprobs = {key: tokens or None for key, tokens in self._logprobs.items()}
        made = {"index": index, "message": message, "logprobs": logprobs or None}
        return {**made, "finish_reason": self._finish, **self._rest}


class _Joined:
    """An object whose strings come in parts, and whose other values replace each other."""

    def __init__(self) -> None:
        self._texts: dict[str, list[str]] = {}
        self._objects: dict[str, _Joined] = {}
        self._values: Chunk = {}

    def add(self, part: Chunk) -> None:
        """Add one part."""
        for key, value in part.items():
            if isinstance(value, str) and key not in ("role", "id", "type", "name"):
                self._texts.setdefault(key, []).append(value)
            elif isinstance(value, dict):
                self._objects.setdefault(key, _Joined()).add(value)
            elif isinstance(value, list) and isinstance(self._values.get(key), list):
                self._values[key] += value
            elif value is not None:
                self._values[key] = [*value] if isinstance(value, list) else value

    def merged(self) -> Chunk:
        """All that the message says."""
        texts = {key: "".join(parts) for key, parts in self._texts.items()}
        objects = {key: each.merged() for key, each in self._objects.items()}
        return {**self._values, **texts, **objects}
