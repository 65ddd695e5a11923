"""One look at a chunk names what is in it that any fix may have to do with.

A fix declares what it handles (`Fix.handles`), and is asked where that was found. So an
ordinary chunk, in which nothing is found but a text that goes on, passes nearly all of
them. What is found may be in order: only the fix itself tells.
"""

from ..chat.chunks.chunk import CACHED, LONG, OTHER_USAGE, Chunk, calls, has_figures
from ..chat.chunks.chunk_content import is_empty_chunk, is_hollow
from ..chat.chunks.envelope import is_time, names_answer, names_model
from ..chat.chunks.finish_words import OWN
from ..chat.chunks.openai_fields import (
    CALL,
    CHOICE,
    FUNCTION,
    MESSAGE,
    TIERS,
    TOP,
    USAGE,
)
from ..chat.errors.chunk_errors import may_fail
from ..chat.state.asked import Asked
from ..chat.state.sent_call import SentCall
from ..chat.state.stream_state import MAX_TRACKED, SHARED, ChoiceSeen, Seen
from ..wire.json_text import Json


class Finding:
    """What a look at a chunk finds: at its top, in a choice, in a delta. Each is one bit.

    They are plain numbers: an enumeration takes ten times as long to combine them.
    """

    ENVELOPE = 1 << 0
    """An invalid `id`, `created` or `model`, or another than in the first chunk."""
    OBJECT = 1 << 1
    """An `object` other than `chat.completion.chunk`."""
    TIER = 1 << 2
    """A `service_tier` that OpenAI does not have."""
    FINGERPRINT = 1 << 3
    """A `system_fingerprint` that is neither a text nor null, or a long one."""
    USAGE = 1 << 4
    """`usage`, even an empty one."""
    ODD_USAGE = 1 << 5
    """`usage` other than three counts, and maybe more figures."""
    USAGE_ELSEWHERE = 1 << 6
    """A key for usage elsewhere than beside the choices."""
    ERROR = 1 << 7
    """A key that may hold an error."""
    UNKNOWN_FIELD = 1 << 8
    """A key that OpenAI does not define."""
    NO_CHOICES = 1 << 9
    """No list of choices."""
    EMPTY_CHOICES = 1 << 10
    """An empty list of choices, and no usage."""
    SEVERAL_CHOICES = 1 << 11
    NULL_ELEMENT = 1 << 12
    """Null in a list of choices or of calls."""

    INDEX = 1 << 13
    """An index of a choice that is no number, or is missing."""
    FINISH = 1 << 14
    """A finish reason."""
    ODD_FINISH = 1 << 15
    """One that OpenAI does not have."""
    FINISH_BESIDE = 1 << 16
    """A finish reason beside something else."""
    FINISH_OF_CALL = 1 << 17
    """A finish reason `stop` of a choice that called something, or `function_call`."""
    NO_FINISH_KEY = 1 << 18
    """A choice without the key for one."""
    LOGPROBS = 1 << 19
    """Log probabilities."""
    MESSAGE = 1 << 20
    """A `message` where a delta belongs, even if that is null."""
    TEXT = 1 << 21
    """A `text` beside the delta."""
    NO_DELTA = 1 << 22
    """A delta that is neither an object nor a list."""
    LISTED = 1 << 23
    """A delta or message that is a list."""

    ODD_ROLE = 1 << 24
    """A role other than `assistant`."""
    ROLE_AGAIN = 1 << 25
    """A role after that of this choice was sent."""
    ROLE_ALONE = 1 << 26
    """A role, even null, and no `content`."""
    NULL_ROLE = 1 << 27
    """A role that is null or empty."""
    NO_ROLE = 1 << 28
    """No role, and none has been sent of this choice."""
    CONTENT = 1 << 29
    """A text."""
    NULL_CONTENT = 1 << 30
    """`content: null`."""
    CONTENT_PARTS = 1 << 31
    """A content that is a list."""
    ODD_CONTENT = 1 << 32
    """A content of another kind."""
    REASONING = 1 << 33
    """Reasoning under any of its keys."""
    NULL_REASONING = 1 << 34
    """Reasoning that is null."""
    CALLS = 1 << 35
    """Tool calls."""
    ARGUMENTS = 1 << 36
    """In place of that: nothing but more arguments of a call that are sent as received."""
    NAMED_CALL = 1 << 37
    """A tool call with its name."""
    ODD_CALLS = 1 << 38
    """Tool calls other than a list of one fragment with arguments, in OpenAI's form."""
    TEXT_AND_CALLS = 1 << 39
    """Tool calls beside a `content`."""
    NULL_CALLS = 1 << 40
    """Tool calls, or a function call, that are null or empty."""
    FUNCTION_CALL = 1 << 41
    """A function call in the form of 2023."""
    AUDIO = 1 << 42
    """Audio."""
    NEW_FIELD = 1 << 43
    """A value, in a chunk that a fix has changed, under a key that was not received before."""
    FIRST_ROLE = 1 << 44
    """The first role of this choice."""

    # What a repair leaves behind: in a chunk that was changed, and not before.
    LEFT_NULL = 1 << 45
    """A key that OpenAI does not define, maybe null, or `usage: null`."""
    LEFT_EMPTY = 1 << 46
    """Nothing but the envelope of a chunk."""
    LEFT_ERROR = 1 << 47
    """A key that may hold an error."""

    LEFT = LEFT_NULL | LEFT_EMPTY | LEFT_ERROR

    GOES_ON = CONTENT | REASONING | ARGUMENTS
    """A text; the arguments of a call are one, too."""
    TEXT_ALONE = (
        OBJECT | TIER | FINGERPRINT | UNKNOWN_FIELD | NO_FINISH_KEY | LOGPROBS | NULL_ROLE
        | NO_ROLE | CONTENT | NULL_CONTENT | REASONING | NULL_REASONING | ARGUMENTS
        | NULL_CALLS | NEW_FIELD | LEFT_NULL
    )  # fmt: skip
    """All that is found in a chunk that has nothing but `GOES_ON` to say."""


