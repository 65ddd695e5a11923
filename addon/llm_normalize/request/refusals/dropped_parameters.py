"""Parameters of a request that may go where a provider refuses them, and those that stay.

What an answer depends on is never dropped: then the provider's error is the answer.
"""

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

from ...wire.json_text import Json, Number, as_list, as_object, objects_in
from ..adaptation import (
    CHANGED,
    DROPPED,
    LEARNED,
    Body,
    Edit,
    Memory,
    no_memory,
    renamed,
)
from ..adaptations import ADAPTATIONS
from ..adaptations.attachments import AttachmentRefused
from ..adaptations.host_message_fields import (
    AssistantContentNull,
    ContentPartsRefused,
    DeveloperRoleUnknown,
)
from ..adaptations.system_messages import SystemMessageLate, SystemMessageRefused
from .message_refusals import ANY, RefusedContent, is_place
from .refusal_parser import Path, Refusal
from .refusal_table import WantedForm

_LIMITS = {"max_completion_tokens": "max_tokens", "max_tokens": "max_completion_tokens"}
_SAID = ("messages", "input")
_ALWAYS = {*_SAID, "model", "stream"}
_CONTENT = {
    "response_format", "stop", "tools", "functions", "audio", "logprobs",
    "top_logprobs", "max_output_tokens",
    # of Responses and Messages
    "background", "container", "conversation", "inference_geo", "instructions", "mcp_servers",
    "previous_response_id", "prompt", "stop_sequences", "system",
}  # fmt: skip
_FORMATTED = {"output_config", "text"}
"""What has the format of the answer, beside other wishes."""
_CHOICES = {"tool_choice": "tools", "function_call": "functions"}
# Keys of a message, and of what is in it, without which it says something else.
_SAYING = {
    "role", "content", "tool_calls", "tool_call_id", "function_call", "type", "text",
    "image_url", "input_audio", "file", "function", "custom", "arguments", "input",
    "audio", "refusal",
    # of Responses and Messages
    "action", "call_id", "code", "context", "data", "encrypted_content", "file_data",
    "file_id", "file_url", "is_error", "operation", "output", "outputs", "queries",
    "results", "signature", "source", "summary", "thinking", "title", "tool_use_id",
    "tools", "url",
}  # fmt: skip
_UNSAID = {"refusal", "tool_calls", "function_call"}
"""What a message may have, and say nothing with it."""
_FOREIGN = {"input", "output", "source"}
"""What in a message is a tool's own, or a file."""
# The same of a tool, and of its function.
_DECLARING = {
    "type", "function", "custom", "name", "description", "parameters", "format",
    "input_schema",
}  # fmt: skip
_DEFINED = (None, "function", "custom")
"""Types of tools that a client runs: what others have beside their type sets them up."""
_MARKS = {"cache_control", "defer_loading", "eager_input_streaming"}
_HOLDERS = (
    *((said, *inner) for said in _SAID for inner in ((), ("content",))),
    ("system",),
    ("tools",),
    ("tools", "function"),
)
_ONE = (None, 1, Number("1.0"), Number("1"))
_DEFAULTS: dict[str, tuple[Json, ...]] = {
    "n": _ONE,
    "temperature": _ONE,
    "modalities": (None, ["text"]),
}
_LISTED = "*"
_DEEP = 8  # levels of a path
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


class Change(NamedTuple):
    """What is done to a request whose parameter is refused.

    Attributes:
        path: Where, from the top; `*` is any place of a list. Empty for a form.
        to: The new name of a limit; None where a parameter is dropped. Of a form, what its
            adaptation needs to know, or the name of the one that does the same for hosts
            that are known to want it.
        by: The name of the adaptation that does it.
    """

    path: Path
    to: str | None = None
    by: str = LEARNED

    @property
    def is_form(self) -> bool:
        """Whether the request takes another form, and loses no parameter.

        What a tool has beside its declaration is none.
        """
        return self.path[:1] in ((), ("tools",))

    @property
    def is_remembered(self) -> bool:
        """Whether it is made at once in later requests."""
        return self.by == LEARNED or ADAPTATIONS[_ORDER[self.by]].is_remembered

    @property
    def is_free(self) -> bool:
        """Whether it may be tried beside as many others as may be: it is made once."""
        return not self.path and self.by == LEARNED


_ROLE = Change((), DeveloperRoleUnknown.name)
_PARTS = Change((), ContentPartsRefused.name)
_NULL = Change((), AssistantContentNull.name)
_INSTEAD = {SystemMessageLate.name: SystemMessageRefused.name}
"""What a request of another protocol is given in the place of a form of chat."""
_ORDER = {each.name: at for at, each in enumerate(ADAPTATIONS)}
FORMS = frozenset(_ORDER)
"""The names of all adaptations."""


