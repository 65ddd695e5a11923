"""What was lost, changed or made up between two readings of an answer."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import get_type_hints

from .finish_reasons import reason_meant
from .json_values import TOLERANT, as_dict, equal_json
from .meaning import Call, Choice, Meaning, is_words
from .openai_types import CompletionTokensDetails, PromptTokensDetails
from .type_checks import FINISH_REASONS

_PLACES = 8  # that are tried for a call
_CUT = re.compile(r"-|\.|[eE][+-]?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?")
_USAGE_ALIASES = {
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
}


def lost(before: Meaning, after: Meaning, *, broke: bool = False) -> list[str]:
    """List what was lost, changed or made up on the way from one to the other.

    `broke` says that the connection broke: a finish reason that was waiting then may
    be missing.
    """
    faults: list[str] = []
    for index in sorted(before.choices.keys() | after.choices.keys()):
        was = before.choices.get(index, Choice())
        now = after.choices.get(index, Choice())
        if was.function_call and now.function_call in (None, Call()):
            was = _as_tool_call(was, was.function_call, now)
        if len(was.calls) < len(now.calls):
            calls = [each for call in was.calls for each in apart(call)]
            was = replace(was, calls=calls)
        if broke and not now.finish_reason:  # with which they wait
            was = replace(was, logprobs=was.logprobs[: len(now.logprobs)])
        where = f"choice {index}"
        faults += [f"{where}: {fault}" for fault in _lost_in_choice(was, now)]
        fault = _finish_fault(was, now, before, after, broke=broke)
        if fault:
            faults.append(f"{where}: {fault}")
    faults += _lost_usage(before, after)
    faults += _lost_errors(before, after)
    if before.streamed and after.streamed:
        # One that never said anything need not show, and has no end then.
        choices = [c for at, c in before.choices.items() if at in after.choices]
        ended = all(c.finish_reason and not _has_failed(c) for c in choices)
        earned = ended and bool(choices) and not before.errors
        if before.done and not after.done:
            faults.append("done: [DONE] was lost")
        elif after.done and not before.done and not earned:
            faults.append("done: [DONE] was made up")
    return faults


def _as_tool_call(was: Choice, legacy: Call, now: Choice) -> Choice:
    """Return *was*, its legacy call among the others if one more of *now* says it.

    So it is for who asked with tools.
    """
    calls = was.calls
    if len(now.calls) > len(calls) + 1:  # some of them are several
        calls = [each for call in calls for each in apart(call)]
    if len(now.calls) != len(calls) + 1:
        return was
    ids, said = {call.id for call in calls}, (legacy.name, legacy.arguments)
    places = [
        at
        for at, call in enumerate(now.calls)
        if call.id not in ids or (call.name, call.arguments) == said
    ]
    made = [
        replace(was, calls=[*calls[:at], legacy, *calls[at:]], function_call=None)
        for at in (*places[:_PLACES], 0, len(calls))
    ]
    return min(made, key=lambda each: len([*_lost_in_choice(each, now)]))


def _lost_in_choice(was: Choice, now: Choice) -> Iterator[str]:
    if was.text != now.text and not (was.as_object and equal_json(was.text, now.text)):
        yield f"text {_show(was.text)} became {_show(now.text)}"
    for what, old, new in (
        ("reasoning", was.reasoning, now.reasoning),
        ("refusal", was.refusal, now.refusal),
    ):
        if old != new:
            yield f"{what} {_show(old)} became {_show(new)}"
    if was.logprobs != now.logprobs:
        yield f"{len(was.logprobs)} log probabilities became {len(now.logprobs)} others"
    if len(was.calls) != len(now.calls):
        yield f"{len(was.calls)} tool calls became {len(now.calls)}"
    ids = [call.id for call in was.calls]
    for number, (old_call, new_call) in enumerate(
        zip(was.calls, now.calls, strict=False)
    ):
        keep_id = ids.count(old_call.id) == 1
        yield from _lost_in_call(f"call {number}", old_call, new_call, keep_id=keep_id)
    legacy = was.function_call
    more = now.function_call or Call()
    if legacy is not None and not more.name:
        calls = [*was.calls, *_joined(was.calls)]
        calls += now.calls  # there, one without arguments has got those it lacked
        if any(_tells(call, legacy, more.arguments) for call in calls):
            return  # a tool call says it
    if was.function_call or now.function_call:
        old_call = was.function_call or Call()
        new_call = now.function_call or Call()
        yield from _lost_in_call("function_call", old_call, new_call, keep_id=False)


def apart(call: Call) -> Iterator[Call]:
    """Yield *call*, or one for each of the objects that its arguments have in a row."""
    rest, found = call.arguments.lstrip(), list[str]()
    try:
        while rest:
            value, end = TOLERANT.raw_decode(rest)
            is_new = not any(equal_json(rest[:end], each) for each in found)
            found += (
                [rest[:end]] if isinstance(value, dict) and value and is_new else []
            )
            rest = rest[end:].lstrip()
    except (ValueError, RecursionError):
        found = [*found, rest] if found and rest.startswith("{") else []
    if len(found) < 2:  # noqa: PLR2004
        yield call
        return
    for number, each in enumerate(found):
        yield Call("" if number else call.id, call.name, each, as_object=True)


def _is_cut(call: Call) -> bool:
    """Say whether the arguments are the begin of an object, and its end is missing."""
    text = call.arguments.strip()
    try:
        TOLERANT.decode(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        is_open = error.msg.startswith(("Unterminated", "Invalid \\"))
        return text.startswith("{") and (
            not rest or is_open or bool(_CUT.fullmatch(rest))
        )
    except RecursionError:
        pass
    return False


def _joined(calls: list[Call]) -> Iterator[Call]:
    """Yield the calls of each name as one: those of several look like those of one."""
    for name in {call.name for call in calls}:
        yield Call("", name, "".join(c.arguments for c in calls if c.name == name))


def _tells(call: Call, legacy: Call, rest: str) -> object:
    """Tell whether *call* says all that *legacy* does, but the *rest* of its arguments."""
    # Each event that repeats the call may repeat all of this one, too.
    is_repeated = call.arguments and not legacy.arguments.replace(call.arguments, "")
    is_part = legacy.arguments and call.arguments.startswith(legacy.arguments)
    is_whole = legacy.arguments in (rest, call.arguments + rest)
    return legacy.name in ("", call.name) and (is_repeated or is_part or is_whole)


def _lost_in_call(what: str, old: Call, new: Call, *, keep_id: bool) -> Iterator[str]:
    if old.name and old.name != new.name:
        yield f"{what}: name {old.name!r} became {new.name!r}"
    same = old.arguments == new.arguments or (
        old.as_object and equal_json(old.arguments, new.arguments)
    )
    # A call without arguments is written either way.
    if not same and not (not old.arguments and new.arguments == "{}"):
        texts = f"{_show(old.arguments)} became {_show(new.arguments)}"
        yield f"{what}: arguments {texts}"
    if keep_id and old.id and old.id != new.id:
        yield f"{what}: id {old.id!r} became {new.id!r}"


def _finish_fault(
    was: Choice, now: Choice, before: Meaning, after: Meaning, *, broke: bool
) -> str:
    old, new = was.finish_reason, now.finish_reason
    if old == new:
        return ""
    if old is None:
        # A body is whole by being there; a stream only by the provider's [DONE].
        if before.streamed and after.streamed:
            is_whole = before.done and not before.errors
        else:  # of what may be a notice beside an answer, nobody can say which it is
            is_whole = not before.errors or bool(before.doubtful)
        return "" if is_whole else f"finish reason {new!r} was made up"
    meant = reason_meant(old)
    cut = [*was.calls, *([was.function_call] if was.function_call else [])]
    if new == "length" and meant != "error" and any(map(_is_cut, cut)):
        return ""
    if new is None:
        failed = meant == "error" and (after.errors or broke)
        # Beside one that failed, one that says nothing does not show: the error is all.
        silent = not after.choices and was == Choice(finish_reason=old)
        failed = failed or (silent and after.errors)
        return "" if failed or broke else f"finish reason {old!r} was lost"
    allowed = {meant}
    if was.calls and meant in ("stop", "function_call"):
        allowed.add("tool_calls")
    if meant in ("tool_calls", "function_call") and not (
        was.calls or was.function_call
    ):
        allowed.add("stop")
    if meant == "error":
        allowed = set(FINISH_REASONS) - {"stop", "tool_calls", "function_call"}
    return "" if new in allowed else f"finish reason {old!r} became {new!r}"


def _numbers(usage: object, path: str = "") -> Iterator[tuple[str, float]]:
    for key, value in as_dict(usage).items():
        name = path + _USAGE_ALIASES.get(key, key)
        if isinstance(value, dict):
            yield from _numbers(value, f"{name}.")
        elif key.endswith("_tokens_details"):
            continue  # OpenAI's form has an object there, or null
        elif isinstance(value, bool):
            continue
        elif isinstance(value, int | float):
            yield name, value
        elif isinstance(value, str):
            try:
                yield name, float(value)
            except ValueError:
                continue


_COUNTS = {
    *("completion_tokens", "prompt_tokens", "total_tokens"),
    *(
        f"completion_tokens_details.{each}"
        for each in get_type_hints(CompletionTokensDetails)
    ),
    *(f"prompt_tokens_details.{each}" for each in get_type_hints(PromptTokensDetails)),
}
_HUGE = 1e18


def _lost_usage(before: Meaning, after: Meaning) -> Iterator[str]:
    old, new = dict(_numbers(before.usage)), dict(_numbers(after.usage))
    if before.usage is None:
        if after.usage is not None and (after.streamed or any(new.values())):
            yield "usage: figures were made up"
        return
    if after.usage is None:
        # Who has not asked for them gets no figures that are on every chunk.
        if any(old.values()) and not (before.counted_throughout and after.streamed):
            yield "usage: it was lost"
        return
    for name, value in old.items():
        within_count = "_tokens." in name  # OpenAI's form has a number there
        # Where OpenAI's form has a whole number, a fraction is written without its rest.
        whole = int(value) if name in _COUNTS and abs(value) < _HUGE else value
        if new.get(name) not in (value, whole) and not within_count:
            yield f"usage: {name} {value} became {new.get(name)}"


# OpenAI's code for it, whatever a provider's is: agents shorten what they send.
_TOO_LONG = "context_length_exceeded"


def _lost_errors(before: Meaning, after: Meaning) -> Iterator[str]:
    messages = [error.message for error in after.errors]
    for error in before.errors:
        same = [
            other
            for other in after.errors
            if all(text in other.message for text in error.texts)
        ]
        if not same:
            yield f"error: {_show(error.message)} was lost"
        elif error.code and not {error.code, _TOO_LONG} & {each.code for each in same}:
            yield f"error: code {error.code!r} became {same[0].code!r}"
    for text in before.unread:
        is_there = text in after.unread or any(text in other for other in messages)
        if is_words(text) and not is_there:
            yield f"unread: {_show(text)} was lost"
    failed = any(map(_has_failed, before.choices.values()))
    if before.errors or before.unread or failed:
        return
    for text in messages:
        if not any(each in text for each in before.doubtful):
            yield f"error: {_show(text)} was made up"


def _has_failed(choice: Choice) -> bool:
    """Say whether the finish reason of a choice may be a failure's."""
    reason = choice.finish_reason
    return reason is not None and reason_meant(reason) == "error"


_SHOWN = 59  # characters of a text in a fault


def _show(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:40]}…{text[-15:]}")