_CHUNK = "chat.completion.chunk"
_TOP = frozenset(("id", "object", "created", "model", "choices"))  # of most chunks
_CHOICE = frozenset(("index", "delta", "finish_reason"))
_FILLED = {
    "content": Finding.CONTENT,
    "reasoning_content": Finding.REASONING,
    "reasoning": Finding.REASONING,
    "reasoning_text": Finding.REASONING,
    "reasoning_details": Finding.REASONING,
    "tool_calls": Finding.CALLS,
    "function_call": Finding.FUNCTION_CALL,
    "audio": Finding.AUDIO,
}
_EMPTY = {
    "role": Finding.NULL_ROLE,
    "tool_calls": Finding.NULL_CALLS,
    "function_call": Finding.NULL_CALLS,
}
_NULL = _EMPTY | {
    "content": Finding.NULL_CONTENT,
    "reasoning_content": Finding.NULL_REASONING,
    "reasoning": Finding.NULL_REASONING,
}
_MORE = {"index", "function"}
_FRAGMENT = _MORE | {"id", "type"}
_CALLED = {"name", "arguments"}
_SAYS_ELSE = (
    Finding.CONTENT | Finding.CONTENT_PARTS | Finding.ODD_CONTENT
    | Finding.REASONING | Finding.FUNCTION_CALL
)  # fmt: skip
_SAYS = (
    Finding.CONTENT | Finding.REASONING | Finding.CALLS | Finding.ARGUMENTS
    | Finding.FINISH
)  # fmt: skip


def look(chunk: Chunk, asked: Asked, seen: Seen, *, is_changed: bool) -> int:
    """The findings in *chunk*: bits of `Finding`.

    Args:
        chunk: The chunk.
        asked: What the request asked.
        seen: What the stream has sent before.
        is_changed: Whether a fix has changed it.
    """
    found = 0 if _has_envelope(chunk, asked, seen) else Finding.ENVELOPE
    if chunk.get("object") != _CHUNK:
        found |= Finding.OBJECT
    if not chunk.keys() <= _TOP:
        found |= _beside(chunk)
    choices = chunk.get("choices")
    if choices:
        if len(choices) > 1:
            found |= Finding.SEVERAL_CHOICES
        for choice in choices:
            found |= (
                _in_choice(choice, seen, is_changed=is_changed)
                if choice
                else _empty(choice)
            )
    elif choices is None:
        found |= Finding.NO_CHOICES
    elif not chunk.get("usage"):
        found |= Finding.EMPTY_CHOICES
    return found | _left(chunk, found) if is_changed else found


