"""Whether an answer means the same once it is repaired.

`conformance.lost` judges that where all fields have the types that providers send.
Elsewhere it is anybody's guess what a text belongs to, so there it only has to be
somewhere in the output.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from llm_normalize import conformance
from llm_normalize.chat.chunks import chunk, chunk_form
from llm_normalize.chat.state import stream_state
from llm_normalize.chat.state.asked import Asked
from llm_normalize.wire.json_text import loads
from workshop.fuzz.cases import Case, Json, Say

FIGURES = {"prompt_tokens", "completion_tokens", "total_tokens"}
BLOCK_ENDS = re.compile(rb"\n\n|\r\r|\r\n\r\n?|\n\r")


def last_end(data: bytes) -> int:
    """Return where the last block ends, 0 if none does."""
    return max((match.end() for match in BLOCK_ENDS.finditer(data)), default=0)


def request_of(asked: Asked) -> conformance.Request:
    """Return the request as the judge knows it."""
    return conformance.Request(
        stream=asked.stream,
        include_usage=asked.usage,
        tools=asked.tools,
        forced_tool=asked.forced_tool,
        n=asked.n,
    )


def read_json(data: bytes) -> Json:
    """Return the JSON value in *data*, None where the package reads none."""
    try:
        return loads(data)
    except (ValueError, RecursionError):
        return None


def events_of(data: bytes) -> Iterator[Json]:
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
            yield read_json(b"\n".join(values))


_FIELD = re.compile(rb"(?:data|event|id|retry)?:|(?:data|event|id|retry)\Z")

_STRANGE = {"response", "result", "tool_calls", "x_groq", "base_resp", "success"}
_SAID = ("role", "content", "reasoning_content", "reasoning", "refusal")
_CALL = ("id", "type")


def is_clear(events: list[Json], part: str = "delta") -> bool:
    """Tell whether `conformance.lost` can judge: nothing in the *events* is ambiguous."""
    if not all(_is_typical(each, part) for each in events):
        return False
    if any(unclear(events, part) for unclear in (_may_grow, _is_late, _lacks_name)):
        return False
    calls: dict[tuple[int, int | None], tuple[str, str]] = {}
    reasons: dict[int, str] = {}
    for each in events:
        for choice in each.get("choices", ()):
            reason = text_of(choice, "finish_reason")
            if reason and reasons.setdefault(choice["index"], reason) != reason:
                return False
            for call in choice[part].get("tool_calls") or ():
                if part == "message":
                    known = [id_ for id_, _ in calls.values()]
                    if text_of(call, "id") in ("", *known):
                        return False
                if not _goes_with(calls, (choice["index"], call.get("index")), call):
                    return False
    return True


def _may_grow(events: list[Json], part: str) -> bool:
    """Tell whether a text begins with the one before: all of it again, or meant twice."""
    last: dict[tuple[int, str], str] = {}
    for choice in [each for event in events for each in event.get("choices", ())]:
        for key in _GROWING:
            text, at = text_of(choice[part], key), (choice["index"], key)
            before = last.get(at, "")
            if len(before) >= SAME and text.startswith(before):
                return True
            last[at] = text or before
    return False


_GROWING = ("content", "reasoning_content", "reasoning")
SAME = 8  # characters that begin two texts in a row


def _is_late(events: list[Json], part: str) -> bool:
    """Tell whether a call follows its finish, and another choice or usage between.

    None waits so long.
    """
    ended, passed = set[int](), set[int]()
    for each in events:
        found = {choice["index"]: choice for choice in each.get("choices") or ()}
        passed |= ended - found.keys() if found else set()
        if any(found[at][part].get("tool_calls") for at in passed & found.keys()):
            return True
        ended |= {at for at in found if "call" in text_of(found[at], "finish_reason")}
        passed |= ended if each.get("usage") else set()
    return False


def _lacks_name(events: list[Json], part: str) -> bool:
    """Tell whether a legacy call begins without its name: it waits, and may end so."""
    named: set[int] = set()
    for choice in [each for event in events for each in event.get("choices", ())]:
        legacy = choice[part].get("function_call")
        if text_of(legacy, "name"):
            named.add(choice["index"])
        elif legacy and choice["index"] not in named:
            return True
    return False


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
    opens = text_of(call, "id"), text_of(call.get("function"), "name")
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
            and bool(text_of(error, "message"))
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
        and all(isinstance(usage.get(key, 0), int) for key in FIGURES)
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


def text_of(value: Json, key: str) -> str:
    """Return the text that *value* has under *key*, empty if it has none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def check_meaning(case: Case, events: list[Json], out: bytes, say: Say) -> None:
    """Report what the repaired stream lost of its meaning."""
    data = case.payload
    if not case.ended:
        data = data[: last_end(data)]  # half an event has no meaning yet
    before, after = (
        conformance.meaning_of_stream(data),
        conformance.meaning_of_stream(out),
    )
    allow_repetition(before, after)
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
        say(f"lost {kind_of(fault)}", f"{fault}\n{difference(data, out)}")


