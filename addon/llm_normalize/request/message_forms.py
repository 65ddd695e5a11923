"""Messages in another form that say the same: joined, moved, or with other ids.

Nothing in here changes a message in place: what is refused may still be sent as it is.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b

from ..wire.json_text import Json, as_list, as_object, as_string, objects_in

type Message = dict[str, Json]

NOTHING = "."
"""What is said where something must be said: blanks alone are refused by some."""
INSTRUCTIONS = ("system", "developer")
"""Roles of messages that give them."""
_THOUGHTS = "reasoning_content"
_LOST = "The call has no result: it was interrupted."
_OUTPUT = "_output"
_CALLED = {"function_call": {"arguments": "{}"}, "custom_tool_call": {"input": ""}}
"""Calls of Responses, by their types, without what they are given."""
_BREAK = "\n\n"
_LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SIZE = 9
HALF = re.compile(rb"(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}")
"""Half a character as it is written in JSON, behind the backslashes before it."""
_is_short_id = re.compile(rf"[a-zA-Z0-9]{{{_SIZE}}}").fullmatch


def with_messages(body: dict[str, Json], make: Callable[[list[Json]], Json]) -> Json:
    """The messages of *body* as *make* returns them, if it has some."""
    found = body.get("messages")
    return make(found) if isinstance(found, list) else found


def with_each_message(body: dict[str, Json], make: Callable[[Json], Json]) -> Json:
    """The messages of *body*, each as *make* returns it, if it has some."""
    return with_messages(body, lambda found: [make(each) for each in found])


def with_calls(message: Json, make: Callable[[Message], Message]) -> Json:
    """The *message* with each of its tool calls as *make* returns it."""
    calls = as_list(as_object(message).get("tool_calls"))
    made = [make(each) if isinstance(each, dict) else each for each in calls]
    return message if made == calls else {**message, "tool_calls": made}


def role_of(message: Json) -> str:
    """Return the role of a message; empty if it has none."""
    return as_string(as_object(message).get("role"))


def calls_of(message: Json) -> list[Message]:
    """Return the tool calls of a message."""
    return objects_in(as_object(message).get("tool_calls"))


def kinds_of(message: Json) -> list[str]:
    """Return the types of the parts of a message."""
    parts = objects_in(as_object(message).get("content"))
    return [as_string(each.get("type")) for each in parts]


def begun_answer(body: Message) -> Message:
    """The answer without calls that the messages of *body* end with; empty without one."""
    last = as_object(next(reversed(as_list(body.get("messages"))), None))
    return {} if role_of(last) != "assistant" or calls_of(last) else last


def text_of(content: Json) -> str:
    """Return the text of a content, which may be parts."""
    if isinstance(content, list):
        return "".join(as_string(each.get("text")) for each in objects_in(content))
    return as_string(content)


def joined_texts(content: Json) -> str | None:
    """Return parts as one text, a line each; None if there are none, or one says more."""
    texts = []
    for each in as_list(content):
        part = as_object(each)
        text = part.get("text")
        # A mark for a cache changes no answer; any other key may.
        is_more = part.keys() - {"cache_control"} != {"type", "text"}
        if is_more or part["type"] != "text" or not isinstance(text, str):
            return None
        texts.append(text)
    return "\n".join(texts) if texts else None


def says_nothing(content: Json) -> bool:
    """Tell whether *content* is empty, or parts that are."""
    return not content or (
        isinstance(content, list)
        and all(
            isinstance(each, dict)
            and each.get("type") == "text"
            and not each.get("text")
            for each in content
        )
    )


def joined_content(*contents: Json) -> Json:
    """Return contents behind each other: a text of texts, parts where one has parts."""
    said = [each for each in contents if not says_nothing(each)]
    if len(said) < 2:  # noqa: PLR2004
        return said[0] if said else contents[-1]
    texts = [each for each in said if isinstance(each, str)]
    if len(texts) == len(said):
        return _BREAK.join(texts)
    return [part for each in said for part in _parts(each)]


def _parts(content: Json) -> list[Json]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _joined(messages: list[Json]) -> Message:
    """Return messages of one role as one."""
    messages = objects_in(messages)
    made: Message = {}
    for each in messages:
        made.update((key, value) for key, value in each.items() if not made.get(key))
    made["content"] = joined_content(*(each.get("content") for each in messages))
    if thoughts := [each[_THOUGHTS] for each in messages if each.get(_THOUGHTS)]:
        made[_THOUGHTS] = joined_content(*thoughts)
    return made


def with_one_system(messages: Sequence[Json]) -> list[Json]:
    """Return *messages* with all instructions in one system message, at the front."""
    found = [each for each in messages if role_of(each) in INSTRUCTIONS]
    if not found or found == list(messages[:1]):
        return list(messages)
    rest = [each for each in messages if role_of(each) not in INSTRUCTIONS]
    return [{**_joined(found), "role": "system"}, *rest]


def with_system_as_user(messages: Sequence[Json]) -> list[Json]:
    """Return *messages* with all instructions at the begin of the first user's."""
    made = with_one_system(messages)
    if not made or role_of(made[0]) not in INSTRUCTIONS:
        return made
    user = next((each for each in made[1:2] if role_of(each) == "user"), None)
    name = as_object(user).get("name")
    first = {**as_object(made[0]), "role": "user", **({"name": name} if name else {})}
    return [*with_neighbours_joined([first, *made[1:2]]), *made[2:]]


