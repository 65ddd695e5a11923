"""`<think>…</think>` before the answer, in `content`."""

from ...chat.chunk import Chunk, deltas, envelope_of, messages
from ...chat.stream_state import MANY, Asked, Seen
from ...chat.tagged_text import Passage, Tags, held_of, read, waiting
from ...repair.fix import Example, Fix, chunk, completion
from ...wire.json_text import frozen

_TAGS = Tags("<think>", "</think>", first=True)
_BOTH = {"role": "assistant", "content": "<think>so</think>Hi"}


class ThinkAsText(Fix):
    """Send it as `reasoning_content`; text that only speaks of the tag stays."""

    name = "think-as-text"
    changes = "`<think>…</think>` at the begin of `content` -> `reasoning_content`"
    why = "Clients without a parser of their own show the thoughts as the answer."
    providers = ("DeepSeek R1 and Qwen 3 without a reasoning parser",)
    sources = (
        "https://api-docs.deepseek.com/guides/reasoning_model",
        "https://docs.vllm.ai/en/latest/features/reasoning_outputs.html",
    )
    optional = True
    examples = (
        Example(
            "stream",
            [chunk({"content": text}) for text in ("<th", "ink>s", "o</think>Hi")],
            [
                chunk({}),
                chunk({"reasoning_content": "s"}),
                chunk({"content": "Hi", "reasoning_content": "o"}),
            ],
            ended=False,
        ),
        Example.of_body(
            "body",
            completion(_BOTH),
            completion({**_BOTH, "content": "Hi", "reasoning_content": "so"}),
        ),
        Example.untouched("prose", [chunk({"content": "The tag <think> is"})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._at: dict[int, Passage] = {}
        self._frame: Chunk = {}
        self._before = (-1, self._at)  # an event's number, and what waited before

    def state(self) -> object:
        """Return where the texts have come to."""
        return tuple(self._at.items()), frozen(self._frame)

    @property
    def watched(self) -> tuple[str, ...]:
        """The text, until its thoughts are over."""
        settled = self._at and all(each.over for each in self._at.values())
        return () if settled else ("content",)

    @property
    def waiting(self) -> object:
        """What waits of which texts."""
        return held_of(self._at, _TAGS)

    def edit(self, chunk: Chunk) -> bool:
        """Part the texts of the deltas."""
        changed = False
        for index, _, delta in deltas(chunk):
            text, known = delta.get("content"), self._at.get(index, Passage())
            if not isinstance(text, str) or not text or known.over:
                continue
            if len(self._at) >= MANY:
                continue
            parts, now = read(known, _TAGS, text)
            self._before = (self.seen.n, {**self._at})
            self._at[index] = now
            self._frame = envelope_of(chunk) if now.held else {}
            if parts != [(False, text)]:
                changed = True
                del delta["content"]
                delta.update(_fields(parts, delta))
        return changed

    def body(self, body: Chunk) -> bool:
        """Part the texts of the messages."""
        changed = False
        for _, message in messages(body):
            text = message.get("content")
            if isinstance(text, str) and _TAGS.close in text:
                parts, now = read(Passage(), _TAGS, text)
                if now.over and parts != [(False, text)]:
                    message.update({"content": "", **_fields(parts, message)})
                    changed = True
        return changed

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what waited, as it came."""
        due = [at for at in self._at if indexes is None or at in indexes]
        held = {at: self._at[at] for at in due if self._at[at].held}
        for at, passage in held.items():
            self._at[at] = Passage(inside=passage.inside, over=not passage.inside)
        made = [
            (at, _fields([(p.inside, waiting(p, _TAGS))], {})) for at, p in held.items()
        ]
        return [_alone(self._frame, at, delta) for at, delta in made]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        if self._before[0] == n:
            self._at = self._before[1]


def _fields(parts: list[tuple[bool, str]], beside: Chunk) -> Chunk:
    said = {
        inside: "".join(t for i, t in parts if i is inside) for inside in (True, False)
    }
    thought = str(beside.get("reasoning_content") or "") + said[True]
    fields = {"content": said[False], "reasoning_content": thought}
    return {key: text for key, text in fields.items() if text}


def _alone(frame: Chunk, index: int, delta: Chunk) -> Chunk:
    choice = {"index": index, "delta": delta, "finish_reason": None}
    return {**frame, "choices": [choice]}
