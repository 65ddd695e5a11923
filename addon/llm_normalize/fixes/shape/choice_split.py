"""One answer in two choices: the text in one, the tool calls in the other."""

from ...chat.chunks.chunk import Chunk, choices, given_index
from ...chat.chunks.chunk_split import part_choices
from ...chat.merged_choices import has_delta_text, merge_choice, name_text
from ...chat.state.stream_state import MAX_TRACKED, Asked, Seen
from ...repair.fix import Example, Fix, calling, chunk, completion, head
from ...repair.look import Finding
from ...wire.json_text import Json

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
            ended=False,
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
        firsts: dict[Json, Chunk] = {}
        merged: list[Chunk] = []
        for choice in found:
            place = given_index(choice) or 0
            if place in firsts:
                repeats = place in self._by_deltas or (
                    self.seen.received.get((place, "content"), self.seen.n)
                    < self.seen.n
                )
                name_text(firsts[place], choice, repeats=repeats)
                name_text(choice, firsts[place], repeats=repeats)
                merge_choice(firsts[place], choice)
            else:
                firsts.setdefault(place, choice)
                merged.append(choice)
        if len(merged) < len(found):
            body["choices"] = merged
        self._note(merged)
        return len(merged) < len(found)

    def _note(self, found: list[Chunk]) -> None:
        """Remember which of the choices *found* have a text in their deltas."""
        for choice in found:
            place = given_index(choice) or 0
            is_known = (place, "content") in self.seen.received
            has_room = len(self._by_deltas) < MAX_TRACKED
            if has_room and not is_known and has_delta_text(choice):
                self._by_deltas.add(place)
