"""`text` in a choice, as the old completions API has it."""

from ...chat.chunks.chunk import Chunk, choices
from ...chat.chunks.chunk_content import has_content_besides_calls
from ...repair.fix import Example, Fix, chunk, completion
from ...repair.look import Finding

_HI = {"content": "Hi"}
_OLD = {"index": 0, "text": "Hi", "finish_reason": None}
_DONE = {"index": 0, "text": "Hi", "finish_reason": "stop"}


def _moved(old: Chunk, key: str, message: Chunk) -> Chunk:
    return {key: each for key, each in old.items() if key != "text"} | {key: message}


class ChoiceText(Fix):
    """Send the text as a delta, or as a message."""

    name = "choice-text"
    changes = "`choices[].text` alone -> `delta.content` or `message.content`"
    why = "Chat clients look for a delta and show nothing."
    providers = ("gateways that answer as `text_completion`",)
    handles = Finding.TEXT
    sources = (
        "https://github.com/sgl-project/mini-sglang/issues/51",
        "https://platform.openai.com/docs/api-reference/completions/object",
    )
    examples = (
        Example.of_event(
            "stream",
            chunk(None) | {"choices": [_OLD]},
            chunk(None) | {"choices": [_moved(_OLD, "delta", _HI)]},
        ),
        Example.of_body(
            "body",
            completion(_HI, choices=[_DONE]),
            completion(
                _HI,
                choices=[_moved(_DONE, "message", {"role": "assistant", **_HI})],
            ),
        ),
        Example.untouched("beside a delta", [chunk(_HI, choice={"text": "Hi"})]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Make the deltas."""
        return _move(chunk, "delta", {})

    def body(self, body: Chunk) -> bool:
        """Make the messages."""
        return _move(body, "message", {"role": "assistant"})


def _move(chunk: Chunk, key: str, message: Chunk) -> bool:
    changed = False
    for choice in choices(chunk):
        text = choice.get("text")
        parts = [choice.get("delta") or {}, choice.get("message") or {}]
        known = any(
            has_content_besides_calls(part) for part in parts if isinstance(part, dict)
        )
        if isinstance(text, str) and not known and (text or key not in choice):
            base = choice.get(key)
            rest = base if isinstance(base, dict) else {}
            choice[key] = {**message, **rest, "content": choice.pop("text")}
            changed = True
    return changed