def _has_envelope(chunk: Chunk, asked: Asked, seen: Seen) -> bool:
    """Tell whether *chunk* has the envelope of the first one, or is that with a good one."""
    given, created, model = chunk.get("id"), chunk.get("created"), chunk.get("model")
    first = seen.envelope
    if first and (len(first) < len(SHARED) or given != first["id"]):
        return False
    if first and (created != first["created"] or model != first["model"]):
        return False
    if first and not seen.is_unsure:
        return created.__class__ is int
    if asked.is_mapped and model != asked.model:
        return False
    if not (names_answer(given) and names_model(model) and is_time(created)):
        return False
    return len(given) <= LONG and len(model) <= LONG


def _left(chunk: Chunk, found: int) -> int:
    """The traces of a repair in *chunk*, beside the findings *found* anyway."""
    left = 0
    if found & Finding.UNKNOWN_FIELD or chunk.get("usage", 0) is None:
        left = Finding.LEFT_NULL
    if found & Finding.ERROR:
        left |= Finding.LEFT_ERROR
    if not found & _SAYS and is_empty_chunk(chunk):
        left |= Finding.LEFT_EMPTY
    return left


def _beside(chunk: Chunk) -> int:
    found = 0
    tier = chunk.get("service_tier")
    if tier is not None and tier not in TIERS:
        found = Finding.TIER
    fingerprint = chunk.get("system_fingerprint")
    if fingerprint is not None and (
        not isinstance(fingerprint, str) or len(fingerprint) > LONG
    ):
        found |= Finding.FINGERPRINT
    usage = chunk.get("usage")
    if usage is not None:
        found |= Finding.USAGE
        if not has_figures(usage) or any(map(usage.get, CACHED)):
            found |= Finding.ODD_USAGE
        if isinstance(usage, dict) and not usage.keys() <= USAGE:
            found |= Finding.UNKNOWN_FIELD
    if not chunk.keys() <= TOP:
        found |= Finding.UNKNOWN_FIELD
        if OTHER_USAGE in chunk:
            found |= Finding.USAGE_ELSEWHERE
        if may_fail(chunk):
            found |= Finding.ERROR
    return found


def _empty(choice: Chunk | None) -> int:
    if choice is None:
        return Finding.NULL_ELEMENT
    return Finding.INDEX | Finding.NO_FINISH_KEY | Finding.NO_DELTA


def _in_choice(choice: Chunk, seen: Seen, *, is_changed: bool) -> int:
    found, index = 0, choice.get("index")
    if index.__class__ is not int:
        found = Finding.INDEX
        index = index if isinstance(index, int) else 0
    delta, reason = choice.get("delta"), choice.get("finish_reason")
    sent = seen.choices.get(index)
    if reason is not None:
        found |= _in_finish(reason, sent, beside=bool(delta))
    if choice.keys() != _CHOICE:
        found |= _beside_delta(choice)
    if not isinstance(delta, dict):
        kind = Finding.LISTED if isinstance(delta, list) else Finding.NO_DELTA
        return found | kind
    if _is_new(delta, index, seen, may_note=not (is_changed or found & Finding.INDEX)):
        found |= Finding.NEW_FIELD if is_changed else 0
    return found | _in_delta(delta, sent, holds=bool(seen.blank or seen.unnamed))


def _is_new(delta: Chunk, index: int, seen: Seen, *, may_note: bool) -> bool:
    """Tell whether *delta* has a field that was not received before, and note it if it may.

    What a fix has made may not have been received there.
    """
    received, is_new = seen.received, False
    for key, value in delta.items():
        if key == "role" or (index, key) in received or not (value or value == 0):
            continue
        is_new = True
        has_room = may_note and len(received) < MAX_TRACKED and len(key) <= LONG
        if has_room and (value.__class__ is str or not is_hollow(value)):
            received[index, key] = seen.n
    return is_new


