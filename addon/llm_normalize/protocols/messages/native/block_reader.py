"""The blocks of a native message: one after the other, each with its start and its end."""

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import override

from ....wire.json_text import Json, as_object, as_string
from ....wire.limits import MAX_EVENT
from ...calls import CallIds
from ...native_reader import NativeAsked, NativeReader
from ...protocol import JsonObject, make_id
from ..answer_form import SIGNATURE
from ..tool_ids import original, plain
from .parts import EMPTY, INPUT, KINDS, SIGNED, USES, WORDS, Block, parted, use_in

_ALIKE = ("text_delta", "thinking_delta")
"""Deltas of which one may stand for another, but for their words."""
_OPEN = 100
"""Blocks that may be open."""


class BlockReader(NativeReader):
    """Reads the blocks of a message. See `NativeReader`.

    They come one after the other. Where they take turns, the first that has not ended is
    sent as it comes, and the others wait for it.
    """

    def __init__(self, asked: NativeAsked) -> None:
        super().__init__(asked)
        self._blocks: deque[Block] = deque()
        """Those that have not been sent to their end; the first is being sent."""
        self._uses = set[str]()
        """The kinds of blocks so far that call something."""
        self._said = 0
        """How many blocks the start of the message has."""
        self._next = 0
        """The index of the next one."""
        self._ended = deque[Json](maxlen=_OPEN)
        """The indexes of those that have ended, as the provider says them."""
        self._waiting = 0
        self._is_cut = False
        """Whether a call has ended within its input."""
        unnamed = f"toolu_{make_id(asked.seed)}"
        self._calls = CallIds(map(original, asked.calls), unnamed)
        self._written = 0
        """Bytes of what the message says."""

    @override
    def lose(self) -> None:
        super().lose()
        for block in self._blocks:
            block.is_hit = block.is_hit or not block.is_complete

    @abstractmethod
    def _begin_if_missing(self) -> None:
        """Send the start of the message, if that has not come."""

    def _block_start(self, value: JsonObject) -> None:
        self._begin_if_missing()
        given = as_object(value.get("content_block"))
        if not given.get("type") and self._does("block-fields-missing"):
            return  # the first delta tells what it is
        last = self._blocks[-1] if self._blocks else None
        is_second = last is not None and last.is_same(value, given)
        if is_second and self._does("block-start-repeated"):
            return
        if last is not None and last.is_complete:
            self._close(last)
        block = self._new(value.get("index"), as_string(given.get("type")))
        block.call = given.get("id")
        self._note(given)
        made = self._started(block, given)
        self._put(block, value if made is given else {**value, "content_block": made})
        if block.kind != "tool_use":  # whose input may follow all the same
            self._say(block, [each for each in block.said if each["type"] != SIGNED])

    def _new(self, given: Json, kind: str) -> Block:
        if not self._next and given == self._said:
            self._next = self._said  # behind those
        block = Block(given, kind, self._next)
        self._next += 1
        self._blocks.append(block)
        return block

    def _note(self, given: JsonObject) -> None:
        """Note what calls something."""
        kind = use_in(given)
        if kind.endswith(USES) and len(self._uses) < _OPEN:
            self._uses.add(kind)

    def _started(self, block: Block, given: JsonObject) -> JsonObject:
        """A block as its start has it; what else it says is in `block.said` then."""
        made = self._with_fields(given)
        block.is_signed = bool(made.get("signature"))
        if block.kind == "tool_use":
            made = self._with_call_id(made)
        start, deltas = parted(made)
        fix = "tool-input-in-start" if block.kind == "tool_use" else "text-in-start"
        if deltas and self._does(fix):
            block.said = deltas
            block.is_signed = False
            return start
        return made

    def _with_fields(self, given: JsonObject) -> JsonObject:
        kind = as_string(given.get("type"))
        missing = {k: v for k, v in EMPTY.get(kind, {}).items() if given.get(k) is None}
        if missing and self._does("block-fields-missing"):
            return {**given, **missing}
        return given

    def _with_call_id(self, given: JsonObject) -> JsonObject:
        call_id = plain(self._calls.take(original(as_string(given.get("id")))))
        if call_id == given.get("id") or not self._does("tool-id-foreign"):
            return given
        return {**given, "id": call_id}

    def _say(self, block: Block, deltas: Sequence[JsonObject]) -> None:
        """Send *deltas* of what the start of a block has said."""
        block.said = [each for each in block.said if each not in deltas]
        for delta in deltas:
            head = {"type": "content_block_delta", "index": block.given}
            self._delta_of(block, {**head, "delta": delta}, delta)

    def _block_delta(self, value: JsonObject) -> None:
        self._begin_if_missing()
        delta = as_object(value.get("delta"))
        said = as_string(delta.get("type"))
        kind, index = KINDS.get(said), value.get("index")
        block = self._of(index, kind or ("tool_use" if said == INPUT else None))
        if kind and (block is None or block.kind != kind) and self._is_known(block):
            fix = "block-start-missing" if block is None else "delta-of-other-kind"
            if self._does(fix):
                if said == SIGNED:
                    return  # of thoughts that have ended
                block = self._opened(index, kind, fix)
        if block is None:
            if said == INPUT and self.has_hole:
                self._miss()
            self._send(value)
        else:
            self._delta_of(block, value, delta)

    def _is_known(self, block: Block | None) -> bool:
        """Tell whether only deltas of its own kind belong to a block."""
        return block is None or block.kind in EMPTY

    def _opened(self, index: Json, kind: str, fix: str) -> Block:
        """Begin a block whose start is missing."""
        if self._blocks and self._blocks[-1].is_complete:
            self._close(self._blocks[-1], fix)
        block = self._new(index, kind)
        block.fix = fix
        start = {"type": kind, **EMPTY[kind]}
        head = {"type": "content_block_start", "index": block.index}
        self._put(block, {**head, "content_block": start})
        return block

    def _delta_of(self, block: Block, value: JsonObject, delta: JsonObject) -> None:
        said = as_string(delta.get("type"))
        text = as_string(delta.get(WORDS.get(said, "")))
        block.has_delta = True
        if said == SIGNED:
            block.said.clear()
            block.is_signed = bool(text.strip())
            if not block.is_signed and self._does("thinking-unsigned"):
                return
        else:
            self._write(text)
        is_alone = block is self._blocks[-1] is self._blocks[0]
        if said == INPUT and text:
            begins = not block.end.has_begun and text.lstrip().startswith("{")
            block.is_hit = block.is_hit and not begins
            if block.is_hit:
                self._miss()
            block.said.clear()
            block.end.add(text)
            if is_alone:
                self._goes_on(text, partial(self._write_input, block))
        elif said in _ALIKE and is_alone:
            self._goes_on(text, self._write)
        self._put(block, value)

    def _write(self, text: str) -> None:
        self._written += len(text.encode(errors="surrogatepass"))

    def _write_input(self, block: Block, text: str) -> None:
        self._write(text)
        block.end.add(text)

    def _block_stop(self, value: JsonObject) -> None:
        index = value.get("index")
        block = self._of(index, None)
        is_late = block is not None and block.given != index and index in self._ended
        if block is not None and not is_late:
            self._end(block, value)
        elif not self._does("block-stop-repeated"):
            self._send(value)

    def _of(self, index: Json, kind: str | None) -> Block | None:
        """The open block that an index means, or the only one, rather of this kind."""
        still_open = [each for each in self._blocks if not each.has_ended]
        found = [each for each in still_open if each.given == index]
        if self.has_hole:  # it may be another's, whose start was lost
            return found[-1] if found else None
        if not found and len(still_open) == 1 and self.is_on("block-index-wrong"):
            found = still_open
        of_kind = [each for each in found if each.kind == kind]
        if kind == "tool_use" and not of_kind:  # nothing else takes an input
            of_kind = [each for each in still_open if each.kind == kind]
        return (of_kind or found)[-1] if found else None

    def _put(self, block: Block, value: JsonObject) -> None:
        """Send an event of a block, or have it wait for what is before that."""
        if block is self._blocks[0] or not self._does("block-interleaved"):
            self._send_of(block, value)
            return
        block.waiting.append(value)
        self._waiting += len(repr(value))
        if self._waiting > MAX_EVENT or len(self._blocks) > _OPEN:
            self._close(self._blocks[0])

    def _send_of(self, block: Block, value: JsonObject) -> None:
        fix = block.fix or "block-index-wrong"
        if value.get("index") != block.index and self._does(fix):
            value = {**value, "index": block.index}
        self._send(value)

    def _close_all(self) -> None:
        for block in [*self._blocks]:
            self._close(block)

    def _close(self, block: Block, fix: str = "block-stop-missing") -> None:
        """End a block whose stop is missing."""
        if block.has_ended:
            return
        stop = {"type": "content_block_stop", "index": block.index}
        self._end(block, stop if self._does(fix) else None)

    def _end(self, block: Block, stop: JsonObject | None) -> None:
        """Send the end of a block, and go on to the next that waits."""
        if block.is_hit:
            self._miss()
        self._say(block, block.said)
        is_unsigned = block.kind == "thinking" and not block.is_signed
        if stop and is_unsigned and self._does("thinking-unsigned"):
            delta: JsonObject = {"type": SIGNED, "signature": SIGNATURE}
            head = {"type": "content_block_delta", "index": block.index}
            self._put(block, {**head, "delta": delta})
        if block.kind == "tool_use":
            self._is_cut = self._is_cut or block.end.is_open
        block.has_ended = True
        self._ended.append(block.given)
        if stop:
            self._put(block, stop)
        while self._blocks and self._blocks[0].has_ended:
            self._blocks.popleft()
            for value in self._blocks[0].waiting if self._blocks else ():
                self._waiting -= len(repr(value))
                self._send_of(self._blocks[0], value)
