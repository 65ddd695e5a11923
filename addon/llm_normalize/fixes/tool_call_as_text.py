"""Calls in `content`, as the model wrote them, and no call."""

from ..chat.chunks.chunk import Chunk, calls, chunk_of, deltas, envelope_of, messages
from ..chat.chunks.chunk_split import part_calls, part_text
from ..chat.state.declared_tools import Tools
from ..chat.state.stream_state import Asked, Seen
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