def with_neighbours_joined(messages: Iterable[Json]) -> list[Json]:
    """Return *messages* in which no two of one role follow each other.

    An answer with calls is followed by their results: nothing is joined to it.
    """
    made: list[list[Json]] = []
    for each in messages:
        if made and _may_join(made[-1][-1], each):
            made[-1].append(each)
        else:
            made.append([each])
    return [_joined(run) if len(run) > 1 else run[0] for run in made]


def _may_join(first: Json, second: Json) -> bool:
    return (
        isinstance(first, dict)
        and isinstance(second, dict)
        and role_of(first) == role_of(second) != "tool"
        and not calls_of(first)
        and first.get("name") == second.get("name")
    )


def with_answers_between(messages: Iterable[Json]) -> list[Json]:
    """Return *messages* with an answer that says nothing between a result and a user."""
    made: list[Json] = []
    for each in messages:
        if role_of(each) == "user" and made and role_of(made[-1]) == "tool":
            made.append({"role": "assistant", "content": NOTHING})
        made.append(each)
    return made


def with_results(messages: Sequence[Json]) -> list[Json]:
    """Return *messages* in which each call has its result behind it, and each result a call.

    One that is missing is made up: a result says so, a call has no arguments.
    """
    due: dict[str, list[int]] = {}
    places: dict[int, list[int | None]] = {}
    for at, each in reversed([*enumerate(messages)]):
        if role_of(each) == "tool":
            due.setdefault(str(_result_of(each)), []).append(at)
        found = (due.get(str(call.get("id"))) for call in calls_of(each))
        places[at] = [waiting.pop() if waiting else None for waiting in found]
    placed = {at for found in places.values() for at in found}
    made: list[Json] = []
    for at, each in enumerate(messages):
        if at not in placed:
            made += [each] if role_of(each) != "tool" else _with_call(as_object(each))
        for call, place in zip(calls_of(each), places[at], strict=True):
            lost = {"role": "tool", "tool_call_id": call.get("id"), "content": _LOST}
            made.append(lost if place is None else messages[place])
    return made


def _with_call(result: Message) -> list[Json]:
    given = as_string(_result_of(result)) or "call"
    function: Json = {"name": result.get("name") or "tool", "arguments": "{}"}
    call: Json = {"id": given, "type": "function", "function": function}
    answer: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [answer, {**result, "tool_call_id": given}]


def with_outputs(items: Sequence[Json]) -> list[Json]:
    """The same of the items of Responses, where an output may be anywhere."""
    given = [as_object(each) for each in items]
    named = [(as_string(e.get("type")), str(e.get("call_id"))) for e in given]
    known = set(named)
    made: list[Json] = []
    for each, (kind, name) in zip(items, named, strict=True):
        call = kind.removesuffix(_OUTPUT)
        own: Message = {"call_id": as_object(each).get("call_id")}
        if call in _CALLED and call != kind and (call, name) not in known:
            made.append({"type": call, **own, "name": "tool", **_CALLED[call]})
        made.append(each)
        if kind in _CALLED and (call + _OUTPUT, name) not in known:
            made.append({"type": call + _OUTPUT, **own, "output": _LOST})
    return made


def with_tool_results(messages: Sequence[Json]) -> list[Json]:
    """The same of the blocks of Messages: results are first in what the user says next.

    What one without a call holds is said by the user.
    """
    if not any(kind.startswith("tool_") for e in messages for kind in kinds_of(e)):
        return list(messages)
    turns = [*with_neighbours_joined(messages), {}]
    said = [objects_in(_parts(as_object(x).get("content") or [])) for x in turns]
    results: dict[str, list[Message]] = {}  # what is still to come, the next one last
    for part in reversed([part for parts in said for part in _results(parts)]):
        results.setdefault(str(part.get("tool_use_id")), []).append(part)
    made, due, placed = list[Json](), list[Json](), set[int]()
    for each, parts in zip(turns, said, strict=True):
        is_user = role_of(each) == "user"
        answers = [_result_in(results, name) for name in due]
        placed.update(map(id, answers))
        if answers and not is_user:
            made.append({"role": "user", "content": answers})
        for part in _results(parts):
            if id(part) not in placed:  # it answers no call before it
                results[str(part.get("tool_use_id"))].pop()
        rest = [word for p in parts if id(p) not in placed for word in _held(p)]
        if not is_user or not (answers or rest != parts):
            made.append(each)
        elif answers or rest:
            made.append({**as_object(each), "content": [*answers, *rest]})
        due = [part.get("id") for part in parts if part.get("type") == "tool_use"]
    return made[:-1]


