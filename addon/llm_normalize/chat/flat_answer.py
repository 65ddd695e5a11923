"""An answer at the top of an event or body, or within it: put into a choice."""

from ..wire.json_text import Json, dumps
from .chunks.chunk import Chunk, choices
from .chunks.chunk_form import enveloped_in, is_flat
from .merged_choices import merge_choice

_SAID_WELL = frozenset((
    "code", "Code", "status", "statusCode", "success", "ok", "msg", "message", "Message",
))  # fmt: skip
"""What an envelope says of the request, not of the answer."""

_OURS = {"response": "content", "result": "content"}


def is_wrapped(body: Chunk) -> bool:
    """Tell whether the answer is in a `result`, as Workers AI's own API has it."""
    return isinstance(body.get("result"), dict) and body.get("success") is True


def unwrap(body: Chunk, reason: Json, part: str = "message") -> bool:
    """Put the answer of *body*, see `is_flat`, into a choice, with what stands beside it.

    Args:
        body: The body or event, changed in place.
        reason: The finish reason, where the answer has none of its own.
        part: Whether it is a `message` or a `delta`.
    """
    beside: Chunk = {}
    if is_wrapped(body):
        result = body["result"]
        beside = {k: v for k, v in body.items() if v and k not in ("result", "success")}
        body.clear()
        body.update(result)
    found = body.get("choices")
    # An empty list is a completion without an answer, unless that stands beside it.
    if not found and (found is None or is_flat({**body, "choices": None})):
        role = {"role": "assistant"} if part == "message" else {}
        _enclose(body, part, role, reason)
    if beside:
        _add(body, beside)
    return True


def _add(body: Chunk, beside: Chunk) -> None:
    """Add to *body* what stood *beside* the result that it was."""
    if is_flat(beside):
        found = body["choices"] = choices(body)
        part = "delta" if found and "delta" in found[0] else "message"
        _enclose(beside, part, {}, None)
        if found:
            merge_choice(found[0], beside["choices"][0])
    _fill(body, beside)


def _fill(body: Chunk, beside: Chunk) -> None:
    for key, value in beside.items():
        if body.get(key) in (None, "", [], {}):
            body[key] = value


def open_envelope(body: Chunk) -> bool:
    """Put the chunk or body in *body*, see `enveloped_in`, in its place.

    What stands beside it stays, without the words that all went well. Tell whether there
    was any.
    """
    key = enveloped_in(body)
    if key is None:
        return False
    inner = body.pop(key)
    beside = {k: v for k, v in body.items() if v and k not in _SAID_WELL}
    body.clear()
    body.update(inner)
    open_envelope(body)
    _fill(body, beside)
    return True


def _enclose(value: Chunk, key: str, fields: dict[str, Json], reason: Json) -> None:
    keys = ["response", "reasoning", "reasoning_content", "tool_calls"]
    keys += ["result"] if isinstance(value.get("result"), str) else []
    fields |= {_OURS.get(key, key): value.pop(key) for key in keys if key in value}
    if isinstance(fields.get("content"), list):  # JSON, and no parts
        fields["content"] = dumps(fields["content"]).decode()
    value.pop("p", None)
    reason = "stop" if value.get("is_end") is True else reason
    reason = value.pop("finish_reason", reason)
    value["choices"] = [{"index": 0, key: fields, "finish_reason": reason}]
