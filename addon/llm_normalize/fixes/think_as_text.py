"""Thoughts before the answer, in `content`: `<think>…</think>`, or harmony's analysis."""

from ..chat.chunks.chunk import Chunk, chunk_of, deltas, envelope_of, messages
from ..chat.state.stream_state import Asked, Seen
from ..chat.tool_calls.text_parts import THOUGHTS, Part, Place, Texts, Wanted, read
from ..repair.fix import Example, HoldingFix, chunk
from ..repair.look import Finding

_WANTED = Wanted(thoughts=True)
_BOTH = {"role": "assistant", "content": "<think>so</think>Hi"}
_HARMONY = (
    "<|channel|>analysis<|message|>so<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Hi<|return|>"
)


# Thoughts before the answer, in `content`: `<think>…</think>`, or harmony's analysis.
class ThinkAsText(HoldingFix):
    """Send them as `reasoning_content`; text that only speaks of the tag stays.

    They stand at the begin of the text. What harmony marks as the answer loses its marks.
    """

    name = "think-as-text"
    changes = (
        "`<think>…</think>`, `<thinking>`, `<thought>`, `[THINK]`, `<seed:think>` and the "
        "like, or harmony's `analysis`, at the begin of `content` -> `reasoning_content`"
    )
    why = "Clients without a parser of their own show the thoughts as the answer."
    providers = (
        "DeepSeek R1 and Qwen 3 without a reasoning parser",
        "servers of gpt-oss without a parser for harmony",
    )
    handles = Finding.CONTENT
    sources = (
        "https://api-docs.deepseek.com/guides/reasoning_model",
        "https://docs.vllm.ai/en/latest/features/reasoning_outputs.html",
        "https://github.com/openai/harmony/blob/main/docs/format.md",
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
        ),
        Example.of_message(
            "body", _BOTH, {**_BOTH, "content": "Hi", "reasoning_content": "so"}
        ),
        Example.of_message(
            "harmony",
            {"role": "assistant", "content": _HARMONY},
            {**_BOTH, "content": "Hi", "reasoning_content": "so"},
        ),
        Example.untouched("prose", [chunk({"content": "The tag <think> is"})]),
        Example.untouched("marker", [chunk({"content": "In <|channel|>analysis"})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._texts = Texts(_WANTED)
        self._frame: Chunk = {}

    @property
    def watched(self) -> set[str]:
        """The text, which it may send as reasoning, until its thoughts are over."""
        settled = self._texts.has_begun and self._texts.are_over
        return set() if settled else {"content", "reasoning_content"}

    @property
    def waiting(self) -> object:
        """What waits of which texts."""
        return self._texts.waiting

    def edit(self, chunk: Chunk) -> bool:
        """Part the texts of the deltas."""
        changed = False
        for index, _, delta in deltas(chunk):
            text = delta.get("content")
            if isinstance(text, str) and text:
                parts = self._texts.read(index, text, self.seen.n)
                if parts != [Part(text)]:
                    changed = True
                    del delta["content"]
                    delta.update(_fields(parts, delta))
        self._frame = envelope_of(chunk) if self._texts.are_open else {}
        return changed

    def body(self, body: Chunk) -> bool:
        """Part the texts of the messages."""
        changed = False
        for _, message in messages(body):
            text = message.get("content")
            if isinstance(text, str) and text:
                parts, now = read(Place(), text, _WANTED, ended=True)
                if now.mode not in THOUGHTS and parts != [Part(text)]:
                    message.update({"content": "", **_fields(parts, message)})
                    changed = True
        return changed

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what waited, as received."""
        return [
            chunk_of(self._frame, at, _fields(parts, {}))
            for at, parts in self._texts.end(indexes)
        ]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        self._texts.undo(n)


def _fields(parts: list[Part], beside: Chunk) -> Chunk:
    said = {
        is_thought: "".join(
            each.text for each in parts if each.is_thought is is_thought
        )
        for is_thought in (True, False)
    }
    thought = str(beside.get("reasoning_content") or "") + said[True]
    fields = {"content": said[False], "reasoning_content": thought}
    return {key: text for key, text in fields.items() if text}
