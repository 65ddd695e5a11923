"""What a model writes as text, and OpenAI sends apart from it: thoughts, and calls."""

from ..chat.chunks.chunk import Chunk, calls, chunk_of, deltas, envelope_of, messages
from ..chat.chunks.chunk_split import part_calls, part_text
from ..chat.state.asked import Asked
from ..chat.state.declared_tools import Tools
from ..chat.state.stream_state import Seen
from ..chat.tool_calls.text_parts import THOUGHTS, Part, Place, Texts, Wanted, read
from ..chat.tool_calls.written_calls import TEXTS, WrittenCalls
from ..repair.fix import (
    DONE,
    STOP,
    WORD,
    Example,
    HoldingFix,
    Wire,
    calling,
    chunk,
    completion,
    head,
    rest,
    without,
)
from ..repair.look import Finding

_WANTED = Wanted(thoughts=True)
_BOTH = {"role": "assistant", "content": "<think>so</think>Hi"}
_THOUGHT = (
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
        "`<think>…</think>`, `<thinking>`, `<reasoning>`, `[THINK]`, `<seed:think>` and the "
        "like, or harmony's `analysis`, at the begin of `content` -> `reasoning_content`"
    )
    why = "Clients without a parser of their own show the thoughts as the answer."
    providers = (
        "DeepSeek R1 and Qwen 3 without a reasoning parser",
        "servers of gpt-oss without a parser for harmony",
        "Amazon Bedrock",
    )
    handles = Finding.CONTENT
    sources = (
        "https://api-docs.deepseek.com/guides/reasoning_model",
        "https://docs.vllm.ai/en/latest/features/reasoning_outputs.html",
        "https://github.com/openai/harmony/blob/main/docs/format.md",
        "https://github.com/browseros-ai/BrowserOS/issues/167",
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
            {"role": "assistant", "content": _THOUGHT},
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


_TEXT = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
_HARMONY = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
_MINIMAX = '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>'
_ASKED = Asked(stream=True, tools=True, declared=Tools(frozenset("f")), id="0")
_ID = "call_4a31f3538925bbcbda013611"
_CALL = without(head(0, "{}", id=_ID), "index")
_SPLIT = [calling(head(id=_ID)), calling(rest())]
_END: Wire = [STOP, DONE]


# Calls in `content`, as the model wrote them, and no call.
class ToolCallAsText(HoldingFix):
    """Send it as a call, where the tool is declared; any other text stays.

    In reasoning it is a call if the answer ends behind it. Text waits from an opening on; in a pause it is sent, and the call with its end. Where
    a text begins with harmony's marks of an answer, those go; its marks of thoughts stay.
    """

    name = "tool-call-as-text"
    changes = (
        "call in `content` or at the end of reasoning, in the form of Hermes, Qwen, GLM, "
        "harmony, MiniMax, Mistral, Llama, DeepSeek, Kimi, Seed, Nemotron, Gemma, LFM2, "
        "Granite or LongCat -> `tool_calls`, if declared"
    )
    why = "Agents take the call for the answer, and stop without a word."
    providers = ("vLLM, SGLang, TensorRT-LLM, llama.cpp without the tool parser",)
    handles = Finding.CONTENT | Finding.REASONING
    sources = (
        "https://github.com/vllm-project/vllm/issues/32587",
        "https://github.com/NVIDIA/TensorRT-LLM/issues/9256",
        "https://github.com/can1357/oh-my-pi/issues/798",
        "https://github.com/github/app/issues/2128",
        "https://github.com/QwenLM/qwen-code/issues/3730",
        "https://github.com/vllm-project/vllm/issues/39056",
        "https://github.com/openai/harmony/blob/main/docs/format.md",
        "https://github.com/MiniMax-AI/MiniMax-M2.5/blob/main/docs/tool_calling_guide.md",
    )
    optional = True
    examples = (
        Example(
            "stream", [WORD, chunk({"content": _TEXT})], [WORD, *_SPLIT], asked=_ASKED
        ),
        *(
            Example(name, [chunk({"content": text})], _SPLIT, asked=_ASKED, ended=False)
            for name, text in (("harmony", _HARMONY), ("MiniMax", _MINIMAX))
        ),
        Example.of_body(
            "body",
            completion({"content": _TEXT}, finish="tool_calls"),
            completion({"content": None, "tool_calls": [_CALL]}, finish="tool_calls"),
            asked=_ASKED,
        ),
        Example(
            "reasoning",
            [chunk({"reasoning_content": "So." + _TEXT}), *_END],
            [chunk({"reasoning_content": "So."}), *_SPLIT, *_END],
            asked=_ASKED,
        ),
        Example.untouched("prose", [chunk({"content": "<b>"})], asked=_ASKED),
        Example.untouched("marker", [chunk({"content": "<|call|> is"})], asked=_ASKED),
        Example.untouched("no tools", [chunk({"content": _TEXT})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._texts = WrittenCalls(asked, seen)
        self._frame: Chunk = {}

    @property
    def watched(self) -> set[str]:
        """The texts, wherever tools are declared."""
        return set(TEXTS if self.asked.declared.names else ())

    @property
    def waiting(self) -> object:
        """What waits of which texts."""
        return self._texts.waiting

    def edit(self, chunk: Chunk) -> bool | list[Chunk]:
        """Part the texts of the deltas; text and calls leave in OpenAI's chunks."""
        changed = is_calling = False
        for index, _, delta in deltas(chunk) if self.asked.declared.names else ():
            if self._texts.part(index, delta, self.seen.n):
                changed = True
                is_calling |= bool(calls(delta))
        self._frame = envelope_of(chunk) if self._texts.are_open else {}
        if not is_calling:
            return changed
        *texts, rest = part_text(chunk) or [chunk]  # no other fix has looked for a call
        return [*texts, *(part_calls(rest) or [rest])]

    def body(self, body: Chunk) -> bool:
        """Part the texts of the messages without a call."""
        changed = False
        for at, (_, message) in enumerate(messages(body)):
            if self.asked.declared.names and not message.get("tool_calls"):
                changed |= self._texts.part_message(at, message)
        return changed

    def flush(self) -> list[Chunk]:
        """Send what waits of choices for which no finish has come."""
        return self.end({at for at, c in self.seen.choices.items() if not c.finished})

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what waited: a call that lacks its end, else the text as received."""
        held = self._texts.end(indexes)
        return [chunk_of(self._frame, at, delta) for at, delta in held]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        self._texts.undo(n)