def allow_repetition(before: conformance.Meaning, after: conformance.Meaning) -> None:
    """Let arguments of *before* that are no object be the part of them that was sent.

    They may be one object that is said repeatedly, grows or is encoded. Several objects
    are calls of their own.
    """
    for index, choice in before.choices.items():
        now = after.choices.get(index) or conformance.Choice()
        legacy = [choice.function_call] if choice.function_call else []
        moved = [] if now.function_call else legacy  # it is a tool call now
        if len(now.calls) > len(choice.calls) + len(moved):
            calls = [x for each in choice.calls for x in conformance.apart(each)]
            if len(now.calls) > len(calls) + len(moved):
                continue
            choice.calls = calls
        pairs = [*zip(choice.calls, now.calls, strict=False)]
        for call in legacy:  # a tool call may say it now
            found = [each for each in (now.function_call, *now.calls) if each]
            pairs += [(call, each) for each in found if each.name == call.name][:1]
        for was, sent in pairs:
            if _repeats(was.arguments, sent.arguments):
                was.arguments = sent.arguments


# What an encoded text loses, and blanks: a repetition may have others. Control characters
# get an escape.
_ESCAPES = re.compile(r'\\(?:[bfnrt]|u00[01][0-9a-f])|[\\"\s\x00-\x1f]')


def _repeats(arguments: str, sent: str) -> bool:
    """Tell whether *sent* is a part of *arguments* that are no object, or both say nothing."""
    value = read_json(arguments.encode(errors="surrogatepass"))
    if isinstance(value, dict):
        return not (value or sent)
    return bool(sent) and _ESCAPES.sub("", sent) in _ESCAPES.sub("", arguments)


def check_texts(data: bytes, out: bytes, say: Say, part: str = "delta") -> None:
    """Require that each text of a chunk is somewhere in the output.

    Escapes, quotes and blanks are left out: they may be read in more than one way.
    """
    choices = list(conformance.meaning_of_stream(out).choices.values())
    said = [text for value in conformance.values(out) for text in _strings(value)]
    arguments = ["", *(call.arguments for each in choices for call in each.calls)]
    said += [text for each in choices for text in (each.text, each.reasoning)]
    said += arguments
    known = _ESCAPES.sub("", "".join(said))
    # No client reads on after the end.
    found: list[Json] = conformance.values(data.partition(b"[DONE]")[0])
    values = [value for value in found if chunk_form.is_chunk(value)]
    # Deltas and texts may stand in what is not read here, glued behind half a value.
    says = any(key in data for key in (b'"delta"', b'"text"'))
    if not says and not any(map(chunk_form.is_flat, values)):
        part = "message"  # else it may repeat what was said before
    last = ""
    for value in values:
        for key, text in _texts(value, part):
            new = text.removeprefix(last)  # a text that repeats itself loses that
            last = text or last
            # What it repeats may stand behind bytes that are not read here.
            left = (text, new, *_left(text, data))
            is_known = any(_ESCAPES.sub("", each) in known for each in left)
            if is_known or _is_shown(text, out):
                continue
            if key != "arguments" or not any(_repeats(text, x) for x in arguments):
                say(f"text of {key} nowhere", f"{text!r}\n{difference(data, out)}")


def _is_shown(text: str, out: bytes) -> bool:
    """Tell whether *text* is somewhere in *out*, also in what is not read here."""
    spelled = (json.dumps(text, ensure_ascii=each)[1:-1] for each in (True, False))
    return any(each.encode(errors="replace") in out for each in (text, *spelled))


_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _left(text: str, data: bytes) -> list[str]:
    """Return what *text* has behind each string of JSON in *data* that it begins with."""
    found = _QUOTED.findall(data.decode(errors="replace"))
    begun = [each for each in found if text.startswith(each) and each != text]
    return [text.removeprefix(each) for each in begun]


def _texts(value: chunk.Chunk, part: str) -> Iterator[tuple[str, str]]:
    """Yield what the deltas or messages of *value* say, and under which key."""
    for choice in chunk.choices(value):
        said = choice.get(part)
        if "delta" not in choice and "message" not in choice:
            yield "text", text_of(choice, "text")
        if not isinstance(said, dict):
            continue
        for key in _SAID[1:]:
            yield key, text_of(said, key)
        for call in (*chunk.calls(said), {"function": said.get("function_call")}):
            named = chunk.function(call)
            # A fragment without a name waits for it: a stream may break off before.
            yield "arguments", text_of(named, "arguments") if named.get("name") else ""


def values_of(data: bytes) -> list[Json]:
    """Return the values of a stream, or the one of a body."""
    whole = read_json(data)
    return list(events_of(data)) if whole is None else [whole]


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def kind_of(fault: str) -> str:
    """Return *fault* without what is quoted in it."""
    if fault.startswith("usage: "):
        return "usage"
    return re.sub(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+(\.\d+)?", "…", fault)


def listed(names: set[str] | list[str]) -> str:
    """Return the names of fixes, for a sentence."""
    return ", ".join(sorted(names)) or "(no fix)"


def difference(one: bytes, other: bytes) -> str:
    """Return both texts from a little before they differ."""
    pairs = enumerate(zip(one, other, strict=False))
    same = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    at = max(same - 40, 0)
    return f"from byte {at}:\n  {one[at : at + 400]!r}\n  {other[at : at + 400]!r}"
