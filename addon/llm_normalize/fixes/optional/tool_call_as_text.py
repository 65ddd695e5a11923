"""`<tool_call>…</tool_call>` in `content`, and no call."""

from ...chat.chunk import Chunk, calls, deltas, envelope_of, messages
from ...chat.chunk_split import part_calls
from ...chat.declared_tools import Tools
from ...chat.stream_state import MANY, Asked, Seen
from ...chat.tagged_text import Parts, Passage, Tags, held_of, read, waiting
from ...chat.text_calls import function_in
from ...repair.fix import Example, Fix, calling, chunk, completion, head, rest
from ...wire.json_text import frozen

_TAGS = Tags("<tool_call>", "</tool_call>")
_TEXT = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'
_TOOLS = Tools(frozenset("f"))
_STREAM = Asked(stream=True, tools=True, declared=_TOOLS, id="0")
_CALL = {
    "id": "call_4a31f3538925bbcbda013611",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
}

_HEAD = head(id=_CALL["id"])


class ToolCallAsText(Fix):
    """Send it as a call, where the tool is declared; any other text stays."""

    name = "tool-call-as-text"
    changes = "`<tool_call>` with JSON or XML in `content` -> `tool_calls`, if declared"
    why = "Agents take the call for the answer, and stop without a word."
    providers = ("vLLM and llama.cpp without a tool parser (Qwen, Hermes)",)
    sources = ("https://github.com/vllm-project/vllm/issues/32587",)
    optional = True
    examples = (
        Example(
            "stream",
            [chunk({"content": "Hi"}), chunk({"content": _TEXT})],
            [chunk({"content": "Hi"}), calling(_HEAD), calling(rest())],
            asked=_STREAM,
            ended=False,
        ),
        Example(
            "body",
            [completion({"content": _TEXT}, finish="tool_calls")],
            [completion({"content": None, "tool_calls": [_CALL]}, finish="tool_calls")],
            asked=Asked(tools=True, declared=_TOOLS, id="0"),
            kind="body",
        ),
        Example.untouched("prose", [chunk({"content": "<b>"})], asked=_STREAM),
        Example.untouched("no tools", [chunk({"content": _TEXT})]),
    )

    def __init__(self, asked: Asked, seen: Seen) -> None:
        super().__init__(asked, seen)
        self._at: dict[int, Passage] = {}
        self._made: dict[int, int] = {}  # calls of a choice
        self._is_calling = False
        self._frame: Chunk = {}
        self._before = (-1, self._at)  # an event's number, and what waited before

    def state(self) -> object:
        """Return where the texts have come to."""
        return tuple(self._at.items()), tuple(self._made.items()), frozen(self._frame)

    @property
    def watched(self) -> tuple[str, ...]:
        """The text, wherever tools are declared."""
        return ("content",) if self.asked.declared.names else ()

    @property
    def waiting(self) -> object:
        """What waits of which texts."""
        return held_of(self._at, _TAGS)

    def edit(self, chunk: Chunk) -> bool:
        """Part the texts of the deltas."""
        changed = False
        for index, _, delta in deltas(chunk) if self.asked.declared.names else ():
            text, known = delta.get("content"), self._at.get(index, Passage())
            if isinstance(text, str) and text and len(self._at) < MANY:
                parts, now = read(known, _TAGS, text)
                self._before = (self.seen.n, {**self._at})
                self._at[index] = now
                self._frame = envelope_of(chunk) if now.held or now.inside else {}
                fields = self._fields(parts, index, is_stream=True)
                if fields != {"content": text}:
                    changed = True
                    del delta["content"]
                    more = calls(delta) + fields.pop("tool_calls", [])
                    delta.update({**fields, **({"tool_calls": more} if more else {})})
                    self._is_calling = self._is_calling or bool(more)
        return changed

    def replace(self, chunk: Chunk) -> list[Chunk] | None:
        """Send text and calls in OpenAI's chunks: no other fix has looked for a call."""
        if not self._is_calling:
            return None
        self._is_calling = False
        texts: list[Chunk] = []
        for _, choice, delta in deltas(chunk):
            if delta.get("content") and calls(delta):
                text = {
                    key: delta.pop(key) for key in ("role", "content") if key in delta
                }
                bare = {**choice, "delta": text, "finish_reason": None}
                texts.append({**envelope_of(chunk), "choices": [bare]})
        return [*texts, *(part_calls(chunk) or [chunk])]

    def body(self, body: Chunk) -> bool:
        """Part the texts of the messages without a call."""
        changed = False
        for at, (_, message) in enumerate(messages(body)):
            text = message.get("content")
            declared = self.asked.declared.names and not message.get("tool_calls")
            if declared and isinstance(text, str):
                parts, now = read(Passage(), _TAGS, text)
                parts.append((False, waiting(now, _TAGS)))
                fields = self._fields(parts, at, is_stream=False)
                if "tool_calls" in fields:
                    message.update({"content": None, **fields})
                    changed = True
        return changed

    def _fields(self, parts: Parts, index: int, *, is_stream: bool) -> Chunk:
        """Return what a delta or message has of *parts*."""
        text, found = "", list[Chunk]()
        for inside, part in parts:
            function = function_in(part, self.asked.declared) if inside else None
            if function is None:
                text += f"{_TAGS.open}{part}{_TAGS.close}" if inside else part
                continue
            at = max(len(self.seen.choice(index).calls), self._made.get(index, 0))
            self._made[index] = at + 1
            call = {"id": self.asked.make_id("call_", index, at), "type": "function"}
            if is_stream:
                opening = {"name": function["name"], "arguments": ""}
                found.append({"index": at, **call, "function": opening})
                rest = {"arguments": function["arguments"]}
                found.append({"index": at, "function": rest})
            else:
                found.append({**call, "function": function})
        text = text if text.strip() or not found else ""
        fields = {"content": text, "tool_calls": found}
        return {key: each for key, each in fields.items() if each}

    def end(self, indexes: set[int] | None) -> list[Chunk]:
        """Send what waited, as it came."""
        due = [at for at in self._at if indexes is None or at in indexes]
        held = {at: text for at in due if (text := waiting(self._at[at], _TAGS))}
        for at in held:
            self._at[at] = Passage()
        choices = [
            {"index": at, "delta": {"content": text}, "finish_reason": None}
            for at, text in held.items()
        ]
        return [{**self._frame, "choices": [choice]} for choice in choices]

    def undo(self, n: int) -> None:
        """Let wait what waited before the event."""
        if self._before[0] == n:
            self._at = self._before[1]
