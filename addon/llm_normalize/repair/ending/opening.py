"""An opening with `content: null`, which may be a text's or a tool call's.

OpenAI opens a tool call with `content: null` and a text with `content: ""`. Where the
request has tools, an opening that is only a role and null waits for the one event that
tells which; where it has none, the fix `content-null` has repaired it already.
"""

from ...chat.chunk import Chunk, deltas, stands_for_text
from ...chat.stream_state import Asked
from ..outcome import Outlet, Piece

FIX = "content-null"


class Opening:
    """The opening that waits, if any.

    Args:
        asked: What the request asked.
        on: Names of the fixes that are to be applied.
        outlet: Where pieces leave and wait.
    """

    def __init__(self, asked: Asked, on: set[str], outlet: Outlet) -> None:
        self.waiting: Piece | None = None
        self._wanted = asked.tools and FIX in on
        self._outlet = outlet

    def takes(self, piece: Piece, opened: set[int]) -> bool:
        """Keep *piece* if it is such an opening; tell whether it was.

        Args:
            piece: A chunk that comes in.
            opened: Indexes of the choices that have begun.
        """
        if not self._wanted:
            return False
        found = deltas(piece.chunk)
        if not found or any(
            index in opened
            or delta.get("content", "") is not None
            or choice.get("finish_reason") is not None
            or any(value for key, value in delta.items() if key != "role")
            for index, choice, delta in found
        ):
            return False
        self.waiting = self._outlet.hold(piece)
        return True

    def settle(self, following: Chunk | None) -> None:
        """Send what waits, as the *following* chunk (None: nothing) shows it to be."""
        piece, self.waiting = self.waiting, None
        if piece is None:
            return
        called = {
            index
            for index, _, delta in (deltas(following) if following else ())
            if stands_for_text(delta) and not delta.get("content")
        }
        for index, _, delta in deltas(piece.chunk):
            if delta["content"] is None and index not in called:
                delta["content"] = ""
                piece.fixed(FIX)
        self._outlet.release(piece)