def _in_finish(reason: Json, sent: ChoiceSeen | None, *, beside: bool) -> int:
    found = Finding.FINISH if reason else 0
    if not isinstance(reason, str) or reason not in OWN:
        found |= Finding.ODD_FINISH
    if beside:
        found |= Finding.FINISH_BESIDE
    if reason == "function_call" or (reason == "stop" and sent and sent.calls):
        found |= Finding.FINISH_OF_CALL
    return found


def _in_delta(delta: Chunk, sent: ChoiceSeen | None, *, holds: bool) -> int:
    found = 0
    for key, value in delta.items():
        if value is None:
            found |= _NULL.get(key, 0)
            continue
        if key == "content" and value.__class__ is not str:
            is_list = isinstance(value, list)
            found |= Finding.CONTENT_PARTS if is_list else Finding.ODD_CONTENT
        else:
            found |= (_FILLED if value else _EMPTY).get(key, 0)
    if "role" in delta:
        if "content" not in delta:
            found |= Finding.ROLE_ALONE
        if role := delta["role"]:
            found |= 0 if role == "assistant" else Finding.ODD_ROLE
            found |= Finding.ROLE_AGAIN if sent and sent.role else Finding.FIRST_ROLE
    if found & Finding.CALLS:
        plain = -1 if sent is None or holds else sent.calls.plain
        opened = sent.calls.get(plain) if sent is not None and plain >= 0 else None
        if opened and not found & _SAYS_ELSE and _is_more(delta, opened, plain):
            found ^= Finding.CALLS | Finding.ARGUMENTS
        else:
            found |= _in_calls(delta)
    if not ((sent and sent.role) or delta.get("role")):
        found |= Finding.NO_ROLE
    return found if delta.keys() <= MESSAGE else found | Finding.UNKNOWN_FIELD


def _beside_delta(choice: Chunk) -> int:
    found = 0
    if "finish_reason" not in choice:
        found = Finding.NO_FINISH_KEY
    if choice.get("logprobs") is not None:
        found |= Finding.LOGPROBS
    if choice.keys() <= CHOICE and "message" not in choice:
        return found
    found |= Finding.UNKNOWN_FIELD
    if "message" in choice:
        found |= Finding.MESSAGE
        if isinstance(choice["message"], list):
            found |= Finding.LISTED
    if "text" in choice:
        found |= Finding.TEXT
    if "usage" in choice:
        found |= Finding.USAGE_ELSEWHERE
    return found | Finding.ERROR if "error" in choice else found


def _is_more(delta: Chunk, opened: SentCall, plain: int) -> bool:
    """Tell whether *delta* has nothing but more arguments of a call that is not whole.

    That is the one *opened* under the index *plain*. No other object may begin in them.
    """
    fragments = delta["tool_calls"]
    if not isinstance(fragments, list) or len(fragments) != 1:
        return False
    fragment = fragments[0]
    if not isinstance(fragment, dict) or fragment.keys() != _MORE:
        return False
    index, inner = fragment["index"], fragment["function"]
    if index.__class__ is not int or index != plain or not isinstance(inner, dict):
        return False
    text = inner.get("arguments")
    if inner.keys() != {"arguments"} or not isinstance(text, str) or not text:
        return False
    return opened.goes_on(text)


def _in_calls(delta: Chunk) -> int:
    given: Json = delta["tool_calls"]
    found = Finding.TEXT_AND_CALLS if delta.get("content") else 0
    if not isinstance(given, list) or len(given) != 1:
        found |= Finding.ODD_CALLS
    if isinstance(given, list) and None in given:
        found |= Finding.NULL_ELEMENT
    for call in calls(delta):
        inner = call.get("function")
        if not isinstance(inner, dict):
            inner = {}
        if inner.get("name"):
            found |= Finding.NAMED_CALL
        is_own = inner.keys() <= _CALLED and call.keys() <= _FRAGMENT
        if not is_own or not isinstance(call.get("id"), str | None):
            found |= Finding.ODD_CALLS
        if not isinstance(inner.get("arguments"), str):
            found |= Finding.ODD_CALLS
        if not (call.keys() <= CALL and inner.keys() <= FUNCTION):
            found |= Finding.UNKNOWN_FIELD
    return found
