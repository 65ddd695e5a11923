"""What an event, an item or a part lacks of what OpenAI's has."""

from collections.abc import Callable

from ....wire.call_arguments import arguments_in
from ....wire.json_text import Json, as_list, as_object, as_string
from ...protocol import JsonObject
from ..spoken_items import empty_part, part_kind

type Does = Callable[[str], bool]
"""Tells whether a fix is on, and notes that it is applied."""

_EXACT = {
    "type": "part-type-wrong",
    "id": "item-id-changing",
    "item_id": "item-id-changing",
    "call_id": "call-id-changing",
    "name": "call-name-foreign",
    "namespace": "call-name-foreign",
    "output_index": "output-index-wrong",
    "content_index": "output-index-wrong",
    "summary_index": "output-index-wrong",
}
"""What has to be so, and the fix that makes it so."""
_PLACES = (
    "item_id",
    "output_index",
    "content_index",
    "summary_index",
    "sequence_number",
)
"""The keys that say where in an answer an event belongs."""
_TEXTS = ("text", "refusal", "arguments", "input", "delta")
_FILLED = {
    "call_id": "call-id-missing",
    "name": "call-name-missing",
    "annotations": "part-fields-missing",
    "logprobs": "part-fields-missing",
    **dict.fromkeys(_TEXTS, "text-done-empty"),
    "delta": "event-fields-missing",
}
"""What may not be missing, and the fix that puts it in."""
_MORE = ("annotations", "logprobs")
"""What OpenAI itself leaves empty at the end of a part."""
_LISTS = ("content", "summary")


def fitted(
    given: JsonObject, due: JsonObject, does: Does, other: str = "item-fields-missing"
) -> JsonObject:
    """An event, an item or a part with what is due.

    Args:
        given: What the provider says.
        due: What there has to be, as far as that is known.
        does: Tells which fixes are on.
        other: The fix of keys that have none of their own.

    Returns:
        *given* itself if it lacks nothing.
    """
    more = {}
    for key, wanted in due.items():
        has = given.get(key)
        if has is not None and type(has) is type(wanted) and has == wanted:
            continue
        if key in _LISTS and isinstance(has, list) and has and wanted:
            item = as_string(due.get("type"))
            made = _parts(item, key, has, as_list(wanted), does)
            if made is not has:
                more[key] = made
        elif (key in _EXACT or _lacks(given, key, wanted)) and does(
            _fix(key, has, other)
        ):
            more[key] = wanted
    return {**given, **more} if more else given


def unnested(value: JsonObject, does: Does) -> JsonObject:
    """An event that says where it belongs itself, and not in its item or part."""
    for key in ("item", "part"):
        if key not in value:
            continue
        inner = as_object(value[key])
        if not inner.keys().isdisjoint(_PLACES) and does("output-index-wrong"):
            rest = {name: each for name, each in inner.items() if name not in _PLACES}
            moved = {name: inner[name] for name in _PLACES if name in inner}
            value = {**moved, **value, key: rest}
    return value


def parted(given: JsonObject, does: Does) -> JsonObject:
    """An item with parts in the place of a bare text, and an object of one that is spelled.

    Clients parse the arguments of a function, but not those of their own tool search.
    """
    parts = {"content": "output_text", "summary": "summary_text"}
    if given.get("type") == "reasoning":
        parts["content"] = "reasoning_text"
    more = {
        key: [empty_part(kind) | {"text": given[key]}] if given[key] else []
        for key, kind in parts.items()
        if isinstance(given.get(key), str)
    }
    if more and does("item-text-bare"):
        given = {**given, **more}
    spelled = given.get("arguments")
    is_spelled = given.get("type") == "tool_search_call" and isinstance(spelled, str)
    if is_spelled and spelled and does("call-arguments-spelled"):
        given = {**given, "arguments": arguments_in(spelled)}
    return given


def _lacks(given: JsonObject, key: str, wanted: Json) -> bool:
    has = given.get(key)
    if has is None:
        return key not in given or wanted is not None
    if key in _TEXTS and not isinstance(has, str):
        return True
    return has in ("", []) and bool(wanted) and key not in _MORE


def _fix(key: str, has: Json, other: str) -> str:
    if key in _EXACT and (has or key not in _FILLED):
        return _EXACT[key]
    if key in _TEXTS and isinstance(has, dict | list):
        return "call-arguments-object"
    return _FILLED.get(key, "text-done-empty" if has == [] else other)


def _parts(
    item: str, place: str, given: list[Json], due: list[Json], does: Does
) -> list[Json]:
    """The parts of an item: *given* itself if none lacks anything."""
    if len(given) != len(due):
        return given
    made = [
        fitted(part, wanted, does, "part-fields-missing")
        if isinstance(part, dict)
        and part_kind(item, place, part.get("type")) == wanted.get("type")
        else part
        for part, wanted in zip(given, due, strict=True)
    ]
    same = all(one is other for one, other in zip(made, given, strict=True))
    return given if same else made
