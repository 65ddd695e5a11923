"""Words in place of events: an error, if the stream does not go on after them."""

from ...chat.errors.errors import sounds_failed
from ..outcome import Outgoing
from .state import State

_MOST = 8  # events of words that are held


class Words:
    """The words that a stream holds until the next event.

    Args:
        state: The state of the stream, which has them.
    """

    def __init__(self, state: State) -> None:
        self._state = state

    def hold(self, outgoing: Outgoing, fixes: list[str]) -> None:
        """Hold an error until the next event tells whether the stream goes on."""
        words = self._state.words
        words.append((self._state.sender.hold(outgoing), fixes))
        if len(words) > _MOST:
            self._drop(words.pop()[0])

    def take(self) -> list[tuple[Outgoing, list[str]]]:
        """Hold none any more, and return those that were held."""
        words, self._state.words = self._state.words, []
        return words

    def drop(self) -> None:
        """Send a newline in place of each: the stream goes on."""
        for outgoing, _ in self.take():
            received = outgoing.record.before or b""
            if sounds_failed(received.decode(errors="replace")):
                self._state.seen.lose(words=True)  # they may stand in place of a chunk
            self._drop(outgoing)

    def _drop(self, words: Outgoing) -> None:
        self._state.sender.send(Outgoing(words.record, {}, b"\n"))
        self._state.sender.drop(words)