def _results(parts: list[Message]) -> list[Message]:
    return [each for each in parts if each.get("type") == "tool_result"]


def _result_in(results: dict[str, list[Message]], name: Json) -> Message:
    lost: Message = {"type": "tool_result", "tool_use_id": name, "content": _LOST}
    waiting = results.get(str(name))
    return waiting.pop() if waiting else lost


def _held(part: Message) -> list[Json]:
    if part.get("type") != "tool_result":
        return [part]
    words = {"type": "text", "text": "Result of an earlier call:"}
    return [words, *_parts(part.get("content") or NOTHING)]


def with_single_calls(messages: Sequence[Json]) -> list[Json]:
    """Return *messages* in which each call has a message of its own, before its result."""
    made: list[Json] = []
    at = 0
    while at < len(messages):
        each, calls = messages[at], calls_of(messages[at])
        at += 1
        if not isinstance(each, dict) or len(calls) < 2:  # noqa: PLR2004
            made.append(each)
            continue
        begin = at
        while at < len(messages) and role_of(messages[at]) == "tool":
            at += 1
        results = messages[begin:at]
        content = None if each.get("content") is None else ""
        again: Message = {"role": "assistant", "content": content}
        by_id: dict[str, list[Json]] = {}
        for one in results:
            by_id.setdefault(str(_result_of(one)), []).append(one)
        for place, call in enumerate(calls):
            made.append({**(again if place else each), "tool_calls": [call]})
            made += by_id.pop(str(call.get("id")), [])  # each once, also if ids repeat
        made += [one for rest in by_id.values() for one in rest]
    return made


def _result_of(message: Json) -> Json:
    return as_object(message).get("tool_call_id")


def with_short_ids(messages: Sequence[Json]) -> list[Json]:
    """Return *messages* with ids of calls that are nine letters, the same for the same."""
    own = {
        given
        for each in messages
        for given in [*(call.get("id") for call in calls_of(each)), _result_of(each)]
        if isinstance(given, str) and given
    }
    short = {given: given for given in own if _is_short_id(given)}
    taken = set(short)
    for given in sorted(own - taken):
        short[given] = _short_id(given, taken)
        taken.add(short[given])
    return [_with_ids(each, short) for each in messages]


def _with_ids(message: Json, short: dict[str, str]) -> Json:
    def renamed(holder: Message, key: str) -> Message:
        given = holder.get(key)
        made = short.get(given, given) if isinstance(given, str) else given
        return holder if made == given else {**holder, key: made}

    if not isinstance(message, dict):
        return message
    made = renamed(message, "tool_call_id")
    return with_calls(made, lambda call: renamed(call, "id"))


def with_own_ids(messages: Sequence[Json]) -> list[Json]:
    """Return *messages* in which no two calls have one id: a later one gets a number.

    The results of an answer go with its calls of their id, in order.
    """
    taken = {
        call.get("id") for each in messages for call in calls_of(each) if _id(call)
    }
    numbers: dict[str, int] = {}
    due: dict[str, deque[str]] = {}

    def own(call: Message) -> Message:
        given = again = _id(call)
        if not given:
            return call
        while given in numbers and again in taken:
            numbers[given] += 1
            again = f"{given}_{numbers[given]}"
        taken.add(again)
        numbers.setdefault(given, 1)
        due.setdefault(given, deque()).append(again)
        return call if again == given else {**call, "id": again}

    def with_own(message: Json) -> Json:
        if calls_of(message):
            due.clear()
        found = due.get(as_string(_result_of(message)))
        if not found:
            return with_calls(message, own)
        again = found.popleft() if len(found) > 1 else found[0]
        is_own = again == _result_of(message)
        return message if is_own else {**message, "tool_call_id": again}

    return [with_own(each) for each in messages]


def _id(call: Message) -> str:
    return as_string(call.get("id"))


def _short_id(given: str, taken: Collection[str]) -> str:
    """Return nine letters for an id, always the same unless another id has them."""
    data, found = given.encode(errors="surrogatepass"), ""
    while not found or found in taken:
        data = blake2b(data, digest_size=8).digest()
        number, found = int.from_bytes(data), ""
        for _ in range(_SIZE):
            number, at = divmod(number, len(_LETTERS))
            found += _LETTERS[at]
    return found
