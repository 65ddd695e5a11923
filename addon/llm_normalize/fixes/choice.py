"""A choice: its index, its place, the text in it."""

from ..chat.chunks.chunk import Chunk, choices, given_index, put_first
from ..chat.chunks.chunk_content import has_content_besides_calls
from ..chat.chunks.chunk_split import part_choices
from ..chat.merged_choices import has_delta_text, merge_choice, name_text
from ..chat.state.asked import Asked
from ..chat.state.stream_state import MAX_TRACKED, Seen
from ..repair.fix import (
    BODY,
    DONE,
    HI,
    MORE,
    ROLE,
    STOP,
    TEXT,
    USAGE_ASKED,
    WORD,
    Example,
    Fix,
    calling,
    chunk,
    completion,
    head,
    without,
)
from ..repair.look import Finding

_TWO = Asked(stream=True, n=2)
_HI = {"role": "assistant", "content": "Let me."}
_CALLS = {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}]}
_TEXT = chunk(_HI)["choices"]
_SPLIT = chunk(None, choices=_TEXT + calling(head())["choices"])
_OTHERS = chunk(None, choices=_TEXT + chunk(_HI, index=1)["choices"])
_MERGED = {**_HI, "tool_calls": [head()]}
_REPEATED = {"index": 0, "message": _HI}
_MORE = {"delta": {"content": " Go."}}


def _body(*parts: Chunk) -> Chunk:
    found = [{"finish_reason": "tool_calls", "message": each} for each in parts]
    return completion({}, choices=found)


# One answer in two choices: the text in one, the tool calls in the other.
class ChoiceSplit(Fix):
    """Merge choices of one index, or without any, where one answer was asked for."""

    name = "choice-split"
    changes = "several `choices[]` with one `index`, or with none -> one choice"
    why = "Clients read the first choice, and never see the calls in the second."
    providers = ("GitHub Copilot with Claude",)
    handles = Finding.SEVERAL_CHOICES | Finding.TEXT | Finding.INDEX | Finding.NEW_FIELD
    sources = ("https://github.com/ericc-ch/copilot-api",)
    also_covered_by = ("choice-index-missing", "choice-text")
    examples = (
        Example.of_body("no index", _body(_HI, _CALLS), _body({**_HI, **_CALLS})),
        Example.of_body(
            "calls in both",
            _body(_CALLS, _CALLS),
            _body({"tool_calls": _CALLS["tool_calls"] * 2}),
        ),
        Example.of_event("one index", _SPLIT, chunk(_MERGED)),
        Example(
            "a text beside a message that repeats",
            [chunk(_HI), chunk(None, choices=[_REPEATED, {"text": " Go."}])],
            [chunk(_HI), chunk(None, choices=[{**_REPEATED, **_MORE}])],
        ),
        Example.untouched("two asked for", [_OTHERS], asked=_TWO),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._by_deltas: set[int] = set()  # choices whose text comes in deltas

    def edit(self, chunk: Chunk) -> bool | list[Chunk] | None:
        """Merge the choices of a chunk, or send one each of several answers."""
        if self.asked.n > 1:
            return part_choices(chunk)
        return self.body(chunk)

    def body(self, body: Chunk) -> bool:
        """Merge the choices, unless several answers were asked for."""
        found = choices(body)
        if self.asked.n > 1:
            return False
        if len(found) < 2:  # noqa: PLR2004
            self._note(found)
            return False
        firsts: dict[int, Chunk] = {}
        for choice in found:
            place = given_index(choice) or 0
            first = firsts.setdefault(place, choice)
            if first is choice:
                continue
            was_before = (place, "content") in self.seen.received
            repeats = place in self._by_deltas or was_before
            name_text(first, choice, repeats=repeats)
            name_text(choice, first, repeats=repeats)
            merge_choice(first, choice)
        merged = [*firsts.values()]
        self._note(merged)
        if len(merged) == len(found):
            return False
        body["choices"] = merged
        return True

    def _note(self, found: list[Chunk]) -> None:
        """Remember which of the choices *found* have a text in their deltas."""
        for choice in found:
            place = given_index(choice) or 0
            is_known = (place, "content") in self.seen.received
            has_room = len(self._by_deltas) < MAX_TRACKED
            if has_room and not is_known and has_delta_text(choice):
                self._by_deltas.add(place)


def _without(value: Chunk) -> Chunk:
    return {**value, "choices": [without(value["choices"][0], "index")]}


# Choices without `index`, or with one that is not an integer.
class ChoiceIndexMissing(Fix):
    """Number the choices by their place."""

    name = "choice-index-missing"
    changes = "`choices[]` without `index`, or with text -> the place in the list"
    why = "Typed clients refuse the chunk; others file the text under None."
    providers = ("gateways", "web-llm")
    handles = Finding.INDEX
    sources = ("https://platform.openai.com/docs/api-reference/chat/streaming",)
    examples = (
        Example.of_event("stream", _without(WORD), WORD),
        Example.of_event(
            "text",
            chunk({"content": "Hi"}, index="1"),
            chunk({"content": "Hi"}, index=1),
        ),
        Example.of_body("body", _without(BODY), BODY),
        Example.untouched("there", [WORD]),
    )

    def edit(self, chunk: Chunk) -> bool:
        """Add the index."""
        found = choices(chunk)
        taken = {*map(given_index, found)}
        changed = False
        for place, choice in enumerate(found):
            if type(choice.get("index")) is int:
                continue
            at = given_index(choice)
            if at is None:
                rest = {*range(len(found))} - taken
                at = place if place in rest else min(rest)
            put_first(choice, "index", at)
            taken.add(at)
            changed = True
        return changed

    body = edit


_WORD = {"content": "Hi"}
_OLD = {"index": 0, "text": "Hi", "finish_reason": None}
_DONE = {**_OLD, "finish_reason": "stop"}


def _moved(old: Chunk, key: str, message: Chunk) -> Chunk:
    return {**without(old, "text"), key: message}


# `text` in a choice, as the old completions API has it.
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
            chunk(None, choices=[_OLD]),
            chunk(None, choices=[_moved(_OLD, "delta", _WORD)]),
        ),
        Example.of_body(
            "body",
            completion(_WORD, choices=[_DONE]),
            completion(_WORD, choices=[_moved(_DONE, "message", HI)]),
        ),
        Example.untouched("beside a delta", [chunk(_WORD, choice={"text": "Hi"})]),
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


# A choice that goes on after its finish reason, and says nothing.
# The repair is in `repair/machine/finish.py`.
class ChoiceAfterFinish(Fix):
    """Drop the choice, and keep what stands beside it, which is usage as a rule."""

    name = "choice-after-finish"
    changes = "a finished choice again, with an empty delta -> removed"
    why = "Clients that have closed the message open another."
    providers = ("OpenRouter (on the chunk with usage)", "gateways")
    sources = (
        "https://openrouter.ai/docs/use-cases/usage-accounting",
        "https://platform.openai.com/docs/api-reference/chat/streaming",
    )
    examples = (
        Example("empty", [TEXT, STOP, ROLE, DONE], [TEXT, STOP, DONE]),
        Example.untouched("with text", [TEXT, STOP, MORE], asked=USAGE_ASKED),
        Example.untouched(
            "another choice",
            [TEXT, STOP, chunk({"role": "assistant", "content": ""}, index=1)],
            asked=Asked(stream=True, n=2, usage=True),
        ),
    )
