"""`{}` as a call's first arguments: they may be all, or the real ones follow."""

from ..chunks.chunk import Chunk, calls, deltas, function, index_of
from ..state.declared_tools import Tools
from ..state.repeated_arguments import begins_object
from ..state.stream_state import Seen

_KEYS = {"index", "function", "arguments"}


def blank_call(chunk: Chunk, seen: Seen, tools: Tools) -> tuple[int, int] | None:
    """Return the call of which *chunk* brings a first `{}`, and nothing else.

    It is one of *tools* that takes arguments.
    """
    found = [
        (index, each, call) for index, _, each in deltas(chunk) for call in calls(each)
    ]
    if len(found) != 1:
        return None
    index, delta, call = found[0]
    if delta.keys() != {"tool_calls"} or not has_arguments_alone(call):
        return None
    known = seen.choice(index).calls.get(index_of(call))
    if known is None or known.full_name not in tools.names - tools.bare:
        return None
    given = function(call).get("arguments")
    is_first = _is_blank(given) and _is_blank(known.arguments)
    return (index, index_of(call)) if is_first else None


def has_arguments_alone(call: Chunk) -> bool:
    """Tell whether a fragment has arguments and an index, and no other key."""
    return call.keys() | function(call).keys() == _KEYS


def are_real(arguments: object) -> bool:
    """Tell whether *arguments* begin an object, and are not `{}`."""
    if not isinstance(arguments, str) or _is_blank(arguments):
        return False
    return begins_object(arguments)


def _is_blank(text: object) -> bool:
    return isinstance(text, str) and text.strip() == "{}"