def changes_for(
    refusal: Refusal,
    body: Body,
    tried: Iterable[Change] = (),
    forms: Container[str] = FORMS,
    memory: Memory = no_memory,
    *,
    is_chat: bool = True,
) -> list[Change]:
    """The permitted changes of *body*; none for a refused part that must stay.

    Args:
        refusal: What the provider refuses.
        body: The request.
        tried: What has been done to it already; it is not undone.
        forms: The names of the forms that it may be given.
        memory: What is remembered of earlier answers.
        is_chat: Whether it asks for chat completions.
    """
    made = set(tried)
    before = {each.path for each in made}
    found = []
    for named in refusal.paths:
        path = _found(named, body)
        if path is None:
            continue
        (key, *_) = path
        other = _LIMITS.get(key) if len(path) == 1 and is_chat else None
        if other is None and not _may_go(path, body):
            continue
        if other is None or body[key] is None or body.get(other) is not None:
            found.append(Change(path))
        elif (other,) not in before:
            found.append(Change(path, other))
    found += _forms(refusal, body) if is_chat else ()
    wanted = [*refusal.forms]
    if is_chat and any(_refuses_parts(each, body) for each in refusal.content):
        wanted.append(WantedForm(AttachmentRefused.name))
    for asked, value in wanted:
        name = asked if asked in forms else _INSTEAD.get(asked, asked)
        change = Change((), value, name)
        if name in forms and apply(change, {**body}, memory):
            found.append(change)
    return ordered(each for each in dict.fromkeys(found) if each not in made)


def ordered(changes: Iterable[Change]) -> list[Change]:
    """Return *changes* in the order in which they are made: forms by that of adaptations."""
    return sorted(
        changes, key=lambda each: _ORDER[each.by] if each.by != LEARNED else -1
    )


def _forms(refusal: Refusal, body: Body) -> Iterator[Change]:
    """Yield what of the form of messages is refused, and may be changed in *body*."""
    if any(_is_changed(_ROLE, body, place) for place in refusal.roles):
        yield _ROLE
    for place, parts, null in refusal.content:
        if parts and _is_changed(_PARTS, body, place):
            yield _PARTS
        if null and _is_changed(_NULL, body, place):
            yield _NULL


def _refuses_parts(content: RefusedContent, body: Body) -> bool:
    """Tell whether it is parts that a provider has refused, for whatever is in them."""
    some = [] if content.place == ANY else _messages_at(content.place, body)
    return content.parts and (
        not content.null or any(isinstance(each.get("content"), list) for each in some)
    )


def _is_changed(form: Change, body: Body, place: str) -> bool:
    """Tell whether *form* changes the message of *body* at *place*."""
    copies: list[Json] = [{**each} for each in _messages_at(place, body)]
    return bool(apply(form, {"messages": copies}))


def _messages_at(place: str, body: Body) -> list[dict[str, Json]]:
    """Return the message of *body* at *place*, or all of them."""
    found = as_list(body.get("messages"))
    return objects_in(found if place == ANY else found[int(place) :][:1])


def apply(change: Change, body: Body, memory: Memory = no_memory) -> list[Edit]:
    """Do to *body* what once helped, unless it would now say something else.

    A form replaces what *body* has at its top, and changes nothing in there.
    """
    path, to, by = change
    if by != LEARNED:
        return ADAPTATIONS[_ORDER[by]](to or "", memory).edit(body)
    if not path:
        return ADAPTATIONS[_ORDER[to or ""]]().edit(body)
    name = _spelled(path)
    if to is not None:
        if body.get(path[0]) is None or body.get(to) is not None:
            return []
        body.pop(to, None)
        renamed(body, path[0], to)
        return [(CHANGED, name)]
    dropped = False
    key = path[-1]
    for holder in list(_holders(body, path[:-1])):
        if key in holder and _may_drop(path, holder, body):
            del holder[key]
            dropped = True
    return [(DROPPED, name)] if dropped else []


def _found(named: Path, body: Body) -> Path | None:
    """The path in *body* that a provider's words mean; None without one.

    A name alone may be that of a field of messages, of their parts, or of tools, and
    `reasoningEffort` that of `reasoning.effort`.
    """
    top = _key(named[0], body)
    if top is None:
        head, _, rest = _HUMP.sub(r"_\1", named[0]).lower().partition("_")
        if rest in as_object(body.get(head)):
            return _walked((head, rest, *named[1:_DEEP]), body)
        found = (_walked((*at, *named), body) for at in _HOLDERS if len(named) == 1)
        return next((each for each in found if each is not None), None)
    way = _walked((top, *named[1:_DEEP]), body)
    return way if way is not None and way[0] == top else None


