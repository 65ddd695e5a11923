"""The message of a choice."""

import re

from ..chat.chunks.chunk import Chunk, choices, index_of
from ..chat.chunks.chunk_content import (
    has_content_besides_calls,
    is_hollow,
    news,
    repeats,
)
from ..chat.conversion import is_body
from ..chat.state.asked import Asked
from ..chat.state.sent_call import brief
from ..chat.state.stream_state import MAX_TRACKED, Seen
from ..repair.fix import BODY, HI, Example, Fix, chunk, completion
from ..repair.look import Finding
from ..wire.json_text import Json

_MOST = 8  # choices whose last message is stored
_THOUGHT = re.compile("(reason|think|thought).*")
_TEXT = {"content": "Hi"}
_BOTH = {**_TEXT, "reasoning": "Hm"}


def _each(key: str, *texts: str) -> list[Chunk]:
    shown = [{"index": 0, key: {"content": text}} for text in texts]
    return [chunk(None, choices=[each]) for each in shown]


_NEWS = _each("delta", "Hi", " you")


# `message` beside or instead of `delta` in a stream, often all that was said so far.
class MessageInStream(Fix):
    """Send as a delta what a message adds to the one before, but nothing deltas say."""

    name = "message-in-stream"
    changes = "`message` in a stream -> what it adds as a delta, but nothing deltas say"
    why = "Clients read the delta, and show nothing or the whole text again."
    providers = ("Perplexity", "servers that ignore `stream`")
    handles = Finding.MESSAGE | Finding.INDEX | Finding.NEW_FIELD
    sources = (
        "https://github.com/MacPaw/OpenAI/issues/317",
        "https://docs.perplexity.ai/guides/streaming-responses",
    )
    examples = (
        Example("beside", [chunk(_TEXT, choice={"message": _BOTH})], [chunk(_BOTH)]),
        Example("growing", _each("message", "Hi", "Hi you"), _NEWS),
        Example.untouched("none", [chunk(_TEXT)]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._last: dict[int, Chunk | None] = {}  # the message before, if they grow
        self._deltas: set[tuple[int, str]] = set()  # (choice, kind of key), by deltas

    def edit(self, chunk: Chunk) -> bool:
        """Replace the messages by deltas, but those of an answer that is one body."""
        changed = False
        found = choices(chunk)
        # It stays, but more may follow.
        full = any("message" in each for each in found) and is_body(
            chunk, self.asked, self.seen
        )
        for choice in found:
            index, delta = index_of(choice), choice.get("delta")
            part = delta if isinstance(delta, dict) else {}
            found_kinds = _kinds(part)
            kinds = set(found_kinds.values())
            if len(self._deltas) < MAX_TRACKED:
                known = self.seen.received
                self._deltas |= {
                    (index, kind)
                    for key, kind in found_kinds.items()
                    if (index, key) not in known
                }
            message = choice.get("message") if full else choice.pop("message", None)
            changed |= message is not None and not full
            if isinstance(message, str) and message:
                message = {"content": message}
            if isinstance(message, dict):
                received = [key for at, key in self.seen.received if at == index]
                kinds |= set(map(_kind, received))
                kinds |= {kind for at, kind in self._deltas if at == index}
                added = self._news(index, message, kinds)
                if (added or not kinds) and not full:
                    choice["delta"] = part = {**part, **added}
                text = choice.get("text")
                if (
                    isinstance(text, str)
                    and not full
                    and not has_content_besides_calls(part)
                ):
                    # It says what the message says, which has left, or all there is.
                    del choice["text"]
                    more = (
                        {} if message.get("content") or not text else {"content": text}
                    )
                    choice["delta"] = {**part, **more}
        return changed

    def _news(self, index: int, message: Chunk, kinds: set[str]) -> Chunk:
        last = old = self._last.get(index, {})
        if kinds:
            found = _kinds(message).items()
            message = {key: message[key] for key, kind in found if kind not in kinds}
            old = last and {key: last[key] for key in last if key in message}
        grows = old is not None and repeats(old, message)
        if index in self._last or len(self._last) < _MOST:
            self._last[index] = {**(last or {}), **message} if grows else None
        return news(old, message) if old and grows else message


def _kinds(part: Chunk) -> dict[str, str]:
    """Return the kind of each key that says something: all reasoning is one."""
    keys = [key for key in part if key != "role" and not is_hollow(part[key])]
    return {key: _kind(key) for key in keys}


def _kind(key: str) -> str:
    return brief(_THOUGHT.sub("", key))


_NONE = {"role": "assistant", "content": ""}


def _filtered(**more: Json) -> Chunk:
    choice = {"index": 0, "finish_reason": "content_filter", **more}
    return completion(HI, choices=[choice])


# No `message` in a choice of a body, or a `delta` in its place.
class MessageMissing(Fix):
    """Send the message that every choice of OpenAI's has, and nothing but it."""

    name = "message-missing"
    changes = "body's choice without `message`, or with a `delta` -> one `message`"
    why = "Clients read `choices[0].message.content` without a look."
    providers = ("Azure (filtered answers)", "Perplexity (both)")
    sources = (
        "https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter",
        "https://platform.openai.com/docs/api-reference/chat/object",
    )
    examples = (
        Example.of_body("filtered", _filtered(), _filtered(message=_NONE)),
        Example.of_body("delta", _filtered(delta=HI), _filtered(message=HI)),
        Example.of_body(
            "both", _filtered(message=HI, delta=_NONE), _filtered(message=HI)
        ),
        Example.of_body("text alone", _filtered(delta="Hi"), _filtered(message=HI)),
        Example.untouched("there", [BODY], kind="body"),
    )

    def body(self, body: Chunk) -> bool:
        """Add the message."""
        changed = False
        for choice in choices(body):
            given, had = choice.get("message"), "delta" in choice
            if given is None and not had and isinstance(choice.get("text"), str):
                continue  # its answer stands there
            if isinstance(given, list):
                continue  # another quirk
            message, delta = map(_fields, (given, choice.pop("delta", None)))
            if message is given and not had:
                continue
            more = {key: each for key, each in delta.items() if each}
            own = {k: v for k, v in message.items() if v or k not in more}
            choice["message"] = {**more, **own} if message else delta or dict(_NONE)
            changed = True
        return changed


def _fields(part: Json) -> Chunk:
    """The fields of a *part* in a message's place; mere text is its content."""
    if isinstance(part, str) and part:
        return {**_NONE, "content": part}
    return part if isinstance(part, dict) else {}
