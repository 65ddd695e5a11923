"""The answer at the top of an event or body, without choices."""

from ...chat.chunk import Chunk, is_flat
from ...chat.merged_choices import merge_choice
from ...chat.stream_state import Asked
from ...repair.fix import Example, Fix, chunk, completion
from ...wire.json_text import Json, dumps

_BARE = {key: each for key, each in chunk(None).items() if key != "choices"}
_HI = {"role": "assistant", "content": "Hi"}
_BODY = {key: each for key, each in completion(_HI).items() if key != "choices"}
_CHOICE = {"index": 0, "message": _HI, "finish_reason": None}
_CALLS = {"tool_calls": [{"name": "f"}]}
_OURS = {"response": "content", "result": "content"}


class ChoicesFlat(Fix):
    """Put what stands at the top into a choice; the padding `p` goes."""

    name = "choices-flat"
    changes = "`response`, `tool_calls` at the top -> `choices[0]`"
    why = "No OpenAI client finds the answer."
    providers = ("Cloudflare Workers AI, its own API", "Baidu Qianfan, its own API")
    sources = (
        "https://developers.cloudflare.com/workers-ai/features/streaming/",
        "https://github.com/cloudflare/ai/tree/main/packages/workers-ai-provider",
    )
    examples = (
        Example(
            "text",
            [{**_BARE, "response": "Hi", "p": "abdef"}],
            [chunk({"content": "Hi"})],
            ended=False,
        ),
        Example(
            "JSON",
            [{**_BARE, "response": [1]}],
            [chunk({"content": "[1]"})],
            ended=False,
        ),
        Example(
            "call",
            [{**_BARE, "response": "", "tool_calls": [{"name": "f"}]}],
            [chunk({"content": "", "tool_calls": [{"name": "f"}]})],
            ended=False,
        ),
        Example(
            "body",
            [{"result": {**_BODY, "response": "Hi"}, "success": True, "errors": []}],
            [{**_BODY, "choices": [_CHOICE]}],
            asked=Asked(),
            kind="body",
        ),
        Example(
            "calls beside a result",
            [{"result": {**_BODY, "response": "Hi"}, "success": True, **_CALLS}],
            [{**_BODY, "choices": [{**_CHOICE, "message": {**_HI, **_CALLS}}]}],
            asked=Asked(),
            kind="body",
        ),
        Example(
            "usage beside a result",
            [{"result": {"response": "Hi"}, "success": True, **_BODY}],
            [{"choices": [_CHOICE], **_BODY}],
            asked=Asked(),
            kind="body",
        ),
        Example(
            "calls beside choices in a result",
            [{"result": chunk({"content": "Hi"}), "success": True, **_CALLS}],
            [chunk({"content": "Hi", **_CALLS})],
            ended=False,
        ),
        Example(
            "calls beside a result without choices",
            [{"result": {**_BODY, "choices": []}, "success": True, **_CALLS}],
            [{**_BODY, "choices": [{**_CHOICE, "message": _CALLS}]}],
            asked=Asked(),
            kind="body",
        ),
        Example.untouched("choices", [chunk({"content": "Hi"}, response="x")]),
        Example.untouched(
            "choices that are none",
            [{"result": {"choices": 1}, "response": "Hi", "success": True}],
            kind="body",
        ),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Make the delta; the message of a whole answer, which has ended."""
        if not is_flat(chunk):
            return False
        # A body is whole by being there; behind an event that looks like one more may come.
        is_body = _is_wrapped(chunk) and self.seen.is_value
        return _unwrap(chunk, "stop") if is_body else _unwrap(chunk, None, "delta")

    def body(self, body: Chunk) -> bool:
        """Make the message, of a result that is no completion already."""
        return is_flat(body) and _unwrap(body, None)


def _is_wrapped(body: Chunk) -> bool:
    return isinstance(body.get("result"), dict) and body.get("success") is True


def _unwrap(body: Chunk, reason: Json, part: str = "message") -> bool:
    beside: Chunk = {}
    if _is_wrapped(body):
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
        found = body["choices"]
        is_chunk = bool(found) and "delta" in found[0]
        _enclose(beside, "delta" if is_chunk else "message", {}, None)
        if found:
            merge_choice(found[0], beside["choices"][0])
    for key, value in beside.items():
        if body.get(key) in (None, "", [], {}):
            body[key] = value


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