def _walked(named: Path, value: Json) -> Path | None:
    """Return *named* as the path that exists in *value*.

    Without its tags, such as `assistant` in `messages.2.assistant.x`, and `text` in
    `content.0.text.x`; a place in a list is any place.
    """
    if not named:
        return None
    name, rest = named[0], named[1:]
    if isinstance(value, list):
        is_index = is_place(name)
        some = value[int(name) :][:1] if is_index else value
        ways = (_walked(rest if is_index else named, each) for each in some)
        way = next((each for each in ways if each is not None), None)
        return None if way is None else (_LISTED, *way)
    if not isinstance(value, dict):
        return None
    key = _key(name, value)
    if key is None or (rest and isinstance(value[key], str)):
        return _walked(rest, value)
    if not rest:
        return (key,)
    way = _walked(rest, value[key])
    return None if way is None else (key, *way)


def _key(name: str, value: dict[str, Json]) -> str | None:
    """Return the key that *name* means: `presencePenalty` may be `presence_penalty`."""
    spellings = (name, _HUMP.sub(r"_\1", name).lower())
    return next((each for each in spellings if each in value), None)


def _holders(value: Json, way: Path) -> Iterator[dict[str, Json]]:
    """Yield the objects at the end of *way*."""
    if not way:
        if isinstance(value, dict):
            yield value
    elif way[0] == _LISTED:
        for each in value if isinstance(value, list) else ():
            yield from _holders(each, way[1:])
    elif isinstance(value, dict) and way[0] in value:
        yield from _holders(value[way[0]], way[1:])


def _may_go(path: Path, body: Body) -> bool:
    """Tell whether what is at *path* may be dropped somewhere."""
    return any(
        path[-1] in holder and _may_drop(path, holder, body)
        for holder in _holders(body, path[:-1])
    )


def _may_drop(path: Path, holder: dict[str, Json], body: Body) -> bool:
    """Tell whether the answer is the same without the last key of *path*."""
    key, value = path[-1], holder[path[-1]]
    if len(path) > 1:
        return _may_drop_inside(path, holder)
    if key in _ALWAYS:
        return False
    if key in _CHOICES:
        return not body.get(_CHOICES[key]) or value in (None, "auto")
    if key in _LIMITS:
        return value is None or body.get(_LIMITS[key]) is not None
    if key in _DEFAULTS:
        return value in _DEFAULTS[key]
    if key in _FORMATTED and isinstance(value, dict):
        value = value.get("format")
    return not value or key not in _CONTENT | _FORMATTED


def _may_drop_inside(path: Path, holder: dict[str, Json]) -> bool:
    """The same of what is not at the top."""
    top = path[0]
    if top in (*_SAID, "system"):
        return _says_nothing(path, holder)
    if top == "tools":
        return _declares_nothing(path, holder)
    if top in _FORMATTED:
        return path[1] != "format"
    return top not in _ALWAYS | _CONTENT | _CHOICES.keys()


def _says_nothing(path: Path, holder: dict[str, Json]) -> bool:
    """Tell whether a message is the same without the last key of *path*."""
    key = path[-1]
    if "tool_calls" in path[:-1]:
        return key not in _SAYING | {"id", "name"}
    if key == "id":
        return "role" in holder  # else it is that of a call
    if key == "name":
        has_call = holder.get("role") == "tool" and "tool_call_id" in holder
        return has_call or holder.get("role") not in (None, "function", "tool")
    if not _FOREIGN.isdisjoint(path[1:-1]):
        return False
    return key not in _SAYING or (key in _UNSAID and not holder[key])


def _declares_nothing(path: Path, holder: dict[str, Json]) -> bool:
    """Tell whether a tool is the same without the last key of *path*, which *holder* has."""
    is_own, key = path[1:-1] in ((_LISTED,), (_LISTED, "function")), path[-1]
    if holder.get("type") not in _DEFINED:
        return is_own and key in _MARKS
    return is_own and key not in _DECLARING and (key != "strict" or not holder[key])


def _spelled(path: Path) -> str:
    """Return *path* as a log has it: `messages[*].refusal`."""
    return ".".join(path).replace(f".{_LISTED}", f"[{_LISTED}]")
